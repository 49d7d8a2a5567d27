import type { ReactNode } from "react";
import { Page } from "../../parts/page.tsx";

export default function WorkersPage(): ReactNode {
  return <Page title="Workers">{null}</Page>;
}
