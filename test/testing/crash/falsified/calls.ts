import { effectsOf, type Falsification, isEffectOf, one, takeOut } from "../invariants-evidence.ts";

/** Falsified evidence of tool calls and of the turns that asked for them. */
export const FALSIFIED_CALLS: readonly Falsification[] = [
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
];
