import type { ExplorerMode } from "../../../../src/testing/crash/crash-explorer.ts";
import type { Patch } from "../../../patched-sources.ts";
import type { Bundled } from "./bundle-mutant.ts";

/** A bug planted in a copy of the engine or the store, and the promise that it breaks. */
export type Mutant = {
  /** The bug, in a sentence. */
  readonly what: string;
  readonly patches: readonly [Patch, ...Patch[]];
  /** The invariant that must notice it. */
  readonly breaks: string;
  /** The scenario that shows it. */
  readonly scenario: string;
  /** By default `crash`. */
  readonly mode?: ExplorerMode;
  /** The text of the schedule that shows it, if exploring up to there would take long. */
  readonly schedule?: string;
  /** Why it is planted on SQLite only; by default it is on both databases, unless it is in the code of SQLite. */
  readonly sqliteOnly?: string;
};

/** True if the bug is planted on PostgreSQL too. */
export function isForPostgres({ patches, sqliteOnly }: Mutant): boolean {
  return sqliteOnly === undefined && !patches.some(({ file }) => file.startsWith("store/sqlite/"));
}

/** True if the promise holds. */
export type MutantCheck = (bundle: Bundled) => Promise<boolean>;

/** A bug that takes more than crashes and pauses to show, with a check of its own. */
export type CheckedMutant = Pick<Mutant, "what" | "patches"> & { readonly check: MutantCheck };
