import { counted, isoTime } from "../export/figures.ts";
import type { RunRecord, ToolCallRecord, WaitRecord } from "../store/store.ts";
import type { Act } from "./act.ts";
import { isInterrupted } from "./run-status.ts";
import { settleActs, waitActs } from "./wait-acts.ts";
import { awaitedText, isForNextText } from "./wait-time.ts";

/** A possible next step and its acts, any one of which will do. */
export type NextStep = { readonly what: string; readonly acts: readonly Act[] };

/** More open waits than this are only counted. */
const MOST_ASKED = 3;

/** The next steps of a run, in the order in which to take them. */
export function nextSteps(
  run: RunRecord,
  waits: readonly WaitRecord[],
  calls: readonly ToolCallRecord[],
  now: number,
): readonly NextStep[] {
  if (run.status === "succeeded") return [];
  const { runId, moved } = run;
  if (moved !== null)
    return [
      {
        what: `It was moved to the store ${moved.to}: continue it there. If its bundle was lost before it arrived, make it again`,
        acts: [{ act: "export_bundle", runId, to: moved.to }],
      },
    ];
  if (run.status === "running" && !isInterrupted(run, now))
    return [
      { what: "A worker is running it: follow it", acts: [{ act: "follow", runId }] },
      { what: "Cancel it", acts: [{ act: "cancel", runId }] },
    ];
  return stepsWithoutWorker(runId, waits, calls, now);
}

/** The next steps of a run that no worker holds, and that has not ended for good. */
function stepsWithoutWorker(
  runId: string,
  waits: readonly WaitRecord[],
  calls: readonly ToolCallRecord[],
  now: number,
): readonly NextStep[] {
  const open = waits.filter(({ status }) => status === "open");
  if (open.length > 0 && open.every(isForNextText))
    return [
      {
        what: "It waits for the next message: talk with it, or send one that a worker answers",
        acts: open.slice(0, 1).flatMap(waitActs),
      },
    ];
  const questions = [...openQuestions(runId, open), ...doubts(open, calls)];
  const sleep = open.find(({ kind }) => kind === "time");
  const until = sleep === undefined ? null : awaitedText(sleep, now);
  if (sleep !== undefined && until !== null && questions.length === 0)
    return [
      {
        what: `It waits ${until}: resume it then, unless a worker does`,
        acts: [{ act: "resume", runId, notBefore: isoTime(sleep.dueAt) }],
      },
    ];
  const what = questions.length === 0 ? "Resume it" : "Then resume it";
  return [...questions, { what, acts: [{ act: "resume", runId, notBefore: null }] }];
}

function openQuestions(runId: string, open: readonly WaitRecord[]): readonly NextStep[] {
  const asked = open.filter(({ kind }) => kind !== "time");
  const steps = asked.slice(0, MOST_ASKED).map((wait) => ({
    what:
      wait.kind === "message"
        ? `Send ${wait.matches ?? "the message"}, which it waits for`
        : `Answer ${wait.waitId} (${wait.kind}), with one of these`,
    acts: waitActs(wait),
  }));
  const more = asked.length - steps.length;
  if (more === 0) return steps;
  return [...steps, { what: `And ${counted(more, "question")} more`, acts: [{ act: "list_waits", runId }] }];
}

/** Calls in doubt that no open wait asks about yet. */
function doubts(open: readonly WaitRecord[], calls: readonly ToolCallRecord[]): readonly NextStep[] {
  const asked = new Set(open.map(({ toolCallId }) => toolCallId));
  return calls
    .filter(({ status, toolCallId }) => status === "in_doubt" && !asked.has(toolCallId))
    .map(({ toolCallId }) => doubtStep(toolCallId));
}

export function doubtStep(toolCallId: string): NextStep {
  return {
    what: `Find out whether ${toolCallId} happened, and settle it`,
    acts: settleActs(toolCallId),
  };
}
