import { existsSync } from "node:fs";
import { canonicalHash } from "../../core/canonical-json.ts";
import { ConfigurationError } from "../../core/errors.ts";
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
import { needsInput, type RunTarget, specOf } from "../job/run-target.ts";
import { fileOfStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { type RecordedRun, readRecordedRun, recordedSetup } from "./crashtest-recording.ts";
import { configuredSetup, type Setup } from "./crashtest-setup.ts";

/** What a test goes by: the configuration's stand-ins, or a run as it went. */
export type Ground = {
  readonly setup: Setup;
  readonly input: Json;
  readonly spec: RunSpecInput | null;
  /** The run that is let happen again; null where the configuration says what stands in. */
  readonly recorded: RecordedRun | null;
};

export type GroundWork = {
  readonly context: CliContext;
  readonly input: CommandInput;
  readonly loaded: LoadedConfig;
  readonly target: RunTarget;
  /** Told why the test cannot go on, where that shows only while it runs. */
  readonly refuse: (why: string) => void;
};

export async function groundOf(work: GroundWork): Promise<Ground> {
  const configured = work.input.text("run") === null ? configuredFor(work) : null;
  return configured === null ? recordedGround(work) : configuredGround(work, ...configured);
}

/** By the pipeline's key in the configuration, or by its own name. */
function configuredFor({ input, loaded, target }: GroundWork): [string, ConfiguredCrashtest] | null {
  const { crashtests = {}, pipelines = {} } = loaded.config;
  const keys = Object.keys(pipelines).filter((key) => pipelines[key] === target.pipeline);
  for (const name of [input.argument("pipeline"), target.pipeline.name, ...keys]) {
    const found = Object.hasOwn(crashtests, name) ? crashtests[name] : undefined;
    if (found !== undefined) return [name, found];
  }
  return null;
}

async function configuredGround(
  { context, input, loaded, target, refuse }: GroundWork,
  name: string,
  given: ConfiguredCrashtest,
): Promise<Ground> {
  const { pipeline, spec } = target;
  const setup = configuredSetup(name, given, pipeline, loaded.config.policy ?? {}, refuse);
  const text = input.text("input");
  const wanted =
    text === null ? (given.input ?? spec?.input ?? spec?.objective) : await readInput(context.cwd, text);
  if (wanted === undefined && needsInput(pipeline))
    throw new ConfigurationError(
      `${pipeline.name} begins with an agent, which needs something to work on: give crashtests.${name}.input, or --input TEXT.`,
    );
  const runInput = wanted ?? null;
  const contract = spec === null ? specOf(loaded.config, target, runInput) : inOwnFolder(spec);
  return { setup, input: runInput, spec: contract, recorded: null };
}

async function recordedGround(work: GroundWork): Promise<Ground> {
  const { context, input, loaded, target } = work;
  const url = resolveStore(context, loaded, input.text("store") ?? undefined);
  const file = fileOfStore(url);
  // A database that is not there is not made: it would be empty.
  if (file !== null && !existsSync(file)) throw noDatabase(work, file);
  const store = await openStore(url, { readOnly: true });
  try {
    const run = await runToGoBy(work, store);
    const recorded = await readRecordedRun(store, run);
    // What people allowed meanwhile is allowed from the beginning: nobody is asked about it.
    const spec = run.spec === null ? null : { ...run.spec, budgets: run.budgets ?? run.spec.budgets };
    return {
      setup: recordedSetup(recorded, target.pipeline),
      input: recorded.input,
      spec: spec === null ? null : inOwnFolder(spec),
      recorded,
    };
  } finally {
    await store.close();
  }
}

/** A job may name a folder of the project. */
function inOwnFolder(spec: RunSpec): RunSpec {
  return { ...spec, artifacts: { ...spec.artifacts, workspaceDir: null } };
}

async function runToGoBy(work: GroundWork, store: StoreReader): Promise<RunRecord> {
  const { context, input, target } = work;
  const named = input.text("run");
  const text = input.text("input");
  if (named === null) {
    const hash = text === null ? null : canonicalHash(await readInput(context.cwd, text));
    return (await newestRun(store, target, hash)) ?? fail(nothingToGoBy(work));
  }
  if (text !== null) throw new WrongUseError(`Run ${named} has its own input: leave out --input, or --run.`);
  const run = await findRun(store, named);
  const problem =
    run.pipeline === target.pipeline.name ? await problemOf(store, run) : `is of ${run.pipeline}`;
  if (problem === null) return run;
  throw new WrongUseError(
    `Run ${run.runId} ${problem}: a test goes by a run of ${target.pipeline.name} that succeeded, from its beginning to its end.`,
  );
}

function fail(error: Error): never {
  throw error;
}

/** The newest one that can happen again, of this job and of this input where there is one. */
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

/** Why a run cannot happen again as it went; null where it can. */
async function problemOf(
  store: StoreReader,
  { runId, status, forkedFrom }: RunRecord,
): Promise<string | null> {
  if (status !== "succeeded") return `is ${status}`;
  if (forkedFrom !== null) return "is a fork";
  return (await store.listLineages(runId)).length > 0 ? "went on from a milestone" : null;
}

function noDatabase(work: GroundWork, file: string): Error {
  const named = work.input.text("run");
  if (named === null) return nothingToGoBy(work);
  return new WrongUseError(
    `There is no run ${named}, for there is no database at ${file} yet: name another store with --store, or leave out --run.`,
  );
}

function nothingToGoBy({ input, target }: GroundWork): ConfigurationError {
  const { name } = target.pipeline;
  const run = commandHint(input, "run", input.argument("pipeline"));
  return new ConfigurationError(
    `There is nothing to go by: no run of ${name} has succeeded in this store, and pawl.config.ts has no crashtests.${name}. Run it once (\`${run}\`), or say there what stands in for its model and tools, \`crashtests: { ${name}: { input, model, tools } }\`.`,
  );
}
