import { ConfigurationError } from "./errors.ts";

/** The identity of one instance of a step, iterations included: `polish[2]/pass/draft`. */
export type StepPath = string;

export const ROOT_PATH: StepPath = "";

export function childPath(parent: StepPath, name: string): StepPath {
  return parent === ROOT_PATH ? name : `${parent}/${name}`;
}

/** The path of the step that contains the step at `path`. */
export function parentPath(path: StepPath): StepPath {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

export function iterationPath(loop: StepPath, iteration: number): StepPath {
  return `${loop}[${iteration}]`;
}

/** The step that an instance belongs to: its path without iterations. */
export function withoutIterations(path: StepPath): StepPath {
  return path.replace(/\[\d+\]/g, "");
}

/** Not "." or "..", which are directories in URLs and file systems. */
const NAME = /^(?!\.{1,2}$)[^\s/#[\]\p{C}](?:[^/#[\]\p{C}]{0,98}[^\s/#[\]\p{C}])?$/u;

export function assertStepName(kind: string, name: unknown): asserts name is string {
  if (typeof name === "string" && NAME.test(name)) return;
  throw new ConfigurationError(
    `${typeof name === "object" && name !== null ? "An object" : (JSON.stringify(name) ?? String(name))} cannot name ${kind === "agent" ? "an" : "a"} ${kind}: use 1 to 100 characters without "/", "#", "[", "]" or spaces at the ends, and not "." or "..".`,
  );
}

const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._:@=+-]{0,127}$/;

export function assertRunId(runId: unknown): asserts runId is string {
  if (typeof runId === "string" && RUN_ID.test(runId) && !runId.includes("..")) return;
  throw new ConfigurationError(
    `${JSON.stringify(runId) ?? String(runId)} cannot be a run id: use 1 to 128 letters, digits, ".", "_", ":", "@", "=", "+" or "-", beginning with a letter or digit, without "..".`,
  );
}

/** The id of a step instance, for people, receipts and telemetry: `q-1/polish[2]/pass/draft`. */
export function stepId(runId: string, path: StepPath): string {
  return `${runId}/${path}`;
}

/** The id of a tool call: `q-1/research#3.1` is the first call of turn 3. Calls of code steps have turn 0. */
export function toolCallId(runId: string, path: StepPath, turnIndex: number, callIndex: number): string {
  return `${stepId(runId, path)}#${turnIndex}.${callIndex}`;
}

export type ParsedToolCallId = {
  readonly runId: string;
  readonly path: StepPath;
  readonly turnIndex: number;
  readonly callIndex: number;
};

/** The parts of a tool call's id; null if it is none. */
export function parseToolCallId(id: string): ParsedToolCallId | null {
  const match = /^([^/]+)\/([^#]+)#(0|[1-9]\d{0,7})\.([1-9]\d{0,8})$/.exec(id);
  if (match?.[1] === undefined || match[2] === undefined) return null;
  return { runId: match[1], path: match[2], turnIndex: Number(match[3]), callIndex: Number(match[4]) };
}
