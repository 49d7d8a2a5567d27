import type { LiveParts } from "../live-parts.ts";
import type { DatabaseReport } from "../report/database-report.ts";
import type { StoreDescription } from "../store.ts";
import type { ChangeLog } from "./change-log.ts";
import type { SqlScript } from "./script.ts";
import type { Transaction } from "./transaction.ts";

/** What a database brings: everything else of a store is written once, for all of them. */
export interface Driver {
  /** Names the database in errors. */
  readonly name: string;
  readonly isReadOnly: boolean;
  /** Milliseconds since 1970, by the clock that leases are measured with. */
  now(): number;
  /**
   * Runs an intent in a transaction; resolves once that is durable. Intents of a run, and those without one (null), are
   * run in the order in which they come.
   * One that finds its cached head stale is run again on fresh data. Rejects if the database is read-only.
   */
  write<T>(intent: string, runId: string | null, script: (tx: Transaction) => SqlScript<T>): Promise<T>;
  /** Runs a script whose queries all see one state. */
  read<T>(script: () => SqlScript<T>): Promise<T>;
  /**
   * The same for a script that may read everything: meanwhile, leases are renewed and streams are sent. `isLong` says whether it
   * will, where that takes a look; without it, it always may.
   */
  readLong<T>(script: () => SqlScript<T>, isLong?: () => SqlScript<boolean>): Promise<T>;
  /** A run may be ready for a worker: tells those who watch, here and in other processes. */
  announce(): void;
  /**
   * Calls back when a run may be ready; sometimes without a reason, and not always at once. `onNotice` gets the reason why
   * something that could wake workers does not.
   */
  watch(listener: () => void, onNotice: (reason: string) => void): Promise<() => void>;
  /** The answers that are being written now, apart from the rows of runs. */
  readonly live: LiveParts;
  /** What was committed in which order. */
  readonly changeLog: ChangeLog;
  /** Changes with every commit to the database; null if that is not known without a query. */
  commitsSeen(): number | null;
  /** Finishes what was submitted, and disconnects. A held owner lock is freed only by the death of the process. */
  close(ownerLock: "release" | "hold"): Promise<void>;
  /** Ends as a killed process would, for tests. */
  vanish(): Promise<void>;
  /** The problems of the database itself, as sentences. */
  checkIntegrity(): Promise<readonly string[]>;
  /** Which database it is, and how large. */
  describe(): Promise<StoreDescription>;
  /** What checks of the installation look at. Creates and changes nothing. */
  inspect(): Promise<DatabaseReport>;
  /** True if the path leads to one of the database's own files. */
  isOwnFile(path: string): Promise<boolean>;
  /** The key for digests of hidden values. */
  redactionKey(): Uint8Array;
}

/**
 * The most answers in one tick. The work that follows an answer is done before the event loop continues: 200 runs that
 * were all answered in one tick kept timers waiting for 35 ms in the middle, and in slices of 16 for about 1 ms.
 */
export const ANSWERS_IN_A_TICK = 16;
