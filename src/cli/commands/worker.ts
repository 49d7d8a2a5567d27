import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pricesFor } from "../../adapters/genai-prices.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { rootOf } from "../../engine/definition/pipeline-root.ts";
import { modelsOf } from "../../engine/definition/step.ts";
import { Worker } from "../../engine/worker/worker.ts";
import type { WorkerOptions } from "../../engine/worker/worker-options.ts";
import { openStore } from "../../store/open-store.ts";
import type { Store } from "../../store/store.ts";
import { type LoadedConfig, loadConfig, projectFolder, resolveStore } from "../config/config-file.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput, CommandResult } from "../context/command.ts";
import { Interruption } from "../context/interruption.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { redactionKeyIn, shownAddress } from "../run/command-store.ts";
import { WorkerLog } from "../screen/worker-log.ts";

export const worker: Command = {
  name: "worker",
  summary: "Take runs from the queue, and work on them until it is stopped",
  arguments: [],
  options: [
    { flags: "--concurrency <n>", summary: "the most runs at a time in this process (default: 8)" },
    { flags: "--queue <name>", summary: "take runs of this queue (default: default)", isRepeatable: true },
    { flags: "--max-total <n>", summary: "the most runs at a time over all workers" },
    { flags: "--max-per-key <n>", summary: "the most runs at a time with the same concurrency key" },
    { flags: "--code-version <name>", summary: "the version of your code, recorded with the runs" },
  ],
  example: "pawl worker --concurrency 4 --queue default --queue mail",
  execute: async (context, input) => {
    const loaded = await loadConfig(context, input.text("config") ?? undefined);
    // Before a store is created.
    assertPipelines(loaded);
    const url = resolveStore(context, loaded, input.text("store") ?? undefined);
    const store = await openStore(url, redactionKeyIn(context, url));
    try {
      return await work(context, input, loaded, store, shownAddress(url));
    } finally {
      await store.close({ graceMs: 0 });
    }
  },
};

async function work(
  context: CliContext,
  input: CommandInput,
  loaded: LoadedConfig,
  store: Store,
  address: string,
): Promise<CommandResult> {
  const log = new WorkerLog(context);
  const options = optionsOf(context, input, loaded, store);
  const taking = new Worker({ ...options, onNotice: (notice) => log.print(notice) });
  const interruption = new Interruption(context, {
    onFirst: () => undefined,
    onSecond: () =>
      log.line("stopped at once: the runs in progress are taken over by other workers", "yellow"),
  });
  const names = Object.values(options.pipelines).map(({ name }) => name);
  const queues = (options.queues ?? ["default"]).join(", ");
  log.line(
    `takes runs of ${names.join(", ")} from ${queues} in ${cleanLine(address)}; Ctrl-C hands them back`,
  );
  try {
    await taking.run(interruption.release);
  } finally {
    interruption.stop();
  }
  const { claimed, left } = log;
  return {
    exitCode: 0,
    text: "",
    document: { claimed, left },
  };
}

function assertPipelines({ path, config: { pipelines = {} } }: LoadedConfig): void {
  if (Object.keys(pipelines).length > 0) return;
  throw new ConfigurationError(
    path === null
      ? "A worker needs the pipelines of a pawl.config.ts, and there is none here or above: write one, name it with --config, or change to its folder."
      : `${path} has no pipelines: add at least one for the worker.`,
  );
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

function optionsOf(
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

/** The configuration's own, or when its file was changed: a newer one changes the schedules of an older one. */
function revisionOf({ path, config: { scheduleRevision } }: LoadedConfig): number {
  return scheduleRevision ?? (path === null ? 0 : Math.floor(statSync(path).mtimeMs));
}
