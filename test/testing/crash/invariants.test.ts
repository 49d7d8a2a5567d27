import { describe, expect, it } from "vitest";
import { NO_USAGE } from "../../../src/core/usage/usage.ts";
import { checkInvariants } from "../../../src/testing/crash/check-invariants.ts";
import type { Evidence } from "../../../src/testing/crash/evidence.ts";
import { INVARIANTS } from "../../../src/testing/crash/invariants/index.ts";
import type { Effect, WitnessLine } from "../../../src/testing/crash/witness.ts";
import { type Draft, everything, evidenceOf, falsified, one, takeOut } from "./invariants-evidence.ts";
import { diverged, fork } from "./scenarios/continuations.ts";
import { planning } from "./scenarios/plans.ts";

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

describe("real evidence", () => {
  it.each([undisturbed, crashed, paused, otherPrompt, planned, ...forks])(
    "breaks no promise",
    async (evidence) => {
      expect((await checkInvariants(evidence, INVARIANTS)).broken).toEqual([]);
    },
  );

  it("tests every promise, taken together", async () => {
    const looked = new Map<string, number>();
    for (const evidence of [crashed, otherPrompt])
      for (const [name, times] of Object.entries((await checkInvariants(evidence, INVARIANTS)).looked))
        looked.set(name, (looked.get(name) ?? 0) + times);
    // No process was silent and alive: pauses.test.ts tests that.
    expect([...looked].filter(([, times]) => times === 0)).toEqual([["silence-is-no-proof", 0]]);
    expect(looked.size).toBe(INVARIANTS.length);
  });

  it("does not count a call that hit the window that fencing leaves open", async () => {
    const taxis = effectsOf(paused.witness, "call_taxi");
    expect(taxis).toHaveLength(2);
    const [open, shut] = await Promise.all(
      [paused, falsified(paused, ({ lives }) => one(lives).pausedAt.splice(0))].map((evidence) =>
        checkInvariants(evidence, INVARIANTS),
      ),
    );
    expect(open?.looked["effects-at-most-once"]).toBe(Number(shut?.looked["effects-at-most-once"]) - 1);
    expect(shut?.broken.map(({ invariant }) => invariant)).toContain("effects-at-most-once");
  });
});

type Falsification = readonly [
  invariant: string,
  how: string,
  change: (draft: Draft) => void,
  message: RegExp,
];

const FALSIFICATIONS: readonly Falsification[] = [
  [
    "effects-at-most-once",
    "a tool happened twice",
    ({ witness }) => witness.push({ ...one(effectsOf(witness, "ship")), attempt: 2 }),
    /ship happened 2 times for one call \(explored-1\/work#1\.3, key [0-9a-f]{8}; .*attempt 2\)/,
  ],
  [
    "effects-at-most-once",
    "a tool with keys happened twice without its key",
    ({ witness }) => {
      const effect = one(effectsOf(witness, "charge"));
      effect.keySeen = false;
      witness.push({ ...effect });
    },
    /charge happened 2 times .* never reads its key/,
  ],
  [
    "effects-at-most-once",
    "a tool that may be repeated changed something twice",
    ({ witness }) => {
      const effect = one(effectsOf(witness, "look_up"));
      Object.assign(effect, { effect: "external" });
      witness.push({ ...effect });
    },
    /look_up happened 2 times .* its recovery is repeat/,
  ],
  [
    "effects-at-most-once",
    "a tool happened again when the run was resumed after its end",
    ({ witness, again }) => again.witness.push({ ...one(effectsOf(witness, "ship")) }),
    /ship happened 2 times/,
  ],
  [
    "effects-at-most-once",
    "something happened under a key that the ledger does not know",
    ({ witness }) => void (one(effectsOf(witness, "ship")).key = "f00dface00"),
    /ship happened under the key f00dface, but the ledger has no call explored-1\/work#1\.3 with that key/,
  ],
  [
    "effects-at-most-once",
    "one call happened under two keys",
    ({ witness }) => witness.push({ ...one(effectsOf(witness, "ship")), key: "f00dface00", isDropped: true }),
    /ship happened for one call .* under several keys: .*f00dface/,
  ],
  [
    "effects-exactly-once-where-succeeded",
    "a call that never happened has a receipt",
    ({ witness }) => takeOut(witness, isEffectOf("ship")),
    /ship .* is recorded as succeeded, but nothing happened outside/,
  ],
  [
    "effects-exactly-once-where-succeeded",
    "a call that succeeded happened twice",
    ({ witness }) => witness.push({ ...one(effectsOf(witness, "ship")) }),
    /ship .* is recorded as succeeded, but happened 2 times/,
  ],
  [
    "effects-exactly-once-where-succeeded",
    "a cancelled call happened",
    ({ account }) => {
      const call = one(account.calls, ({ tool }) => tool === "ship");
      call.status = "cancelled";
      if (call.receipt !== null) call.receipt.status = "cancelled";
    },
    /ship .* is cancelled, so it must not run, but it happened anyway/,
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
    /turn 1 of work in explored-1 was committed at stop 1, but is not at the end/,
  ],
  [
    "committed-turns-kept",
    "a committed turn is open again",
    ({ account }) => void (one(account.turns).committed = false),
    /turn 1 of work in explored-1 was committed at stop 1, but is not at the end/,
  ],
  [
    "committed-turns-kept",
    "a committed turn has another response",
    ({ account }) => void (one(account.turns).response.finishReason = "length"),
    /turn 1 .* has changed at the end: response\.finishReason is "length" and was/,
  ],
  [
    "turns-without-a-hole",
    "a turn is missing in the middle",
    ({ account }) => takeOut(account.turns, ({ turnIndex }) => turnIndex === 2),
    /The turns of work in explored-1 at the end are 1, 3: they should be 1 to 2/,
  ],
  [
    "turns-without-a-hole",
    "a turn was committed twice",
    ({ account: { events } }) =>
      events.push({ ...one(events, ({ type }) => type === "turn.committed"), seq: 999 }),
    /records commits of turns 1, 2, 3, 1 of work, but committed are 1, 2, 3/,
  ],
  [
    "turns-without-a-hole",
    "there is a response for a turn that does not come next",
    ({ account: { turns } }) => turns.push({ ...one(turns), turnIndex: 7, committed: false }),
    /committed up to 3, but there is a response for 7/,
  ],
  [
    "calls-match-the-ledger",
    "a call of a response has no row",
    ({ account }) => takeOut(account.calls, ({ tool }) => tool === "ship"),
    /turn 1 of work in explored-1 requests 5 calls at the end, but the ledger has 4 of them/,
  ],
  [
    "calls-match-the-ledger",
    "a row is of another tool than was requested",
    ({ account }) => void (one(account.calls, ({ tool }) => tool === "ship").tool = "sink"),
    /requests ship as call 3, but the ledger has sink as call 3/,
  ],
  [
    "calls-match-the-ledger",
    "a row belongs to no response",
    ({ account: { calls } }) => calls.push({ ...one(calls, ({ tool }) => tool === "ship"), turnIndex: 9 }),
    /has explored-1\/work#1\.3 \(ship\) at the end, which no response requests/,
  ],
  [
    "calls-match-the-ledger",
    "a call of a committed turn has no receipt",
    ({ account }) => void (one(account.calls, ({ tool }) => tool === "ship").receipt = null),
    /turn 1 .* is committed at the end, but its call of ship has no receipt/,
  ],
  [
    "calls-match-the-ledger",
    "a call of a step that has succeeded has no receipt",
    ({ account }) => void (one(account.calls, ({ turnIndex }) => turnIndex === 0).receipt = null),
    /Step prepare of explored-1 has succeeded at the end, but explored-1\/prepare#0\.1 \(charge\) has no receipt/,
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
    /has 2 responses, but 3 turns are committed/,
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
    "the event log does not record the start of a call",
    ({ account: { events } }) => takeOut(events, ({ type }) => type === "calls.started"),
    /the event log does not record its start|which is not a valid transition|dispatched/,
  ],
  [
    "ledger-transitions",
    "a call got a second receipt",
    ({ account: { events } }) =>
      events.push({ ...one(events, ({ type }) => type === "call.receipt"), seq: 999 }),
    /it was (succeeded|failed) and then (succeeded|failed) \(event 999\), which is not a valid transition/,
  ],
  [
    "ledger-transitions",
    "a call was started again after its receipt",
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
    "the store has another status than the event log",
    ({ account }) => void (one(account.calls, ({ tool }) => tool === "charge").status = "in_doubt"),
    /by the event log it is succeeded, but the store has it as in_doubt/,
  ],
  [
    "ledger-transitions",
    "a call has more attempts than the event log records",
    ({ account }) => void (one(account.calls, ({ tool }) => tool === "ship").attempt += 2),
    /ship .* it was dispatched \d times, but the event log records another number/,
  ],
  [
    "receipts-immutable",
    "a receipt has another output than at an earlier crash",
    ({ account }) => {
      const call = one(account.calls, ({ tool }) => tool === "ship");
      if (call.receipt !== null) call.receipt.output = { type: "text", value: "something else" };
    },
    /The receipt of ship .* stored at stop 1 has changed at the end: output\.value is "something else"/,
  ],
  [
    "receipts-immutable",
    "a receipt is gone after resuming again",
    ({ again }) => void (one(one(again.accounts).calls, ({ tool }) => tool === "ship").receipt = null),
    /stored at the end has changed after resuming again/,
  ],
  [
    "journal-before-tools",
    "a tool was entered before its call was in the store",
    ({ witness }) => {
      const line = one(witness, ({ kind }) => kind === "entered");
      if (line.kind === "entered") line.journaled = false;
    },
    /\(explored-1\/\S+, attempt 1\) was entered by process 1 while the store did not have it as running/,
  ],
  [
    "journal-before-tools",
    "a tool was entered for an attempt that the ledger does not have",
    ({ witness }) => {
      const line = one(witness, ({ kind }) => kind === "entered");
      if (line.kind === "entered") line.attempt = 4;
    },
    /attempt 4\) was entered by process 1, but the ledger has 1 attempts/,
  ],
  [
    "usage-exact",
    "the provider gave other figures",
    ({ witness }) => {
      const line = one(witness, ({ kind }) => kind === "answered");
      if (line.kind === "answered" && line.usage !== null) line.usage.outputTokens += 1;
    },
    /attempt 2 at turn 1 of work in explored-1 is charged \{.*\}, but the provider reported \{/,
  ],
  [
    "usage-exact",
    "the provider never answered",
    ({ witness }) => takeOut(witness, ({ kind }) => kind === "answered"),
    /attempt 2 at turn 1 .* is charged by the provider's figures, but the provider gave none/,
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
    /turn 2 .* is charged \{.*\} instead of the reserved \{.*\}/,
  ],
  [
    "usage-exact",
    "nothing is charged for a request that was sent and not refused",
    ({ witness }) => takeOut(witness, ({ kind }) => kind === "refused"),
    /attempt 1 at turn 1 .* was sent and not refused, but nothing is charged for it/,
  ],
  [
    "usage-exact",
    "a run is charged more than the sum of its calls",
    ({ account }) => void (account.run.charged.tokens += 1),
    /explored-1 is charged \{.*\}, but its model calls add up to \{/,
  ],
  [
    "usage-exact",
    "a model call is never settled",
    ({ again }) => void (one(one(again.accounts).modelCalls).charge = null),
    /attempt 1 at turn 1 .* is not settled, but the run is succeeded/,
  ],
  [
    "usage-exact",
    "one attempt is charged twice",
    ({ again }) => {
      const { modelCalls } = one(again.accounts);
      modelCalls.push({ ...one(modelCalls, ({ turnIndex }) => turnIndex === 2) });
    },
    /An attempt at turn 2 of work in explored-1 is charged more than once/,
  ],
  [
    "usage-exact",
    "a request was sent twice under one reservation",
    ({ witness }) => witness.push({ ...one(witness, ({ kind }) => kind === "asked") }),
    /attempt 1 at turn 1 .* was sent 2 times, but reserved once/,
  ],
  [
    "usage-exact",
    "a request was sent without a reservation",
    ({ witness }) => witness.push({ ...one(witness, ({ kind }) => kind === "asked"), attempt: 9 }),
    /attempt 9 at turn 1 .* was sent, but the store has no such attempt/,
  ],
  [
    "usage-exact",
    "nothing is charged for a response",
    ({ again }) => {
      const { modelCalls } = one(again.accounts);
      modelCalls.splice(0, modelCalls.length);
    },
    /turn 1 of work in explored-1 has a response, but nothing is charged for it/,
  ],
  [
    "reservations-balance",
    "something is still reserved when the run has ended",
    ({ account }) => void (account.run.reserved.tokens = 5),
    /explored-1 has \{"tokens":5,.*\} reserved at the end, but its 0 open model calls reserve/,
  ],
  [
    "reservations-balance",
    "a reservation is missing at a crash",
    ({ moments }) => {
      const { run, modelCalls } = one(one(moments));
      run.reserved.tokens = 0;
      one(modelCalls).charge = null;
    },
    /reserved at stop 1, but its 1 open model calls reserve/,
  ],
  [
    "silence-is-no-proof",
    "an open model call of a silent process costs nothing",
    (draft) => {
      pauseInstead(draft);
      const open = one(one(one(draft.moments)).modelCalls);
      open.charge = null;
      const call = one(one(draft.again.accounts).modelCalls, (each) => isSameAttempt(each, open));
      if (call.charge !== null) call.charge.basis = "none";
    },
    /was open in a process that may have sent it, but nothing is charged for it/,
  ],
  [
    "silence-is-no-proof",
    "a running call of a silent process counts as never sent",
    (draft) => {
      pauseInstead(draft);
      const { toolCallId, attempt } = one(one(one(draft.moments)).calls);
      one(one(draft.moments)).calls.forEach((call) => void (call.status = "running"));
      const left = { startedAt: 0, endedAt: 0, outcome: "not_applied", errorCode: "not_sent" } as const;
      const rest = { errorDetail: null, correlationId: null, late: null };
      one(draft.again.accounts).tries.unshift({ toolCallId, attempt, ...left, ...rest });
    },
    /was running in a process that may be alive, but counts as never sent/,
  ],
  [
    "usage-exact",
    "a reservation stays charged for a request that was never sent",
    ({ witness, again, noted }) => {
      const asked = one(witness, ({ kind }) => kind === "asked") as { turnIndex: number; attempt: number };
      const isOf = (each: { turnIndex?: number; attempt?: number }) => isSameAttempt(each, asked);
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
    /was never sent, but its reservation is charged/,
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
    /The receipt of read .* refers to blob [0-9a-f]{8} of \d+ bytes, but at the end it is missing/,
  ],
  [
    "references-have-blobs",
    "a blob holds something else",
    ({ account }) => void (account.blobs[blobOf(account)] = { blobId: "f00dface00", size: 1 }),
    /the stored blob has the hash f00dface/,
  ],
  [
    "references-have-blobs",
    "a receipt has another size than its blob has",
    ({ account }) => {
      const blob = account.blobs[blobOf(account)];
      if (blob) blob.size += 1;
    },
    /refers to blob .* but at the end the stored blob has \d+/,
  ],
  [
    "references-have-blobs",
    "an artifact has no bytes at a crash",
    ({ moments }) => {
      const account = one(one(moments));
      account.blobs[one(account.artifacts).hash] = null;
    },
    /Artifact note\.md of explored-1 refers to blob .* but at stop 1 it is missing/,
  ],
  [
    "same-end",
    "the output differs",
    ({ account }) => void (account.run.output = "Something else."),
    /explored-1 does not end as it does undisturbed: run\.output is "Something else\." and was "Done\."/,
  ],
  [
    "same-end",
    "a call has another outcome",
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
    /calls\.charge \(key f00dface\) is \{.*and was missing/,
  ],
  [
    "same-end",
    "the history differs",
    ({ account }) => account.histories.work?.push({ role: "user", content: "And?" }),
    /histories\.work\.\d+ is \{.*And\?.*\} and was missing/,
  ],
  [
    "same-end",
    "an artifact differs",
    ({ account }) => void (one(account.artifacts).hash = "f00dface"),
    /artifacts\.note\.md is "f00dface" and was/,
  ],
  [
    "same-end",
    "the session differs",
    ({ account }) => account.session.push({ name: "notes", kind: "state", version: 1, values: ["one"] }),
    /session\.notes is \{.*\} and was missing/,
  ],
  [
    "same-end",
    "a step has another output",
    ({ account }) => void (one(account.steps).output = "else"),
    /steps\.\w+\.output is "else"/,
  ],
  [
    "same-end",
    "there is no run",
    ({ accounts }) => accounts.splice(0),
    /There is no run explored-1, but undisturbed there is one/,
  ],
  [
    "ends-or-waits",
    "the run is left running",
    ({ account }) => void (account.run.status = "running"),
    /explored-1 is left running, but no process works on it/,
  ],
  [
    "ends-or-waits",
    "the run is left queued",
    ({ account }) => void (account.run.status = "queued"),
    /explored-1 is left queued, but no process resumes it/,
  ],
  [
    "ends-or-waits",
    "the run waits for nothing",
    ({ account }) => void (account.run.status = "waiting"),
    /explored-1 waits, but has neither an open wait nor an error/,
  ],
  [
    "ends-or-waits",
    "the run failed for no reason",
    ({ account }) => void (account.run.status = "failed"),
    /explored-1 has failed, but has no error/,
  ],
  [
    "ends-or-waits",
    "the last process threw",
    ({ lives }) => {
      const end = { kind: "threw", name: "StoreError", message: "It broke.", isDiverged: false } as const;
      Object.assign(lives.at(-1) ?? {}, { end });
    },
    /The last process threw StoreError \(It broke\.\), but undisturbed it returned/,
  ],
  [
    "ends-or-waits",
    "the last process hangs",
    ({ lives }) => void Object.assign(lives.at(-1) ?? {}, { end: { kind: "stuck" } }),
    /Process 2 hangs/,
  ],
  ["ends-or-waits", "no process ended", ({ lives }) => lives.splice(1), /No process ended/],
  [
    "resuming-twice-is-resuming-once",
    "a tool was called when the run was resumed again",
    ({ witness, again }) => again.witness.push({ ...one(effectsOf(witness, "look_up")) }),
    /Resuming explored-1 again called look_up/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "the model was asked when the run was resumed again",
    ({ witness, again }) => again.witness.push({ ...one(witness, ({ kind }) => kind === "asked") }),
    /Resuming explored-1 again called the model/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "resuming again was charged",
    ({ again }) => void (one(again.accounts).run.charged.tokens += 1),
    /Resuming explored-1 again changed it: run\.charged\.tokens is \d+ and was \d+/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "resuming again created another run",
    ({ again }) => {
      const [account] = structuredClone(again.accounts);
      if (account !== undefined)
        again.accounts.push({ ...account, run: { ...account.run, runId: "second" } });
    },
    /Resuming again created another run, second/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "resuming again returned another result",
    ({ again }) => {
      const value = { runId: "explored-1", status: "succeeded", output: "Something else." };
      again.end = { kind: "returned", value };
    },
    /The same work repeated returns another result: output is "Something else\."/,
  ],
  [
    "resuming-twice-is-resuming-once",
    "resuming again threw",
    ({ again }) => {
      again.end = { kind: "threw", name: "StoreError", message: "It broke.", isDiverged: false };
    },
    /The last process returned, but when repeated it threw StoreError/,
  ],
  [
    "events-verify",
    "a row does not match its event",
    ({ account }) => account.verification.problems.push({ row: "event 3", what: "was changed" }),
    /In explored-1, at the end, event 3 was changed/,
  ],
  [
    "events-verify",
    "the event log is empty",
    ({ account }) => void (account.verification.events = 0),
    /The event log of explored-1 is empty at the end/,
  ],
  [
    "no-more-effects-than-undisturbed",
    "the same effect happened again under another key",
    ({ witness }) => witness.push({ ...one(effectsOf(witness, "ship")), key: "f00dface00" }),
    /ship happened 2 times with the same arguments \(keys .*f00dface\), but undisturbed 1 times/,
  ],
  [
    "wanted-once-had-once",
    "two calls succeeded with an effect that is wanted once",
    ({ account }) =>
      account.calls.push({
        ...one(account.calls, ({ tool }) => tool === "notify"),
        toolCallId: "explored-1/other",
      }),
    /notify is wanted once in the run, but explored-1\/.* and explored-1\/other succeeded/,
  ],
  [
    "keys-fit-their-calls",
    "a call has a key that is not derived from it",
    ({ account }) => void (one(account.calls).idempotencyKey = "f00dface00"),
    /charge .* has the key f00dface, which is not derived from it/,
  ],
  [
    "runs-as-approved",
    "a call was run without approval",
    ({ again }) => void (one(one(again.accounts).waits, ({ kind }) => kind === "approval").answer = null),
    /call_taxi .* was run by process \d, but it was not approved/,
  ],
  [
    "runs-as-approved",
    "a call was run with other arguments than were approved",
    ({ witness }) => {
      for (const line of witness)
        if (line.kind === "entered" && line.tool === "call_taxi") line.fingerprint = "f00d";
    },
    /call_taxi .* was run by process \d, but other arguments were approved/,
  ],
  [
    "journaled-responses-kept",
    "a stored response is gone",
    ({ again }) => takeOut(one(again.accounts).turns, () => true),
    /turn 1 of work in explored-1 had its response at the end, but after resuming again it was discarded/,
  ],
  [
    "steps-done-once",
    "a finished step is no longer finished",
    ({ again }) => void (one(one(again.accounts).steps, ({ path }) => path === "prepare").status = "failed"),
    /Step prepare had finished at the end, but after resuming again its result differs/,
  ],
  [
    "nothing-runs-at-rest",
    "a call is running in a run that has ended",
    ({ account }) => void (one(account.calls).status = "running"),
    /explored-1 is succeeded at the end, but charge .* is running/,
  ],
  [
    "database-intact",
    "the database is corrupt",
    ({ integrity }) => integrity.push("row 3 missing from index runs_by_status"),
    /The integrity check of the database reports: row 3 missing/,
  ],
];

describe("an invariant notices that", () => {
  it.each(FALSIFICATIONS)("%s: %s", async (invariant, _how, change, message) => {
    const { broken } = await checkInvariants(falsified(crashed, change), INVARIANTS);
    const found = broken.find((each) => each.invariant === invariant)?.problems.map(({ what }) => what);
    expect(found?.join("\n")).toMatch(message);
  });

  it("diverged-is-silent: a process that found the run diverged asked the model", async () => {
    const asked = one(crashed.witness, ({ kind }) => kind === "asked");
    const { broken } = await checkInvariants(
      falsified(otherPrompt, ({ witness }) => witness.push({ ...asked, life: 1 })),
      INVARIANTS,
    );
    const found = broken.find(({ invariant }) => invariant === "diverged-is-silent");
    expect(found?.problems[0]?.what).toBe("Process 1 found that the run had diverged, but called the model");
  });

  it("same-end: a milestone is missing", async () => {
    const without = falsified(planned, ({ account }) =>
      takeOut(account.checkpoints, ({ type }) => type === "milestone"),
    );
    const { broken } = await checkInvariants(without, INVARIANTS);
    const found = broken.find(({ invariant }) => invariant === "same-end")?.problems[0]?.what;
    expect(found).toMatch(/checkpoints\.\d+.* and was .*/);
  });

  it("every promise is broken by at least one of these", () => {
    const shown = new Set([...FALSIFICATIONS.map(([name]) => name), "diverged-is-silent"]);
    expect([...shown].sort()).toEqual(INVARIANTS.map(({ name }) => name).sort());
  });
});

/** Makes it look as if the first process had only been paused. */
function pauseInstead(draft: Draft): void {
  const at = { phase: "before", call: "store.commitTurn", nth: 2 } as const;
  Object.assign(draft.schedule, { kind: "pause", at, wake: null });
}

type AttemptNumbers = { readonly turnIndex?: number; readonly attempt?: number };

function isSameAttempt(a: AttemptNumbers, b: AttemptNumbers): boolean {
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
