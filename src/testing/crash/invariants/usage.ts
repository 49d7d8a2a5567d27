import { isDeepStrictEqual } from "node:util";
import { type Amount, addAmount, NO_USAGE, NOTHING } from "../../../core/usage/usage.ts";
import type { ModelCallRecord } from "../../../store/store.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import type { ModelLine, WitnessLine } from "../witness.ts";
import { accountOf, allLines, allObservations, type Observation, turnName } from "./observations.ts";

type ModelAttempt = Pick<ModelCallRecord, "stepPath" | "turnIndex" | "attempt">;

export const usageExact: Invariant = {
  name: "usage-exact",
  promise:
    "An answered model call is charged once, by the provider's figures; one that was sent without an answer costs its reservation; a refused one costs nothing.",
  judge: (evidence) => {
    const lines = allLines(evidence).filter(isAboutModels);
    const accounts = evidence.again.accounts;
    const calls = accounts.flatMap((account) => account.modelCalls.map((call) => ({ account, call })));
    const { looked, problems } = checkEach(calls, ({ account, call }) => judgeCharge(account, call, lines));
    return {
      looked,
      problems: [
        ...problems,
        ...[...accounts, ...evidence.accounts].flatMap(judgeSum),
        ...accounts.flatMap((account) => judgeTurns(account, lines)),
        ...judgeRequests(evidence, lines),
        ...accounts.flatMap((account) => judgeUnsent(account, evidence, lines)),
        ...accounts.flatMap((account) => judgeRefused(account, evidence, lines)),
      ],
    };
  },
};

function isAboutModels(line: WitnessLine): line is ModelLine {
  return line.kind === "asked" || line.kind === "answered" || line.kind === "refused";
}

function attemptName(runId: string, { stepPath, turnIndex, attempt }: ModelAttempt): string {
  return `attempt ${attempt} at ${turnName(runId, stepPath, turnIndex)}`;
}

function attemptKey(runId: string, { stepPath, turnIndex, attempt }: ModelAttempt): string {
  return `${runId}/${stepPath}#${turnIndex}@${attempt}`;
}

function judgeCharge(
  { run }: RunAccount,
  call: ModelCallRecord,
  lines: readonly ModelLine[],
): readonly Problem[] {
  const { charge, reserved } = call;
  const name = attemptName(run.runId, call);
  if (charge === null)
    return run.status === "running" ? FINE : wrong(`${name} is not settled, but the run is ${run.status}`);
  const seen = lines.filter((line) => attemptKey(line.runId, line) === attemptKey(run.runId, call));
  const answer = seen.find(isAnswer);
  switch (charge.basis) {
    case "provider":
      if (answer === undefined)
        return wrong(`${name} is charged by the provider's figures, but the provider gave none`);
      if (!isDeepStrictEqual({ ...answer.usage }, { ...charge.usage }))
        return wrong(
          `${name} is charged ${shown(charge.usage)}, but the provider reported ${shown(answer.usage)}`,
        );
      return charge.amount.tokens === charge.usage.inputTokens + charge.usage.outputTokens
        ? FINE
        : wrong(`${name} is charged ${charge.amount.tokens} tokens for ${shown(charge.usage)}`);
    case "baseline":
      if (!isDeepStrictEqual({ ...charge.usage }, { ...NO_USAGE }))
        return wrong(`${name} is charged its reservation, but records figures of the provider`);
      return isSame(charge.amount, reserved)
        ? FINE
        : wrong(`${name} is charged ${shown(charge.amount)} instead of the reserved ${shown(reserved)}`);
    case "none":
      if (!isSame(charge.amount, NOTHING))
        return wrong(`${name} costs nothing, but ${shown(charge.amount)} is charged`);
      if (answer !== undefined) return wrong(`${name} was answered, but nothing is charged for it`);
      return seen.some(({ kind }) => kind === "asked") && !seen.some(({ kind }) => kind === "refused")
        ? wrong(`${name} was sent and not refused, but nothing is charged for it`)
        : FINE;
  }
}

function isAnswer(line: ModelLine): line is Extract<ModelLine, { kind: "answered" }> {
  return line.kind === "answered";
}

function judgeSum({ run, modelCalls }: RunAccount): readonly Problem[] {
  const sum = modelCalls.reduce<Amount>(
    (total, { charge }) => addAmount(total, charge?.amount ?? NOTHING),
    NOTHING,
  );
  return isSame(run.charged, sum)
    ? FINE
    : wrong(`${run.runId} is charged ${shown(run.charged)}, but its model calls add up to ${shown(sum)}`);
}

/** Each journaled response was charged once, by the last attempt at its turn, unless a fork copied it. */
function judgeTurns({ run, turns, modelCalls }: RunAccount, lines: readonly ModelLine[]): readonly Problem[] {
  return turns.flatMap(({ stepPath, turnIndex }) => {
    const attempts = modelCalls.filter((call) => call.stepPath === stepPath && call.turnIndex === turnIndex);
    const last = attempts.toSorted((a, b) => a.attempt - b.attempt).at(-1);
    if (new Set(attempts.map(({ attempt }) => attempt)).size !== attempts.length)
      return wrong(`An attempt at ${turnName(run.runId, stepPath, turnIndex)} is charged more than once`);
    const isCopied = run.forkedFrom !== null && isSame(last?.reserved ?? NOTHING, NOTHING);
    if (last?.charge?.basis === "provider" || isCopied) return FINE;
    const hasFigures = lines.some(
      (line) =>
        last !== undefined &&
        isAnswer(line) &&
        line.usage !== null &&
        attemptKey(line.runId, line) === attemptKey(run.runId, last),
    );
    if (hasFigures)
      return wrong(
        `The response of ${turnName(run.runId, stepPath, turnIndex)} is stored, but is not charged by the figures that came with it`,
      );
    if (last?.charge?.basis === "baseline") return FINE;
    return wrong(`${turnName(run.runId, stepPath, turnIndex)} has a response, but nothing is charged for it`);
  });
}

/**
 * A reservation stays charged only for a request that was sent. There are two exceptions: a process that dies between its
 * sent mark and the send, which is one function call, and a paused process, which may send when it wakes. PostgreSQL has
 * no sent marks: there each process that dies may leave one reservation for a request that it never sent.
 */
function judgeUnsent(
  { run, modelCalls }: RunAccount,
  { database, schedule, noted, lives }: Evidence,
  lines: readonly ModelLine[],
): readonly Problem[] {
  if (noted === null || schedule.kind === "pause" || schedule.kind === "random") return FINE;
  const unsent = modelCalls.filter(
    (call) => call.charge?.basis === "baseline" && !lines.some((line) => isOf(run.runId, call, line)),
  );
  const deaths = lives.filter(({ end }) => end.kind === "died").length;
  if (database === "postgres" && schedule.kind === "crash" && unsent.length <= deaths) return FINE;
  return unsent.flatMap((call) => {
    const mark = noted.find((each) => each.callIndex === 0 && isOf(run.runId, call, each));
    const life = lives.find(({ number }) => number === mark?.life);
    const last = life?.reached.at(-1);
    if (last !== undefined && AFTER_MARK_BEFORE_SEND.has(`${last.phase} ${last.call}`)) return FINE;
    return wrong(`${attemptName(run.runId, call)} was never sent, but its reservation is charged`);
  });
}

function isOf(runId: string, call: ModelAttempt, other: { readonly runId: string } & ModelAttempt): boolean {
  return attemptKey(other.runId, other) === attemptKey(runId, call);
}

const AFTER_MARK_BEFORE_SEND: ReadonlySet<string> = new Set(["after store.beginEffect", "before model"]);

/**
 * A refused request costs nothing, unless its process died before it could store that. A process that was paused, closed
 * or could not write may have lost it in other ways.
 */
function judgeRefused(
  { run, modelCalls }: RunAccount,
  { schedule, lives }: Evidence,
  lines: readonly ModelLine[],
): readonly Problem[] {
  if (schedule.kind !== "crash") return FINE;
  return modelCalls.flatMap((call) => {
    const refusal = lines.find(
      (line) => line.kind === "refused" && attemptKey(line.runId, line) === attemptKey(run.runId, call),
    );
    if (call.charge?.basis !== "baseline" || refusal === undefined) return FINE;
    const last = lives.find(({ number }) => number === refusal.life)?.reached.at(-1);
    if (last !== undefined && REFUSED_BEFORE_SETTLED.has(`${last.phase} ${last.call}`)) return FINE;
    return wrong(`${attemptName(run.runId, call)} was refused, but its reservation is charged`);
  });
}

const REFUSED_BEFORE_SETTLED: ReadonlySet<string> = new Set(["after model", "before store.settleModelCall"]);

/** Every request that was sent has its own reservation. */
function judgeRequests({ again }: Evidence, lines: readonly ModelLine[]): readonly Problem[] {
  const asked = lines.filter(({ kind }) => kind === "asked");
  const groups = [...Map.groupBy(asked, (line) => attemptKey(line.runId, line)).values()];
  return groups.flatMap((requests) => {
    const [request] = requests;
    if (request === undefined) return FINE;
    const { runId, stepPath, turnIndex, attempt } = request;
    const name = attemptName(runId, request);
    const account = accountOf(again.accounts, runId);
    const attempts = (account?.modelCalls ?? []).filter(
      (call) => call.stepPath === stepPath && call.turnIndex === turnIndex,
    );
    if (!attempts.some((call) => call.attempt === attempt))
      return wrong(`${name} was sent, but the store has no such attempt`);
    return requests.length === 1
      ? FINE
      : wrong(`${name} was sent ${requests.length} times, but reserved once`);
  });
}

export const reservationsBalance: Invariant = {
  name: "reservations-balance",
  promise: "A run's reserved amount is the sum over its open model calls, and nothing unless it is running.",
  judge: (evidence) => checkEach(allObservations(evidence), judgeReserved),
};

function judgeReserved({ account: { run, modelCalls }, when }: Observation): readonly Problem[] {
  const open = modelCalls.filter(({ charge }) => charge === null);
  const sum = open.reduce<Amount>((total, { reserved }) => addAmount(total, reserved), NOTHING);
  if (!isSame(run.reserved, sum))
    return wrong(
      `${run.runId} has ${shown(run.reserved)} reserved ${when}, but its ${open.length} open model calls reserve ${shown(sum)}`,
    );
  return run.status === "running" || isSame(run.reserved, NOTHING)
    ? FINE
    : wrong(`${run.runId} is ${run.status} ${when}, but still has ${shown(run.reserved)} reserved`);
}

function isSame(a: Amount, b: Amount): boolean {
  return a.tokens === b.tokens && a.microDollars === b.microDollars;
}

function shown(value: unknown): string {
  return JSON.stringify(value);
}
