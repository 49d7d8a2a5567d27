import { appendFileSync, readFileSync } from "node:fs";
import type { RecoveryClass, SideEffectClass } from "../../core/call/tool-call-decision.ts";
import { canonicalHash } from "../../core/canonical-json.ts";
import type { Json } from "../../core/json.ts";
import type { Usage } from "../../core/usage/usage.ts";

/** One call of a tool, as the other side sees it. */
export type SeenCall = {
  readonly life: number;
  /** How often this process has called it, from 1: as its points are numbered. */
  readonly nth: number;
  readonly runId: string;
  readonly toolCallId: string;
  readonly tool: string;
  readonly attempt: number;
  readonly epoch: number;
  readonly key: string;
  /** The hash of what was sent, the key left out. */
  readonly fingerprint: string;
  readonly effect: SideEffectClass;
  readonly recovery: RecoveryClass;
};

/** Of what a tool was sent. */
export function fingerprintOf(tool: string, payload: Json): string {
  return canonicalHash([tool, payload]).toString("hex").slice(0, 16);
}

export type WitnessLine =
  | {
      readonly kind: "asked";
      readonly life: number;
      readonly runId: string;
      readonly stepPath: string;
      readonly turnIndex: number;
      readonly attempt: number;
    }
  | {
      readonly kind: "answered";
      readonly life: number;
      readonly runId: string;
      readonly stepPath: string;
      readonly turnIndex: number;
      readonly attempt: number;
      /** Null where the provider gave no figures. */
      readonly usage: Usage | null;
    }
  /** The provider refused, or was never reached: nothing is to be paid for. */
  | {
      readonly kind: "refused";
      readonly life: number;
      readonly runId: string;
      readonly stepPath: string;
      readonly turnIndex: number;
      readonly attempt: number;
    }
  /** A tool was entered. `journaled`: whether the store had its call as running by then. */
  | (SeenCall & { readonly kind: "entered"; readonly journaled: boolean })
  /** Something happened outside. A side that knows keys takes a key once: `dropped` are those that it knew already. */
  | (SeenCall & {
      readonly kind: "effect";
      readonly isDropped: boolean;
      /** Whether whoever did it has looked at the key. */
      readonly keySeen: boolean;
      readonly result: Json;
    })
  | (SeenCall & { readonly kind: "looked"; readonly found: boolean | null });

export type Effect = Extract<WitnessLine, { kind: "effect" }>;

/**
 * What really happened, told by those it happened to: models and tools write here, into a file of their own, and nobody
 * else does. It is what every promise is measured by.
 */
export class Witness {
  readonly file: string;

  constructor(file: string) {
    this.file = file;
  }

  tell(line: WitnessLine): void {
    appendFileSync(this.file, `${JSON.stringify(line)}\n`);
  }

  lines(): readonly WitnessLine[] {
    return readIfThere(this.file)
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as WitnessLine);
  }

  /** What happened outside under a key; none where nothing did. */
  effectsOf(key: string): readonly Effect[] {
    return this.lines().filter((line): line is Effect => line.kind === "effect" && line.key === key);
  }
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
