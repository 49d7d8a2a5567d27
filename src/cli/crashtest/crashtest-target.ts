import { existsSync } from "node:fs";
import { canonicalHash } from "../../core/canonical-json.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { contractOf } from "../../core/job/default-budgets.ts";
import type { RunSpec } from "../../core/job/run-spec.ts";
import type { RunSpecInput } from "../../core/job/run-spec-input.ts";
import type { Json } from "../../core/json.ts";
import type { ConfiguredCrashtest } from "../../engine/definition/config.ts";
import { openStore } from "../../store/open-store.ts";
import type { RunRecord, StoreReader } from "../../store/store.ts";
import { type LoadedConfig, resolveStore } from "../config/config-file.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { readInput } from "../job/run-input.ts";
import { needsInput, type RunTarget } from "../job/run-target.ts";
import { fileOfStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { type RecordedRun, readRecordedRun, recordedSetup } from "./crashtest-recording.ts";
import { type CrashtestSetup, configuredSetup } from "./crashtest-setup.ts";

/** What a test is based on: the configured stand-ins, or a recorded run. */
export type CrashtestTarget = {
  readonly setup: CrashtestSetup;
  readonly input: Json;
  readonly spec: RunSpecInput | null;
  /** The run that is replayed; null with configured stand-ins. */
  readonly recorded: RecordedRun | null;
};

export type CrashtestRequest = {
  readonly context: CliContext;
  readonly input: CommandInput;
  readonly loaded: LoadedConfig;
  readonly target: RunTarget;
  /** Called with the reason if the test turns out to be impossible while it runs. */
  readonly refuse: (why: string) => void;
};

export async function findCrashtestTarget(work: CrashtestRequest): Promise<CrashtestTarget> {
  const configured = work.input.text("run") === null ? configuredFor(work) : null;
  return configured === null ? recordedTarget(work) : configuredTarget(work, ...configured);
}

/** Looks up the crashtest by the pipeline's key in the configuration, or by its own name. */
function configuredFor({ input, loaded, target }: CrashtestRequest): [string, ConfiguredCrashtest] | null {
  const { crashtests = {}, pipelines = {} } = loaded.config;
  const keys = Object.keys(pipelines).filter((key) => pipelines[key] === target.pipeline);
  for (const name of [input.argument("pipeline"), target.pipeline.name, ...keys]) {
    const found = Object.hasOwn(crashtests, name) ? crashtests[name] : undefined;
    if (found !== undefined) return [name, found];
  }
  return null;
}

async function configuredTarget(
  { context, input, loaded, target, refuse }: CrashtestRequest,
  name: string,
  given: ConfiguredCrashtest,
): Promise<CrashtestTarget> {
  const { pipeline, spec } = target;
  const setup = configuredSetup(name, given, pipeline, loaded.config.policy ?? {}, refuse);
  const text = input.text("input");
  const wanted =
    text === null ? (given.input ?? spec?.input ?? spec?.objective) : await readInput(context.cwd, text);
  if (wanted === undefined && needsInput(pipeline))
    throw new ConfigurationError(
      `${pipeline.name} begins with an agent, which needs an input: set crashtests.${name}.input, or add --input TEXT.`,
    );
  const runInput = wanted ?? null;
  const contract =
    spec === null
      ? contractOf(null, loaded.config.budgets ?? null, { pipeline: pipeline.name, input: runInput })
      : withoutWorkspace(spec);
  return { setup, input: runInput, spec: contract, recorded: null };
}

async function recordedTarget(work: CrashtestRequest): Promise<CrashtestTarget> {
  const { context, input, loaded, target } = work;
  const url = resolveStore(context, loaded, input.text("store") ?? undefined);
  const file = fileOfStore(url);
  // A missing database is not created: it would be empty.
  if (file !== null && !existsSync(file)) throw noDatabase(work, file);
  const store = await openStore(url, { readOnly: true });
  try {
    const run = await runToReplay(work, store);
    const recorded = await readRecordedRun(store, run);
    // Budgets that people raised during the run are raised from the start, so that no question is asked.
    const spec = run.spec === null ? null : { ...run.spec, budgets: run.budgets ?? run.spec.budgets };
    return {
      setup: recordedSetup(recorded, target.pipeline),
      input: recorded.input,
      spec: spec === null ? null : withoutWorkspace(spec),
      recorded,
    };
  } finally {
    await store.close();
  }
}

/** Without the workspace of the job, which may be a folder of the project. */
function withoutWorkspace(spec: RunSpec): RunSpec {
  return { ...spec, artifacts: { ...spec.artifacts, workspaceDir: null } };
}

async function runToReplay(work: CrashtestRequest, store: StoreReader): Promise<RunRecord> {
  const { context, input, target } = work;
  const named = input.text("run");
  const text = input.text("input");
  if (named === null) {
    const hash = text === null ? null : canonicalHash(await readInput(context.cwd, text));
    return (await newestRun(store, target, hash)) ?? fail(noCrashtestTarget(work));
  }
  if (text !== null) throw new WrongUseError(`Run ${named} has its own input: leave out --input, or --run.`);
  const run = await findRun(store, named);
  const problem =
    run.pipeline === target.pipeline.name ? await problemOf(store, run) : `is of ${run.pipeline}`;
  if (problem === null) return run;
  throw new WrongUseError(
    `Run ${run.runId} ${problem}: a test replays a run of ${target.pipeline.name} that succeeded, from its beginning to its end.`,
  );
}

function fail(error: Error): never {
  throw error;
}

/** The newest run that can be replayed, of this job and input if given. */
async function newestRun(
  store: StoreReader,
  { pipeline, spec }: RunTarget,
  inputHash: Buffer | null,
): Promise<RunRecord | null> {
  for (const run of await store.listRuns({ pipeline: pipeline.name, status: "succeeded" })) {
    if (spec !== null && run.spec?.objective !== spec.objective) continue;
    if (inputHash !== null && !inputHash.equals(run.inputHash)) continue;
    if ((await problemOf(store, run)) === null) return run;
  }
  return null;
}

/** Why a run cannot be replayed; null if it can. */
async function problemOf(
  store: StoreReader,
  { runId, status, forkedFrom }: RunRecord,
): Promise<string | null> {
  if (status !== "succeeded") return `is ${status}`;
  if (forkedFrom !== null) return "is a fork";
  const [lineage] = await store.listLineages(runId);
  if (lineage === undefined) return null;
  return lineage.summary === null ? "was resumed from a milestone" : "has a history that was compacted";
}

function noDatabase(work: CrashtestRequest, file: string): Error {
  const named = work.input.text("run");
  if (named === null) return noCrashtestTarget(work);
  return new WrongUseError(
    `There is no run ${named}: there is no database at ${file} yet. Name another store with --store, or leave out --run.`,
  );
}

function noCrashtestTarget({ input, target }: CrashtestRequest): ConfigurationError {
  const { name } = target.pipeline;
  const run = commandHint(input, "run", input.argument("pipeline"));
  return new ConfigurationError(
    `There is nothing to test ${name} with: no run of it has succeeded in this store, and pawl.config.ts has no crashtests.${name}. Run it once (\`${run}\`), or configure stand-ins for its model and tools, \`crashtests: { ${name}: { input, model, tools } }\`.`,
  );
}
