// A store as large as people's: 100,000 runs, and one run with 20,000 events.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import {
  agent,
  exportBundle,
  importBundle,
  openStore,
  Runner,
  Step,
  type Store,
  tool,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { copyRuns } from "../../store/copied-runs.ts";

export const MANY = 100_000;
export const LONG = { runId: "long", events: 20_000 } as const;

const CALLS_OF_TURN = 60;

const note = tool({
  name: "note",
  description: "Takes a note.",
  inputSchema: z.object({ text: z.string() }),
  effect: "read_only",
  execute: ({ text }) => text.length,
});

/** Takes many notes a turn, until the log of its run is long enough. */
function notesUntil(isDone: () => Promise<boolean>) {
  const model = scriptedModel(async ({ turn }) => {
    if (await isDone()) return { text: "Noted." };
    const texts = Array.from({ length: CALLS_OF_TURN }, (_, i) => `${turn}.${i}`);
    return { text: "A page.", toolCalls: texts.map((text) => ({ name: "note", input: { text } })) };
  });
  const clerk = agent({ name: "clerk", instructions: "Take notes.", model, tools: { note } });
  return Step.granular("notes", clerk, { maxTurns: 10_000, historyMaxTokens: 2_000 });
}

/** Fills the store at this address. */
export async function fill(store: Store, address: string): Promise<void> {
  const nothing = notesUntil(() => Promise.resolve(true));
  await new Runner(nothing, { store }).run("Nothing.", { runId: "pattern" });
  await makeLongRun(store);
  await copyPattern(address);
}

/** It is made in a file and moved: thousands of commits are many times faster there. */
async function makeLongRun(store: Store): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-long-"));
  const scratch = await openStore(`file:${join(folder, "pawl.db")}`);
  try {
    const { runId, events } = LONG;
    const much = notesUntil(async () => ((await scratch.readProgress([runId])).get(runId) ?? 0) >= events);
    await new Runner(much, { store: scratch }).run("Much.", { runId });
    const file = join(folder, "long.bundle");
    await exportBundle(scratch, runId, { file, to: await store.storeId() });
    await importBundle(store, file);
  } finally {
    await scratch.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function copyPattern(address: string): Promise<void> {
  const [aSecondEach, failed] = ["- n * 1000", "n % 50 = 0"];
  return copyRuns(address, {
    pattern: "pattern",
    prefix: "run",
    count: MANY,
    value: (column, table) => {
      if (column === "status" && table === "runs") return `CASE WHEN ${failed} THEN 'failed' ELSE status END`;
      if (column === "error")
        return `CASE WHEN ${failed} THEN '{"code":"model_call","message":"It is down."}' END`;
      return /^(?:created|updated|started|ended|opened|settled)_at$/.test(column)
        ? `${table}.${column} ${aSecondEach}`
        : undefined;
    },
  });
}
