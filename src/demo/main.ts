/**
 * `pawl demo`: a research job on real servers, killed with SIGKILL once in every phase, and what the services saw of it.
 *
 *   --seed N     picks the points where it is killed; random by default, and printed
 *   --keep DIR   where its files are left; a new temporary folder by default
 *   --json       print one JSON document at the end instead of the story
 *   --no-color   disable colours, even on a terminal
 *
 * With OPENAI_API_KEY or ANTHROPIC_API_KEY in the environment a real model does the work; PAWL_DEMO_MODEL names another.
 */
import { randomInt } from "node:crypto";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { processContext } from "../cli/context/cli-context.ts";
import { ConfigurationError } from "../core/errors.ts";
import { chooseModel } from "./model-choice.ts";

type Flags = {
  readonly seed: number;
  readonly keep: string | null;
  readonly json: boolean;
  readonly useColour: boolean;
};

const LARGEST_SEED = 2 ** 31 - 1;

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
    json: { type: "boolean" },
    "no-color": { type: "boolean" },
  } as const;
  let values: ReturnType<typeof parseArgs<{ options: typeof options }>>["values"];
  try {
    ({ values } = parseArgs({ args: [...words], options }));
  } catch (error) {
    const [first] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw new ConfigurationError(
      `${first?.replace(/\.$/, "")}: it takes --seed N, --keep DIR, --json, --no-color.`,
    );
  }
  const seed = values.seed === undefined ? randomInt(10_000) : Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0 || seed > LARGEST_SEED)
    throw new ConfigurationError(
      `--seed is ${JSON.stringify(values.seed)}: give a whole number from 0 to ${LARGEST_SEED}.`,
    );
  const { keep = null, json = false } = values;
  return { seed, keep, json, useColour: context.useColour && values["no-color"] !== true };
}

/** True if everything is as expected. */
async function main({ seed, keep, json, useColour }: Flags): Promise<boolean> {
  assertInstalled(["nodemailer", "pdfkit", "smtp-server"]);
  const { demoFolder, performDemo } = await import("./demo.ts");
  const { documentOf, closingText, introduction, isAllRight, lifeText, outcomeText } = await import(
    "./demo-text.ts"
  );
  const output = { stdout: context.stdout, useColour };
  const print = (text: string) => (json ? undefined : context.stdout.write(text));
  const model = chooseModel(context.env);
  const folder = demoFolder(keep);
  print(introduction(output, seed, model));
  const outcome = await performDemo({
    seed,
    folder,
    environment: process.env,
    onLife: (life, before) => print(lifeText(output, life, before)),
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
