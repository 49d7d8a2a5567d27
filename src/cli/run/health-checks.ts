import { constants, existsSync } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { isInterrupted } from "../../account/run-status.ts";
import { asksPeople } from "../../core/wait.ts";
import type { PawlConfig } from "../../engine/definition/config.ts";
import type { RunRecord, StoreReader } from "../../store/store.ts";
import { loadConfig } from "../config/config-file.ts";
import { findConfig } from "../config/config-search.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { counted, formatBytes } from "../screen/format.ts";
import { callsInDoubt } from "./calls-in-doubt.ts";

/** The result of one check of `pawl doctor`. */
export type Health = {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly what: string;
  /** What to do about it; null if nothing has to be done. */
  readonly remedy: string | null;
};

/** The number of newest runs to verify: enough to notice a bad disk, and done within a second. */
const MOST_VERIFIED = 20;
const LITTLE_SPACE_BYTES = 100_000_000;

export function ok(name: string, what: string): Health {
  return { name, status: "ok", what, remedy: null };
}

export function problem(name: string, status: "warn" | "fail", what: string, remedy: string | null): Health {
  return { name, status, what, remedy };
}

/** A failed check; the error message contains the remedy. */
export function failed(name: string, error: unknown): Health {
  return problem(name, "fail", error instanceof Error ? error.message : String(error), null);
}

/** The check of the configuration, and its content if it was executed. */
export type CheckedConfig = { readonly health: Health; readonly config: PawlConfig | null };

/** Which configuration is found and whether it may be executed; it is executed only with --load-config. */
export async function checkConfig(context: CliContext, input: CommandInput): Promise<CheckedConfig> {
  const file = input.text("config") ?? undefined;
  const unread = (health: Health) => ({ health, config: null });
  try {
    const found = await findConfig(context, file);
    if (found === null)
      return unread(ok("config", "no pawl.config.ts in this project; commands that start runs need one"));
    if (found.refusal !== null)
      return unread(problem("config", "fail", `${found.path} is not used`, found.refusal));
    if (!input.flag("loadConfig"))
      return unread(ok("config", `${found.path}, not executed: add --load-config to do that`));
    const { config } = await loadConfig(context, file);
    const pipelines = counted(Object.keys(config.pipelines ?? {}).length, "pipeline");
    return { health: ok("config", `${found.path}, ${pipelines}`), config };
  } catch (error) {
    return unread(failed("config", error));
  }
}

/** The folder must be writable: SQLite creates files beside the database. */
export async function diskHealth(file: string): Promise<Health> {
  const folder = existingFolder(dirname(file));
  try {
    await access(folder, constants.W_OK);
  } catch {
    const remedy = "make it writable, or name another location with --store";
    return problem("disk", "fail", `${folder} cannot be written to`, remedy);
  }
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  return free < LITTLE_SPACE_BYTES
    ? problem("disk", "warn", `${folder} has ${formatBytes(free)} left`, "free some space, or run `pawl gc`")
    : ok("disk", `${folder} can be written to and has ${formatBytes(free)} left`);
}

/** The database holds what people and tools wrote: readers see all of it, and writers can forge decisions. */
export async function rightsHealth(file: string): Promise<Health> {
  const { mode } = await stat(file);
  const others = mode & 0o066;
  if (others === 0 || process.platform === "win32")
    return ok("rights", `${file} is accessible to its owner only`);
  const what = `${file} can be ${(others & 0o022) === 0 ? "read" : "read or changed"} by other users of this machine`;
  return problem("rights", "warn", what, `unless you share it on purpose: chmod 600 ${file}*`);
}

/** The folder, or the nearest one above it that exists: the first run creates the rest. */
function existingFolder(folder: string): string {
  const above = dirname(folder);
  return existsSync(folder) || above === folder ? folder : existingFolder(above);
}

/** The checks of the runs in the store. Whether the pages of a database are intact is another check. */
export async function runHealth(
  store: StoreReader,
  input: CommandInput,
  now: number,
): Promise<readonly Health[]> {
  const runs = await store.listRuns();
  return [
    await integrity(store, runs),
    leases(input, runs, now),
    await waits(store, input),
    await doubts(store, input, runs),
  ];
}

export async function databaseHealth(store: StoreReader): Promise<Health> {
  const problems = await store.checkIntegrity();
  if (problems.length === 0) return ok("database", "the integrity check passes");
  const remedy = "stop all processes that use it, keep a copy, and restore a backup";
  return problem("database", "fail", problems.join(" "), remedy);
}

async function integrity(store: StoreReader, runs: readonly RunRecord[]): Promise<Health> {
  const checked = runs.slice(0, MOST_VERIFIED);
  for (const { runId } of checked) {
    const { problems } = await store.verify(runId);
    if (problems.length === 0) continue;
    const remedy = `see \`pawl verify ${runId}\`, and restore the database from a backup`;
    return problem("integrity", "fail", `run ${runId} is not intact`, remedy);
  }
  return ok("integrity", `the newest ${counted(checked.length, "run")} of ${runs.length} are intact`);
}

function leases(input: CommandInput, runs: readonly RunRecord[], now: number): Health {
  const dead = runs.filter((run) => isInterrupted(run, now));
  const [first] = dead;
  if (first === undefined) return ok("leases", "no run was interrupted by a dead worker");
  const what = `${counted(dead.length, "run")} interrupted by a dead worker`;
  return problem("leases", "warn", what, `resume with ${commandHint(input, "resume", first.runId)}`);
}

async function waits(store: StoreReader, input: CommandInput): Promise<Health> {
  const open = (await store.listOpenWaits()).filter(({ kind }) => asksPeople(kind));
  if (open.length === 0) return ok("waits", "nothing is waiting for a person");
  const what = `${counted(open.length, "question")} open`;
  return problem("waits", "warn", what, `see ${commandHint(input, "waits")}`);
}

async function doubts(store: StoreReader, input: CommandInput, runs: readonly RunRecord[]): Promise<Health> {
  let found = 0;
  let where: string | null = null;
  for (const { runId, status } of runs) {
    if (status === "succeeded") continue;
    const unsettled = (await store.listToolCalls(runId)).filter((call) => call.status === "in_doubt");
    if (unsettled.length === 0) continue;
    const doubtful = callsInDoubt(unsettled, await store.listWaits(runId));
    found += doubtful.length;
    if (doubtful.length > 0) where ??= runId;
  }
  if (where === null) return ok("in doubt", "no tool call is in doubt");
  const what = `the outcome of ${counted(found, "call")} is unknown`;
  return problem("in doubt", "warn", what, `see ${commandHint(input, "receipts", where, "--in-doubt")}`);
}
