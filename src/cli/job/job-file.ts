import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { LineCounter } from "yaml";
import { type KnownTools, parseRunSpec, type RunSpec } from "../../core/job/run-spec.ts";
import { pathText, type SpecPath } from "../../core/job/run-spec-field.ts";
import { JobFileError, type JobProblem } from "./job-file-error.ts";
import { readJson } from "./job-file-json.ts";
import { type JobText, offsetOf, type TextMistake, type ValuePosition } from "./job-file-text.ts";
import { readYaml } from "./job-file-yaml.ts";

/** A job file: the RunSpec of a run. */
export type JobFile = { readonly path: string; readonly spec: RunSpec };

/** A job file read from disk, with the hash of its text. */
export type ReadJobFile = JobFile & { readonly digest: string };

export type JobFormat = "yaml" | "json";

const FORMATS: ReadonlyMap<string, JobFormat> = new Map([
  [".yaml", "yaml"],
  [".yml", "yaml"],
  [".json", "json"],
]);

const MOST_BYTES = 1024 * 1024;

/**
 * Reads a job file, YAML or JSON by its extension. With `tools`, the tools that its blueprint names are checked.
 *
 * @throws JobFileError that lists every mistake, `job.yaml:12:5  budgets.max_steps: …`.
 */
export async function readJobFile(path: string, tools: KnownTools | null = null): Promise<ReadJobFile> {
  const format = FORMATS.get(extname(path).toLowerCase());
  if (format === undefined) {
    throw wholeFile(path, `${path} is not a job file: give one whose name ends in .yaml, .yml or .json.`);
  }
  const bytes = await readBytes(path);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw wholeFile(path, `${path} is not UTF-8 text: save it as UTF-8.`);
  }
  const digest = createHash("sha256").update(bytes).digest("hex");
  return { ...parseJob(text, format, path, tools), digest };
}

/** Parses the text of a job file; `fileName` is used in error messages. */
export function parseJob(
  text: string,
  format: JobFormat,
  fileName: string,
  tools: KnownTools | null = null,
): JobFile {
  if (text.startsWith("\ufeff")) {
    throw wholeFile(fileName, `${fileName} starts with a byte order mark: save it as UTF-8 without one.`);
  }
  const read = format === "json" ? readJson : readYaml;
  const job = isBlank(text, format) ? null : read(text);
  if (job === null || (job.readable && format === "yaml" && job.value === null)) {
    throw wholeFile(fileName, `${fileName} is empty: write at least an objective.`);
  }
  const { spec, mistakes } = specOf(job, tools);
  if (spec === null || mistakes.length > 0) throw withMistakes(fileName, text, mistakes);
  return { path: fileName, spec };
}

function isBlank(text: string, format: JobFormat): boolean {
  return (
    text.trim() === "" || (format === "yaml" && text.split("\n").every((line) => /^\s*(?:#|$)/.test(line)))
  );
}

/** The mistakes of syntax and of meaning together; an unreadable text has only the former. */
function specOf(
  job: JobText,
  tools: KnownTools | null,
): { readonly spec: RunSpec | null; readonly mistakes: readonly TextMistake[] } {
  if (!job.readable) return { spec: null, mistakes: job.mistakes };
  const parsed = parseRunSpec(job.value, tools);
  const reported = new Set(job.mistakes.map(({ path }) => pathText(path)));
  const wrong = (parsed.ok ? [] : parsed.problems)
    .filter(({ path }) => !reported.has(pathText(path)))
    .map(({ path, message }) => at(job.positions, path, path.length === 0 ? `The job ${message}` : message));
  for (const { path } of wrong) reported.add(pathText(path));
  // An empty `max_steps:` is most likely a forgotten limit, not a lifted one.
  const forgotten = job.empty
    .filter((path) => path[0] !== "input" && !reported.has(pathText(path)))
    .map((path) => at(job.positions, path, "has no value: write one, or leave the field out."));
  return { spec: parsed.ok ? parsed.spec : null, mistakes: [...job.mistakes, ...wrong, ...forgotten] };
}

function at(positions: ValuePosition, path: SpecPath, message: string): TextMistake {
  return { path, offset: offsetOf(positions, path), message };
}

async function readBytes(path: string): Promise<Uint8Array> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) {
      throw wholeFile(
        path,
        `${path} is a directory: give the file itself, such as ${join(path, "job.yaml")}.`,
      );
    }
    if (!found.isFile())
      throw wholeFile(path, `${path} is not a regular file: give one that is stored on a disk.`);
    if (found.size > MOST_BYTES) {
      throw wholeFile(path, `${path} is over 1 MB, too large for a job file: keep large input elsewhere.`);
    }
    return await readFile(path);
  } catch (error) {
    throw JobFileError.isInstance(error) ? error : cannotRead(path, error);
  }
}

function cannotRead(path: string, error: unknown): JobFileError {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
  return code === "ENOENT"
    ? wholeFile(path, `There is no job file ${path}: check its path.`)
    : wholeFile(path, `${path} cannot be read (${code}): check its path and its permissions.`);
}

function wholeFile(file: string, message: string): JobFileError {
  const problem = { line: null, column: null, path: "", message };
  return new JobFileError(message, { file, problems: [problem] });
}

/** One syntax error causes several reports: only the first one per line is kept. */
function isFirstOfItsKind(problem: JobProblem, index: number, all: readonly JobProblem[]): boolean {
  return problem.path !== "" || all[index - 1]?.path !== "" || all[index - 1]?.line !== problem.line;
}

const MOST_LISTED = 50;

function withMistakes(file: string, text: string, mistakes: readonly TextMistake[]): JobFileError {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines.addNewLine(at + 1);
  const problems = mistakes
    .toSorted((a, b) => a.offset - b.offset)
    .map(({ offset, path, message }) => {
      const { line, col } = lines.linePos(offset);
      return { line, column: col, path: pathText(path), message };
    })
    .filter(isFirstOfItsKind);
  const listed = problems
    .slice(0, MOST_LISTED)
    .map(
      ({ line, column, path, message }) =>
        `${file}:${line}:${column}  ${path === "" ? "" : `${path}: `}${message}`,
    );
  const hidden = problems.length - listed.length;
  const title = `${file} has ${problems.length === 1 ? "a mistake" : `${problems.length} mistakes`}:`;
  const rest = hidden === 0 ? [] : [`… and ${hidden} more.`];
  return new JobFileError([title, ...listed, ...rest].join("\n"), { file, problems });
}
