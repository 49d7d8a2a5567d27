import { describe, expect, it } from "vitest";
import { NO_USAGE } from "../../../src/core/usage/usage.ts";
import type { Evidence } from "../../../src/testing/crash/evidence.ts";
import { INVARIANTS } from "../../../src/testing/crash/invariants/index.ts";
import { judge } from "../../../src/testing/crash/judge.ts";
import type { Effect, WitnessLine } from "../../../src/testing/crash/witness.ts";
import { type Draft, everything, evidenceOf, falsified, one, takeOut } from "./invariants-evidence.ts";
import { planning } from "./scenarios/plans.ts";
import { diverged, fork } from "./scenarios/ways-on.ts";

const CRASHED = "crash before store.commitTurn 2";
const PAUSED = "pause before tool.call_taxi 1; wake at the end";
const [undisturbed, crashed, paused] = (await evidenceOf(everything(), CRASHED, PAUSED)) as [
  Evidence,
  Evidence,
  Evidence,
];
const [otherPrompt] = (await evidenceOf(diverged())) as [Evidence];
const [, planned] = (await evidenceOf(planning(), "crash after store.commitTurn 2")) as [Evidence, Evidence];
const forks = await evidenceOf(fork(), "crash before store.forkRun 1", "crash after tool.charge 2");

describe("what really happened", () => {
  it.each([undisturbed, crashed, paused, otherPrompt, planned, ...forks])(
    "breaks no promise",
    async (evidence) => {
      expect((await judge(evidence, INVARIANTS)).broken).toEqual([]);
    },
  );

  it("puts every promise to the test, between all of them", async () => {
    const looked = new Map<string, number>();
    for (const evidence of [crashed, otherPrompt])
      for (const [name, times] of Object.entries((await judge(evidence, INVARIANTS)).looked))
        looked.set(name, (looked.get(name) ?? 0) + times);
    // Nobody was silent and alive: pauses.test.ts has that.
    expect([...looked].filter(([, times]) => times === 0)).toEqual([["silence-is-no-proof", 0]]);
    expect(looked.size).toBe(INVARIANTS.length);
  });

  it("does not count as kept what the window that fencing leaves open was hit by", async () => {
    const taxis = effectsOf(paused.witness, "call_taxi");
    expect(taxis).toHaveLength(2);
    const [open, shut] = await Promise.all(
      [paused, falsified(paused, ({ lives }) => one(lives).pausedAt.splice(0))].map((evidence) =>
        judge(evidence, INVARIANTS),
      ),
    );
    expect(open?.looked["effects-at-most-once"]).toBe(Number(shut?.looked["effects-at-most-once"]) - 1);
    expect(shut?.broken.map(({ invariant }) => invariant)).toContain("effects-at-most-once");
  });
});

type Falsification = readonly [invariant: string, how: string, change: (draft: Draft) => void, says: RegExp];

const FALSIFICATIONS: readonly Falsification[] = [
  [
    "effects-at-most-once",
    "a tool happened twice",
    ({ witness }) => witness.push({ ...one(effectsOf(witness, "ship")), attempt: 2 }),
    /ship happened 2 times for one call \(explored-1\/work#1\.3, key [0-9a-f]{8}; .*try 2\)/,
  ],
  [
    "effects-at-most-once",
    "a tool with keys happened twice without its key",
    ({ witness }) => {
      const effect = one(effectsOf(witness, "charge"));
      effect.keySeen = false;
      witness.push({ ...effect });
    },
    /charge happened 2 times .* never looks at its key/,
  ],
  [
    "effects-at-most-once",
    "a tool that may be repeated changed something twice",
    ({ witness }) => {
      const effect = one(effectsOf(witness, "look_up"));
      Object.assign(effect, { effect: "external" });
      witness.push({ ...effect });
    },
    /look_up happened 2 times .* it says that it may be repeated/,
  ],
  [
    "effects-at-most-once",
    "a tool happened once more when the run was resumed after its end",
    ({ witness, again }) => again.witness.push({ ...one(effectsOf(witness, "ship")) }),
    /ship happened 2 times/,
  ],
  [
    "effects-at-most-once",
    "something happened under a key that the ledger does not know",
    ({ witness }) => void (one(effectsOf(witness, "ship")).key = "f00dface00"),
    /ship happened under the key f00dface, and the ledger has no call explored-1\/work#1\.3 with that key/,
  ],
  [
    "effects-at-most-once",
    "one call happened under two keys",
    ({ witness }) => witness.push({ ...one(effectsOf(witness, "ship")), key: "f00dface00", isDropped: true }),
    /ship happened for one call .* under several keys: .*f00dface/,
  ],
  [
    "effects-exactly-once-where-succeeded",
    "a receipt tells of what never happened",
    ({ witness }) => takeOut(witness, isEffectOf("ship")),
    /ship .* is said to have succeeded, and nothing has happened outside/,
  ],
  [
    "effects-exactly-once-where-succeeded",
    "what succeeded happened twice",
    ({ witness }) => witness.push({ ...one(effectsOf(witness, "ship")) }),
    /ship .* is said to have succeeded, and happened 2 times/,
  ],
  [
    "effects-exactly-once-where-succeeded",
    "what was cancelled happened",
    ({ account }) => {
      const call = one(account.calls, ({ tool }) => tool === "ship");
      call.status = "cancelled";
      if (call.receipt !== null) call.receipt.status = "cancelled";
    },
    /ship .* is cancelled, so it was never to run, and it happened all the same/,
  ],
  [
    "one-fingerprint-per-key",
    "a tool got other arguments under the same key",
    ({ witness }) => void (one(effectsOf(witness, "charge")).fingerprint = "another"),
    /charge was called with 2 different sets of arguments under one key/,
  ],
  [
    "committed-turns-kept",
    "a committed turn is gone",
    ({ account }) => takeOut(account.turns, ({ turnIndex }) => turnIndex === 1),
    /turn 1 of work in explored-1 was committed at stop 1 and is not in the end/,
  ],
  [
    "committed-turns-kept",
    "a committed turn is open again",
    ({ account }) => void (one(account.turns).committed = false),
    /turn 1 of work in explored-1 was committed at stop 1 and is not in the end/,
  ],
  [
    "committed-turns-kept",
    "a committed turn has another response",
    ({ account }) => void (one(account.turns).response.finishReason = "length"),
    /turn 1 .* is another in the end: response\.finishReason is "length" and was/,
  ],
  [
    "turns-without-a-hole",
    "a turn is missing in the middle",
    ({ account }) => takeOut(account.turns, ({ turnIndex }) => turnIndex === 2),
    /The turns of work in explored-1 in the end are 1, 3: they should be 1 to 2/,
  ],
  [
    "turns-without-a-hole",
    "a turn was committed twice",
    ({ account: { events } }) =>
      events.push({ ...one(events, ({ type }) => type === "turn.committed"), seq: 999 }),
    /tells of commits of turns 1, 2, 3, 1 of work, and committed are 1, 2, 3/,
  ],
  [
    "turns-without-a-hole",
    "there is a response for a turn that does not come next",
    ({ account: { turns } }) => turns.push({ ...one(turns), turnIndex: 7, committed: false }),
    /committed up to 3, and there is a response for 7/,
  ],
  [
    "calls-match-the-ledger",
    "a call of a response has no row",
    ({ account }) => takeOut(account.calls, ({ tool }) => tool === "ship"),
    /turn 1 of work in explored-1 asks for 5 calls in the end, and the ledger has 4 of them/,
  ],
  [
    "calls-match-the-ledger",
    "a row is of another tool than was asked for",
    ({ account }) => void (one(account.calls, ({ tool }) => tool === "ship").tool = "sink"),
    /asks for ship as call 3, and the ledger has sink as call 3/,
  ],
  [
    "calls-match-the-ledger",
    "a row belongs to no response",
    ({ account: { calls } }) => calls.push({ ...one(calls, ({ tool }) => tool === "ship"), turnIndex: 9 }),
    /has explored-1\/work#1\.3 \(ship\) in the end, which no response asks for/,
  ],
  [
    "calls-match-the-ledger",
    "a call of a committed turn has no receipt",
    ({ account }) => void (one(account.calls, ({ tool }) => tool === "ship").receipt = null),
    /turn 1 .* is committed in the end, and its call of ship has no receipt/,
  ],
  [
    "calls-match-the-ledger",
    "a call of a step that has succeeded has no receipt",
    ({ account }) => void (one(account.calls, ({ turnIndex }) => turnIndex === 0).receipt = null),
    /Step prepare of explored-1 has succeeded in the end, and explored-1\/prepare#0\.1 \(charge\) has no receipt/,
  ],
  [
    "calls-match-the-ledger",
    "a result is missing from the history",
    ({ account }) => takeOut(account.histories.work ?? [], ({ role }) => role === "tool"),
    /The results that follow turn 1 .* are not its receipts/,
  ],
  [
    "calls-match-the-ledger",
    "a response is missing from the history",
    ({ account }) => takeOut(account.histories.work ?? [], ({ role }) => role === "assistant"),
    /has 2 responses, and 3 turns are committed/,
  ],
  [
    "calls-match-the-ledger",
    "two calls share a key",
    ({ account: { calls } }) => {
      const [first, second] = calls.filter(({ tool }) => tool === "charge");
      if (first !== undefined && second !== undefined) first.idempotencyKey = second.idempotencyKey;
    },
    /explored-1\/\S+ and explored-1\/\S+ share the key [0-9a-f]{8}/,
  ],
  [
    "ledger-transitions",
    "the log does not tell that a call was started",
    ({ account: { events } }) => takeOut(events, ({ type }) => type === "calls.started"),
    /the log does not tell where it came from|which is no way that a call goes|dispatched/,
  ],
  [
    "ledger-transitions",
    "a call got a second receipt",
    ({ account: { events } }) =>
      events.push({ ...one(events, ({ type }) => type === "call.receipt"), seq: 999 }),
    /it was (succeeded|failed) and then (succeeded|failed) \(event 999\), which is no way that a call goes/,
  ],
  [
    "ledger-transitions",
    "a call was started once more after its receipt",
    ({ account: { events, calls } }) => {
      const call = one(calls, ({ tool }) => tool === "ship");
      call.attempt += 1;
      const data = { step: "work", turn: 1, calls: [call.callIndex] };
      events.push({ ...one(events), seq: 999, type: "calls.started", data });
    },
    /ship .* it was succeeded and then started \(event 999\)/,
  ],
  [
    "ledger-transitions",
    "the store has another status than the log leaves",
    ({ account }) => void (one(account.calls, ({ tool }) => tool === "charge").status = "in_doubt"),
    /the log leaves it succeeded, and the store has it as in_doubt/,
  ],
  [
    "ledger-transitions",
    "a call was tried more often than the log tells",
    ({ account }) => void (one(account.calls, ({ tool }) => tool === "ship").attempt += 2),
    /ship .* it was dispatched \d times, and the log tells of others/,
  ],
  [
    "receipts-immutable",
    "a receipt has another output than at a death before",
    ({ account }) => {
      const call = one(account.calls, ({ tool }) => tool === "ship");
      if (call.receipt !== null) call.receipt.output = { type: "text", value: "something else" };
    },
    /The receipt of ship .* that there was at stop 1 is another one in the end: output\.value is "something else"/,
  ],
  [
    "receipts-immutable",
    "a receipt is gone after resuming once more",
    ({ again }) => void (one(one(again.accounts).calls, ({ tool }) => tool === "ship").receipt = null),
    /that there was in the end is another one after resuming once more/,
  ],
  [
    "journal-before-tools",
    "a tool was entered before its call was in the store",
    ({ witness }) => {
      const line = one(witness, ({ kind }) => kind === "entered");
      if (line.kind === "entered") line.journaled = false;
    },
    /\(explored-1\/\S+, try 1\) was entered by process 1 while the store did not have it as running/,
  ],
  [
    "journal-before-tools",
    "a tool was entered for a try that the ledger does not know",
    ({ witness }) => {
      const line = one(witness, ({ kind }) => kind === "entered");
      if (line.kind === "entered") line.attempt = 4;
    },
    /try 4\) was entered by process 1, and the ledger tells of 1 tries/,
  ],
  [
    "usage-exact",
    "the provider gave other figures",
    ({ witness }) => {
      const line = one(witness, ({ kind }) => kind === "answered");
      if (line.kind === "answered" && line.usage !== null) line.usage.outputTokens += 1;
    },
    /try 2 at turn 1 of work in explored-1 is charged \{.*\}, and the provider said \{/,
  ],
  [
    "usage-exact",
    "the provider never answered",
    ({ witness }) => takeOut(witness, ({ kind }) => kind === "answered"),
    /try 2 at turn 1 .* is charged by the provider's figures, and it gave none/,
  ],
  [
    "usage-exact",
    "a lost call is charged less than was reserved",
    ({ again }) => {
      const call = one(one(again.accounts).modelCalls, ({ turnIndex }) => turnIndex === 2);
      const amount = { tokens: call.reserved.tokens - 1, microDollars: 0 };
      const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 };
      call.charge = { basis: "baseline", amount, usage };
    },
    /turn 2 .* is charged \{.*\} and not the \{.*\} that were reserved/,
  ],
  [
    "usage-exact",
    "nothing is charged for what was sent and not refused",
    ({ witness }) => takeOut(witness, ({ kind }) => kind === "refused"),
    /try 1 at turn 1 .* was sent and not refused, and nothing is charged for it/,
  ],
  [
    "usage-exact",
    "a run is charged more than its calls come to",
    ({ account }) => void (account.run.charged.tokens += 1),
    /explored-1 is charged \{.*\}, and its model calls come to \{/,
  ],
  [
    "usage-exact",
    "a model call is never settled",
    ({ again }) => void (one(one(again.accounts).modelCalls).charge = null),
    /try 1 at turn 1 .* is not settled, and the run is succeeded/,
  ],
  [
    "usage-exact",
    "one try is charged twice",
    ({ again }) => {
      const { modelCalls } = one(again.accounts);
      modelCalls.push({ ...one(modelCalls, ({ turnIndex }) => turnIndex === 2) });
    },
    /A try at turn 2 of work in explored-1 is charged more than once/,
  ],
  [
    "usage-exact",
    "a request was sent twice under one reservation",
    ({ witness }) => witness.push({ ...one(witness, ({ kind }) => kind === "asked") }),
    /try 1 at turn 1 .* was sent 2 times, and was reserved for once/,
  ],
  [
    "usage-exact",
    "a request was sent that nothing was reserved for",
    ({ witness }) => witness.push({ ...one(witness, ({ kind }) => kind === "asked"), attempt: 9 }),
    /try 9 at turn 1 .* was sent, and the store knows of no such try/,
  ],
  [
    "usage-exact",
    "a response was paid for by nothing",
    ({ again }) => {
      const { modelCalls } = one(again.accounts);
      modelCalls.splice(0, modelCalls.length);
    },
    /turn 1 of work in explored-1 has a response, and nothing was paid for it/,
  ],
  [
    "reservations-balance",
    "something is still reserved when the run has ended",
    ({ account }) => void (account.run.reserved.tokens = 5),
    /explored-1 has \{"tokens":5,.*\} reserved in the end, and its 0 open model calls reserve/,
  ],
  [
    "reservations-balance",
    "a reservation is missing at a death",
    ({ moments }) => {
      const { run, modelCalls } = one(one(moments));
      run.reserved.tokens = 0;
      one(modelCalls).charge = null;
    },
    /reserved at stop 1, and its 1 open model calls reserve/,
  ],
  [
    "silence-is-no-proof",
    "what a silent process had open costs nothing",
    (draft) => {
      fallSilent(draft);
      const place = one(one(one(draft.moments)).modelCalls);
      place.charge = null;
      const call = one(one(draft.again.accounts).modelCalls, (each) => isSamePlace(each, place));
      if (call.charge !== null) call.charge.basis = "none";
    },
    /was open in a process that may have sent it, and nothing is charged for it/,
  ],
  [
    "silence-is-no-proof",
    "what a silent process had under way counts as never sent",
    (draft) => {
      fallSilent(draft);
      const { toolCallId, attempt } = one(one(one(draft.moments)).calls);
      one(one(draft.moments)).calls.forEach((call) => void (call.status = "running"));
      const left = { startedAt: 0, endedAt: 0, outcome: "not_applied", errorCode: "not_sent" } as const;
      const rest = { errorDetail: null, correlationId: null, late: null };
      one(draft.again.accounts).tries.unshift({ toolCallId, attempt, ...left, ...rest });
    },
    /was under way in a process that may live, and counts as never sent/,
  ],
  [
    "usage-exact",
    "a reservation stays charged for what was never sent",
    ({ witness, again, noted }) => {
      const asked = one(witness, ({ kind }) => kind === "asked") as { turnIndex: number; attempt: number };
      const isOf = (each: { turnIndex?: number; attempt?: number }) => isSamePlace(each, asked);
      while (witness.some((line) => "turnIndex" in line && isOf(line)))
        takeOut(witness, (line) => "turnIndex" in line && isOf(line));
      takeOut(noted ?? [], isOf);
      const { run, modelCalls } = one(again.accounts);
      const { charge, reserved } = one(modelCalls, isOf);
      if (charge === null) throw new Error("It is settled.");
      run.charged.tokens += reserved.tokens - charge.amount.tokens;
      run.charged.microDollars += reserved.microDollars - charge.amount.microDollars;
      Object.assign(charge, { basis: "baseline", amount: reserved, usage: NO_USAGE });
    },
    /was never sent, and its reservation is charged/,
  ],
  [
    "writes-under-the-epoch",
    "an earlier owner has written",
    ({ writes }) => void (one(writes).currentEpoch += 1),
    /Process 1 did \w+ under epoch 1, when the run was at epoch 2/,
  ],
  [
    "references-have-blobs",
    "a blob is missing",
    ({ account }) => void (account.blobs[blobOf(account)] = null),
    /The receipt of read .* refers to blob [0-9a-f]{8} of \d+ bytes, and in the end it is not there/,
  ],
  [
    "references-have-blobs",
    "a blob holds something else",
    ({ account }) => void (account.blobs[blobOf(account)] = { blobId: "f00dface00", size: 1 }),
    /what is there has the hash f00dface/,
  ],
  [
    "references-have-blobs",
    "a receipt gives another size than its blob has",
    ({ account }) => {
      const blob = account.blobs[blobOf(account)];
      if (blob) blob.size += 1;
    },
    /refers to blob .* and in the end what is there has \d+/,
  ],
  [
    "references-have-blobs",
    "an artifact has no bytes at a death",
    ({ moments }) => {
      const account = one(one(moments));
      account.blobs[one(account.artifacts).hash] = null;
    },
    /Artifact note\.md of explored-1 refers to blob .* and at stop 1 it is not there/,
  ],
  [
    "same-end",
    "the output is another one",
    ({ account }) => void (account.run.output = "Something else."),
    /explored-1 does not end as it does when nothing disturbs it: run\.output is "Something else\." and was "Done\."/,
  ],
  [
    "same-end",
    "a call came to something else",
    ({ account }) => {
      const call = one(account.calls, ({ tool }) => tool === "ship");
      call.status = "failed";
    },
    /calls\.ship \(key [0-9a-f]{8}\)\.status is "failed" and was "succeeded"/,
  ],
  [
    "same-end",
    "there is one more call",
    ({ account: { calls } }) => calls.push({ ...one(calls), idempotencyKey: "f00dface00" }),
    /calls\.charge \(key f00dface\) is \{.*and was not there/,
  ],
  [
    "same-end",
    "the history is another one",
    ({ account }) => account.histories.work?.push({ role: "user", content: "And?" }),
    /histories\.work\.\d+ is \{.*And\?.*\} and was not there/,
  ],
  [
    "same-end",
    "an artifact is another one",
    ({ account }) => void (one(account.artifacts).hash = "f00dface"),
    /artifacts\.note\.md is "f00dface" and was/,
  ],
  [
    "same-end",
    "the session has something else",
    ({ account }) => account.session.push({ name: "notes", kind: "state", version: 1, values: ["one"] }),
    /session\.notes is \{.*\} and was not there/,
  ],
  [
    "same-end",
    "a step came to something else",
    ({ account }) => void (one(account.steps).output = "else"),
    /steps\.\w+\.output is "else"/,
  ],
  [
    "same-end",
    "there is no run",
    ({ accounts }) => accounts.splice(0),
    /There is no run explored-1, and there is one when nothing disturbs it/,
  ],
  [
    "ends-or-waits",
    "the run is left running",
    ({ account }) => void (account.run.status = "running"),
    /explored-1 is left running, and nobody works on it/,
  ],
  [
    "ends-or-waits",
    "the run is left queued",
    ({ account }) => void (account.run.status = "queued"),
    /explored-1 is left queued, and nobody goes on with it/,
  ],
  [
    "ends-or-waits",
    "the run waits for nothing",
    ({ account }) => void (account.run.status = "waiting"),
    /explored-1 waits, and says neither for whom nor why/,
  ],
  [
    "ends-or-waits",
    "the run failed for no reason",
    ({ account }) => void (account.run.status = "failed"),
    /explored-1 has failed, and does not say why/,
  ],
  [
    "ends-or-waits",
    "the last process threw",
    ({ lives }) => {
      const end = { kind: "threw", name: "StoreError", message: "It broke.", isDiverged: false } as const;
      Object.assign(lives.at(-1) ?? {}, { end });
    },
    /The last process threw StoreError \(It broke\.\), and undisturbed it returned/,
  ],
  [
    "ends-or-waits",
    "the last process hangs",
    ({ lives }) => void Object.assign(lives.at(-1) ?? {}, { end: { kind: "stuck" } }),
    /Process 2 hangs/,
  ],
  [
    "ends-or-waits",
    "no process came to its end",
    ({ lives }) => lives.splice(1),
    /No process came to its end/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "a tool was called by whoever resumed once more",
    ({ witness, again }) => again.witness.push({ ...one(effectsOf(witness, "look_up")) }),
    /Resuming explored-1 once more called look_up/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "the model was asked by whoever resumed once more",
    ({ witness, again }) => again.witness.push({ ...one(witness, ({ kind }) => kind === "asked") }),
    /Resuming explored-1 once more called the model/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "resuming once more was charged",
    ({ again }) => void (one(again.accounts).run.charged.tokens += 1),
    /Resuming explored-1 once more changed it: run\.charged\.tokens is \d+ and was \d+/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "resuming once more made another run",
    ({ again }) => {
      const [account] = structuredClone(again.accounts);
      if (account !== undefined)
        again.accounts.push({ ...account, run: { ...account.run, runId: "second" } });
    },
    /Resuming once more made another run, second/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "resuming once more came to another result",
    ({ again }) => {
      const value = { runId: "explored-1", status: "succeeded", output: "Something else." };
      again.end = { kind: "returned", value };
    },
    /The same done once more comes to another result: output is "Something else\."/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "resuming once more threw",
    ({ again }) => {
      again.end = { kind: "threw", name: "StoreError", message: "It broke.", isDiverged: false };
    },
    /The last process returned, and when the same is done once more it threw StoreError/,
  ],
  [
    "events-verify",
    "a row is not what its event says",
    ({ account }) => account.verification.problems.push({ row: "event 3", what: "was changed" }),
    /In explored-1, in the end, event 3 was changed/,
  ],
  [
    "events-verify",
    "the log is empty",
    ({ account }) => void (account.verification.events = 0),
    /The log of explored-1 is empty in the end/,
  ],
  [
    "no-more-effects-than-undisturbed",
    "the same happened once more under another key",
    ({ witness }) => witness.push({ ...one(effectsOf(witness, "ship")), key: "f00dface00" }),
    /ship happened 2 times with the same arguments \(keys .*f00dface\), and undisturbed it does 1 times/,
  ],
  [
    "wanted-once-had-once",
    "two calls had what is wanted once",
    ({ account }) =>
      account.calls.push({
        ...one(account.calls, ({ tool }) => tool === "tell"),
        toolCallId: "explored-1/other",
      }),
    /tell is wanted once, and explored-1\/.* and explored-1\/other succeeded/,
  ],
  [
    "keys-fit-their-calls",
    "a call has a key that is made from something else",
    ({ account }) => void (one(account.calls).idempotencyKey = "f00dface00"),
    /charge .* has the key f00dface, which is not its own/,
  ],
  [
    "runs-as-approved",
    "a call was run that nobody had approved",
    ({ again }) => void (one(one(again.accounts).waits, ({ kind }) => kind === "approval").answer = null),
    /call_taxi .* was run by process \d, and nobody had approved it/,
  ],
  [
    "runs-as-approved",
    "a call was run with other arguments than were approved",
    ({ witness }) => {
      for (const line of witness)
        if (line.kind === "entered" && line.tool === "call_taxi") line.fingerprint = "f00d";
    },
    /call_taxi .* was run by process \d, and other arguments were approved/,
  ],
  [
    "journaled-responses-kept",
    "a response that was stored is gone",
    ({ again }) => takeOut(one(again.accounts).turns, () => true),
    /turn 1 of work in explored-1 had its response in the end, and after resuming once more that was given up/,
  ],
  [
    "steps-done-once",
    "a step that had finished has not",
    ({ again }) => void (one(one(again.accounts).steps, ({ path }) => path === "prepare").status = "failed"),
    /Step prepare had finished in the end, and after resuming once more its end is another/,
  ],
  [
    "nothing-runs-at-rest",
    "a call runs in a run that has ended",
    ({ account }) => void (one(account.calls).status = "running"),
    /explored-1 is succeeded in the end, and charge .* is running/,
  ],
  [
    "database-intact",
    "the database finds something wrong",
    ({ integrity }) => integrity.push("row 3 missing from index runs_by_status"),
    /The database says of itself: row 3 missing/,
  ],
];

describe("an invariant notices that", () => {
  it.each(FALSIFICATIONS)("%s: %s", async (invariant, _how, change, says) => {
    const { broken } = await judge(falsified(crashed, change), INVARIANTS);
    const found = broken.find((each) => each.invariant === invariant)?.problems.map(({ what }) => what);
    expect(found?.join("\n")).toMatch(says);
  });

  it("diverged-is-silent: a process that found the run diverged has asked the model", async () => {
    const asked = one(crashed.witness, ({ kind }) => kind === "asked");
    const { broken } = await judge(
      falsified(otherPrompt, ({ witness }) => witness.push({ ...asked, life: 1 })),
      INVARIANTS,
    );
    const found = broken.find(({ invariant }) => invariant === "diverged-is-silent");
    expect(found?.problems[0]?.what).toBe("Process 1 found that the run had diverged, and called the model");
  });

  it("same-end: a milestone is missing", async () => {
    const without = falsified(planned, ({ account }) =>
      takeOut(account.checkpoints, ({ type }) => type === "milestone"),
    );
    const { broken } = await judge(without, INVARIANTS);
    const found = broken.find(({ invariant }) => invariant === "same-end")?.problems[0]?.what;
    expect(found).toMatch(/checkpoints\.\d+.* and was .*/);
  });

  it("every promise is broken by some of these", () => {
    const shown = new Set([...FALSIFICATIONS.map(([name]) => name), "diverged-is-silent"]);
    expect([...shown].sort()).toEqual(INVARIANTS.map(({ name }) => name).sort());
  });
});

/** As if the first process had only been stopped. */
function fallSilent(draft: Draft): void {
  const at = { phase: "before", call: "store.commitTurn", nth: 2 } as const;
  Object.assign(draft.schedule, { kind: "pause", at, wake: null });
}

type SomePlace = { readonly turnIndex?: number; readonly attempt?: number };

function isSamePlace(a: SomePlace, b: SomePlace): boolean {
  return a.turnIndex === b.turnIndex && a.attempt === b.attempt;
}

function isEffectOf(tool: string) {
  return (line: WitnessLine): line is Effect => line.kind === "effect" && line.tool === tool;
}

function effectsOf<L extends WitnessLine | Draft["witness"][number]>(lines: readonly L[], tool: string) {
  return lines.filter((line): line is Extract<L, { kind: "effect" }> => isEffectOf(tool)(line));
}

function blobOf({ calls }: Draft["account"]): string {
  return one(calls, ({ receipt }) => (receipt?.blob ?? null) !== null).receipt?.blob?.blobId ?? "";
}
