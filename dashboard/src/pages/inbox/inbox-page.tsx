import type { ReactNode } from "react";
import { Page } from "../../parts/page.tsx";

export default function InboxPage({ waitId }: { readonly waitId: string | null }): ReactNode {
  return <Page title="Inbox">{waitId}</Page>;
}
