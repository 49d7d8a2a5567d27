import { existsSync } from "node:fs";
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
import { UNDISTURBED } from "../../testing/crash/schedule.ts";
import { type LoadedConfig, loadConfig } from "../config/config-file.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandEnd, CommandInput } from "../context/command.ts";
import { Interruption } from "../context/interruption.ts";
import { paragraph } from "../context/terminal-text.ts";
import { findTarget, type RunTarget } from "../job/run-target.ts";
import { constraintsFor } from "../run/run-work.ts";
import { counted } from "../screen/format.ts";
import { readTrials, type Trials } from "./crashtest-options.ts";
import { CrashtestProgress } from "./crashtest-progress.ts";
import type { RecordedRun } from "./crashtest-recording.ts";
import { type Ground, groundOf } from "./crashtest-target.ts";
import { crashtestText } from "./crashtest-text.ts";

/** Kills a pipeline at every point where its process could die, and tells what became of what is promised. */
export async function crashtestPipeline(context: CliContext, input: CommandInput): Promise<CommandEnd> {
  const trials = readTrials(input);
  const loaded = await loadConfig(context, input.text("config") ?? undefined);
  const target = await findTarget(context, input, loaded);
  assertNoSources(target);
  const refusals: string[] = [];
  const ground = await groundOf({ context, input, loaded, target, refuse: (why) => refusals.push(why) });
  const scenario = scenarioOf(loaded, target, ground);
  const tryOut = (what: Trials, onProgress: (progress: ExplorerProgress) => void) =>
    crashExplorer({ ...scenario, ...what, onProgress });
  const code = codeOf(target);
  if (code.length > 0)
    context.stderr.write(
      paragraph(
        `The code of steps runs for real, in every schedule: ${code.join(", ")}.`,
        context.stderr.columns,
      ),
    );
  const notes = notesOf(target, ground.recorded);
  return watched(context, input, async (onProgress) => {
    // Once by itself: whatever is wrong with the stand-ins shows at once.
    const { undisturbed } = await tryOut({ schedule: UNDISTURBED }, onProgress).finally(() => {
      // Whatever else went wrong came of it.
      if (refusals[0] !== undefined) throw new ConfigurationError(refusals[0]);
    });
    if (ground.recorded !== null) assertAsRecorded(ground.recorded, undisturbed);
    const report = await tryOut(trials, onProgress);
    const { unproven } = report;
    const kept = report.violations.length === 0 && unproven === null;
    return {
      exitCode: kept ? 0 : 1,
      document: { ...report.toJSON(), run: ground.recorded?.run.runId ?? null, notes },
      text: crashtestText(context, input, report, notes),
    };
  });
}

/** With a line that counts, and until somebody has had enough. */
async function watched(
  context: CliContext,
  input: CommandInput,
  work: (onProgress: (progress: ExplorerProgress) => void) => Promise<CommandEnd>,
): Promise<CommandEnd> {
  const progress = new CrashtestProgress(context, input.json);
  const clear = () => progress.clear();
  const interruption = new Interruption(context, { onFirst: clear, onSecond: clear });
  let last: ExplorerProgress | null = null;
  try {
    return await work((told) => {
      last = told;
      // Nobody is left in the middle of a schedule: its database is removed first.
      interruption.release.throwIfAborted();
      progress.tell(told);
    });
  } catch (error) {
    if (!interruption.happened || error !== interruption.release.reason) throw error;
    return stopped(context, last);
  } finally {
    progress.clear();
    interruption.stop();
  }
}

function stopped({ stdout }: CliContext, last: ExplorerProgress | null): CommandEnd {
  const { schedules = 0, violations = 0 } = last ?? {};
  const found = violations === 0 ? "no promise was broken" : `${counted(violations, "promise")} broken`;
  return {
    exitCode: 130,
    document: { status: "interrupted", schedules, violations },
    text: paragraph(`Stopped after ${counted(schedules, "schedule")}: ${found} so far.`, stdout.columns),
  };
}

/** Nothing starts a server in every schedule, and without it nobody knows which tools there are. */
function assertNoSources({ pipeline }: RunTarget): void {
  const [source] = sourceNamesOf(pipeline);
  if (source === undefined) return;
  throw new ConfigurationError(
    `${pipeline.name} has tools from a server (${source}), which would have to be started in every schedule: test it with crashExplorer of "pawl/testing", and a pipeline that has tools of the same names in its place.`,
  );
}

function scenarioOf(loaded: LoadedConfig, target: RunTarget, ground: Ground): CrashExplorerOptions {
  const { config } = loaded;
  const { pipeline } = target;
  const { policy, stopConditions } = config;
  const constraints = constraintsFor(loaded, target.spec !== null);
  const { pricing = pricesFor(modelsOf(rootOf(pipeline))).pricing } = config;
  const { setup, input, spec } = ground;
  return {
    ...setup,
    pipeline,
    input,
    // No telemetry, and no folder of the project: these runs are nobody's.
    runner: {
      pricing,
      ...(policy === undefined ? {} : { policy }),
      ...(constraints === undefined ? {} : { constraints }),
      ...(stopConditions === undefined ? {} : { stopConditions }),
    },
    ...(spec === null ? {} : { run: { spec } }),
    ...(existsSync(MEMORY) ? { folder: MEMORY } : {}),
  };
}

/** Files in memory, where the system has them: thousands of commits wait for no disk. */
const MEMORY = "/dev/shm";

/** What is tested has to be what was recorded. */
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
      ? `it came to ${account?.run.status ?? "nothing"}`
      : `${other.call.tool} (${other.call.toolCallId}) came to something else`);
  throw new ConfigurationError(
    `Run ${run.runId} does not go again as it went: ${what.replace(/\.$/, "")}. Run the pipeline anew, name another run with --run, or say in crashtests.${run.pipeline} of pawl.config.ts what stands in for its model and tools.`,
  );
}

/** The steps that are code. Nobody stands in for it, and what it does is done. */
function codeOf({ pipeline }: RunTarget): readonly string[] {
  return stepsOf(pipeline).flatMap(({ kind, name }) => (kind === "run" ? [name] : []));
}

function notesOf(target: RunTarget, recorded: RecordedRun | null): readonly string[] {
  const code = codeOf(target);
  return [
    ...(recorded === null
      ? []
      : [
          `Went by run ${recorded.run.runId}: the model and the tools answered what they answered then. No tool was run, so what each says of itself was believed: one that calls itself keyed and forgets its key is found only with crashtests.${target.pipeline.name} in pawl.config.ts.`,
        ]),
    ...(code.length === 0
      ? []
      : [`The code of steps was run for real, in every schedule: ${code.join(", ")}.`]),
  ];
}
