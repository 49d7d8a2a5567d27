import { PawlError, StoreUnavailableError, StoreUnusableError } from "../../core/errors.ts";

/** The SQLSTATE of an error of the server; null for any other error, such as one of the network. */
export function sqlState(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  // Each has a digit, which the codes of the system (EPIPE) do not.
  return typeof code === "string" && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** Made by our own statements: the log of a run has moved. */
const STALE_HEAD = "22012";
const DUPLICATE = "23505";

/** True if the same transaction may succeed on fresh data. */
export function isWorthRepeating(error: unknown): boolean {
  const state = sqlState(error);
  if (state === null) return false;
  return state === STALE_HEAD || state === DUPLICATE || state === "55P03" || /^40(?!003)/.test(state);
}

/** True if the connection is gone, or may be: what was sent last may have been done or not. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error);
  if (state === null) return !PawlError.isInstance(error) && isNetworkError(error);
  return state === "40003" || ENDS_SESSION.test(state);
}

/** With these the server ends the session: also one that was idle in its transaction, or used, for too long. */
const ENDS_SESSION = /^(08|57P0[1235]|25P0[34])/;

function isNetworkError(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (typeof code === "string" && /^E[A-Z]+$/.test(code)) return true;
  return typeof message === "string" && /terminat|closed|timeout|not queryable|ended/i.test(message);
}

/** What the states of the server mean: the reason, what happened, and what to do. */
const SENTENCES: readonly (readonly [state: RegExp, reason: string, what: string])[] = [
  [/^22012$/, "busy", "has a run that others change again and again: nothing was written; try again."],
  [
    /^53[1-4]00$/,
    "full",
    "has no room left (disk, memory or connections): nothing was written; free some and resume.",
  ],
  [/^28/, "refused", "refuses the user or the password: nothing was done; check the address of the store."],
  [/^3D000$/, "missing", "does not exist: create it with `createdb`, then try again."],
  [
    /^42501$/,
    "refused",
    "does not allow this role to do that: grant it the rights that docs/operations.md lists.",
  ],
  [/^25006$/, "read_only", "is read-only: name the primary server, not a replica."],
  [
    /^(55P03|57014|40)/,
    "busy",
    "was too busy, or its rows were locked for too long: nothing was written; try again.",
  ],
];

/** Turns an error of the server into one sentence: what happened, to what, and what to do. */
export function postgresError(error: unknown, name: string): unknown {
  if (PawlError.isInstance(error)) return error;
  const unavailable = (reason: string, what: string) =>
    new StoreUnavailableError(`The database ${name} ${what}`, { reason }, { cause: error });
  if (isConnectionLost(error))
    return unavailable(
      "disconnected",
      "cannot be reached: nothing was written; check the server, and resume.",
    );
  const state = sqlState(error) ?? "";
  const [, reason, what] = SENTENCES.find(([states]) => states.test(state)) ?? [];
  if (reason !== undefined && what !== undefined) return unavailable(reason, what);
  if (!/^(42P01|42703|3F000)$/.test(state)) return error;
  return new StoreUnusableError(
    `The database ${name} does not have the tables of Pawl that it should: restore it from a backup; nothing was changed.`,
    { reason: "changed_schema" },
    { cause: error },
  );
}

export function openedReadOnly(name: string): StoreUnavailableError {
  return new StoreUnavailableError(
    `The database ${name} was opened for reading: open it without readOnly to write.`,
    { reason: "read_only" },
  );
}

/** A commit whose answer was lost, and that could not be looked up either. */
export function unknownCommit(name: string, cause: unknown): StoreUnavailableError {
  return new StoreUnavailableError(
    `The database ${name} could not be reached while a write was made durable, so it is unknown whether it was stored: check the server, and look whether it was before you repeat it.`,
    { reason: "commit_unknown" },
    { cause },
  );
}
