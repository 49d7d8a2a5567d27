// transcript.md: tool calls, their attempts and their results.

import { describe, expect, it } from "vitest";
import { blobReceipt, newReceipt, type SampleRun } from "../../../src/testing/store/sample-run.ts";
import { countingReader } from "../sample-store.ts";
import { expectInOrder, readerWith, startedRun, takeOver, transcriptOf } from "./transcript-fixture.ts";

describe("a call", () => {
  it("that failed and may have happened is shown as such", async () => {
    const { store, run } = await startedRun();
    const output = { type: "error-text", value: "Connection reset." } as const;
    await run.committedWithCall(
      1,
      newReceipt(1, { status: "failed", errorCode: "tool_error", uncertain: true, output }),
    );
    expectInOrder(await transcriptOf(store), [
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
  ] as const)("that is attempted again says why that is safe: %s", async (recovery, why) => {
    const { store, run } = await startedRun();
    await run.open(1);
    await store.journalResponse(run.fence, run.journal(1, [], oneCall(run, recovery)));
    await run.endAttempt(1, 1, { outcome: "failed", errorDetail: "503.", inDoubt: false });
    await run.start(1, 1);
    expectInOrder(await transcriptOf(store), [
      "Call 1, `search`, attempt 1 took 100 ms and failed: 503.\n",
      `starts again at 06:00:00.600, attempt 2: ${why}.`,
    ]);
  });

  it("that was settled before its first worker reported keeps the late report as evidence", async () => {
    const { store, clock, run } = await startedRun();
    await run.journaled(1, ["running"]);
    const next = await takeOver(run, clock);
    await next.receipt(1, 1, { source: "reconciled" });
    expect(
      await store.offerLateReceipt(
        run.late(1, 1, newReceipt(1, { output: { type: "text", value: "Sent!" } })),
      ),
    ).toBe("kept");
    expectInOrder(await transcriptOf(store), [
      "it was looked up on the other side, with this result.",
      "attempt 1: its first worker reported at",
      "that it had `succeeded`. The call was already settled, so this changes nothing:",
      "Sent!",
    ]);
  });

  it("that its first worker settled in the end is shown as such", async () => {
    const { store, clock, run } = await startedRun();
    await run.journaled(1, ["running"]);
    await takeOver(run, clock);
    expect(await store.offerLateReceipt(run.late(1, 1, newReceipt(1)))).toBe("settled");
    expect(await transcriptOf(store)).toContain("the worker that had lost the run reported its outcome.");
  });

  it("with a large result shows its beginning and names its blob", async () => {
    const { store, run } = await startedRun();
    const text = `Begin ${"x".repeat(10_000)} end`;
    const receipt = blobReceipt(1, Buffer.from(JSON.stringify(text)));
    await run.committedWithCall(1, receipt);
    const transcript = await transcriptOf(store);
    expectInOrder(transcript, [
      "Begin xxx",
      "…\n```\n\nShortened: this is the beginning.",
      `A large result: 10,012 bytes in blob \`${receipt.blob?.blobId}\`.`,
    ]);
    expect(transcript).not.toContain("end\n");
    expect(transcript.length).toBeLessThan(7_000);
  });

  it("with the same result as another reads it once", async () => {
    const { store, run } = await startedRun();
    await run.committedWithCall(1, blobReceipt(1, Buffer.from('"same"')));
    await run.committedWithCall(2, blobReceipt(1, Buffer.from('"same"')));
    const code = await run.at("send", { kind: "run" });
    await store.openToolCall(run.fence, code.codeCall(1));
    const { reader, counts } = countingReader(store);
    expect((await transcriptOf(reader)).split("```text\nsame\n```")).toHaveLength(3);
    expect(counts.get("readBlob")).toBe(1);
    // Only an agent has an initial prompt.
    expect(counts.get("readConversation")).toBe(1);
  });

  it("with a large result that was collected shows that it is gone", async () => {
    const { store, run } = await startedRun();
    await run.committedWithCall(1, blobReceipt(1, Buffer.from('"gone"')));
    const reader = readerWith(store, { readBlob: () => Promise.resolve(null) });
    const transcript = await transcriptOf(reader);
    expect(transcript).toContain("which no longer exists.");
    expect(transcript).not.toContain("gone\n");
  });

  it("with a large request shows its beginning", async () => {
    const { store, run } = await startedRun();
    const code = await run.at("send", { kind: "run" });
    await store.openToolCall(run.fence, code.codeCall(1, { request: { body: "y".repeat(9_000) } }));
    const transcript = await transcriptOf(store);
    expect(transcript).toContain("Shortened: all of it is in `receipts.json`.");
    expect(transcript.length).toBeLessThan(6_000);
  });
});

function oneCall(run: SampleRun, recovery: "repeat" | "keyed") {
  const { response } = run.journal(1, ["running"]);
  return { response, calls: [run.call(1, 1, { recovery })] };
}
