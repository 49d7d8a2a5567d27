import { asFound } from "../../engine/runner/forecast/forecast-store.ts";
import type { Fork } from "../../engine/runner/fork-run.ts";
import { Runner } from "../../engine/runner/runner.ts";
import type { Store, ToolCallRecord } from "../../store/store.ts";
import { loadConfig } from "../config/config-file.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandEnd, CommandInput } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { paragraph } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { pipelineOfRun } from "../job/run-target.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { isJobRun, runnerOptions } from "../run/run-work.ts";
import { callDocument, runDocument } from "../screen/documents.ts";
import { counted } from "../screen/format.ts";
import { formatNextSteps } from "../screen/next-steps.ts";
import { callColumns } from "../screen/run-report-text.ts";
import { formatTable } from "../screen/table.ts";

export const fork: Command = {
  name: "fork",
  summary: "Make a new run that goes on from a turn of another, with its receipts up to there",
  arguments: [{ name: "run", summary: "its id, or the beginning of it" }],
  options: [
    { flags: "--at-turn <n>", summary: "the last turn that it takes over; needed" },
    {
      flags: "--step <path>",
      summary: "the step whose turns are meant; the last one that has so many, unless said",
    },
    { flags: "--run-id <id>", summary: "names the new run" },
  ],
  example: "pawl fork q-1 --at-turn 3",
  execute: async (context, input) => {
    const atTurn = input.wholeNumber("atTurn", 1);
    if (atTurn === null) throw new WrongUseError("Say where to fork it: add --at-turn <n>.");
    const [step, runId] = [input.text("step"), input.text("runId")];
    const loaded = await loadConfig(context, input.text("config") ?? undefined);
    const work = async (store: Store) => {
      const parent = await findRun(store, input.argument("run"));
      const isJob = await isJobRun(store, parent);
      const pipeline = await pipelineOfRun(context, loaded, parent, isJob);
      const runner = new Runner(pipeline, runnerOptions({ context, input, store, loaded, pipeline, isJob }));
      const made = await runner.fork(parent.runId, {
        atTurn,
        ...(step === null ? {} : { step }),
        ...(runId === null ? {} : { runId }),
      });
      return forkEnd(context, input, parent.runId, atTurn, made);
    };
    return withExistingStore(context, input, work, { loaded });
  },
};

function forkEnd(
  context: CliContext,
  input: CommandInput,
  parent: string,
  atTurn: number,
  { run, ...fork }: Fork,
): CommandEnd {
  const { runId } = run;
  // Nobody works on the first run: it would not have been forked.
  const laterEffects = fork.laterEffects.map(asFound);
  const next = [{ what: "Start it", commands: [commandHint(input, "resume", runId)] }];
  const { columns } = context.stdout;
  const made = paragraph(
    `Run ${runId} is a fork of ${parent} at turn ${atTurn}: it has the receipts up to there, and is not started.`,
    columns,
  );
  const warning =
    laterEffects.length === 0
      ? paragraph(`After that turn ${parent} has changed nothing outside.`, columns)
      : `${paragraph(
          `After that turn ${parent} ${laterEffects.every(isKnown) ? "has had" : "has had, or may have had,"} ${counted(laterEffects.length, "effect")} outside, which the fork may have again:`,
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
