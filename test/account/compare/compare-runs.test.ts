import { describe, expect, test } from "vitest";
import { compareRuns, compareTurns } from "../../../src/account/compare/compare-runs.ts";
import { CHARGE, newReceipt, SampleRun, SUCCEEDED, sha256 } from "../../../src/testing/store/sample-run.ts";
import { tickingStore } from "../../export/sample-store.ts";

/** Two runs with the same first two turns, and another third one. */
async function twoRuns() {
  const { store } = await tickingStore();
  const write = async (runId: string, text: string, identities: readonly string[], model: string) => {
    const run = await SampleRun.create(store, runId);
    const fingerprint = { hash: sha256(model).toString("hex"), document: { model, prompt: "Be careful." } };
    await run.open(1, { fingerprint });
    await store.commitTurn(run.fence, run.commit(1, { journal: run.journal(1) }));
    await run.committedWithCall(2);
    await run.open(3);
    const journal = run.journal(
      3,
      identities.map(() => "running" as const),
    );
    await store.journalResponse(run.fence, {
      ...journal,
      response: { ...journal.response, content: [{ type: "text", text }] },
      calls: identities.map((name, i) =>
        run.call(3, i + 1, { identityHash: sha256(name), status: "running" }),
      ),
    });
    await store.commitTurn(
      run.fence,
      run.commit(3, { receipts: identities.map((_, i) => newReceipt(i + 1)), isComplete: true }),
    );
    await store.finishStep(run.fence, { stepKey: run.stepKey, output: text, context: null });
    await store.releaseRun(run.fence, { ...SUCCEEDED, output: { text } });
  };
  await write("a", "One.", ["mail ann", "mail ben"], "small");
  await write("b", "Two.", ["mail ben", "mail cid"], "large");
  return store;
}

describe("two runs", () => {
  test("share the turns up to the first that differs", async () => {
    const store = await twoRuns();
    const comparison = await compareRuns(store, "a", "b");
    expect(comparison).toMatchObject({ hasSameInput: true, sameTurns: 2 });
    expect(comparison.agents).toEqual([
      { step: "draft", changes: [{ what: "model", was: "small", is: "large" }] },
    ]);
    expect(comparison.output).toEqual([{ what: "text", was: "One.", is: "Two." }]);
    const { turns, next } = await compareTurns(store, "a", "b", { after: comparison.differsAfter ?? "" });
    expect(next).toBeNull();
    expect(turns).toMatchObject([{ step: "draft", turn: 3, isSame: false }]);
    expect(turns[0]?.a?.charged).toEqual(CHARGE.amount);
    expect(turns[0]?.a?.tookMs).toBeGreaterThan(0);
  });

  test("have calls of the same effect side by side, and those of one of them alone", async () => {
    const store = await twoRuns();
    const { turns } = await compareTurns(store, "a", "b");
    expect(turns.at(-1)?.calls.map(({ a, b }) => [a?.toolCallId ?? null, b?.toolCallId ?? null])).toEqual([
      ["a/draft#3.1", null],
      ["a/draft#3.2", "b/draft#3.1"],
      [null, "b/draft#3.2"],
    ]);
  });

  test("are compared page by page", async () => {
    const store = await twoRuns();
    const first = await compareTurns(store, "a", "b", { limit: 2 });
    expect(first.turns.map(({ turn, isSame }) => [turn, isSame])).toEqual([
      [1, true],
      [2, true],
    ]);
    const second = await compareTurns(store, "a", "b", { limit: 2, after: first.next ?? "" });
    expect(second.turns.map(({ turn }) => turn)).toEqual([3]);
    expect(second.next).toBeNull();
  });

  test("that are the same have no difference", async () => {
    const store = await twoRuns();
    const comparison = await compareRuns(store, "a", "a");
    expect(comparison).toMatchObject({ sameTurns: 3, agents: [], output: [] });
    const { turns } = await compareTurns(store, "a", "a", { after: comparison.differsAfter ?? "" });
    expect(turns).toEqual([]);
  });

  test("may have steps that the other one does not have", async () => {
    const store = await twoRuns();
    const run = await SampleRun.create(store, "c");
    const other = await run.at("review");
    await other.committed(1);
    const { turns } = await compareTurns(store, "c", "a");
    expect(turns.map(({ step, turn, a, b }) => [step, turn, a !== null, b !== null])).toEqual([
      ["review", 1, true, false],
      ["draft", 1, false, true],
      ["draft", 2, false, true],
      ["draft", 3, false, true],
    ]);
    expect((await compareRuns(store, "c", "a")).differsAfter).toBeNull();
  });

  test("need both to be there, and a cursor of their own", async () => {
    const store = await twoRuns();
    await expect(compareRuns(store, "a", "z")).rejects.toThrow(/z/);
    await expect(compareTurns(store, "a", "b", { after: "nothing" })).rejects.toThrow(/after is "nothing"/);
  });
});
