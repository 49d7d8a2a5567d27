import type { ReactNode } from "react";
import { Page } from "../../parts/page.tsx";

export default function SpendPage(): ReactNode {
  return <Page title="Spend">{null}</Page>;
}
