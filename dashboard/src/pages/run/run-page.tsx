import type { ReactNode } from "react";
import { Page } from "../../parts/page.tsx";

export default function RunPage({ runId }: { readonly runId: string }): ReactNode {
  return <Page title={runId}>{null}</Page>;
}
