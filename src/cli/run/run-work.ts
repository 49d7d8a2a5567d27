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

/** A command that works on a run, with everything it needs. */
export type RunWork = {
  readonly context: CliContext;
  readonly input: CommandInput;
  readonly store: Store;
  readonly loaded: LoadedConfig;
  readonly pipeline: Agent | StepNode;
  /** The run belongs to a job file, which gets no more access than `jobs` of the configuration allows. */
  readonly isJob: boolean;
  /** Set if a log was requested: receives what would otherwise be printed for people. */
  readonly log?: (tone: Tone, text: string) => void;
};

/** The entrypoint of runs that job files started. */
const JOB_FILE = "job file";

/** True if a job file started the run: its spec holds a whole pipeline, or it (or the run it was forked from) has that entrypoint. */
export async function isJobRun(
  store: StoreReader,
  { spec, entrypoint, forkedFrom }: RunRecord,
): Promise<boolean> {
  if (entrypoint === JOB_FILE || typeof (spec?.pipeline ?? "") === "object") return true;
  return forkedFrom !== null && (await store.getRun(forkedFrom.firstRunId))?.entrypoint === JOB_FILE;
}

/** An empty list would allow every public host; this host never exists (RFC 6761). */
const NO_HOST = "no-host.invalid";

/** The constraints of the configuration; a run of a job file is also limited to the hosts that job files may reach. */
export function constraintsFor(
  { config }: LoadedConfig,
  { isJob }: Pick<RunWork, "isJob">,
): Constraints | undefined {
  const { constraints, jobs } = config;
  if (!isJob || jobs?.domains === undefined) return constraints;
  if (jobs.domains.length === 0) return { ...constraints, allowedDomains: [NO_HOST] };
  return {
    ...constraints,
    allowedDomains: intersectDomains(constraints?.allowedDomains ?? [], jobs.domains),
  };
}

/** The runner options from the configuration. */
export function runnerOptions({ context, store, loaded, pipeline, isJob }: RunWork): RunnerOptions {
  const {
    policy,
    budgets,
    pipelines = {},
    stopConditions,
    telemetry,
    live,
    workspaceRoot = ".",
  } = loaded.config;
  const constraints = constraintsFor(loaded, { isJob });
  // Prices are known for common models; an unknown model has no price, and none is guessed.
  const { pricing = pricesFor(modelsOf(rootOf(pipeline))).pricing } = loaded.config;
  const folder = projectFolder(context, loaded);
  return {
    store,
    entrypoint: isJob ? JOB_FILE : "cli",
    clock: context.clock,
    workspaceRoot: resolve(folder, workspaceRoot),
    ...(policy === undefined ? {} : { policy }),
    ...(budgets === undefined ? {} : { budgets }),
    ...(constraints === undefined ? {} : { constraints }),
    pricing,
    ...(stopConditions === undefined ? {} : { stopConditions }),
    ...(telemetry === undefined ? {} : { telemetry }),
    ...(live === undefined ? {} : { live }),
    otherPipelines: Object.values(pipelines).filter((each) => each !== pipeline),
    startedBy: userOf(context),
  };
}
