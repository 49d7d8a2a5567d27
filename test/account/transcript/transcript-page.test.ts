import { describe, expect, test } from "vitest";
import type { TranscriptItem } from "../../../src/account/transcript/transcript-items.ts";
import { readTranscriptPage } from "../../../src/account/transcript/transcript-page.ts";
import type { StoreReader } from "../../../src/index.ts";
import { blobReceipt, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { writeLongRun } from "../../cli/long-run.ts";
import { eventfulRun } from "../../export/eventful-run.ts";
import { countingReader, tickingStore } from "../../export/sample-store.ts";

/** Every item, page by page from the newest to the oldest. */
async function backwards(store: StoreReader, runId: string, limit: number) {
  const pages: (readonly TranscriptItem[])[] = [];
  for (let before: string | null | undefined; before !== null; ) {
    const page = await readTranscriptPage(store, runId, {
      limit,
      ...(before === undefined ? {} : { before }),
    });
    pages.unshift(page.items);
    before = page.older;
  }
  return pages;
}

describe("a page of a transcript", () => {
  test("has what was said and done, in the order of the log", async () => {
    const { store, runId } = await eventfulRun();
    const { items, older, isNewest } = await readTranscriptPage(store, runId, { limit: 1_000 });
    expect([older, isNewest]).toEqual([null, true]);
    expect(items.map(({ kind }) => kind).slice(0, 5)).toEqual([
      "life",
      "step",
      "assistant",
      "assistant",
      "assistant",
    ]);
    const lives = items.filter((item) => item.kind === "life");
    expect(lives.map(({ number, afterDeath }) => [number, afterDeath]).slice(0, 2)).toEqual([
      [1, false],
      [2, true],
    ]);
    const answers = items.filter((item) => item.kind === "answer");
    expect(answers.map(({ by, answer }) => [by, answer])).toEqual([
      [["ann"], { approved: true }],
      [["ben"], { as: "succeeded", result: { paid: 250 } }],
    ]);
    const said = items.filter((item) => item.kind === "assistant");
    expect(said[0]?.parts.map(({ kind }) => kind)).toEqual(["text", "call", "call"]);
    expect(new Set(said.map(({ isAbandoned }) => isAbandoned))).toEqual(new Set([true, false]));
    expect(items.filter(({ kind }) => kind === "lineage")).toHaveLength(1);
    expect(items.at(-1)).toMatchObject({ kind: "run", what: "succeeded" });
  });

  test("refers to a large result, and never has its bytes", async () => {
    const { store } = await tickingStore();
    const run = await SampleRun.create(store);
    await run.committedWithCall(1, blobReceipt(1, Buffer.from(JSON.stringify("x".repeat(9_000)))));
    const { items } = await readTranscriptPage(store, run.runId);
    const said = items.find((item) => item.kind === "assistant");
    const call = said?.parts.find((part) => part.kind === "call");
    expect(call?.call.result?.value).toEqual({ kind: "blob", blobId: expect.any(String), size: 9_002 });
    expect(JSON.stringify(items)).not.toContain("xxxx");
  });

  test("pages backwards and forwards have every item once", async () => {
    const { store, runId } = await eventfulRun();
    const all = (await readTranscriptPage(store, runId, { limit: 1_000 })).items;
    expect(all.length).toBeGreaterThan(30);
    for (const limit of [1, 7, 20]) {
      const pages = await backwards(store, runId, limit);
      expect(pages.flat()).toEqual(all);
      expect(pages.length).toBeGreaterThan(1);
    }
    const oldest = (await backwards(store, runId, 7))[0];
    expect(oldest?.[0]?.seq).toBe(all[0]?.seq);
    const ids = new Set(all.map(({ id }) => id));
    expect(ids.size).toBe(all.length);
  });

  test("of a run that grows is continued after its newest item", async () => {
    const { store } = await tickingStore();
    const run = await SampleRun.create(store);
    await run.committed(1);
    const first = await readTranscriptPage(store, run.runId);
    const none = await readTranscriptPage(store, run.runId, { after: first.newer });
    expect(none).toMatchObject({ items: [], isNewest: true });
    await run.committed(2);
    await run.committed(3);
    const next = await readTranscriptPage(store, run.runId, { after: none.newer, limit: 1 });
    expect(next.items).toMatchObject([{ kind: "assistant", turn: 2 }]);
    expect(next.isNewest).toBe(false);
    const last = await readTranscriptPage(store, run.runId, { after: next.newer });
    expect(last.items).toMatchObject([{ kind: "assistant", turn: 3 }]);
    expect(last.older).not.toBeNull();
  });

  test("reads a small part of a long run", async () => {
    const { store } = await tickingStore();
    await writeLongRun(store, "long", 600);
    const { reader, counts } = countingReader(store);
    const { items, older } = await readTranscriptPage(reader, "long", { limit: 50 });
    expect(items).toHaveLength(50);
    expect(older).not.toBeNull();
    expect(counts.get("listEvents")).toBeLessThanOrEqual(4);
  });

  test("a cursor of something else is refused", async () => {
    const { store } = await tickingStore();
    await SampleRun.create(store);
    await expect(readTranscriptPage(store, "run-1", { before: "abc" })).rejects.toThrow(/before is "abc"/);
  });
});
