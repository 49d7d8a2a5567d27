import type { ReactNode } from "react";
import { Page } from "../../parts/page.tsx";

export default function AccessPage(): ReactNode {
  return <Page title="Access">{null}</Page>;
}
