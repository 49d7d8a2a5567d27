import { pricesFor } from "../../adapters/genai-prices.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { sourceNamesOf, stepsOf } from "../../engine/definition/known-tools.ts";
import { rootOf } from "../../engine/definition/pipeline-root.ts";
import { modelsOf } from "../../engine/definition/step.ts";
import {
  type CrashExplorerOptions,
  crashExplorer,
  type ExplorerProgress,
} from "../../testing/crash/crash-explorer.ts";
import type { Evidence } from "../../testing/crash/evidence.ts";
import type { CrashReport } from "../../testing/crash/report/crash-report.ts";
import { UNDISTURBED } from "../../testing/crash/schedule.ts";
import { type LoadedConfig, loadConfig } from "../config/config-file.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput, CommandResult } from "../context/command.ts";
import { Interruption } from "../context/interruption.ts";
import { paragraph } from "../context/terminal-text.ts";
import { findTarget, type RunTarget } from "../job/run-target.ts";
import { shownAddress } from "../run/command-store.ts";
import { constraintsFor } from "../run/run-work.ts";
import { counted } from "../screen/format.ts";
import { type CrashtestOptions, readCrashtestOptions, readDatabase } from "./crashtest-options.ts";
import { CrashtestProgress } from "./crashtest-progress.ts";
import type { RecordedRun } from "./crashtest-recording.ts";
import { type CrashtestTarget, findCrashtestTarget } from "./crashtest-target.ts";
import { crashtestText } from "./crashtest-text.ts";

/** Kills a pipeline at every point where its process could die, and reports which invariants were violated. */
export async function crashtestPipeline(context: CliContext, input: CommandInput): Promise<CommandResult> {
  const options = readCrashtestOptions(input);
  const loaded = await loadConfig(context, input.text("config") ?? undefined);
  const target = await findTarget(context, input, loaded);
  assertNoSources(target);
  const refusals: string[] = [];
  const crashtest = await findCrashtestTarget({
    context,
    input,
    loaded,
    target,
    refuse: (why) => refusals.push(why),
  });
  const scenario = scenarioOf(loaded, target, crashtest);
  const explore = (what: CrashtestOptions, onProgress: (progress: ExplorerProgress) => void) =>
    crashExplorer({ ...scenario, ...what, onProgress });
  const code = codeOf(target);
  if (code.length > 0)
    context.stderr.write(
      paragraph(`Step code really runs, in every schedule: ${code.join(", ")}.`, context.stderr.columns),
    );
  if (options.database !== undefined)
    context.stderr.write(
      paragraph(
        `On ${shownAddress(options.database)}: schemas named pawl_explorer_… are made there, and dropped at the end.`,
        context.stderr.columns,
      ),
    );
  return watched(context, input, async (onProgress) => {
    // Once undisturbed: errors in the stand-ins show immediately.
    const { undisturbed } = await explore(
      { ...readDatabase(input), schedule: UNDISTURBED },
      onProgress,
    ).finally(() => {
      // Any other error is a consequence of the refusal.
      if (refusals[0] !== undefined) throw new ConfigurationError(refusals[0]);
    });
    if (crashtest.recorded !== null) assertAsRecorded(crashtest.recorded, undisturbed);
    const report = await explore(options, onProgress);
    const { unproven } = report;
    const notes = notesOf(target, crashtest.recorded, report);
    const kept = report.violations.length === 0 && unproven === null;
    return {
      exitCode: kept ? 0 : 1,
      document: { ...report.toJSON(), run: crashtest.recorded?.run.runId ?? null, notes },
      text: crashtestText(context, input, report, notes),
    };
  });
}

/** Runs `work` with a progress line, until it ends or the user interrupts it. */
async function watched(
  context: CliContext,
  input: CommandInput,
  work: (onProgress: (progress: ExplorerProgress) => void) => Promise<CommandResult>,
): Promise<CommandResult> {
  const progress = new CrashtestProgress(context, input);
  const clear = () => progress.clear();
  const interruption = new Interruption(context, { onFirst: clear, onSecond: clear });
  let last: ExplorerProgress | null = null;
  try {
    return await work((current) => {
      last = current;
      // Interrupted only between schedules, after the database of the last one was removed.
      interruption.release.throwIfAborted();
      progress.show(current);
    });
  } catch (error) {
    if (!interruption.happened || error !== interruption.release.reason) throw error;
    return stopped(context, last);
  } finally {
    progress.clear();
    interruption.stop();
  }
}

function stopped({ stdout }: CliContext, last: ExplorerProgress | null): CommandResult {
  const { schedules = 0, violations = 0 } = last ?? {};
  const found = violations === 0 ? "no promise was broken" : `${counted(violations, "promise")} broken`;
  return {
    exitCode: 130,
    document: { status: "interrupted", schedules, violations },
    text: paragraph(`Stopped after ${counted(schedules, "schedule")}: ${found} so far.`, stdout.columns),
  };
}

/** Servers are not started in every schedule, and without them their tools are not known. */
function assertNoSources({ pipeline }: RunTarget): void {
  const [source] = sourceNamesOf(pipeline);
  if (source === undefined) return;
  throw new ConfigurationError(
    `${pipeline.name} has tools from a server (${source}), which would have to be started in every schedule: test it with crashExplorer of "pawl/testing/crash", and a pipeline with tools of the same names instead.`,
  );
}

function scenarioOf(
  loaded: LoadedConfig,
  target: RunTarget,
  crashtest: CrashtestTarget,
): CrashExplorerOptions {
  const { config } = loaded;
  const { pipeline } = target;
  const { policy, stopConditions } = config;
  const constraints = constraintsFor(loaded, { isJob: target.spec !== null });
  const { pricing = pricesFor(modelsOf(rootOf(pipeline))).pricing } = config;
  const { setup, input, spec } = crashtest;
  return {
    ...setup,
    pipeline,
    input,
    // No telemetry, and no project folder: these runs belong to no project.
    runner: {
      pricing,
      ...(policy === undefined ? {} : { policy }),
      ...(constraints === undefined ? {} : { constraints }),
      ...(stopConditions === undefined ? {} : { stopConditions }),
    },
    ...(spec === null ? {} : { run: { spec } }),
  };
}

/** The undisturbed replay must match the recording. */
function assertAsRecorded({ run, calls }: RecordedRun, { accounts, lives }: Evidence): void {
  const [account] = accounts;
  const end = lives[0]?.end;
  const why = end?.kind === "threw" ? end.message : (account?.run.error?.message ?? null);
  const other = calls.find(({ call, receipt }) => {
    const same = account?.calls.find(
      ({ stepPath, turnIndex, callIndex }) =>
        stepPath === call.stepPath && turnIndex === call.turnIndex && callIndex === call.callIndex,
    );
    return same?.receipt?.status !== receipt.status;
  });
  if (why === null && account?.run.status === "succeeded" && other === undefined) return;
  const what =
    why ??
    (other === undefined
      ? `it ended as ${account?.run.status ?? "nothing"}`
      : `${other.call.tool} (${other.call.toolCallId}) had another outcome`);
  throw new ConfigurationError(
    `Run ${run.runId} cannot be replayed as recorded: ${what.replace(/\.$/, "")}. Run the pipeline again, name another run with --run, or configure stand-ins for its model and tools in crashtests.${run.pipeline} of pawl.config.ts.`,
  );
}

/** The code steps. They have no stand-in, and their effects are real. */
function codeOf({ pipeline }: RunTarget): readonly string[] {
  return stepsOf(pipeline).flatMap(({ kind, name }) => (kind === "run" ? [name] : []));
}

function notesOf(
  target: RunTarget,
  recorded: RecordedRun | null,
  { neverRan }: CrashReport,
): readonly string[] {
  const code = codeOf(target);
  return [
    ...(recorded === null
      ? []
      : [
          `Replayed run ${recorded.run.runId}: the model and the tools gave their recorded answers. No tool was run, so their declarations were trusted: a tool that is declared keyed but ignores its key is found only with crashtests.${target.pipeline.name} in pawl.config.ts.`,
        ]),
    ...(recorded === null || neverRan.length === 0
      ? []
      : [
          `Run ${recorded.run.runId} never ran ${neverRan.join(", ")}: name a run that did with --run, or configure crashtests.${target.pipeline.name} with a model that calls ${neverRan.length === 1 ? "it" : "them"}.`,
        ]),
    ...(code.length === 0 ? [] : [`Step code really ran, in every schedule: ${code.join(", ")}.`]),
  ];
}
