import type { CancelOutcome } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandEnd, CommandInput, ExitCode } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { paragraph } from "../context/terminal-text.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { BY_OPTION, personOf } from "../screen/acting-person.ts";
import { runDocument } from "../screen/documents.ts";
import { counted } from "../screen/format.ts";
import { doubtStep, formatNextSteps, type NextStep } from "../screen/next-steps.ts";

export const cancel: Command = {
  name: "cancel",
  summary: "End a run; what it did stays, and it can be resumed",
  arguments: [{ name: "run", summary: "its id, or the beginning of it" }],
  options: [BY_OPTION],
  example: "pawl cancel q-1",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const { runId } = await findRun(store, input.argument("run"));
      return cancelEnd(context, input, runId, await store.requestCancel(runId, personOf(context, input)));
    }),
};

function cancelEnd(
  context: CliContext,
  input: CommandInput,
  runId: string,
  outcome: CancelOutcome,
): CommandEnd {
  const end = (exitCode: ExitCode, text: string, document: object, next: readonly NextStep[]) => ({
    exitCode,
    document: { kind: outcome.kind, runId, ...document, next },
    text: `${paragraph(text, context.stdout.columns)}${formatNextSteps(context, next)}`,
  });
  const now = context.clock.now();
  switch (outcome.kind) {
    case "ended": {
      const { inDoubt, run } = outcome;
      const goOn = { what: "It can be taken up again", commands: [commandHint(input, "resume", runId)] };
      const unknown =
        inDoubt.length === 0
          ? "No tool call was under way."
          : `Its worker died in ${counted(inDoubt.length, "tool call")}, and nobody here knows whether it happened.`;
      const doubts = inDoubt.map((id) => doubtStep(input, id));
      return end(0, `Run ${runId} is cancelled. ${unknown}`, { run: runDocument(run, now), inDoubt }, [
        ...doubts,
        goOn,
      ]);
    }
    case "requested": {
      const { owner, underWay } = outcome;
      const awaited =
        underWay.length === 0 ? "" : ` It lets what is under way finish: ${underWay.join(", ")}.`;
      const watch = { what: "See it end", commands: [commandHint(input, "tail", runId, "--follow")] };
      const text = `Run ${runId} is being worked on by ${owner}, which was told to end it.${awaited}`;
      return end(0, text, { owner, underWay }, [watch]);
    }
    case "over": {
      const { run } = outcome;
      // Whoever wanted it cancelled has what they wanted; a run that succeeded cannot be.
      const isCancelled = run.status === "cancelled";
      const text = `Run ${runId} ${isCancelled ? "was cancelled before" : `has ${run.status} already, and stays so`}.`;
      const look = { what: "Look at it", commands: [commandHint(input, "show", runId)] };
      return end(isCancelled ? 0 : 1, text, { run: runDocument(run, now) }, [look]);
    }
  }
}
