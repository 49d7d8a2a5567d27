/**
 * `pawl demo`: a research job on real servers, killed with SIGKILL once in every phase, and what the outside saw of it.
 *
 *   --seed N     which places it is killed at; picked and printed unless given
 *   --keep DIR   where its files are left; a new temporary folder unless given
 *   --json       one JSON document at the end, and no story
 *   --no-color   no colours, not on a terminal either
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
const forget = context.onInterrupt(() => interrupted.abort(new Error("The demo was interrupted.")));
try {
  process.exitCode = (await main(flagsOf(process.argv.slice(2)))) ? 0 : 1;
} catch (error) {
  process.exitCode = interrupted.signal.aborted ? 130 : error instanceof ConfigurationError ? 2 : 1;
  context.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
} finally {
  forget();
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

/** True where everything is as it should be. */
async function main({ seed, keep, json, useColour }: Flags): Promise<boolean> {
  assertInstalled(["nodemailer", "pdfkit", "smtp-server"]);
  const { demoFolder, performDemo } = await import("./demo.ts");
  const { documentOf, farewell, introduction, isAllRight, lifeText, outcomeText } = await import(
    "./demo-text.ts"
  );
  const page = { stdout: context.stdout, useColour };
  const say = (text: string) => (json ? undefined : context.stdout.write(text));
  const model = chooseModel(context.env);
  const folder = demoFolder(keep);
  say(introduction(page, seed, model));
  const outcome = await performDemo({
    seed,
    folder,
    environment: process.env,
    onLife: (life, before) => say(lifeText(page, life, before)),
    signal: interrupted.signal,
  }).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${why} What it left is in ${folder}`, { cause: error });
  });
  say(outcomeText(page, outcome));
  say(farewell(page, folder, commandLine()));
  if (json) context.stdout.write(`${JSON.stringify(documentOf(seed, model, folder, outcome), null, 2)}\n`);
  return isAllRight(outcome);
}

/** They are not needed for anything else, so Pawl does not bring them along. */
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

/** What the command line is called where this runs. In a clone there is no build, and npm brings the right Node. */
function commandLine(): string {
  if (!import.meta.url.endsWith(".ts")) return "npx pawl";
  const clone = relative(context.cwd, fileURLToPath(new URL("../..", import.meta.url)));
  return clone === "" ? "npm run -s pawl --" : `npm run -s --prefix ${clone} pawl --`;
}
