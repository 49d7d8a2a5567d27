import type { RunRecord, ToolCallRecord, WaitRecord } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";
import { commandHint, formatHints } from "../context/command-hint.ts";
import { paragraph } from "../context/terminal-text.ts";
import { counted } from "./format.ts";
import { isInterrupted } from "./run-status.ts";
import { settleHints, waitHints } from "./wait-hints.ts";
import { awaitedText, isForNextText } from "./wait-time.ts";

/** A possible next step and its commands, any one of which will do. */
export type NextStep = { readonly what: string; readonly commands: readonly string[] };

/** More open waits than this are only referred to `pawl waits`. */
const MOST_ASKED = 3;

/** The next steps of a run, in the order in which to take them. */
export function nextSteps(
  input: CommandInput,
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
        commands: [commandHint(input, "export", runId, "--bundle", "FILE", "--to", moved.to)],
      },
    ];
  if (run.status === "running" && !isInterrupted(run, now))
    return [
      {
        what: "A worker is running it: follow it",
        commands: [commandHint(input, "tail", runId, "--follow")],
      },
      { what: "Cancel it", commands: [commandHint(input, "cancel", runId)] },
    ];
  const open = waits.filter(({ status }) => status === "open");
  if (open.length > 0 && open.every(isForNextText))
    return [
      {
        what: "It waits for the next message: talk with it, or send one that a worker answers",
        commands: open.slice(0, 1).flatMap((wait) => waitHints(input, wait)),
      },
    ];
  const questions = [...openQuestions(input, runId, waits), ...doubts(input, waits, calls)];
  const resume = commandHint(input, "resume", runId);
  const sleep = waits.find(({ status, kind }) => status === "open" && kind === "time");
  const until = sleep === undefined ? null : awaitedText(sleep, now);
  if (until !== null && questions.length === 0)
    return [{ what: `It waits ${until}: resume it then, unless a worker does`, commands: [resume] }];
  return [
    ...questions,
    { what: questions.length === 0 ? "Resume it" : "Then resume it", commands: [resume] },
  ];
}

function openQuestions(
  input: CommandInput,
  runId: string,
  waits: readonly WaitRecord[],
): readonly NextStep[] {
  const open = waits.filter(({ status, kind }) => status === "open" && kind !== "time");
  const steps = open.slice(0, MOST_ASKED).map((wait) => ({
    what:
      wait.kind === "message"
        ? `Send ${wait.matches ?? "the message"}, which it waits for`
        : `Answer ${wait.waitId} (${wait.kind}), with one of these`,
    commands: waitHints(input, wait),
  }));
  const more = open.length - steps.length;
  if (more === 0) return steps;
  return [
    ...steps,
    { what: `And ${counted(more, "question")} more`, commands: [commandHint(input, "waits", runId)] },
  ];
}

/** Calls in doubt that no open wait asks about yet. */
function doubts(
  input: CommandInput,
  waits: readonly WaitRecord[],
  calls: readonly ToolCallRecord[],
): readonly NextStep[] {
  const asked = new Set(waits.filter(({ status }) => status === "open").map(({ toolCallId }) => toolCallId));
  return calls
    .filter(({ status, toolCallId }) => status === "in_doubt" && !asked.has(toolCallId))
    .map(({ toolCallId }) => doubtStep(input, toolCallId));
}

export function doubtStep(input: CommandInput, toolCallId: string): NextStep {
  return {
    what: `Find out whether ${toolCallId} happened, and settle it`,
    commands: settleHints(input, toolCallId),
  };
}

export function formatNextSteps(context: Pick<CliContext, "stdout">, steps: readonly NextStep[]): string {
  return steps
    .map(
      ({ what, commands }) =>
        `${paragraph(`${what}:`, context.stdout.columns)}${formatHints(context, commands)}`,
    )
    .join("");
}
