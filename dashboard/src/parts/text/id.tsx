import type { ReactNode } from "react";
import { callPath, runPath, waitPath } from "../../browser/places.ts";
import { CopyButton } from "../controls/copy-button.tsx";
import { Link } from "../controls/link.tsx";
import { shownLine, VisibleLine } from "./visible.tsx";

/** An id: a link to what has it, and a button that copies it. */
export function Id({
  id,
  href,
  what,
}: {
  readonly id: string;
  readonly href: string;
  readonly what: string;
}): ReactNode {
  return (
    <span className="group/id inline-flex max-w-full min-w-0 items-center gap-0.5">
      <Link
        href={href}
        title={shownLine(id)}
        className="one-line font-mono text-xs text-accent hover:underline max-md:py-1"
      >
        <VisibleLine text={id} />
      </Link>
      <span className="opacity-0 group-hover/id:opacity-100 focus-within:opacity-100 pointer-coarse:opacity-100">
        <CopyButton text={id} what={what} />
      </span>
    </span>
  );
}

export function RunId({ runId }: { readonly runId: string }): ReactNode {
  return <Id id={runId} href={runPath(runId)} what="run id" />;
}

export function WaitId({ waitId }: { readonly waitId: string }): ReactNode {
  return <Id id={waitId} href={waitPath(waitId)} what="wait id" />;
}

export function CallId({ runId, callId }: { readonly runId: string; readonly callId: string }): ReactNode {
  return <Id id={callId} href={callPath(runId, callId)} what="call id" />;
}

/** A hash or key: nothing has it as an address, so only its beginning is shown, and all of it is copied. */
export function Hash({ hash, what = "hash" }: { readonly hash: string; readonly what?: string }): ReactNode {
  return (
    <span className="inline-flex items-center gap-0.5">
      <code title={hash}>{hash.slice(0, 12)}…</code>
      <CopyButton text={hash} what={what} />
    </span>
  );
}
