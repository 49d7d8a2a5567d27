import { createUIMessageStreamResponse, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toUIMessageStream } from "../../../../src/adapters/ai-sdk/index.ts";
import type { LivePart } from "../../../../src/core/turn/live-part.ts";
import { agent, Runner, type WatchEvent, watchRun } from "../../../../src/index.ts";
import { memoryStore } from "../../../engine/run-fixture.ts";
import { response, type StreamedAnswer, streamingPort, typed } from "../../../engine/watch/streaming-port.ts";
import "../../../property-seed.ts";
import { textIn } from "./chat-world.ts";

async function runOf(...answers: readonly StreamedAnswer[]) {
  const store = await memoryStore();
  const clerk = agent({ name: "clerk", model: streamingPort(...answers), instructions: "Answer." });
  return { store, runner: new Runner(clerk, { store }) };
}

async function chunksOf(stream: ReadableStream<UIMessageChunk>): Promise<UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

async function folded(events: readonly WatchEvent[]): Promise<UIMessage | undefined> {
  async function* given() {
    yield* events;
  }
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream: toUIMessageStream(given()) })) last = message;
  return last;
}

describe("toUIMessageStream", () => {
  it("shows a run that is no conversation as one message", async () => {
    const { runner } = await runOf(typed("Hel", "lo"));
    await runner.enqueue("Hi?", { runId: "q-1" });
    const stream = toUIMessageStream(runner.watch("q-1"));
    const answer = createUIMessageStreamResponse({ stream });
    await runner.resume("q-1");
    const body = await answer.text();
    expect(body).toContain('"messageId":"q-1"');
    expect(body).toContain('"finishReason":"stop"');
    expect(textIn(await chunksOf(toUIMessageStream(runner.watch("q-1"))))).toBe("Hello");
  });

  it("ends with an error that says nothing about the inside, unless errorText does", async () => {
    const { runner } = await runOf(() => {
      throw new Error("postgres://secret@10.0.0.1 refused");
    });
    await runner.run("Hi?", { runId: "q-1" }).catch(() => undefined);
    const plain = await chunksOf(toUIMessageStream(runner.watch("q-1")));
    expect(plain.at(-1)).toEqual({ type: "error", errorText: "The answer failed. Send your message again." });
    const errorText = ({ code, message }: { code: string; message: string }) => `${code}: ${message}`;
    const told = await chunksOf(toUIMessageStream(runner.watch("q-1"), { errorText }));
    expect(told.at(-1)).toMatchObject({ errorText: expect.stringContaining("10.0.0.1") as string });
  });

  it("breaks, and does not end, if the watching ends before the answer", async () => {
    const { runner } = await runOf(typed("x"));
    await runner.enqueue("Hi?", { runId: "q-1" });
    const over = new AbortController();
    const stream = toUIMessageStream(runner.watch("q-1", { signal: over.signal }));
    setTimeout(() => over.abort(), 20);
    await expect(chunksOf(stream)).rejects.toThrow("The watching ended before the answer did.");
  });

  it("ends the watching when it is cancelled", async () => {
    const { runner } = await runOf(typed("x"));
    await runner.enqueue("Hi?", { runId: "q-1" });
    const watch = runner.watch("q-1");
    const reader = toUIMessageStream(watch).getReader();
    const reading = reader.read();
    await reader.cancel();
    expect((await reading).done).toBe(true);
    expect((await watch.next()).done).toBe(true);
  });

  it("ends with the same message whatever was shown while it was written", async () => {
    const { store, runner } = await runOf(() =>
      response([
        { type: "reasoning", text: "Hm." },
        { type: "text", text: "Hello there" },
      ]),
    );
    await runner.run("Hi?", { runId: "q-1" });
    const durable: WatchEvent[] = [];
    for await (const event of watchRun(store, "q-1")) durable.push(event);
    const expected = await folded(durable);
    expect(expected?.parts.map(({ type }) => type)).toEqual(["step-start", "reasoning", "text"]);
    const opened = durable.findIndex(({ type }) => type === "turn.opened");
    const kind = fc.constantFrom<LivePart["kind"]>("text", "reasoning", "tool_input");
    const delta = fc.constantFrom("Hm", "Hm.", ".", "Hello", " there", "Hello there", "", "other");
    const piece = fc.record({
      part: fc.integer({ min: 0, max: 3 }),
      kind,
      delta,
      end: fc.constantFrom(true, undefined),
    });
    const place = { runId: "q-1", step: "clerk", turn: 1, attempt: 1 };
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 8 }), fc.boolean(), async (pieces, isWithdrawn) => {
        const kinds = new Map<number, LivePart["kind"]>();
        const live = pieces.map(({ end, ...part }) => {
          kinds.set(part.part, kinds.get(part.part) ?? part.kind);
          const given = { ...part, kind: kinds.get(part.part) ?? part.kind, ...(end ? { end } : {}) };
          return { type: "part", ...place, ...given, tool: "find" } as const;
        });
        const withdrawn = { type: "attempt.withdrawn", ...place, why: "failed" } as const;
        const shown = [...live, ...(isWithdrawn && live.length > 0 ? [withdrawn] : [])];
        const events = [...durable.slice(0, opened + 1), ...shown, ...durable.slice(opened + 1)];
        expect(await folded(events)).toEqual(expected);
      }),
      { numRuns: 150 },
    );
  });
});
