// transcript.md, section by section: the run, its steps and its turns.

import { describe, expect, it } from "vitest";
import { toolCallKey } from "../../../src/core/call/tool-call-key.ts";
import { type EventRecord, RunNotFoundError } from "../../../src/index.ts";
import {
  CHARGE,
  FAILED,
  FINGERPRINT,
  LEASE_MS,
  limited,
  newReceipt,
  newStep,
  SampleRun,
} from "../../../src/testing/store/sample-run.ts";
import { failureAs } from "../../engine/run-fixture.ts";
import { tickingStore } from "../sample-store.ts";
import { expectInOrder, readerWith, startedRun, transcriptOf } from "./transcript-fixture.ts";

describe("the head", () => {
  it("has the outcome of the run and its usage", async () => {
    const { store, run } = await startedRun(limited(1_000, 2_500_000));
    await run.committedWithCall(1);
    expectInOrder(await transcriptOf(store), [
      "# Run `run-1`",
      "| pipeline | `report` |",
      "| status | **running** |",
      "| started | 2026-11-16T06:00:00.100Z |",
      "| last change | 2026-11-16T06:00:00.500Z, after 400 ms |",
      "| model calls | 1: 20 tokens in (5 of them cached), 10 out (2 of them reasoning) |",
      "| charged | 30 tokens, $0.0003, of 1,000 tokens and $2.50 |",
      "| attempts | 1 |",
      "| steps | 1: 1 running |",
      "| turns | 1, of which 1 committed |",
      "| tool calls | 1: 1 succeeded |",
      "The input:",
      '"topic": "ratchets"',
    ]);
  });

  it("is refused for a run that does not exist", async () => {
    const { store } = await tickingStore();
    await failureAs(RunNotFoundError, transcriptOf(store, "no-such-run"));
  });
});

describe("a step", () => {
  it("begins with its input, its model, its tools and its prompt", async () => {
    const { store, run } = await startedRun();
    await run.open(1, {
      fingerprint: {
        hash: FINGERPRINT,
        document: {
          prompt: "You are careful.",
          input: "ratchets",
          model: "sample-1",
          provider: "acme.chat",
          tools: { "local:search": "…", "mcp:files": "…" },
        },
      },
    });
    expectInOrder(await transcriptOf(store), [
      "### Step `draft`",
      "A step of kind `granular`, phase `work`. Its input:",
      "ratchets",
      "The model is `sample-1` of acme.chat. Its tools: `local:search`, `mcp:files`. The system prompt:",
      "You are careful.",
    ]);
  });

  it("ends with its output, and a loop with its decision", async () => {
    const { store, run } = await startedRun();
    const loop = await run.at("polish", { kind: "loop" });
    await store.decideLoop(run.fence, {
      stepKey: loop.stepKey,
      iteration: 1,
      done: false,
      output: 1,
      context: null,
    });
    await store.decideLoop(run.fence, {
      stepKey: loop.stepKey,
      iteration: 2,
      done: true,
      output: 2,
      context: null,
    });
    await store.finishStep(run.fence, { stepKey: loop.stepKey, output: { polished: true }, context: null });
    expectInOrder(await transcriptOf(store), [
      "### Step `polish`",
      "This is a loop, phase `work`.",
      "Loop `polish`, after iteration 1: it continues.",
      "Loop `polish`, after iteration 2: it is done.",
      "**Step `polish` is done**",
      '"polished": true',
    ]);
  });

  it("that is code shows its calls as it makes them", async () => {
    const { store, run } = await startedRun();
    const code = await run.at("send", { kind: "run" });
    await store.openToolCall(run.fence, code.codeCall(1));
    await code.receipt(0, 1);
    await store.openToolCall(run.fence, code.codeCall(2, { status: "prepared" }));
    await code.start(0, 2);
    const transcript = await transcriptOf(store);
    expectInOrder(transcript, [
      "### Step `send`",
      "**Call 1, `search`** (`run-1/send#0.1`; effect `external`, recovery `opaque`):",
      '"query": "code 1"',
      "Call 1, `search`, **succeeded**",
      "**Call 2, `search`** (`run-1/send#0.2`",
      '"query": "code 2"',
      "Call 2, `search`, starts at",
    ]);
    expect(transcript).not.toContain("#### Turn");
  });
});

describe("a turn", () => {
  it("has the model's text, its tool calls, their results and the next message to the model", async () => {
    const { store, run } = await startedRun();
    await run.journaled(1, ["running"]);
    await store.commitTurn(
      run.fence,
      run.commit(1, { receipts: [newReceipt(1, { correlationId: "m-17" })], followUp: "Continue." }),
    );
    await run.committed(2, { isComplete: true });
    expectInOrder(await transcriptOf(store), [
      "#### Turn 1 of `draft`",
      "The model was asked at 06:00:00.300 and answered after 100 ms: 20 tokens in",
      "**Assistant:**\n\n```text\nTurn 1.\n```",
      "**Call 1, `search`** (`run-1/draft#1.1`",
      '"query": "1.1"',
      "Call 1, `search`, **succeeded** at 06:00:00.500: its tool answered (the other side calls it `m-17`).",
      '"found": 1',
      "**User:**\n\n```text\nContinue.\n```",
      "Committed at 06:00:00.500.",
      "#### Turn 2 of `draft`",
      "Turn 2.",
      "Committed at 06:00:00.700. The agent is done.",
    ]);
  });

  it("shows reasoning, and parts of an unknown type", async () => {
    const { store, run } = await startedRun();
    await run.open(1);
    const response = {
      content: [
        { type: "reasoning", text: "Hm." },
        { type: "file", mediaType: "image/png" },
      ],
      finishReason: "stop",
      responseId: null,
    };
    await store.journalResponse(run.fence, run.journal(1, [], { response }));
    expectInOrder(await transcriptOf(store), [
      "**Reasoning:**",
      "Hm.",
      "**Assistant**, `file`:",
      '"mediaType": "image/png"',
    ]);
  });

  it("shows failed attempts of the model call, and their cost", async () => {
    const { store, run } = await startedRun();
    const { stepKey } = run;
    await run.open(1);
    const nothing = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 };
    const none = { basis: "none", amount: { tokens: 0, microDollars: 0 }, usage: nothing } as const;
    await store.settleModelCall(run.fence, { stepKey, turnIndex: 1, attempt: 1, charge: none });
    await run.open(1);
    const baseline = { ...none, basis: "baseline", amount: { tokens: 100, microDollars: 1_000 } } as const;
    await store.settleModelCall(run.fence, { stepKey, turnIndex: 1, attempt: 2, charge: baseline });
    await run.open(1);
    await store.journalResponse(run.fence, run.journal(1, [], { attempt: 3 }));
    expectInOrder(await transcriptOf(store), [
      "| charged | 130 tokens, $0.0013",
      "| of that reserved | 100 tokens, $0.001: the provider gave no figures for 1 model call, and may have billed less |",
      "did not answer after 100 ms; nothing is charged.",
      "attempt 2, and reported no usage after 100 ms, so that the whole reservation is charged: 100 tokens, $0.001.",
      "attempt 3, and answered after 100 ms: 20 tokens in",
    ]);
  });

  it("that its budget does not cover is shown as such", async () => {
    const { store, run } = await startedRun(limited(50));
    await run.open(1);
    expect(await transcriptOf(store)).toContain(
      "**The budget does not cover turn 1**: it may take 100 tokens, and 50 are left.",
    );
  });

  it("whose answer was dropped shows the answer that came after it", async () => {
    const { store, run } = await startedRun();
    await run.journaled(1, ["prepared"]);
    await store.dropTurn(run.fence, { stepKey: run.stepKey, turnIndex: 1 });
    await run.open(1);
    await store.journalResponse(run.fence, run.journal(1, ["running"], { attempt: 2 }));
    const transcript = await transcriptOf(store);
    expectInOrder(transcript, [
      "The answer was dropped later, and is not stored.",
      "**The answer is dropped**, and the model is asked again.",
      "attempt 2, and answered",
      "Turn 1.",
      "**Call 1, `search`**",
    ]);
    expect(transcript.split("**Call 1, `search`**")).toHaveLength(2);
  });
});

describe("the end", () => {
  it("has the output, the artifacts with their hashes, and the session", async () => {
    const { store, run } = await startedRun();
    await store.keepArtifact(run.fence, {
      stepKey: run.stepKey,
      name: "report.pdf",
      bytes: Buffer.from("%PDF"),
    });
    await store.keepArtifact(run.fence, { stepKey: null, name: "notes/a.txt", bytes: Buffer.from("a") });
    const words = { name: "words", kind: "state", version: 1, length: 30 } as const;
    const items = Array.from({ length: 30 }, (_, i) => [i, `word ${i + 1}`] as const);
    const session = { slices: [{ ...words, items }], applied: [], checkpoint: null };
    await store.finishStep(run.fence, { stepKey: run.stepKey, output: 1, context: null, session });
    await store.releaseRun(run.fence, { status: "succeeded", output: { pages: 3 }, context: {} });
    expectInOrder(await transcriptOf(store), [
      "Artifact `report.pdf`, 4 bytes, was stored at 06:00:00.300.",
      "## Current state",
      "The run has the status **succeeded**.",
      '"pages": 3',
      "- `notes/a.txt`: 1 byte, SHA-256 `ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb`, by the run at",
      "- `report.pdf`: 4 bytes, SHA-256 `315d429b7714cedb6ad04ac31240145257692630457f3c88253c5beceac76027`, by step `draft` at",
      "The session's slice `words` (state) has 30 values, the last 20 of them:",
      '"word 11"',
      '"word 30"',
    ]);
  });
});

describe("a fork", () => {
  it("shows what it took over, and then its own history", async () => {
    const { store, run } = await startedRun();
    await run.open(1);
    const { response } = run.journal(1, ["running"]);
    const call = run.call(1, 1);
    const scope = { kind: "call", stepPath: "draft" } as const;
    const calls = [{ ...call, idempotencyKey: toolCallKey({ ...call, runId: "run-1", scope }) }];
    await store.journalResponse(run.fence, run.journal(1, [], { response, calls }));
    await store.commitTurn(run.fence, run.commit(1, { receipts: [newReceipt(1)] }));
    await run.committed(2);
    await store.releaseRun(run.fence, FAILED);
    await store.forkRun({
      parent: "run-1",
      runId: "fork-1",
      stepPath: "draft",
      turnIndex: 1,
      slices: [],
      checkpoint: { type: "milestone", snapshot: {}, cursor: {} },
    });
    const asForked = await transcriptOf(store, "fork-1");
    expectInOrder(asForked, [
      "| forked from | turn 1 of `draft` in run `run-1` |",
      "| attempts | 0 |",
      "## Taken over from run `run-1`",
      "#### Turn 1 of `draft`",
      "Turn 1.",
      "**Call 1, `search`** (`fork-1/draft#1.1`",
      "Call 1, `search`, **succeeded**",
      "## Current state",
    ]);
    expect(asForked).not.toContain("Turn 2");
    const claimed = await store.claimRun("fork-1", { leaseMs: LEASE_MS, from: ["queued"] });
    if (claimed.kind !== "claimed") throw new Error("The fork cannot be claimed.");
    const fence = { runId: "fork-1", epoch: claimed.claim.epoch };
    const mine = new SampleRun(store, fence, await store.beginStep(fence, newStep("draft")));
    await mine.open(2);
    await store.commitTurn(fence, mine.commit(2, { journal: mine.journal(2) }));
    const transcript = await transcriptOf(store, "fork-1");
    expectInOrder(transcript, ["## Taken over", "#### Turn 1 of", "## Attempt 1", "#### Turn 2 of `draft`"]);
    expect(transcript.split("#### Turn 2 of")).toHaveLength(2);
  });
});

describe("an event that this version does not know", () => {
  it("is named, and does not disturb the rest", async () => {
    const { store, run } = await startedRun();
    await run.committed(1);
    const strange: EventRecord = { seq: 99, at: 0, type: "moon.full", data: ["?"], hash: "" };
    const reader = readerWith(store, {
      listEvents: async (runId, options) => [...(await store.listEvents(runId, options)), strange],
    });
    expectInOrder(await transcriptOf(reader), [
      "Committed at",
      "`moon.full` at 00:00:00.000.",
      "## Current state",
    ]);
  });
});

it("a transcript has the same bytes for the same store", async () => {
  const { store, run } = await startedRun();
  await run.committedWithCall(1, newReceipt(1, { tokens: CHARGE.amount.tokens }));
  expect(await transcriptOf(store)).toBe(await transcriptOf(store));
});
