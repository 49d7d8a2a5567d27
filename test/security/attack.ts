import type { Patch } from "../patched-sources.ts";
import type { Target } from "./target.ts";

/** One way to do harm, tried on our sources and on a copy of them without the guard. */
export type Attack = {
  /** The threat, in the words of its entry in docs/security.md. */
  readonly threat: string;
  /** The guard, taken away. */
  readonly weakened: readonly [Patch, ...Patch[]];
  /** Tries it as an attacker would, and looks whether harm was done. */
  readonly succeeds: (target: Target) => Promise<boolean>;
};
