import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { navigate } from "wouter/use-browser-location";
import { PawlProblem } from "../../api/client.ts";
import type { WaitDetail } from "../../api/documents.ts";
import { useKeys } from "../../browser/keyboard.ts";
import { runPath } from "../../browser/places.ts";
import { useDashboard, useMayAct } from "../../live/dashboard-context.ts";
import { useReadAfter } from "../../live/use-read-after.ts";
import { Button } from "../../parts/controls/button.tsx";
import { Link } from "../../parts/controls/link.tsx";
import { Notice, ProblemNotice } from "../../parts/layout/notice.tsx";
import { CallId, RunId, WaitId } from "../../parts/text/id.tsx";
import { RecordedAs } from "../../parts/text/recorded-as.tsx";
import { Ago } from "../../parts/text/time.tsx";
import { shownLine, VisibleLine, VisibleText } from "../../parts/text/visible.tsx";
import { ApproveDialog, DenyDialog, SettleDialog } from "./act-dialogs.tsx";
import { AnswerForm, BudgetForm } from "./answer-form.tsx";
import { actsOf, useWaitAct, type WaitAct } from "./use-wait-act.ts";
import { ArgumentDiff, WaitArguments } from "./wait-arguments.tsx";
import { answerWords, hiddenBecause, kindWords } from "./wait-words.ts";

/** One wait, with everything that a person needs to decide. */
export function WaitPane({ waitId }: { readonly waitId: string }): ReactNode {
  const { client } = useDashboard();
  const wait = useQuery({
    queryKey: ["wait", waitId],
    queryFn: ({ signal }) => client.getWait({ waitId, signal }),
  });
  useReadAfter(wait, (signal) => signal.kind === "head" && signal.head.runId === wait.data?.runId);
  if (wait.data !== undefined) return <Detail key={waitId} wait={wait.data} />;
  if (wait.error === null) return null;
  return (
    <ProblemNotice
      error={wait.error}
      what="The wait could not be read."
      since={wait.errorUpdatedAt}
      onRetry={() => void wait.refetch()}
    />
  );
}

function Detail({ wait }: { readonly wait: WaitDetail }): ReactNode {
  const isAboutCall = wait.kind !== "question" && wait.kind !== "budget" && wait.arguments !== null;
  const act = useWaitAct(wait);
  return (
    <article aria-label={shownLine(wait.question)} className="flex min-w-0 flex-col gap-3">
      <header>
        <p className="flex flex-wrap items-center gap-x-3 gap-y-0.5 text-xs text-ink-3">
          <span className="font-medium text-waiting">{kindWords(wait.kind)}</span>
          <WaitId waitId={wait.waitId} />
          <span>
            asked <Ago at={wait.createdAt} />
          </span>
        </p>
        <h2 className="mt-1 text-md font-semibold">
          <VisibleText text={wait.question} />
        </h2>
        <p className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-0.5 text-xs text-ink-2">
          <span className="inline-flex min-w-0 items-center gap-1">
            run <RunId runId={wait.runId} />
          </span>
          <span>
            <VisibleLine text={wait.pipeline} />
          </span>
          {wait.toolCallId !== null && (
            <span className="inline-flex min-w-0 items-center gap-1">
              call <CallId runId={wait.runId} callId={wait.toolCallId} />
            </span>
          )}
        </p>
      </header>
      {wait.distrusted !== null && (
        <Notice kind="problem" title="It cannot be answered.">
          <VisibleText text={wait.distrusted} />
        </Notice>
      )}
      {isAboutCall && <WaitArguments wait={wait} />}
      {hiddenBecause(wait.subject).map((why) => (
        <p key={why} className="text-ink-2">
          <VisibleText text={why} />
        </p>
      ))}
      <Background wait={wait} isAboutCall={isAboutCall} />
      <People wait={wait} />
      {act.error !== null && <ActProblem error={act.error} />}
      {wait.status === "open" ? <Acts wait={wait} act={act} /> : <Answered wait={wait} />}
    </article>
  );
}

/** What helps to decide: closed, so that the arguments stay in front. */
function Background({
  wait,
  isAboutCall,
}: {
  readonly wait: WaitDetail;
  readonly isAboutCall: boolean;
}): ReactNode {
  return (
    <>
      {isAboutCall && wait.previous !== null && (
        <details>
          <summary className="disclosure py-0.5 text-ink-2 hover:text-ink">
            What changed since the last call of this tool
          </summary>
          <div className="mt-1 flex flex-col gap-2 rounded-lg border border-line bg-panel p-3">
            <p className="text-xs text-ink-3">
              Compared with <CallId runId={wait.runId} callId={wait.previous.toolCallId} />
            </p>
            <ArgumentDiff wait={wait} />
          </div>
        </details>
      )}
      {wait.turn !== null && (
        <details>
          <summary className="disclosure py-0.5 text-ink-2 hover:text-ink">
            The turn that asked for it: turn {wait.turn.turnIndex} of{" "}
            <VisibleLine text={wait.turn.stepPath} />
          </summary>
          <div className="mt-1 rounded-lg border border-line bg-panel p-3">
            <VisibleText text={wait.turn.text} />
            <p className="mt-2 text-xs">
              <Link href={`${runPath(wait.runId)}?view=transcript`} className="text-accent hover:underline">
                Read the whole transcript
              </Link>
            </p>
          </div>
        </details>
      )}
    </>
  );
}

function People({ wait }: { readonly wait: WaitDetail }): ReactNode {
  const isShown = wait.people.length > 0 || wait.peopleNeeded > 1 || wait.notStarter || wait.dueAt !== null;
  if (wait.status !== "open" || !isShown) return null;
  return (
    <ul className="flex flex-col gap-0.5 text-ink-2">
      {wait.people.map((person) => (
        <li key={`${person.name} ${person.at}`}>
          <VisibleLine text={person.authenticated?.name ?? person.name} /> approved it <Ago at={person.at} />
        </li>
      ))}
      {wait.stillNeeded !== null && (
        <li className="text-waiting">
          <VisibleLine text={wait.stillNeeded} />
        </li>
      )}
      {wait.dueAt !== null && (
        <li>
          Due <Ago at={wait.dueAt} />
          {wait.onDue !== null && (
            <>
              : <VisibleLine text={wait.onDue} />
            </>
          )}
        </li>
      )}
    </ul>
  );
}

/** Nothing runs by itself: the answer is a row, and a worker takes the run when it can. */
function Answered({ wait }: { readonly wait: WaitDetail }): ReactNode {
  return (
    <Notice
      kind="success"
      title={
        <>
          <VisibleLine
            text={wait.answeredBy === null ? answerWords(wait) : `${wait.answeredBy}: ${answerWords(wait)}`}
          />
        </>
      }
    >
      {wait.answeredAt !== null && <Ago at={wait.answeredAt} />}. It is kept: the run continues when a worker
      takes it.{" "}
      <Link href={runPath(wait.runId)} className="text-accent underline">
        Look at the run
      </Link>
    </Notice>
  );
}

type Open = "approve" | "deny" | "settle";

type ActsProps = { readonly wait: WaitDetail; readonly act: ReturnType<typeof useWaitAct> };

function Acts({ wait, act }: ActsProps): ReactNode {
  const mayAct = useMayAct();
  const [open, setOpen] = useState<Open | null>(null);
  const acts = mayAct && wait.mayAnswer && wait.distrusted === null ? actsOf(wait) : [];
  const may = (what: WaitAct["act"]): boolean => acts.includes(what);
  useKeys([
    ...(may("approve") ? [{ keys: "a", does: "Approve…", run: () => setOpen("approve") }] : []),
    ...(may("deny") ? [{ keys: "d", does: "Deny…", run: () => setOpen("deny") }] : []),
    ...(may("settle") ? [{ keys: "s", does: "Settle…", run: () => setOpen("settle") }] : []),
    { keys: "Escape", does: "Back to the inbox", run: () => navigate("/waits") },
  ]);
  const dialog = {
    wait,
    isBusy: act.isPending,
    onAct: (given: WaitAct) => act.mutate(given, { onSettled: () => setOpen(null) }),
    onClose: () => setOpen(null),
  };
  const buttons = (
    <>
      {may("deny") && (
        <Button kind="danger" onClick={() => setOpen("deny")}>
          Deny…
        </Button>
      )}
      {may("approve") && (
        <Button kind="primary" onClick={() => setOpen("approve")}>
          Approve
        </Button>
      )}
      {may("settle") && (
        <Button kind={may("answer") ? "plain" : "primary"} onClick={() => setOpen("settle")}>
          Settle…
        </Button>
      )}
    </>
  );
  return (
    <div className="flex flex-col gap-3">
      {mayAct && wait.whyNot !== null && (
        <Notice kind="warning" title="You cannot answer this.">
          <VisibleText text={wait.whyNot} />
        </Notice>
      )}
      {may("answer") &&
        (wait.kind === "budget" ? (
          <BudgetForm {...dialog} beside={buttons} />
        ) : (
          <AnswerForm {...dialog} beside={buttons} />
        ))}
      {acts.length > 0 && !may("answer") && (
        <div className="flex flex-wrap items-center justify-end gap-2 border-t border-line pt-3">
          <RecordedAs />
          {buttons}
        </div>
      )}
      {open === "approve" && <ApproveDialog {...dialog} />}
      {open === "deny" && <DenyDialog {...dialog} />}
      {open === "settle" && <SettleDialog {...dialog} />}
    </div>
  );
}

/** Another person was faster, or the act was refused. */
function ActProblem({ error }: { readonly error: Error }): ReactNode {
  const isLate = error instanceof PawlProblem && error.status === 409;
  return (
    <ProblemNotice error={error} what={isLate ? "Nothing was changed." : "Your answer was not stored."} />
  );
}
