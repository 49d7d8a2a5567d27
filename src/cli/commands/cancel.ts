import { runDocument } from "../../account/documents/run-documents.ts";
import { doubtStep } from "../../account/next-steps.ts";
import type { CancelOutcome } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput, CommandResult, ExitCode } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { paragraph } from "../context/terminal-text.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { BY_OPTION, personOf } from "../screen/acting-person.ts";
import { counted } from "../screen/format.ts";
import { type CommandStep, commandSteps, formatNextSteps } from "../screen/next-steps.ts";

export const cancel: Command = {
  name: "cancel",
  summary: "Cancel a run; its history is kept, and it can be resumed",
  arguments: [{ name: "run", summary: "the run's id, or a prefix of it" }],
  options: [BY_OPTION],
  example: "pawl cancel q-1",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const { runId } = await findRun(store, input.argument("run"));
      return cancelResult(context, input, runId, await store.requestCancel(runId, personOf(context, input)));
    }),
};

function cancelResult(
  context: CliContext,
  input: CommandInput,
  runId: string,
  outcome: CancelOutcome,
): CommandResult {
  const end = (exitCode: ExitCode, text: string, document: object, next: readonly CommandStep[]) => ({
    exitCode,
    document: { kind: outcome.kind, runId, ...document, next },
    text: `${paragraph(text, context.stdout.columns)}${formatNextSteps(context, next)}`,
  });
  const now = context.clock.now();
  switch (outcome.kind) {
    case "ended": {
      const { inDoubt, run } = outcome;
      const resume = { what: "It can be resumed", commands: [commandHint(input, "resume", runId)] };
      const next = [...commandSteps(input, inDoubt.map(doubtStep)), resume];
      const text = `Run ${runId} is cancelled. ${doubtText(inDoubt.length)}`;
      return end(0, text, { run: runDocument(run, now), inDoubt }, next);
    }
    case "requested": {
      const { owner, underWay } = outcome;
      const awaited = underWay.length === 0 ? "" : ` Calls in progress finish first: ${underWay.join(", ")}.`;
      const watch = { what: "Follow it", commands: [commandHint(input, "tail", runId, "--follow")] };
      const text = `Run ${runId} is held by ${owner}, which was asked to cancel it.${awaited}`;
      return end(0, text, { owner, underWay }, [watch]);
    }
    case "over": {
      const { run } = outcome;
      // Cancelling twice is fine; a run that succeeded cannot be cancelled.
      const isCancelled = run.status === "cancelled";
      const text = `Run ${runId} ${isCancelled ? "was already cancelled" : `has already ${run.status}, and cannot be cancelled`}.`;
      const look = { what: "Show it", commands: [commandHint(input, "show", runId)] };
      return end(isCancelled ? 0 : 1, text, { run: runDocument(run, now) }, [look]);
    }
  }
}

function doubtText(inDoubt: number): string {
  return inDoubt === 0
    ? "No tool call was in progress."
    : `Its worker died during ${counted(inDoubt, "tool call")}, whose outcome is unknown.`;
}
