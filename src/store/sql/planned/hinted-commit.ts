import type { Write } from "../write.ts";
import { COMMIT, failedPlace, type ServerSession, type Statement } from "./server-session.ts";

/** A server that takes hints. */
export interface HintServer {
  /** The statements of the hints among some writes; none while hints are off. */
  hintsOf(writes: readonly Write[]): readonly Statement[];
  /** A commit was refused because of its hints: they have to be off for a while. */
  stopHints(cause: unknown): void;
  /** True if the connection is gone, or may be: what was sent last may have been done or not. */
  isConnectionLost(error: unknown): boolean;
}

/** A hint made the server refuse a commit. Nothing was stored, and the same commit without it may succeed. */
export class RefusedHintError extends Error {
  constructor(cause: unknown) {
    super("A hint was refused.", { cause });
    this.name = "RefusedHintError";
  }
}

/**
 * Sends the last statements of a transaction, the hints of its writes after them, and the COMMIT. What the server refuses
 * at a hint or after it was refused because of the hints: the COMMIT refuses a NOTIFY in them that has no room.
 */
export async function commitWithHints(
  session: ServerSession,
  server: HintServer,
  statements: readonly Statement[],
  writes: readonly Write[],
): Promise<void> {
  const hints = server.hintsOf(writes);
  try {
    await session.exchange([...statements, ...hints, COMMIT]);
  } catch (error) {
    const isOfHints = hints.length > 0 && (failedPlace(error) ?? -1) >= statements.length;
    // Without an answer it is unknown whether the commit happened: then that is looked up, as for any other.
    if (!isOfHints || server.isConnectionLost(error)) throw error;
    server.stopHints(error);
    throw new RefusedHintError(error);
  }
}
