import type { ReactNode } from "react";
import { useLiveSignal } from "../../live/use-live.ts";
import { Button } from "../controls/button.tsx";
import { Notice } from "./notice.tsx";

/** In place of what has no code. React and browsers keep that it failed, so that only a reload fetches it again. */
export function CodeNotFetchedNotice({ of }: { readonly of: "page" | "view" }): ReactNode {
  // Only after the server was away: a file that is gone would be asked for without an end.
  useLiveSignal(({ kind }) => {
    if (kind === "back") location.reload();
  });
  return (
    <Notice
      kind="problem"
      title={`This ${of} could not be fetched from the server.`}
      action={<Button onClick={() => location.reload()}>Reload</Button>}
    >
      If the server is away, it opens by itself when it is back.
    </Notice>
  );
}
