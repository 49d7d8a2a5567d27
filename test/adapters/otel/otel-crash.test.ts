// A process is killed in the middle of a run, and another one resumes it: the trace and the metrics continue.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { otel } from "../../../src/adapters/otel/otel.ts";
import { Runner } from "../../../src/index.ts";
import { temporaryFolder } from "../../engine/job-fixture.ts";
import { failureOf, fileStore } from "../../engine/run-fixture.ts";
import { killedWork, RUN_ID, readSpans, type WrittenSpan, written } from "./otel-crash-scenario.ts";
import { measuring, sumOf, tracing } from "./otel-fixture.ts";

const worker = fileURLToPath(new URL("./otel-crash-worker.ts", import.meta.url));

it("a run whose process was killed is one trace, and its tokens are those of the store", async () => {
  const folder = temporaryFolder();
  const killed = await failureOf(promisify(execFile)(process.execPath, [worker, folder]));
  expect(killed).toMatchObject({ signal: "SIGKILL" });
  const first = readSpans(folder);

  const { spans } = tracing();
  const { collect } = measuring();
  const store = await fileStore(`${folder}/pawl.db`);
  const { status } = await new Runner(killedWork(), { store, telemetry: otel() }).resume(RUN_ID);
  expect(status).toBe("succeeded");
  const second = spans().map(written);

  // The spans that were open when it was killed never ended: their children and the next worker's spans still refer to them.
  const calls = ["chat scripted-model", "execute_tool look", "execute_tool find"];
  expect(first.map(({ name }) => name).toSorted()).toEqual(calls.toSorted());
  expect(new Set(first.map(({ parentSpanId }) => parentSpanId)).size).toBe(1);
  expect(second.map(({ name }) => name)).toEqual([
    "pawl.run work",
    "invoke_agent worker",
    "chat scripted-model",
    "execute_tool look",
    "chat scripted-model",
  ]);
  const all = [...first, ...second];
  expect(new Set(all.map(({ traceId }) => traceId)).size).toBe(1);
  expect(new Set(all.map(({ spanId }) => spanId)).size).toBe(all.length);
  expect(all.map(({ attributes }) => attributes["pawl.run_id"])).toEqual(all.map(() => RUN_ID));

  const [root, agent, ...inside] = second;
  const [before] = await store.listAttempts(RUN_ID);
  const killedSpan = before?.traceParent?.split("-")[2];
  expect(root).toMatchObject({ parentSpanId: killedSpan, links: [killedSpan] });
  expect(root?.attributes).toMatchObject({ "pawl.resumed": true, "pawl.status": "succeeded" });
  expect(agent?.parentSpanId).toBe(root?.spanId);
  for (const { parentSpanId } of inside) expect(parentSpanId).toBe(agent?.spanId);

  // Every call of the ledger has its span, in one process or the other, and nothing was called twice.
  const ledger = (await store.listToolCalls(RUN_ID)).map(({ toolCallId }) => toolCallId);
  const called = all
    .map(({ attributes }) => attributes["pawl.tool_call_id"])
    .filter((id) => typeof id === "string");
  expect(called.toSorted()).toEqual(ledger.toSorted());
  const turns = all.filter(({ name }) => name.startsWith("chat"));
  expect(turns.map(({ attributes }) => [attributes["pawl.turn"], attributes["pawl.attempt"]])).toEqual([
    [1, 1],
    [2, 2],
    [3, 1],
  ]);

  const { charged, inputTokens, outputTokens } = await store.readUsage(RUN_ID);
  expect(tokensOf(all, "gen_ai.usage.input_tokens")).toBe(inputTokens);
  expect(tokensOf(all, "gen_ai.usage.output_tokens")).toBe(outputTokens);
  // The model call that was in progress is charged without an answer, once, by the next worker.
  const collected = await collect();
  const answered = tokensOf(all, "gen_ai.usage.input_tokens") + tokensOf(all, "gen_ai.usage.output_tokens");
  expect(charged.tokens).toBeGreaterThan(answered);
  expect(sumOf(collected, "pawl.tokens", { "pawl.charge_basis": "baseline" })).toBe(
    charged.tokens - answered,
  );
});

function tokensOf(spans: readonly WrittenSpan[], name: string): number {
  return spans.reduce((sum, { attributes }) => sum + Number(attributes[name] ?? 0), 0);
}
