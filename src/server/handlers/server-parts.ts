import type { WorkFolder } from "../../account/health/file-health.ts";
import type { Clock } from "../../engine/ports/clock.ts";
import type { Runner } from "../../engine/runner/runner.ts";
import type { RunRecord, Store } from "../../store/store.ts";

/** What the handlers work with. */
export type ServerParts = {
  readonly store: Store;
  /** The pipelines whose code the server has, by name. Their runners have the store of the server. */
  readonly pipelines: ReadonlyMap<string, Runner>;
  readonly clock: Clock;
  /** The version of the package. */
  readonly version: string;
  /** Distinguishes servers, and the same server before and after a restart. */
  readonly instance: string;
  /** What people call the store. */
  readonly storeName: string;
  /** Where tools work: those of the pipelines, and of these runs. */
  readonly workFolders: (runs: readonly RunRecord[]) => readonly WorkFolder[];
  /** A worker runs inside the server. */
  readonly hasWorker: boolean;
  readonly isReadOnly: boolean;
  /** How many streams are open. */
  readonly openStreams: () => number;
};
