import type { ReactNode } from "react";
import type { RunStatus } from "../../api/documents.ts";
import { Icon } from "../controls/icon.tsx";

const COLOURS: { readonly [S in RunStatus]: string } = {
  queued: "text-ink-2",
  running: "text-running",
  interrupted: "text-interrupted",
  waiting: "text-waiting",
  succeeded: "text-succeeded",
  failed: "text-failed",
  cancelled: "text-ink-3",
  moved: "text-ink-3",
};

/** The status of a run: an icon, a word and a colour, and never a colour alone. */
export function Status({ status }: { readonly status: RunStatus }): ReactNode {
  return (
    <span className={`inline-flex items-center gap-1.5 whitespace-nowrap ${COLOURS[status]}`}>
      <Icon name={status} className={status === "running" ? "breathing" : ""} />
      {status}
    </span>
  );
}
