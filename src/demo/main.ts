/**
 * `pawl demo`: a research job on real servers, killed with SIGKILL once in every phase, and what the services saw of it.
 *
 *   --seed N     picks the points where it is killed; random by default, and printed
 *   --keep DIR   where its files are left; a new temporary folder by default
 *   --serve      open the dashboard on the run, and keep it open until Ctrl-C
 *   --json       print one JSON document at the end instead of the story
 *   --no-color   disable colours, even on a terminal
 *
 * With OPENAI_API_KEY or ANTHROPIC_API_KEY in the environment a real model does the work; PAWL_DEMO_MODEL names another.
 */
import { randomInt } from "node:crypto";
import { relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { processContext } from "../cli/context/cli-context.ts";
import { openBrowser } from "../cli/run/open-browser.ts";
import { ConfigurationError } from "../core/errors.ts";
import { chooseModel } from "./model-choice.ts";

type Flags = {
  readonly seed: number;
  readonly keep: string | null;
  readonly serve: boolean;
  readonly json: boolean;
  readonly useColour: boolean;
};

const LARGEST_SEED = 2 ** 31 - 1;
/** With the dashboard, people see each process die before the next one resumes the run. */
const PAUSE_FOR_VIEWERS_MS = 1_500;

const context = processContext();
const interrupted = new AbortController();
const stopListening = context.onInterrupt(() => interrupted.abort(new Error("The demo was interrupted.")));
try {
  process.exitCode = (await main(flagsOf(process.argv.slice(2)))) ? 0 : 1;
} catch (error) {
  process.exitCode = interrupted.signal.aborted ? 130 : ConfigurationError.isInstance(error) ? 2 : 1;
  context.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
} finally {
  stopListening();
}

function flagsOf(words: readonly string[]): Flags {
  const options = {
    seed: { type: "string" },
    keep: { type: "string" },
    serve: { type: "boolean" },
    json: { type: "boolean" },
    "no-color": { type: "boolean" },
  } as const;
  let values: ReturnType<typeof parseArgs<{ options: typeof options }>>["values"];
  try {
    ({ values } = parseArgs({ args: [...words], options }));
  } catch (error) {
    const [first] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw new ConfigurationError(
      `${first?.replace(/\.$/, "")}: it takes --seed N, --keep DIR, --serve, --json, --no-color.`,
    );
  }
  const seed = values.seed === undefined ? randomInt(10_000) : Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0 || seed > LARGEST_SEED)
    throw new ConfigurationError(
      `--seed is ${JSON.stringify(values.seed)}: give a whole number from 0 to ${LARGEST_SEED}.`,
    );
  const { keep = null, serve = false, json = false } = values;
  if (serve && json)
    throw new ConfigurationError(
      "--serve stays until Ctrl-C, and --json prints one document: give one of them.",
    );
  return { seed, keep, serve, json, useColour: context.useColour && values["no-color"] !== true };
}

/** True if everything is as expected. */
async function main({ keep, serve, ...flags }: Flags): Promise<boolean> {
  assertInstalled(["nodemailer", "pdfkit", "smtp-server"]);
  const { demoFolder } = await import("./demo.ts");
  const folder = demoFolder(keep);
  if (!serve) return perform(folder, flags, null);
  const { openDashboard } = await import("./demo-dashboard.ts");
  const dashboard = await openDashboard(folder, context.userName ?? "you");
  try {
    openBrowser(dashboard.url);
    const isAllRight = await perform(folder, flags, dashboard.url);
    context.stdout.write(`\nThe dashboard stays open until Ctrl-C.\n`);
    await aborted(interrupted.signal);
    return isAllRight;
  } finally {
    await dashboard.close();
  }
}

/** Performs the demo and tells its story; `dashboard` is where people watch it. */
async function perform(
  folder: string,
  { seed, json, useColour }: Pick<Flags, "seed" | "json" | "useColour">,
  dashboard: string | null,
): Promise<boolean> {
  const { performDemo } = await import("./demo.ts");
  const { documentOf, closingText, introduction, isAllRight, lifeText, outcomeText } = await import(
    "./demo-text.ts"
  );
  const output = { stdout: context.stdout, useColour };
  const print = (text: string) => (json ? undefined : context.stdout.write(text));
  const model = chooseModel(context.env);
  print(introduction(output, seed, model));
  if (dashboard !== null) print(`Watch it, signed in once: ${dashboard}\n\n`);
  const outcome = await performDemo({
    seed,
    folder,
    environment: process.env,
    onLife: async (life, before) => {
      print(lifeText(output, life, before));
      if (dashboard !== null) await sleep(PAUSE_FOR_VIEWERS_MS, undefined, { signal: interrupted.signal });
    },
    signal: interrupted.signal,
  }).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${why} Its files are in ${folder}`, { cause: error });
  });
  print(outcomeText(output, outcome));
  print(closingText(output, folder, commandLine()));
  if (json) context.stdout.write(`${JSON.stringify(documentOf(seed, model, folder, outcome), null, 2)}\n`);
  return isAllRight(outcome);
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

/** Only the demo needs these packages, so they are not dependencies of Pawl. */
function assertInstalled(names: readonly string[]): void {
  const missing = names.filter((name) => {
    try {
      return import.meta.resolve(name) === "";
    } catch {
      return true;
    }
  });
  if (missing.length === 0) return;
  throw new ConfigurationError(
    `The demo needs ${missing.join(", ")}, which ${missing.length > 1 ? "are" : "is"} not installed: npm install ${missing.join(" ")}`,
  );
}

/** How to call the command line from here. A clone has no build, and npm selects the right Node. */
function commandLine(): string {
  if (!import.meta.url.endsWith(".ts")) return "npx pawl";
  const clone = relative(context.cwd, fileURLToPath(new URL("../..", import.meta.url)));
  return clone === "" ? "npm run -s pawl --" : `npm run -s --prefix ${clone} pawl --`;
}
