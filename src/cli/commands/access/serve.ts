import { basename } from "node:path";
import { givenOptions } from "../../../core/naming/option-names.ts";
import { Worker } from "../../../engine/worker/worker.ts";
import { RUNNER_OPTIONS_OF_WORKERS } from "../../../engine/worker/worker-options.ts";
import { type PawlServer, type ServeOptions, servePawl } from "../../../server/http/serve-pawl.ts";
import { hasDashboard } from "../../../server/own-files.ts";
import { openStore } from "../../../store/open-store.ts";
import type { Store } from "../../../store/store.ts";
import { type LoadedConfig, loadConfig, resolveStore } from "../../config/config-file.ts";
import type { CliContext } from "../../context/cli-context.ts";
import type { Command, CommandInput, CommandResult } from "../../context/command.ts";
import { Interruption } from "../../context/interruption.ts";
import { cleanLine } from "../../context/terminal-text.ts";
import { WrongUseError } from "../../context/wrong-use-error.ts";
import { redactionKeyIn, shownAddress } from "../../run/command-store.ts";
import { openBrowser } from "../../run/open-browser.ts";
import { assertPipelines, workerOptions } from "../../run/worker-setup.ts";
import { WorkerLog } from "../../screen/worker-log.ts";

export const serve: Command = {
  name: "serve",
  summary: "Serve the dashboard and the HTTP API until it is stopped",
  arguments: [],
  options: [
    { flags: "--port <n>", summary: "the port (default: 4747; 0 for any that is free)" },
    { flags: "--host <address>", summary: "the address to listen on (default: 127.0.0.1)" },
    { flags: "--public-url <url>", summary: "the https address of the proxy in front of it" },
    { flags: "--worker", summary: "also take runs from the queue, in this process" },
    { flags: "--read-only", summary: "everybody may look, and nobody may act" },
    { flags: "--hide-content <role>", summary: "show this role shapes and sizes only", choices: ["viewer"] },
    {
      flags: "--allow-origin <origin>",
      summary: "let pages of this origin use the API with a token",
      isRepeatable: true,
    },
    { flags: "--allow-private-webhooks", summary: "let webhooks reach private addresses" },
    { flags: "--open", summary: "open the dashboard in the browser" },
  ],
  example: "pawl serve --worker --open",
  execute: async (context, input) => {
    const loaded = await loadConfig(context, input.text("config") ?? undefined);
    if (input.flag("worker")) assertPipelines(loaded);
    const url = resolveStore(context, loaded, input.text("store") ?? undefined);
    const store = await openStore(url, redactionKeyIn(context, url));
    try {
      return await serveUntilStopped(context, input, loaded, store, shownAddress(url));
    } finally {
      await store.close({ graceMs: 0 });
    }
  },
};

/** A clone has to build it; the package has it. */
const NO_DASHBOARD = "answers the API only, as the dashboard is not built: npm run dashboard builds it";

async function serveUntilStopped(
  context: CliContext,
  input: CommandInput,
  loaded: LoadedConfig,
  store: Store,
  address: string,
): Promise<CommandResult> {
  const log = new WorkerLog(context);
  const options = workerOptions(context, input, loaded, store);
  const named = { ...serveOptions(input, loaded, options, log), storeName: nameOf(address) };
  const server = await servePawl(named);
  const interruption = new Interruption(context, {
    onFirst: () => undefined,
    onSecond: () => log.line("stopped at once", "yellow"),
  });
  try {
    await announce(context, input, server, { address, log });
    // Pages hear at once that it stops; a worker first finishes what it has begun.
    await Promise.all([
      aborted(interruption.release).then(() => server.close()),
      input.flag("worker")
        ? new Worker({ ...options, onNotice: (notice) => log.print(notice) }).run(interruption.release)
        : null,
    ]);
  } finally {
    await server.close();
    interruption.stop();
  }
  return { exitCode: 0, text: "", document: undefined };
}

function serveOptions(
  input: CommandInput,
  { config: { pipelines = {} } }: LoadedConfig,
  options: ReturnType<typeof workerOptions>,
  log: WorkerLog,
): ServeOptions {
  const [port, host, publicUrl] = [input.wholeNumber("port", 0), input.text("host"), input.text("publicUrl")];
  if (port !== null && port > 65_535)
    throw new WrongUseError(`--port is ${port}: give a port from 0 to 65535.`);
  return {
    store: options.store,
    pipelines,
    runnerOptions: {
      ...givenOptions(options, RUNNER_OPTIONS_OF_WORKERS),
      onDivergence: typeof options.onDivergence === "object" ? "wait" : (options.onDivergence ?? "wait"),
    },
    hasWorker: input.flag("worker"),
    readOnly: input.flag("readOnly"),
    allowPrivateWebhooks: input.flag("allowPrivateWebhooks"),
    allowOrigin: input.list("allowOrigin"),
    onError: (error, { requestId, operation }) =>
      log.line(
        `${requestId} ${operation} failed: ${error instanceof Error ? error.message : String(error)}`,
        "red",
      ),
    ...(port === null ? {} : { port }),
    ...(host === null ? {} : { host }),
    ...(publicUrl === null ? {} : { publicUrl }),
    ...(input.text("hideContent") === "viewer" ? { hideContent: "viewer" } : {}),
  };
}

/** The last part of a path; a database on a server as it is. */
function nameOf(address: string): string {
  return address.startsWith("file:") ? basename(address) : address;
}

/** The code is in the fragment of the address: no server and no log ever sees it there. */
async function announce(
  context: CliContext,
  input: CommandInput,
  server: PawlServer,
  { address, log }: { readonly address: string; readonly log: WorkerLog },
): Promise<void> {
  const loginUrl = await server.loginUrl({ name: context.userName ?? "local" });
  if (input.json)
    context.stdout.write(`${JSON.stringify({ url: server.url, port: server.port, loginUrl })}\n`);
  else
    context.stdout.write(
      `Pawl serves ${cleanLine(address)} at ${server.url}; Ctrl-C stops it.\nSign in, once and within five minutes: ${loginUrl}\n`,
    );
  if (!hasDashboard()) log.line(NO_DASHBOARD, "yellow");
  else if (input.flag("open")) openBrowser(loginUrl);
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
