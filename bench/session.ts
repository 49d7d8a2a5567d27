import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import {
  agent,
  append,
  defineSlice,
  type ModelPort,
  Runner,
  replaceLatest,
  type Slice,
  Step,
  tool,
} from "../src/index.ts";
import type { CrashProbe } from "../src/testing/index.ts";
import { freshStore } from "./measure.ts";

const TURNS = 60;
/** Text of a large slice; words, since a snapshot of them is compressed. */
const LARGE = Array.from({ length: 3_000 }, (_, i) => `word${(i * 7919) % 1_000}`).join(" ");

const counter = defineSlice({
  name: "counter",
  schema: z.object({ n: z.number() }),
  reducers: { Counted: replaceLatest(({ n }: { type: "Counted"; n: number }) => ({ n })) },
});

function largeSlices(count: number): Slice[] {
  return Array.from({ length: count }, (_, i) =>
    defineSlice({
      name: `large-${i}`,
      schema: z.object({ text: z.string() }),
      reducers: { Filled: append(() => ({ text: `${i} ${LARGE}` })) },
    }),
  );
}

/**
 * The bytes that a commit writes, by the growth of the log, in a run whose every turn changes one small slice; beside it
 * the session has `large` slices of 24 KB that do not change.
 */
export async function sessionCommitBytes(file: string, large: number): Promise<number> {
  const slices = [counter, ...largeSlices(large)];
  const count = tool({
    description: "Count.",
    inputSchema: z.object({ n: z.number() }),
    effect: "read_only",
    execute: ({ n }, call) => {
      if (n === 1 && large > 0) call.session.dispatch({ type: "Filled" });
      call.session.dispatch({ type: "Counted", n });
      return n;
    },
  });
  const worker = agent({ name: "worker", model: countingModel(), tools: { count }, slices });
  const store = await freshStore(file);
  const walBytes = () => statSync(`${file}-wal`).size;
  const written: number[] = [];
  let before = 0;
  const probe: CrashProbe = (point, { turnIndex }) => {
    // The log is truncated after the turn that filled the slices, and stays too short for SQLite's own checkpoint.
    if (point === "turn:committed" && turnIndex === 2) truncateLog(file);
    if (turnIndex <= 2) return;
    if (point === "turn:before-commit") before = walBytes();
    if (point === "turn:committed") written.push(walBytes() - before);
  };
  await new Runner(Step.granular("work", worker, { maxTurns: TURNS }), { store, probe }).run("Go.");
  await store.close();
  return written.reduce((sum, bytes) => sum + bytes, 0) / written.length;
}

function truncateLog(file: string): void {
  const database = new DatabaseSync(file);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}

/** Requests one call a turn, and ends in the last turn. */
function countingModel(): ModelPort {
  let n = 0;
  const usage = { inputTokens: 100, outputTokens: 10, cachedInputTokens: 0, reasoningTokens: 0 };
  return {
    provider: "bench",
    modelId: "counting",
    respond: () => {
      n += 1;
      const content =
        n === TURNS
          ? [{ type: "text", text: "All done." }]
          : [{ type: "tool-call", toolCallId: `call-${n}`, toolName: "count", input: { n } }];
      return Promise.resolve({ content, finishReason: "stop", usage, invalidCalls: {}, responseId: null });
    },
  };
}
