import { NO_USAGE } from "../../../../src/core/usage/usage.ts";
import { type Falsification, isSameAttempt, one, pauseInstead, takeOut } from "../invariants-evidence.ts";

/** Falsified evidence of model calls and what they cost. */
export const FALSIFIED_USAGE: readonly Falsification[] = [
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
    "a refused request is charged",
    ({ again }) => {
      const { run, modelCalls } = one(again.accounts);
      const { charge, reserved } = one(modelCalls, ({ charge }) => charge?.basis === "none");
      run.charged.tokens += reserved.tokens;
      run.charged.microDollars += reserved.microDollars;
      Object.assign(charge ?? {}, { basis: "baseline", amount: reserved });
    },
    /attempt 1 at turn 1 .* was refused, but its reservation is charged/,
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
    ({ witness }) => {
      const line = one(witness, ({ kind }) => kind === "asked");
      if (line.kind === "asked") witness.push({ ...line, attempt: 9 });
    },
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
];
