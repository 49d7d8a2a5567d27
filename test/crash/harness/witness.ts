// The log of what happened outside: the model's script and the tools append to files of their own. Nothing here comes from
// the database under test.

import { randomUUID } from "node:crypto";
import { appendFileSync, linkSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export type WitnessLine =
  /** The model was asked. `label` is the first user message of the conversation. */
  | { readonly kind: "asked"; readonly label: string; readonly turn: number }
  /** The model found these results in its prompt. */
  | { readonly kind: "saw"; readonly turn: number; readonly results: readonly string[] }
  /** The model was asked, and found this about the plan in its prompt; `asks` are the calls that it requested. */
  | {
      readonly kind: "prompted";
      readonly model: string;
      readonly done: readonly string[];
      readonly remaining: readonly string[];
      readonly asks: readonly string[];
    }
  /** The worker logged a warning. */
  | { readonly kind: "warned"; readonly message: string }
  /** A tool was entered. */
  | ({ readonly kind: "tried" } & ToolWitness)
  /** A tool without a key had its effect. One with a key leaves its effect in the outside log. */
  | ({ readonly kind: "effect" } & ToolWitness)
  /** A code step or a loop's predicate ran. */
  | { readonly kind: "code"; readonly name: string; readonly detail: string }
  /** The worker waits for the parent. */
  | { readonly kind: "waiting"; readonly place: string }
  /** A crash point was passed; only with `trace`. */
  | { readonly kind: "reached"; readonly point: string; readonly step: string; readonly turn: number };

type ToolWitness = {
  readonly tool: string;
  readonly order: string;
  readonly key: string;
  readonly stepId: string;
  readonly turn: number;
  readonly turnKey: string;
  readonly attempt: number;
};

export type WitnessKind = WitnessLine["kind"];
export type WitnessOf<K extends WitnessKind> = Extract<WitnessLine, { kind: K }>;

function witnessFile(folder: string): string {
  return join(folder, "witness.jsonl");
}

/** Appended and flushed before it returns, so a kill right after it finds it there. */
export function recordWitness(folder: string, line: WitnessLine): void {
  appendFileSync(witnessFile(folder), `${JSON.stringify(line)}\n`, { flush: true });
}

/** Text after the last line end is still being written. */
export function readWitness(folder: string): WitnessLine[] {
  return readIfPresent(witnessFile(folder))
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as WitnessLine);
}

function outsideLog(folder: string): string {
  return join(folder, "outside");
}

/**
 * An outside system that deduplicates by key: it accepts one entry for each key and drops the others. The entry is
 * written whole or not at all, whenever the process is killed.
 */
export function enterOutside(folder: string, key: string, entry: string): "entered" | "dropped" {
  const draft = join(folder, `draft-${randomUUID()}`);
  writeFileSync(draft, entry);
  try {
    linkSync(draft, join(outsideLog(folder), key));
    return "entered";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return "dropped";
    throw error;
  } finally {
    unlinkSync(draft);
  }
}

/** The entries of the outside log, in no particular order. */
export function readOutside(folder: string): { readonly key: string; readonly entry: string }[] {
  return readdirSync(outsideLog(folder)).map((key) => ({
    key,
    entry: readFileSync(join(outsideLog(folder), key), "utf8"),
  }));
}

function readIfPresent(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
