import type { ReactNode } from "react";
import { Page } from "../../parts/page.tsx";

export default function ComparePage(): ReactNode {
  return <Page title="Compare">{null}</Page>;
}
