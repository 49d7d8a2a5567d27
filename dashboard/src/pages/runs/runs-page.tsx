import type { ReactNode } from "react";
import { Page } from "../../parts/page.tsx";

export function RunsPage(): ReactNode {
  return <Page title="Runs">{null}</Page>;
}
