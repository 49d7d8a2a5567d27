import { RunDeletedError, RunNotFoundError } from "../../core/errors.ts";
import type { RunRecord, StoreReader } from "../../store/store.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";

/** Shorter prefixes match too many runs. */
const SHORTEST_PREFIX = 4;
const MOST_CANDIDATES = 10;

/** The run with this id, or the only run whose id starts with it. */
export async function findRun(store: StoreReader, text: string): Promise<RunRecord> {
  const exact = await store.getRun(text);
  if (exact !== null) return exact;
  const candidates =
    text.length < SHORTEST_PREFIX
      ? []
      : (await store.listRuns()).filter(({ runId }) => runId.startsWith(text));
  const [only, second] = candidates;
  if (only === undefined) throw await missing(store, text);
  if (second !== undefined) throw ambiguous(text, candidates);
  return only;
}

/** The full id of a wait or tool call given with a prefix of its run's id. */
export async function completeId(store: StoreReader, text: string): Promise<string> {
  const [, run, rest] = /^([^~/]+)([~/].+)$/.exec(text) ?? [];
  if (run === undefined || rest === undefined) return text;
  return `${(await findRun(store, run)).runId}${rest}`;
}

/** The error for a run that this store does not have. */
export async function missing(store: StoreReader, text: string): Promise<RunDeletedError | RunNotFoundError> {
  return (await deleted(store, text)) ?? notFound(text);
}

async function deleted(store: StoreReader, runId: string): Promise<RunDeletedError | null> {
  const stone = await store.getTombstone(runId);
  if (stone === null) return null;
  const at = new Date(stone.deletedAt).toISOString();
  return new RunDeletedError(
    `Run ${cleanLine(runId)} was deleted at ${at} by ${cleanLine(stone.deletedBy)} (${cleanLine(stone.why)}). It ${ENDS[stone.status]}, and is no longer in this store.`,
    { runId },
  );
}

const ENDS: { readonly [S in RunRecord["status"]]: string } = {
  queued: "was queued",
  running: "was running",
  waiting: "was waiting",
  succeeded: "had succeeded",
  failed: "had failed",
  cancelled: "was cancelled",
  moved: "was moved to another store",
};

function notFound(text: string): RunNotFoundError {
  const shown = cleanLine(text);
  const short =
    text.length < SHORTEST_PREFIX ? ` (a prefix needs at least ${SHORTEST_PREFIX} characters)` : "";
  return new RunNotFoundError(
    `There is no run ${shown} in this store${short}: \`pawl ls\` lists the runs, and --store names another store.`,
    { runId: text },
  );
}

function ambiguous(text: string, candidates: readonly RunRecord[]): WrongUseError {
  const ids = candidates.map(({ runId }) => runId);
  const more = ids.length > MOST_CANDIDATES ? `, and ${ids.length - MOST_CANDIDATES} more` : "";
  return new WrongUseError(
    `${ids.length} runs start with ${cleanLine(text)}: give more of the id, such as ${ids.slice(0, MOST_CANDIDATES).join(", ")}${more}.`,
    { candidates: ids },
  );
}
