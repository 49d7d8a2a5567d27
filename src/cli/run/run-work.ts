import { resolve } from "node:path";
import { pricesFor } from "../../adapters/genai-prices.ts";
import type { Agent } from "../../engine/definition/agent.ts";
import { rootOf } from "../../engine/definition/pipeline-root.ts";
import type { Constraints } from "../../engine/definition/run-rules.ts";
import { intersectDomains } from "../../engine/definition/run-spec-checks.ts";
import { modelsOf, type StepNode } from "../../engine/definition/step.ts";
import type { RunnerOptions } from "../../engine/runner/runner-options.ts";
import type { RunRecord, Store, StoreReader } from "../../store/store.ts";
import { type LoadedConfig, projectFolder } from "../config/config-file.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";
import { userOf } from "../screen/acting-person.ts";
import type { Tone } from "../screen/progress-lines.ts";

/** One command that works on one run: what it was given, and with what. */
export type RunWork = {
  readonly context: CliContext;
  readonly input: CommandInput;
  readonly store: Store;
  readonly loaded: LoadedConfig;
  readonly pipeline: Agent | StepNode;
  /** A job file asked for it, which may have no more than the configuration lets job files have. */
  readonly isJob: boolean;
  /** Where a log was asked for: takes what would be told to a person beside it. */
  readonly log?: (tone: Tone, text: string) => void;
};

/** What the runs of job files say that they were started by. */
const JOB_FILE = "job file";

/** Whether a job file asked for a run: its contract has a whole pipeline, or it, or the run that it is a fork of, was started by one. */
export async function isJobRun(
  store: StoreReader,
  { spec, entrypoint, forkedFrom }: RunRecord,
): Promise<boolean> {
  if (entrypoint === JOB_FILE || typeof (spec?.pipeline ?? "") === "object") return true;
  return forkedFrom !== null && (await store.getRun(forkedFrom.firstRunId))?.entrypoint === JOB_FILE;
}

/** An empty list would allow every public host; this name has none, and never will (RFC 6761). */
const NO_HOST = "no-host.invalid";

/** The configuration's; a run of a job file reaches no host either that job files may not. */
export function constraintsFor({ config }: LoadedConfig, isJob: boolean): Constraints | undefined {
  const { constraints, jobs } = config;
  if (!isJob || jobs?.domains === undefined) return constraints;
  if (jobs.domains.length === 0) return { ...constraints, allowedDomains: [NO_HOST] };
  return {
    ...constraints,
    allowedDomains: intersectDomains(constraints?.allowedDomains ?? [], jobs.domains),
  };
}

/** The runner that the configuration asks for. */
export function runnerOptions({ context, store, loaded, pipeline, isJob }: RunWork): RunnerOptions {
  const { policy, pipelines = {}, stopConditions, telemetry, workspaceRoot = "." } = loaded.config;
  const constraints = constraintsFor(loaded, isJob);
  // What a model costs is known for the usual ones; one that is not known has no price, and none is made up.
  const { pricing = pricesFor(modelsOf(rootOf(pipeline))).pricing } = loaded.config;
  const folder = projectFolder(context, loaded);
  return {
    store,
    entrypoint: isJob ? JOB_FILE : "cli",
    clock: context.clock,
    workspaceRoot: resolve(folder, workspaceRoot),
    ...(policy === undefined ? {} : { policy }),
    ...(constraints === undefined ? {} : { constraints }),
    pricing,
    ...(stopConditions === undefined ? {} : { stopConditions }),
    ...(telemetry === undefined ? {} : { telemetry }),
    otherPipelines: Object.values(pipelines).filter((each) => each !== pipeline),
    startedBy: userOf(context),
  };
}
