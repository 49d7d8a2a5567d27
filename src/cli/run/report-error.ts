import { ConfigurationError, PawlError } from "../../core/errors.ts";
import { ownProperty } from "../../core/own-property.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { ExitCode } from "../context/command.ts";
import { cleanText, paragraph } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { JobFileError } from "../job/job-file-error.ts";
import { OWN_FOLDER } from "../own-files.ts";
import { paint } from "../screen/format.ts";

type Reporting = { readonly json: boolean; readonly verbose: boolean };

/** Prints an error as one sentence or one JSON document, and returns its exit code. */
export function reportError(context: CliContext, thrown: unknown, { json, verbose }: Reporting): ExitCode {
  const error = missingPackage(thrown) ?? thrown;
  const { code, message, details } = describeError(error);
  if (json) {
    context.stdout.write(`${JSON.stringify({ error: { code, message, details } }, null, 2)}\n`);
  } else {
    context.stderr.write(errorText(context, message));
  }
  if (verbose && error instanceof Error) context.stderr.write(`${cleanText(stackOf(error))}\n`);
  return exitCodeOf(error);
}

/** Peers that need a certain version. */
const VERSIONS: { readonly [name: string]: string } = { zod: "zod@4" };

/**
 * A package that Pawl's own code imports is not installed; null for any other error. It is recognised here, when it has failed:
 * a check at the start of every command would cost time.
 */
function missingPackage(error: unknown): ConfigurationError | null {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "ERR_MODULE_NOT_FOUND") return null;
  const [, name, importer] = /^Cannot find package '([^']+)' imported from (.+)$/.exec(error.message) ?? [];
  if (name === undefined || importer?.startsWith(OWN_FOLDER) !== true) return null;
  return new ConfigurationError(
    `Pawl needs the package "${name}", which is not installed: run \`npm install ${ownProperty(VERSIONS, name) ?? name}\` beside pawl.`,
    { package: name },
    { cause: error },
  );
}

/** One line for a log; wrapped on a terminal. */
function errorText(context: CliContext, message: string): string {
  const { columns, isTerminal } = context.stderr;
  const text = `error: ${message}`;
  const lines = isTerminal ? paragraph(text, columns) : `${cleanText(text)}\n`;
  return lines.replace(/^error:/, (word) => paint(context).red(word));
}

/** A configuration error is wrong use (2): one that failed a run is reported with the run. */
function exitCodeOf(error: unknown): ExitCode {
  if (WrongUseError.isInstance(error) || JobFileError.isInstance(error)) return 2;
  return ConfigurationError.isInstance(error) ? 2 : 1;
}

function describeError(error: unknown): {
  readonly code: string;
  readonly message: string;
  readonly details: object;
} {
  if (PawlError.isInstance(error))
    return { code: error.code, message: error.message, details: error.details };
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: "unexpected",
    message: `${message.replace(/[.\s]+$/, "")}. This error was not expected: run the command again with --verbose to see where it comes from.`,
    details: {},
  };
}

/** The stack with those of its causes, which usually hold the reason. */
function stackOf(error: Error): string {
  const own = error.stack ?? String(error);
  return error.cause instanceof Error ? `${own}\ncaused by ${stackOf(error.cause)}` : own;
}
