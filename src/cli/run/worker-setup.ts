import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pricesFor } from "../../adapters/genai-prices.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { rootOf } from "../../engine/definition/pipeline-root.ts";
import { modelsOf } from "../../engine/definition/step.ts";
import type { WorkerOptions } from "../../engine/worker/worker-options.ts";
import type { Store } from "../../store/store.ts";
import { type LoadedConfig, projectFolder } from "../config/config-file.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";

/** Refuses a configuration without pipelines: a worker would never find anything to do. */
export function assertPipelines({ path, config: { pipelines = {} } }: LoadedConfig): void {
  if (Object.keys(pipelines).length > 0) return;
  throw new ConfigurationError(
    path === null
      ? "A worker needs the pipelines of a pawl.config.ts, and there is none here or above: write one, name it with --config, or change to its folder."
      : `${path} has no pipelines: add at least one for the worker.`,
  );
}

/** The options of a worker: what the configuration says, and the flags of the command line. */
export function workerOptions(
  context: CliContext,
  input: CommandInput,
  loaded: LoadedConfig,
  store: Store,
): WorkerOptions {
  const {
    pipelines = {},
    policy,
    constraints,
    budgets,
    stopConditions,
    telemetry,
    live,
    workspaceRoot = ".",
    onDivergence,
    retention,
    schedules,
  } = loaded.config;
  const targets = Object.values(pipelines);
  const { pricing = pricesFor(targets.flatMap((each) => modelsOf(rootOf(each)))).pricing } = loaded.config;
  const [total, perKey] = [input.wholeNumber("maxTotal", 1), input.wholeNumber("maxPerKey", 1)];
  const [concurrency, version] = [input.wholeNumber("concurrency", 1), input.text("codeVersion")];
  const queues = queuesOf(input);
  return {
    store,
    pipelines,
    pricing,
    entrypoint: "worker",
    workspaceRoot: resolve(projectFolder(context, loaded), workspaceRoot),
    limits: { ...(total === null ? {} : { total }), ...(perKey === null ? {} : { perKey }) },
    ...(queues.length === 0 ? {} : { queues }),
    ...(concurrency === null ? {} : { concurrency }),
    ...(version === null ? {} : { version }),
    ...(policy === undefined ? {} : { policy }),
    ...(constraints === undefined ? {} : { constraints }),
    ...(budgets === undefined ? {} : { budgets }),
    ...(stopConditions === undefined ? {} : { stopConditions }),
    ...(telemetry === undefined ? {} : { telemetry }),
    ...(live === undefined ? {} : { live }),
    ...(onDivergence === undefined ? {} : { onDivergence }),
    ...(retention === undefined ? {} : { retention }),
    ...(schedules === undefined ? {} : { schedules, scheduleRevision: revisionOf(loaded) }),
  };
}

function queuesOf(input: CommandInput): readonly string[] {
  const given = input.list("queue");
  const queues = given.flatMap((each) => each.split(",")).map((each) => each.trim());
  if (queues.includes(""))
    throw new WrongUseError(
      `--queue is ${JSON.stringify(given.join(","))}: give the name of a queue, or several with commas.`,
    );
  return queues;
}

/** The configuration's own, or when its file was changed: a newer one changes the schedules of an older one. */
function revisionOf({ path, config: { scheduleRevision } }: LoadedConfig): number {
  return scheduleRevision ?? (path === null ? 0 : Math.floor(statSync(path).mtimeMs));
}
