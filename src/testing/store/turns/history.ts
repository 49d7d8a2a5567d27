import assert from "node:assert/strict";
import { type Check, check } from "../check.ts";
import { FINGERPRINT, newReceipt, SampleRun } from "../sample-run.ts";

/** Five committed turns of 17 tokens each: 10 for the response, 7 for the result of its call. */
async function fiveTurns(run: SampleRun): Promise<void> {
  for (let turn = 1; turn <= 5; turn++) await run.committedWithCall(turn);
}

const HEAD = [
  { role: "system", content: "You are careful." },
  { role: "user", content: "ratchets" },
];

export const historyChecks: readonly Check[] = [
  check("before its first turn a conversation is empty", async ({ store }) => {
    const run = await SampleRun.create(store);
    assert.deepEqual(await store.readConversation(run.runId, run.stepKey, 1_000), {
      turnIndex: 0,
      isComplete: false,
      fingerprint: null,
      lineages: [],
      summary: null,
      isInputRefused: false,
      messages: 0,
      tokens: 0,
      tail: [],
      journaled: null,
      taken: [],
    });
    assert.equal(await store.readGranularState(run.runId, "draft"), null);
    assert.deepEqual(await store.readHistory(run.runId, "draft"), []);
  }),

  check(
    "the tail has the newest turns within the budget, in order, and at least the last one",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      await fiveTurns(run);
      // The turn that exceeds the budget is the last one read: turns are always whole.
      for (const [budget, expected] of [
        [0, [5]],
        [1, [5]],
        [16, [5]],
        [17, [4, 5]],
        [34, [3, 4, 5]],
        [84, [1, 2, 3, 4, 5]],
        [Number.MAX_SAFE_INTEGER, [1, 2, 3, 4, 5]],
      ] as const) {
        const { tail } = await store.readConversation(run.runId, run.stepKey, budget);
        const indexes = tail.map(({ turnIndex }) => turnIndex);
        const tokens = tail.reduce(
          (sum, turn) => sum + turn.tokens + (turn.calls[0]?.receipt?.tokens ?? 0),
          0,
        );
        assert.ok(tokens > budget || indexes.length === 5, `a tail for ${budget} tokens has as many`);
        assert.deepEqual(indexes, expected.slice(), `with ${budget} tokens`);
      }
    },
  ),

  check("the tail counts only the shown share of a turn's results", async ({ store }) => {
    const run = await SampleRun.create(store);
    for (let turn = 1; turn <= 5; turn++)
      await run.committedWithCall(turn, newReceipt(1, { tokens: 1_000_000 }));
    // 10 of the response, and 90 or 60 of the result.
    for (const [limits, expected] of [
      [{ each: 90, together: 1_000 }, [3, 4, 5]],
      [{ each: 1_000, together: 60 }, [2, 3, 4, 5]],
      [undefined, [5]],
    ] as const) {
      const { tail } = await store.readConversation(run.runId, run.stepKey, 210, limits);
      assert.deepEqual(
        tail.map(({ turnIndex }) => turnIndex),
        expected,
      );
      assert.equal(tail[0]?.calls[0]?.receipt?.tokens, 1_000_000);
    }
  }),

  check("the counts cover all committed turns, whatever the tail has", async ({ store }) => {
    const run = await SampleRun.create(store);
    await fiveTurns(run);
    await run.committed(6, { followUp: "Continue.", messages: 2, tokens: 13 });
    await run.journaled(7, ["running"]);
    for (const budget of [0, 1_000]) {
      const { messages, tokens, turnIndex, journaled } = await store.readConversation(
        run.runId,
        run.stepKey,
        budget,
      );
      assert.deepEqual({ messages, tokens, turnIndex }, { messages: 12, tokens: 98, turnIndex: 6 });
      assert.equal(journaled?.turnIndex, 7);
    }
  }),

  check("reading one conversation leaves out the others", async ({ store }) => {
    const run = await SampleRun.create(store);
    const polish = await run.at("polish");
    await run.committedWithCall(1);
    await polish.committedWithCall(1);
    await run.committedWithCall(2);
    const { tail } = await store.readConversation(run.runId, run.stepKey, 1_000);
    assert.deepEqual(
      tail.map(({ stepPath, turnIndex, calls }) => [stepPath, turnIndex, calls[0]?.toolCallId]),
      [
        ["draft", 1, "run-1/draft#1.1"],
        ["draft", 2, "run-1/draft#2.1"],
      ],
    );
  }),

  check(
    "the history is the prompt, the input, and the messages of the committed turns, in order",
    async ({ store }) => {
      const run = await SampleRun.create(store);
      await run.journaled(1, ["running", "running"]);
      await run.receipt(1, 2);
      await store.commitTurn(run.fence, run.commit(1, { receipts: [newReceipt(1)] }));
      await run.committed(2, { followUp: "Continue." });
      await run.journaled(3, ["running"]);
      const result = (call: number) => ({
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: `call-1-${call}`,
            toolName: "search",
            output: { type: "json", value: { found: call } },
          },
        ],
      });
      const history = [
        ...HEAD,
        { role: "assistant", content: run.journal(1, ["running", "running"]).response.content },
        result(1),
        result(2),
        { role: "assistant", content: run.journal(2).response.content },
        { role: "user", content: "Continue." },
      ];
      assert.deepEqual(await store.readHistory(run.runId, "draft"), history);
      assert.deepEqual(await store.readGranularState(run.runId, "draft"), {
        turnIndex: 2,
        history,
        isComplete: false,
        finalOutput: null,
        fingerprint: FINGERPRINT,
      });
    },
  ),

  check("the state of a finished step holds its output", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committed(1, { isComplete: true });
    await store.finishStep(run.fence, { stepKey: run.stepKey, output: { answer: 42 }, context: null });
    const state = await store.readGranularState(run.runId, "draft");
    assert.deepEqual([state?.isComplete, state?.finalOutput, state?.turnIndex], [true, { answer: 42 }, 1]);
  }),

  check("a response is read back as stored, unknown parts included", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.open(1);
    const response = {
      content: [
        { type: "reasoning", text: "Hm.", providerOptions: { sample: { signature: "ä🙂" } } },
        { type: "text", text: "a\u0000b\u2028c" },
        { type: "tool-call", toolCallId: "x", toolName: "nope", input: { n: 1.5, none: null } },
      ],
      finishReason: "tool-calls",
      responseId: null,
      invalidCalls: { x: "There is no tool nope." },
    };
    await store.journalResponse(run.fence, { ...run.journal(1, ["prepared"]), response });
    const { journaled } = await store.readConversation(run.runId, run.stepKey, 0);
    assert.deepEqual(journaled?.response, response);
  }),

  check("a history is found by step path, or by step name: then the newest instance", async ({ store }) => {
    const run = await SampleRun.create(store);
    await run.committed(1);
    for (const iteration of [1, 2]) {
      const pass = await run.at("pass", { path: `polish[${iteration}]/pass` });
      for (let turn = 1; turn <= iteration; turn++) await pass.committed(turn);
    }
    const turnsOf = async (name: string) =>
      (await store.readGranularState(run.runId, name))?.turnIndex ?? null;
    assert.deepEqual(
      [
        await turnsOf("polish[1]/pass"),
        await turnsOf("polish[2]/pass"),
        await turnsOf("pass"),
        await turnsOf("none"),
      ],
      [1, 2, 2, null],
    );
    assert.equal((await store.readHistory(run.runId, "pass")).length, HEAD.length + 2);
    assert.deepEqual(await store.readHistory(run.runId, "none"), []);
  }),
];
