import { callDocument } from "../../account/documents/call-documents.ts";
import { runDocument } from "../../account/documents/run-documents.ts";
import { inDoubtIfRunning } from "../../engine/runner/forecast/forecast-store.ts";
import type { Fork } from "../../engine/runner/fork-run.ts";
import { Runner } from "../../engine/runner/runner.ts";
import type { Store, ToolCallRecord } from "../../store/store.ts";
import { loadConfig } from "../config/config-file.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput, CommandResult } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { paragraph } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { pipelineOfRun } from "../job/run-target.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { isJobRun, runnerOptions } from "../run/run-work.ts";
import { counted } from "../screen/format.ts";
import { formatNextSteps } from "../screen/next-steps.ts";
import { callColumns } from "../screen/run-report-text.ts";
import { formatTable } from "../screen/table.ts";

export const fork: Command = {
  name: "fork",
  summary: "Create a run that continues from a turn of another run, with its receipts up to there",
  arguments: [{ name: "run", summary: "the run's id, or a prefix of it" }],
  options: [
    { flags: "--at-turn <n>", summary: "the last turn to take over; required" },
    {
      flags: "--step <path>",
      summary: "the step that the turn is in (default: the last step with that many turns)",
    },
    { flags: "--run-id <id>", summary: "the id of the new run" },
  ],
  example: "pawl fork q-1 --at-turn 3",
  execute: async (context, input) => {
    const atTurn = input.wholeNumber("atTurn", 1);
    if (atTurn === null) throw new WrongUseError("The turn to fork at is missing: add --at-turn <n>.");
    const [step, runId] = [input.text("step"), input.text("runId")];
    const loaded = await loadConfig(context, input.text("config") ?? undefined);
    const work = async (store: Store) => {
      const parent = await findRun(store, input.argument("run"));
      const isJob = await isJobRun(store, parent);
      const pipeline = await pipelineOfRun(context, loaded, parent, { isJob });
      const runner = new Runner(pipeline, runnerOptions({ context, input, store, loaded, pipeline, isJob }));
      const made = await runner.fork(parent.runId, {
        atTurn,
        ...(step === null ? {} : { step }),
        ...(runId === null ? {} : { runId }),
      });
      return forkResult(context, input, parent.runId, atTurn, made);
    };
    return withExistingStore(context, input, work, { loaded });
  },
};

function forkResult(
  context: CliContext,
  input: CommandInput,
  parent: string,
  atTurn: number,
  { run, ...fork }: Fork,
): CommandResult {
  const { runId } = run;
  // No worker holds the parent run: otherwise it could not have been forked.
  const laterEffects = fork.laterEffects.map(inDoubtIfRunning);
  const next = [{ what: "Start it", commands: [commandHint(input, "resume", runId)] }];
  const { columns } = context.stdout;
  const made = paragraph(
    `Run ${runId} is a fork of ${parent} at turn ${atTurn}: it has the receipts up to there, and has not started.`,
    columns,
  );
  const warning =
    laterEffects.length === 0
      ? paragraph(`After that turn ${parent} had no external effects.`, columns)
      : `${paragraph(
          `After that turn ${parent} ${laterEffects.every(isKnown) ? "had" : "had, or may have had,"} ${counted(laterEffects.length, "external effect")}, which the fork may repeat:`,
          columns,
        )}${formatTable(context, callColumns(), laterEffects)}`;
  return {
    exitCode: 0,
    document: {
      run: runDocument(run, context.clock.now()),
      parent,
      atTurn,
      laterEffects: laterEffects.map(callDocument),
      next,
    },
    text: `${made}${warning}${formatNextSteps(context, next)}`,
  };
}

function isKnown({ status }: ToolCallRecord): boolean {
  return status === "succeeded";
}
