import type { LiveTimers } from "../../../store/live/live-buffer.ts";
import type { Store } from "../../../store/store.ts";

/** The kinds of databases on which the explorer works. */
export type DatabaseKind = "sqlite" | "postgres";

/** The databases of an exploration: makes an empty one for each world, and removes them all at the end. */
export interface CrashDatabase {
  readonly kind: DatabaseKind;
  /** `folder` is the folder of the world, which exists. */
  newWorld(folder: string): Promise<WorldDatabase>;
  remove(): Promise<void>;
}

/** The database of one world. */
export interface WorldDatabase {
  readonly kind: DatabaseKind;
  /** Where it is, for a process that is started by the world. */
  readonly address: WorldAddress;
  /** A store of no process, which reads what is stored. */
  observe(clocks: MachineClocks): Promise<Store>;
  /** The store of a new process. */
  open(
    clocks: MachineClocks & ProcessClock,
    activity: StoreActivity,
    live?: LiveCondition,
  ): Promise<ProcessStore>;
  /** Reads what is stored, between two real processes, without doing what the next one must do. */
  read<T>(work: (store: Store) => Promise<T>): Promise<T>;
  remove(): Promise<void>;
}

/** The address of a world's database, as JSON. */
export type WorldAddress =
  /** A file in the folder of the world. */
  { readonly kind: "sqlite" } | { readonly kind: "postgres"; readonly url: string; readonly schema: string };

/** The clocks of a simulated machine. */
export type MachineClocks = { readonly now: () => number; readonly monotonic: () => number };

/** The timers of a simulated process. */
export type ProcessClock = {
  /** For what a call of its store waits for. */
  readonly after: (ms: number, callback: () => void) => () => void;
  readonly liveTimers?: LiveTimers;
};

/** What becomes of the pieces of answers: they are stored, or every attempt to store or read one fails. */
export type LiveCondition = "works" | "fails";

/** What the stores of a world are doing: time stands still meanwhile. */
export type StoreActivity = {
  /** Calls, and questions to a server. */
  inFlight: number;
  /** Resolves when the answer to the last question to a server has arrived; null if none was asked. */
  lastAnswer: Promise<unknown> | null;
};

/** The store of a simulated process. */
export interface ProcessStore {
  readonly store: Store;
  /** Called before each write; throws if the database cannot take it. */
  beforeWrite(intent: string): void;
  /** The database fails, from the next write on. `phase` says where the process is: right before a call or after it. */
  fail(phase: "before" | "after"): void;
  /** It works again. */
  recover(): void;
  /** Ends as at a kill: nothing is closed in order. */
  vanish(): Promise<void>;
}
