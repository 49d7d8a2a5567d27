import { canonicalHash } from "./canonical-json.ts";
import { ConfigurationError } from "./errors.ts";

const LONGEST_KEY = 1_024;

/** Ids of this form are derived from keys, so that no two callers can mean the same one by accident. */
const DERIVED = /^key-[0-9a-f]{32}$/;

/** The run id that is derived from a caller's key: one per pipeline and key. */
export function runIdOfKey(pipeline: string, key: unknown): string {
  if (typeof key !== "string" || key === "" || key.length > LONGEST_KEY || !key.isWellFormed())
    throw new ConfigurationError(
      `${JSON.stringify(key) ?? String(key)} cannot be the key of a run: use a text of 1 to ${LONGEST_KEY} characters, such as the id of the order or message that the run is for.`,
    );
  return derivedId([pipeline, key]);
}

/** The run id that is derived from the key of a request over HTTP: one per scope of tokens and key, whatever is asked for. */
export function runIdOfRequestKey(scope: string, key: string): string {
  return derivedId(["http", scope, key]);
}

function derivedId(parts: readonly string[]): string {
  return `key-${canonicalHash(parts).toString("hex").slice(0, 32)}`;
}

/** A run id chosen by the caller must not look like one that is derived from a key. */
export function assertChosenRunId(runId: string): void {
  if (!DERIVED.test(runId)) return;
  throw new ConfigurationError(
    `The run id ${runId} is derived from a caller's key: start the run with that \`key\`, or continue it with \`resume\`.`,
  );
}
