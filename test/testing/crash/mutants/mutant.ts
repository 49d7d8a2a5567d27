import type { ExplorerMode } from "../../../../src/testing/crash/crash-explorer.ts";
import type { Patch } from "../../../patched-sources.ts";

/** A bug that is planted in a copy of the engine or the store, and the promise that it breaks. */
export type Mutant = {
  /** What is wrong, in a sentence. */
  readonly what: string;
  readonly patches: readonly [Patch, ...Patch[]];
  /** The invariant that has to notice it. */
  readonly breaks: string;
  /** Where it shows. */
  readonly scenario: string;
  /** `crash` unless said. */
  readonly mode?: ExplorerMode;
  /** The schedule that shows it, as the explorer names it, where exploring up to there would take long. */
  readonly schedule?: string;
};
