import type { ReactNode } from "react";
import { Icon, type IconName } from "../../../parts/controls/icon.tsx";

const LOOKS: { readonly [status: string]: readonly [IconName, string] } = {
  prepared: ["queued", "text-ink-2"],
  running: ["running", "text-running"],
  in_doubt: ["interrupted", "text-interrupted"],
  succeeded: ["succeeded", "text-succeeded"],
  deduplicated: ["copy", "text-succeeded"],
  failed: ["failed", "text-failed"],
  cancelled: ["cancelled", "text-ink-3"],
};

/** The status of a call: an icon and a word. */
export function CallStatus({ status }: { readonly status: string }): ReactNode {
  const [icon, look] = LOOKS[status] ?? (["more", "text-ink-2"] as const);
  return (
    <span className={`inline-flex items-center gap-1.5 whitespace-nowrap ${look}`}>
      <Icon name={icon} />
      {status.replaceAll("_", " ")}
    </span>
  );
}
