import { canonicalHash } from "../../core/canonical-json.ts";
import { RunNotBegunError, RunNotFoundError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { assertSameSpec } from "../../engine/definition/run-spec-checks.ts";
import { resultOf } from "../../engine/runner/leased-run.ts";
import { openStore } from "../../store/open-store.ts";
import type { RunRecord, Store } from "../../store/store.ts";
import { loadConfig, resolveStore } from "../config/config-file.ts";
import type { Command, CommandInput, CommandResult } from "../context/command.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { assertWithinCeiling } from "../job/job-limits.ts";
import { TRUST_OPTION } from "../job/job-trust.ts";
import { readInput } from "../job/run-input.ts";
import { findTarget, needsInput, type RunTarget } from "../job/run-target.ts";
import { redactionKeyIn } from "../run/command-store.ts";
import { missing } from "../run/find-run.ts";
import { driveRun } from "../run/run-driver.ts";
import { isJobRun, type RunWork } from "../run/run-work.ts";
import { formatAgo } from "../screen/format.ts";
import { LOG_OPTIONS } from "../screen/log-options.ts";

export const run: Command = {
  name: "run",
  summary: "Start a run, or resume one",
  arguments: [{ name: "pipeline", summary: "a pipeline of pawl.config.ts, or a job file" }],
  options: [
    {
      flags: "--input <text>",
      summary: "the input; @file reads a file, parsed as JSON if it ends in .json",
    },
    { flags: "--run-id <id>", summary: "the id of the run; an existing run is resumed" },
    { flags: "--key <key>", summary: "your own key for the run, instead of an id" },
    { flags: "--resume", summary: "resume the newest run that was interrupted, failed or is waiting" },
    { flags: "--fresh", summary: "start a new run, even if one with the same input was interrupted" },
    { flags: "--wait", summary: "wait while another process holds the run" },
    TRUST_OPTION,
    ...LOG_OPTIONS,
  ],
  example: "pawl run report --input 'Quantum computing'",
  execute: async (context, input) => {
    assertTogether(input);
    const loaded = await loadConfig(context, input.text("config") ?? undefined);
    const target = await findTarget(context, input, loaded);
    const url = resolveStore(context, loaded, input.text("store") ?? undefined);
    const store = await openStore(url, redactionKeyIn(context, url));
    try {
      const isJob = target.spec !== null;
      const work = { context, input, store, loaded, pipeline: target.pipeline, isJob };
      return await (input.flag("resume") ? resumeExisting(work, target) : start(work, target));
    } finally {
      // Work that is still in progress after the end of the run was abandoned.
      await store.close({ graceMs: 0 });
    }
  },
};

function assertTogether(input: CommandInput): void {
  const named = [
    ...(input.flag("resume") ? ["--resume"] : []),
    ...(input.text("runId") === null ? [] : ["--run-id"]),
    ...(input.text("key") === null ? [] : ["--key"]),
  ];
  const [first, second] = named;
  if (input.text("key") !== null && second !== undefined)
    throw new WrongUseError(`${first} and ${second} both name the run: leave one of them out.`);
  if (!input.flag("fresh") || first === undefined) return;
  throw new WrongUseError(`--fresh starts a new run, and ${first} names one: leave one of them out.`);
}

/** Starts a run, or resumes the one with that id; without an id, an interrupted run of the same pipeline and input. */
async function start(asked: RunWork, target: RunTarget): Promise<CommandResult> {
  const { input, store } = asked;
  const runId = input.text("runId");
  const existing = runId === null ? null : await store.getRun(runId);
  const work = existing === null ? asked : await withJobOf(asked, existing);
  const given = await givenInput(work, target, existing);
  const key = input.text("key");
  return driveRun(work, async (runner, options) => {
    try {
      return await runner.run(given, {
        ...options,
        wait: input.flag("wait"),
        fresh: input.flag("fresh"),
        ...(runId === null ? {} : { runId }),
        ...(key === null ? {} : { key }),
        ...(target.spec === null ? {} : { spec: target.spec }),
      });
    } catch (error) {
      // A user at the terminal can answer its questions.
      const waiting = await waitingRun(store, error);
      if (waiting === null) throw error;
      return resultOf(store, waiting, { resumed: true });
    }
  });
}

/** A run that was started by a job file keeps the limits of job files, even if its pipeline is named now instead of the file. */
async function withJobOf(work: RunWork, run: RunRecord): Promise<RunWork> {
  if (work.isJob || run.spec === null || !(await isJobRun(work.store, run))) return work;
  await assertWithinCeiling(work.context, work.loaded, run.spec, run.runId);
  return { ...work, isJob: true };
}

/** The run that was found without an id, if it is waiting for a person. */
async function waitingRun(store: Store, error: unknown): Promise<RunRecord | null> {
  if (!RunNotBegunError.isInstance(error) || error.details.why !== "waiting") return null;
  return store.getRun(error.details.runIds[0] ?? "");
}

/** An existing run keeps its input; a new one gets it from the command line, or else from the job. */
async function givenInput(
  { context, input, store }: RunWork,
  { spec, pipeline }: RunTarget,
  existing: RunRecord | null,
): Promise<Json> {
  const text = input.text("input");
  if (text !== null) return readInput(context.cwd, text);
  if (existing !== null) return (await store.readRunInput(existing.runId)).input;
  if (spec !== null) return spec.input ?? spec.objective;
  if (!needsInput(pipeline)) return null;
  throw new WrongUseError(
    `${pipeline.name} begins with an agent, which needs an input: add --input TEXT or --input @file.`,
  );
}

async function resumeExisting(asked: RunWork, target: RunTarget): Promise<CommandResult> {
  const { context, input, store } = asked;
  const named = input.text("runId");
  const found = named === null ? await newestUnfinished(asked, target) : await store.getRun(named);
  if (found === null) throw named === null ? nothingToResume(target) : await missing(store, named);
  const work = await withJobOf(asked, found);
  if (target.spec !== null) assertSameSpec(found, target.spec);
  if (!input.json)
    context.stderr.write(
      `resuming run ${found.runId}, which ${REASONS[found.status]} ${formatAgo(found.updatedAt, context.clock.now())}\n`,
    );
  return driveRun(work, (runner, options) =>
    runner.resume(found.runId, { ...options, wait: input.flag("wait") }),
  );
}

const REASONS: { readonly [S in RunRecord["status"]]: string } = {
  queued: "was released",
  running: "was interrupted",
  waiting: "started waiting",
  failed: "failed",
  succeeded: "succeeded",
  cancelled: "was cancelled",
  moved: "was moved to another store",
};

/** The newest unfinished run of this pipeline, job and (if given) input that no living process holds. */
async function newestUnfinished(
  { context, input, store }: RunWork,
  target: RunTarget,
): Promise<RunRecord | null> {
  const text = input.text("input");
  const hash = text === null ? null : canonicalHash(await readInput(context.cwd, text));
  for (const each of await store.listRuns({ pipeline: target.pipeline.name })) {
    if (target.spec !== null && each.spec?.objective !== target.spec.objective) continue;
    if (hash !== null && !Buffer.from(each.inputHash).equals(hash)) continue;
    if (each.status === "failed" || each.status === "waiting") return each;
    if (each.status !== "running" && each.status !== "queued") continue;
    if (!(await store.isHeld(each.runId))) return each;
  }
  return null;
}

function nothingToResume({ pipeline, spec }: RunTarget): RunNotFoundError {
  const what = spec !== null ? "this job" : `pipeline ${pipeline.name}`;
  return new RunNotFoundError(
    `No run of ${what} was interrupted, failed or is waiting: leave out --resume to start one; \`pawl ls\` lists the runs.`,
    { runId: "" },
  );
}
