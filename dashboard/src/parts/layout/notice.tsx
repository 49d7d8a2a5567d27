import type { ReactNode } from "react";
import { PawlProblem } from "../../api/client.ts";
import { clockWords } from "../../words/time-words.ts";
import { Button } from "../controls/button.tsx";
import { Icon, type IconName } from "../controls/icon.tsx";
import { VisibleText } from "../text/visible.tsx";

const KINDS: { readonly [kind: string]: { readonly look: string; readonly icon: IconName } } = {
  problem: { look: "border-failed/40 bg-failed-soft text-failed", icon: "failed" },
  warning: { look: "border-interrupted/40 bg-interrupted-soft text-interrupted", icon: "interrupted" },
  question: { look: "border-waiting/40 bg-waiting-soft text-waiting", icon: "waiting" },
  success: { look: "border-succeeded/40 bg-succeeded-soft text-succeeded", icon: "succeeded" },
};

type NoticeProps = {
  readonly kind: "problem" | "warning" | "question" | "success";
  readonly title: ReactNode;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
};

/** Something the reader should know before what is below. */
export function Notice({ kind, title, children, action }: NoticeProps): ReactNode {
  const { look, icon } = KINDS[kind] ?? { look: "", icon: "failed" as const };
  return (
    <div
      role={kind === "problem" ? "alert" : "status"}
      className={`flex gap-2.5 rounded-lg border px-3 py-2.5 ${look}`}
    >
      <Icon name={icon} className="mt-[3px]" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">{title}</p>
        {children !== undefined && <div className="mt-0.5 text-ink-2">{children}</div>}
      </div>
      {action}
    </div>
  );
}

/** An error: what happened, since when, what to do, and the request that the server's log has. */
export function ProblemNotice({
  error,
  what,
  since,
  onRetry,
}: {
  readonly error: Error;
  /** What failed, as a sentence: "The runs could not be read." */
  readonly what: string;
  readonly since?: number;
  readonly onRetry?: () => void;
}): ReactNode {
  const problem = error instanceof PawlProblem ? error : null;
  const detail =
    problem?.message ??
    "The server could not be reached. This page tries again by itself; is `pawl serve` running?";
  return (
    <Notice
      kind="problem"
      title={what}
      action={onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    >
      <p>
        <VisibleText text={detail} />
      </p>
      <p className="text-xs text-ink-3">
        {[
          since === undefined || since === 0 ? "" : `Since ${clockWords(since)}`,
          problem?.code ?? "",
          typeof problem?.requestId === "string" ? `request ${problem.requestId}` : "",
        ]
          .filter((part) => part !== "")
          .join(" · ")}
      </p>
    </Notice>
  );
}
