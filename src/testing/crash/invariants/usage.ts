import { isDeepStrictEqual } from "node:util";
import { type Amount, addAmount, NO_USAGE, NOTHING } from "../../../core/usage/usage.ts";
import type { ModelCallRecord } from "../../../store/store.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import { FINE, type Invariant, lookAt, type Problem, wrong } from "../invariant.ts";
import type { WitnessLine } from "../witness.ts";
import { accountOf, allLines, everySight, type Sight, turnName } from "./places.ts";

type ModelLine = Extract<WitnessLine, { kind: "asked" | "answered" | "refused" }>;
type Place = Pick<ModelCallRecord, "stepPath" | "turnIndex" | "attempt">;

export const usageExact: Invariant = {
  name: "usage-exact",
  promise:
    "What the provider answered is charged as it says, once; what was sent without an answer costs its reservation.",
  judge: (evidence) => {
    const lines = allLines(evidence).filter(isAboutModels);
    const accounts = evidence.again.accounts;
    const calls = accounts.flatMap((account) => account.modelCalls.map((call) => ({ account, call })));
    const { looked, problems } = lookAt(calls, ({ account, call }) => judgeCharge(account, call, lines));
    return {
      looked,
      problems: [
        ...problems,
        ...[...accounts, ...evidence.accounts].flatMap(judgeSum),
        ...accounts.flatMap((account) => judgeTurns(account, lines)),
        ...judgeRequests(evidence, lines),
        ...accounts.flatMap((account) => judgeUnsent(account, evidence, lines)),
      ],
    };
  },
};

function isAboutModels(line: WitnessLine): line is ModelLine {
  return line.kind === "asked" || line.kind === "answered" || line.kind === "refused";
}

function placeName(runId: string, { stepPath, turnIndex, attempt }: Place): string {
  return `try ${attempt} at ${turnName(runId, stepPath, turnIndex)}`;
}

function placeKey(runId: string, { stepPath, turnIndex, attempt }: Place): string {
  return `${runId}/${stepPath}#${turnIndex}@${attempt}`;
}

function judgeCharge(
  { run }: RunAccount,
  call: ModelCallRecord,
  lines: readonly ModelLine[],
): readonly Problem[] {
  const { charge, reserved } = call;
  const name = placeName(run.runId, call);
  if (charge === null)
    return run.status === "running" ? FINE : wrong(`${name} is not settled, and the run is ${run.status}`);
  const seen = lines.filter((line) => placeKey(line.runId, line) === placeKey(run.runId, call));
  const answer = seen.find(isAnswer);
  switch (charge.basis) {
    case "provider":
      if (answer === undefined)
        return wrong(`${name} is charged by the provider's figures, and it gave none`);
      if (!isDeepStrictEqual({ ...answer.usage }, { ...charge.usage }))
        return wrong(
          `${name} is charged ${shown(charge.usage)}, and the provider said ${shown(answer.usage)}`,
        );
      return charge.amount.tokens === charge.usage.inputTokens + charge.usage.outputTokens
        ? FINE
        : wrong(`${name} is charged ${charge.amount.tokens} tokens for ${shown(charge.usage)}`);
    case "baseline":
      if (!isDeepStrictEqual({ ...charge.usage }, { ...NO_USAGE }))
        return wrong(`${name} is charged its reservation, and says that the provider gave figures`);
      return isSame(charge.amount, reserved)
        ? FINE
        : wrong(
            `${name} is charged ${shown(charge.amount)} and not the ${shown(reserved)} that were reserved`,
          );
    case "none":
      if (!isSame(charge.amount, NOTHING))
        return wrong(`${name} costs nothing, and ${shown(charge.amount)} is charged`);
      if (answer !== undefined) return wrong(`${name} was answered, and nothing is charged for it`);
      return seen.some(({ kind }) => kind === "asked") && !seen.some(({ kind }) => kind === "refused")
        ? wrong(`${name} was sent and not refused, and nothing is charged for it`)
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
    : wrong(`${run.runId} is charged ${shown(run.charged)}, and its model calls come to ${shown(sum)}`);
}

/** Each journaled response was paid for once, by the last try at its turn, unless it came with a fork. */
function judgeTurns({ run, turns, modelCalls }: RunAccount, lines: readonly ModelLine[]): readonly Problem[] {
  return turns.flatMap(({ stepPath, turnIndex }) => {
    const tries = modelCalls.filter((call) => call.stepPath === stepPath && call.turnIndex === turnIndex);
    const last = tries.toSorted((a, b) => a.attempt - b.attempt).at(-1);
    if (new Set(tries.map(({ attempt }) => attempt)).size !== tries.length)
      return wrong(`A try at ${turnName(run.runId, stepPath, turnIndex)} is charged more than once`);
    const isCopied = run.forkedFrom !== null && isSame(last?.reserved ?? NOTHING, NOTHING);
    if (last?.charge?.basis === "provider" || isCopied) return FINE;
    const hasFigures = lines.some(
      (line) =>
        last !== undefined &&
        isAnswer(line) &&
        line.usage !== null &&
        placeKey(line.runId, line) === placeKey(run.runId, last),
    );
    if (hasFigures)
      return wrong(
        `The response of ${turnName(run.runId, stepPath, turnIndex)} is stored, and is not charged by the figures that came with it`,
      );
    if (last?.charge?.basis === "baseline") return FINE;
    return wrong(`${turnName(run.runId, stepPath, turnIndex)} has a response, and nothing was paid for it`);
  });
}

/**
 * A reservation stays charged for what was sent, and for nothing else. Only a process that dies between its note and the
 * send, which is one call of a function, leaves it open whether it has; and one that was stopped may send when it wakes.
 */
function judgeUnsent(
  { run, modelCalls }: RunAccount,
  { schedule, noted, lives }: Evidence,
  lines: readonly ModelLine[],
): readonly Problem[] {
  if (noted === null || schedule.kind === "pause" || schedule.kind === "random") return FINE;
  return modelCalls.flatMap((call) => {
    const isOf = (place: { readonly runId: string } & Place) =>
      placeKey(place.runId, place) === placeKey(run.runId, call);
    if (call.charge?.basis !== "baseline" || lines.some(isOf)) return FINE;
    const note = noted.find((each) => each.callIndex === 0 && isOf(each));
    const life = lives.find(({ number }) => number === note?.life);
    const last = life?.reached.at(-1);
    if (last !== undefined && IN_BETWEEN.has(`${last.phase} ${last.call}`)) return FINE;
    return wrong(`${placeName(run.runId, call)} was never sent, and its reservation is charged`);
  });
}

const IN_BETWEEN: ReadonlySet<string> = new Set(["after store.beginEffect", "before model"]);

/** What was sent has a reservation of its own, and nothing is sent for a turn that has its response. */
function judgeRequests({ again }: Evidence, lines: readonly ModelLine[]): readonly Problem[] {
  const asked = lines.filter(({ kind }) => kind === "asked");
  const groups = [...Map.groupBy(asked, (line) => placeKey(line.runId, line)).values()];
  return groups.flatMap((requests) => {
    const [request] = requests;
    if (request === undefined) return FINE;
    const { runId, stepPath, turnIndex, attempt } = request;
    const name = placeName(runId, request);
    const account = accountOf(again.accounts, runId);
    const tries = (account?.modelCalls ?? []).filter(
      (call) => call.stepPath === stepPath && call.turnIndex === turnIndex,
    );
    if (!tries.some((call) => call.attempt === attempt))
      return wrong(`${name} was sent, and the store knows of no such try`);
    return requests.length === 1
      ? FINE
      : wrong(`${name} was sent ${requests.length} times, and was reserved for once`);
  });
}

export const reservationsBalance: Invariant = {
  name: "reservations-balance",
  promise: "What a run has reserved is what its open model calls reserve: nothing, unless it is running.",
  judge: (evidence) => lookAt(everySight(evidence), judgeReserved),
};

function judgeReserved({ account: { run, modelCalls }, when }: Sight): readonly Problem[] {
  const open = modelCalls.filter(({ charge }) => charge === null);
  const sum = open.reduce<Amount>((total, { reserved }) => addAmount(total, reserved), NOTHING);
  if (!isSame(run.reserved, sum))
    return wrong(
      `${run.runId} has ${shown(run.reserved)} reserved ${when}, and its ${open.length} open model calls reserve ${shown(sum)}`,
    );
  return run.status === "running" || isSame(run.reserved, NOTHING)
    ? FINE
    : wrong(`${run.runId} is ${run.status} ${when}, and still has ${shown(run.reserved)} reserved`);
}

function isSame(a: Amount, b: Amount): boolean {
  return a.tokens === b.tokens && a.microDollars === b.microDollars;
}

function shown(value: unknown): string {
  return JSON.stringify(value);
}
