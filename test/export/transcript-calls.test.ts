// transcript.md: what a reader is told of tool calls, their tries and their results.

import { describe, expect, it } from "vitest";
import { blobReceipt, newReceipt, type SampleRun } from "../../src/testing/store/sample-run.ts";
import { counting } from "./sample-store.ts";
import { begun, expectInOrder, reading, takenOver, told } from "./transcript-fixture.ts";

describe("a call", () => {
  it("that failed and may have happened says so", async () => {
    const { store, run } = await begun();
    const output = { type: "error-text", value: "Connection reset." } as const;
    await run.committedWithCall(
      1,
      newReceipt(1, { status: "failed", errorCode: "tool_error", uncertain: true, output }),
    );
    expectInOrder(await told(store), [
      "**failed**",
      "its tool answered (error `tool_error`; it may have happened anyway).",
      "Connection reset.",
    ]);
  });

  it.each([
    ["repeat", "the previous attempt failed, and it may be repeated"],
    [
      "keyed",
      "the previous attempt failed, and it carries the same key, so that the other side does it only once",
    ],
  ] as const)("that is tried again says why it may be: %s", async (recovery, why) => {
    const { store, run } = await begun();
    await run.open(1);
    await store.journalResponse(run.fence, run.journal(1, [], oneCall(run, recovery)));
    await run.endAttempt(1, 1, { outcome: "failed", errorDetail: "503.", inDoubt: false });
    await run.start(1, 1);
    expectInOrder(await told(store), [
      "Call 1, `search`, attempt 1 took 100 ms and failed: 503.\n",
      `starts again at 06:00:00.600, attempt 2: ${why}.`,
    ]);
  });

  it("that was settled when its first worker told of it keeps that as evidence", async () => {
    const { store, clock, run } = await begun();
    await run.journaled(1, ["running"]);
    const next = await takenOver(run, clock);
    await next.receipt(1, 1, { source: "reconciled" });
    expect(
      await store.offerLateReceipt(
        run.late(1, 1, newReceipt(1, { output: { type: "text", value: "Sent!" } })),
      ),
    ).toBe("kept");
    expectInOrder(await told(store), [
      "it was looked up on the other side, with this result.",
      "attempt 1: its first worker reported at",
      "that it had `succeeded`. The call was already settled, so this changes nothing:",
      "Sent!",
    ]);
  });

  it("that its first worker settled after all says so", async () => {
    const { store, clock, run } = await begun();
    await run.journaled(1, ["running"]);
    await takenOver(run, clock);
    expect(await store.offerLateReceipt(run.late(1, 1, newReceipt(1)))).toBe("settled");
    expect(await told(store)).toContain("the worker that had lost the run reported its outcome.");
  });

  it("with a large result shows its beginning and names its blob", async () => {
    const { store, run } = await begun();
    const text = `Begin ${"x".repeat(10_000)} end`;
    const receipt = blobReceipt(1, Buffer.from(JSON.stringify(text)));
    await run.committedWithCall(1, receipt);
    const transcript = await told(store);
    expectInOrder(transcript, [
      "Begin xxx",
      "…\n```\n\nShortened: this is the beginning.",
      `A large result: 10,012 bytes in blob \`${receipt.blob?.blobId}\`.`,
    ]);
    expect(transcript).not.toContain("end\n");
    expect(transcript.length).toBeLessThan(7_000);
  });

  it("with the result of another reads it once", async () => {
    const { store, run } = await begun();
    await run.committedWithCall(1, blobReceipt(1, Buffer.from('"same"')));
    await run.committedWithCall(2, blobReceipt(1, Buffer.from('"same"')));
    const code = await run.at("send", { kind: "run" });
    await store.openToolCall(run.fence, code.codeCall(1));
    const { reader, counts } = counting(store);
    expect((await told(reader)).split("```text\nsame\n```")).toHaveLength(3);
    expect(counts.get("readBlob")).toBe(1);
    // Only an agent has something to begin with.
    expect(counts.get("readConversation")).toBe(1);
  });

  it("with a large result that was collected says that it is gone", async () => {
    const { store, run } = await begun();
    await run.committedWithCall(1, blobReceipt(1, Buffer.from('"gone"')));
    const reader = reading(store, { readBlob: () => Promise.resolve(null) });
    const transcript = await told(reader);
    expect(transcript).toContain("which no longer exists.");
    expect(transcript).not.toContain("gone\n");
  });

  it("with a large request shows its beginning", async () => {
    const { store, run } = await begun();
    const code = await run.at("send", { kind: "run" });
    await store.openToolCall(run.fence, code.codeCall(1, { request: { body: "y".repeat(9_000) } }));
    const transcript = await told(store);
    expect(transcript).toContain("Shortened: all of it is in `receipts.json`.");
    expect(transcript.length).toBeLessThan(6_000);
  });
});

function oneCall(run: SampleRun, recovery: "repeat" | "keyed") {
  const { response } = run.journal(1, ["running"]);
  return { response, calls: [run.call(1, 1, { recovery })] };
}
