import type { Row, SqlValue } from "../row.ts";

/** A statement with its values; `?` or the server's own signs stand for them. */
export type Statement = {
  readonly text: string;
  /** An array stands for all rows of a column. */
  readonly values: readonly (SqlValue | readonly SqlValue[])[];
};

/** One session on a server. Once it is lost, it stays lost. */
export interface ServerSession {
  readonly isLost: boolean;
  /** Begin a transaction. */
  readonly begin: readonly Statement[];
  /** Begin a transaction whose queries all see one state. */
  readonly beginSnapshot: readonly Statement[];
  /**
   * Sends the statements together and waits for their answers: one round trip. The first that fails is the error, those
   * after it are not run, and the transaction that was open is rolled back.
   */
  exchange(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>;
  end(): Promise<void>;
}

/** How often, and after how many milliseconds, a server that cannot be reached is tried again. */
export const RECONNECT = { tries: 40, everyMs: 250 } as const;

export const COMMIT: Statement = { text: "COMMIT", values: [] };
export const ROLLBACK: Statement = { text: "ROLLBACK", values: [] };

const failedPlaces = new WeakMap<object, number>();

/** Notes which of the statements that were sent together an error is of. */
export function noteFailedPlace(error: object, place: number): void {
  failedPlaces.set(error, place);
}

/** The place of the statement that an error is of; null if that is not known. */
export function failedPlace(error: unknown): number | null {
  return typeof error === "object" && error !== null ? (failedPlaces.get(error) ?? null) : null;
}
