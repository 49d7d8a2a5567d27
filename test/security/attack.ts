import type { Patch } from "../patched-sources.ts";
import type { Target } from "./target.ts";

/** One attack, tried on our sources and on a copy of them without the guard. */
export type Attack = {
  /** The threat, in the words of its entry in docs/security.md. */
  readonly threat: string;
  /** The patches that remove the guard. */
  readonly weakened: readonly [Patch, ...Patch[]];
  /** Attacks as an attacker would; true if harm was done. */
  readonly succeeds: (target: Target) => Promise<boolean>;
};
