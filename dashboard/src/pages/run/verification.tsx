import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Icon } from "../../parts/controls/icon.tsx";
import { Notice } from "../../parts/layout/notice.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { counted } from "../../words/money-words.ts";
import { clockWords } from "../../words/time-words.ts";

type Problem = Answer<"verifyRun">["problems"][number];

/** Whether what is stored of a run is what was written. Reads all of it, so only on request. */
export type Verification = {
  readonly known: Answer<"verifyRun"> | undefined;
  readonly problems: readonly Problem[];
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly verify: () => void;
};

export function useVerification(runId: string): Verification {
  const { client } = useDashboard();
  const { data, error, isPending, mutate } = useMutation({ mutationFn: () => client.verifyRun({ runId }) });
  return {
    known: data,
    problems: data?.problems ?? [],
    isBusy: isPending,
    error,
    verify: () => mutate(),
  };
}

/** Of each act beside the id of a run. */
export const ACT_LOOK =
  "inline-flex h-6 items-center gap-1 rounded-md border px-1.5 text-xs whitespace-nowrap";

/** The badge is also the button that checks again. */
export function VerifiedBadge({ verification }: { readonly verification: Verification }): ReactNode {
  const { known, problems, isBusy, error, verify } = verification;
  const look =
    error !== null || problems.length > 0
      ? "border-failed/40 bg-failed-soft text-failed"
      : known === undefined
        ? "border-edge text-ink-2 hover:bg-hover"
        : "border-succeeded/40 bg-succeeded-soft text-succeeded";
  return (
    <button
      type="button"
      disabled={isBusy}
      title={
        known === undefined
          ? "Check that everything stored of this run is what was written"
          : `${counted(known.events, "event")}, ${counted(known.receipts, "receipt")}, ${counted(known.blobs, "blob")}: check again`
      }
      className={`${ACT_LOOK} ${look}`}
      onClick={verify}
    >
      {known !== undefined && <Icon name={problems.length > 0 ? "failed" : "succeeded"} className="size-3" />}
      {badgeWords(verification)}
    </button>
  );
}

function badgeWords({ known, problems, isBusy, error }: Verification): string {
  if (isBusy) return "verifying";
  if (error !== null) return "not verified: try again";
  if (known === undefined) return "verify";
  if (problems.length > 0) return counted(problems.length, "problem");
  return `verified ${clockWords(Date.parse(known.verifiedAt))}`;
}

const SHOWN = 20;

/** Rows that are not what was written. Above all views: nothing below can be trusted. */
export function VerificationProblems({ problems }: { readonly problems: readonly Problem[] }): ReactNode {
  return (
    <Notice
      kind="problem"
      title="What is stored of this run is not what was written. Restore a backup before you resume it."
    >
      <ul className="flex flex-col gap-0.5">
        {problems.slice(0, SHOWN).map(({ row, what }) => (
          <li key={`${row} ${what}`}>
            <code>
              <VisibleLine text={row} />
            </code>{" "}
            <VisibleLine text={what} />
          </li>
        ))}
      </ul>
      {problems.length > SHOWN && <p>And {counted(problems.length - SHOWN, "more problem")}.</p>}
    </Notice>
  );
}
