import { Worker } from "../../engine/worker/worker.ts";
import { openStore } from "../../store/open-store.ts";
import type { Store } from "../../store/store.ts";
import { type LoadedConfig, loadConfig, resolveStore } from "../config/config-file.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput, CommandResult } from "../context/command.ts";
import { Interruption } from "../context/interruption.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { redactionKeyIn, shownAddress } from "../run/command-store.ts";
import { assertPipelines, workerOptions } from "../run/worker-setup.ts";
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
  const options = workerOptions(context, input, loaded, store);
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
