import { expect, it } from "vitest";
import { ModelCallError } from "../../../src/index.ts";
import type { Script } from "../../../src/testing/index.ts";
import { must } from "../run-fixture.ts";
import { clerk, compacting, lineagesIn, uncompactedIn } from "./compaction-fixture.ts";

const refused = () =>
  new ModelCallError("The model refuses.", {
    kind: "rejected",
    status: 400,
    retryAfterMs: null,
    retryable: false,
  });

const FAILURES: { readonly [what: string]: readonly [Script, RegExp] } = {
  "a model that refuses": [
    clerk(() => {
      throw refused();
    }),
    /The model refuses/,
  ],
  "a summary that was cut off": [
    clerk(() => ({ text: "Half a", finishReason: "length" })),
    /cut off at maxOutputTokens/,
  ],
  "a summary that was filtered": [
    clerk(() => ({ text: "Half a", finishReason: "content-filter" })),
    /ended the summary with "content-filter"/,
  ],
  "a model that asks for a tool instead": [
    clerk(() => ({ toolCalls: [{ name: "note", input: { text: "a" } }] })),
    /The summary is empty/,
  ],
  "a summary longer than half of the history": [
    clerk(() => ({ text: "This is a long summary. ".repeat(3) })),
    /The summary has \d+ tokens/,
  ],
};

it.each(Object.entries(FAILURES))(
  "%s leaves the conversation with its history, and is not asked again before the same exchange",
  async (_, [script, why]) => {
    const talk = await compacting(script);
    await talk.tell("One.", "Two.", "Three.");
    expect(await lineagesIn(talk.store)).toEqual([]);
    expect(await talk.history()).toEqual(["One.", "Two.", "Three."]);
    expect(await talk.exchanges()).toEqual([1, 2, 3].map((turn) => ["ann", turn, turn, "complete"]));
    // One request for each exchange, and one for a summary before the second and the third.
    expect(talk.prompts).toHaveLength(5);
    expect(talk.warnings()).toHaveLength(2);
    expect(talk.warnings()[0]).toMatch(why);
    expect(await uncompactedIn(talk.store)).toEqual([
      null,
      expect.stringMatching(why),
      expect.stringMatching(why),
    ]);
    const { charged, reserved } = must(await talk.store.getRun("chat"));
    const calls = await talk.store.listModelCalls("chat");
    expect(charged.tokens).toBe(calls.reduce((sum, { charge }) => sum + (charge?.amount.tokens ?? 0), 0));
    expect(reserved.tokens).toBe(0);
    expect((await talk.store.verify("chat")).problems).toEqual([]);
  },
);

type Broken = readonly [what: string, summarize: () => string, why: RegExp];
const BROKEN: readonly Broken[] = [
  [
    "throws",
    () => {
      throw new Error("No disk.");
    },
    /summarize of the conversation failed: No disk/,
  ],
  ["returns nothing", () => " ", /The summary is empty/],
  ["returns no text", () => 7 as never, /did not return a text/],
];

it.each(BROKEN)("a function that %s leaves the conversation with its history", async (_, summarize, why) => {
  const talk = await compacting(undefined, { summarize });
  await talk.tell("One.", "Two.");
  expect(talk.heard()).toEqual(["One.", "One. / Two."]);
  expect(await uncompactedIn(talk.store)).toEqual([null, expect.stringMatching(why)]);
});

it("a budget that does not cover the summary leaves the conversation with its history", async () => {
  const talk = await compacting(undefined, {}, { runner: { budgets: { maxTokens: 4_180 } } });
  await talk.tell("One.", "Two.");
  expect(talk.heard()).toEqual(["One.", "One. / Two."]);
  expect(await uncompactedIn(talk.store)).toEqual([null, expect.stringMatching(/maxTokens/)]);
  expect((await talk.store.listEvents("chat")).map(({ type }) => type)).toContain("summary.denied");
});

it("a run that is cancelled while a function writes ends at once", async () => {
  const writing = Promise.withResolvers<void>();
  const talk = await compacting(undefined, {
    summarize: () => {
      writing.resolve();
      return new Promise<string>(() => undefined);
    },
  });
  await talk.tell("One.");
  await talk.say("Two.");
  const working = talk.work();
  await writing.promise;
  await talk.store.requestCancel("chat");
  expect(await working).toMatchObject({ status: "cancelled" });
  expect(await lineagesIn(talk.store)).toEqual([]);
});
