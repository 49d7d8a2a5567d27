// Shared by the transcript tests: a run to start with, and a check of the order of a transcript's parts.

import { expect } from "vitest";
import { renderTranscript } from "../../../src/export/transcript/transcript.ts";
import type { Store, StoreReader } from "../../../src/index.ts";
import { LEASE_MS, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { tickingStore } from "../sample-store.ts";

/** A run whose first worker is at step `draft`. */
export async function startedRun(over: Parameters<typeof SampleRun.create>[2] = {}) {
  const { store, clock } = await tickingStore();
  const run = await SampleRun.create(store, "run-1", over);
  return { store, clock, run };
}

export const transcriptOf = (reader: StoreReader, runId = "run-1") => renderTranscript(reader, runId);

/** Asserts that a transcript has these parts in this order. */
export function expectInOrder(transcript: string, parts: readonly string[]): void {
  let from = 0;
  for (const part of parts) {
    const at = transcript.indexOf(part, from);
    expect(at, `${JSON.stringify(part)} in ${transcript.slice(from)}`).toBeGreaterThanOrEqual(0);
    from = at + part.length;
  }
}

/** The worker falls silent, and another one takes over the run. */
export async function takeOver(run: SampleRun, clock: { at: number }): Promise<SampleRun> {
  clock.at += 2 * LEASE_MS;
  return run.takenOver();
}

/** A reader of the store with some methods replaced. */
export function readerWith(store: Store, over: Partial<StoreReader>): StoreReader {
  return new Proxy<StoreReader>(store, {
    get(target, name) {
      const value: unknown = Reflect.get(over, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
