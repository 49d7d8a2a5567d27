import { isDeepStrictEqual } from "node:util";
import { isJsonObject } from "../../../core/json.ts";
import type { CheckpointRecord, ToolCallRecord, TurnRecord } from "../../../store/store.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import { firstDifference } from "./first-difference.ts";
import { accountOf } from "./observations.ts";

export const sameEnd: Invariant = {
  name: "same-end",
  promise: "Whatever the disturbance, a run ends as it does undisturbed.",
  judge: (evidence) => {
    const { undisturbed, accounts } = evidence;
    if (undisturbed === null) return { looked: 0, problems: [] };
    const ids = new Set([...undisturbed.accounts, ...accounts].map(({ run }) => run.runId));
    const pairs = [...ids].flatMap((runId) => {
      const [was, is] = [accountOf(undisturbed.accounts, runId), accountOf(accounts, runId)];
      const isOther = was !== null && is !== null && wasSettledDifferently(was, is, codesOf(evidence));
      return isOther ? [] : [{ runId, was, is }];
    });
    return checkEach(pairs, ({ runId, was, is }) => {
      if (was === null) return wrong(`There is a run ${runId}, but undisturbed there is none`);
      if (is === null) return wrong(`There is no run ${runId}, but undisturbed there is one`);
      return judgeEnd(was, is, isCutShort(was) || isCutByBudget(is) || isLeftToPerson(is, evidence));
    });
  },
};

/**
 * The errors with which Pawl ends a call whose outcome it cannot find out; and, where a process stood still, the one of an
 * attempt whose time was over before it was sent.
 */
function codesOf({ lives }: Evidence): ReadonlySet<string> {
  const hasStopped = lives.some(({ pausedAt }) => pausedAt.length > 0);
  return new Set(hasStopped ? ["unknown_outcome", "timeout"] : ["unknown_outcome"]);
}

/**
 * True if a call has another result because a person settled it, or because Pawl failed it with such an error. The model
 * got that result, so from there on the conversation is another one.
 */
function wasSettledDifferently(was: RunAccount, is: RunAccount, codes: ReadonlySet<string>): boolean {
  const receipts = new Map(was.calls.map(({ idempotencyKey, receipt }) => [idempotencyKey, receipt]));
  return is.calls.some(({ idempotencyKey, receipt }) => {
    if (receipt === null) return false;
    const isSettled = receipt.source === "person" || codes.has(receipt.errorCode ?? "");
    return isSettled && !isDeepStrictEqual(receipt.output, receipts.get(idempotencyKey)?.output);
  });
}

function judgeEnd(was: RunAccount, is: RunAccount, isCut: boolean): readonly Problem[] {
  const difference = isCut
    ? differenceOfCut(was, is)
    : firstDifference(timeless(was, endOf(was, is)), timeless(is, endOf(is, was)));
  if (difference === null) return FINE;
  return wrong(`${is.run.runId} does not end as it does undisturbed: ${difference}`);
}

/** Results of sleeps and messages have times in them: those of the store, which depend on the schedule. */
function timeless({ waits, messages }: RunAccount, end: ReturnType<typeof endOf>): unknown {
  const sleeps = waits.flatMap(({ kind, dueAt }) => (kind === "time" && dueAt !== null ? [dueAt] : []));
  const times = [...sleeps, ...messages.map(({ sentAt }) => sentAt)];
  if (times.length === 0) return end;
  const isTime = new Set(times.map((at) => new Date(at).toISOString()));
  const text = JSON.stringify(end, (_, value: unknown) =>
    typeof value === "string" && isTime.has(value) ? "a time" : value,
  );
  return JSON.parse(text);
}

const BUDGET_CODES: ReadonlySet<string> = new Set(["quota_exceeded", "budget_exceeded", "deadline_exceeded"]);

/** A lost model call costs its reservation, and a pause costs time: a budget may be used up sooner, never later. */
function isCutByBudget({ run, waits }: RunAccount): boolean {
  const isAsking = waits.some(({ kind, status }) => kind === "budget" && status === "open");
  return isAsking || (run.error !== null && BUDGET_CODES.has(run.error.code));
}

/** A cancelled run stops where it happens to be. */
function isCutShort(account: RunAccount): boolean {
  return account.run.status === "cancelled" || isCutByBudget(account);
}

/** After too many workers in a row that stopped in the middle of a run, a person is asked. So many must have stopped. */
function isLeftToPerson({ waits }: RunAccount, { lives }: Evidence): boolean {
  const stopped = lives.filter(({ end, pausedAt }) => end.kind !== "returned" || pausedAt.length > 0).length;
  return waits.some(
    ({ kind, status, toolCallId, subject }) =>
      kind === "escalation" &&
      status === "open" &&
      toolCallId === null &&
      isJsonObject(subject) &&
      typeof subject.stalls === "number" &&
      subject.stalls <= stopped,
  );
}

/** The number of turns may differ, but not the content of the common ones. */
function differenceOfCut(was: RunAccount, is: RunAccount): string | null {
  const [before, after] = [responsesIn(was), responsesIn(is)];
  if (isCutByBudget(was) && !isCutByBudget(is) && after.length > before.length)
    return `it has ${after.length} turns, but its budget is for ${before.length}`;
  if (was.run.status === "cancelled" && is.run.status !== "cancelled" && !isCutByBudget(is))
    return `run.status is "${is.run.status}" and was "cancelled"`;
  const both = Math.min(before.length, after.length);
  return firstDifference({ turns: before.slice(0, both) }, { turns: after.slice(0, both) });
}

function responsesIn({
  turns,
}: RunAccount): readonly Pick<TurnRecord, "stepPath" | "turnIndex" | "response">[] {
  return turns
    .filter(({ committed }) => committed)
    .map(({ stepPath, turnIndex, response }) => ({ stepPath, turnIndex, response }));
}

/** What must be the same. Times, workers and attempt numbers are not part of it. */
function endOf(account: RunAccount, other: RunAccount) {
  const { run, steps, artifacts } = account;
  const { status, output, context, error } = run;
  return {
    run: { status, output, context, error: error?.code ?? null },
    steps: byName(steps.map(({ path, status, output, context }) => [path, { status, output, context }])),
    artifacts: byName(artifacts.map(({ name, hash }) => [name, hash])),
    ...(hasSameLineages(account, other) ? conversationOf(account, other) : {}),
    ...(hasSameSessionEvents(account, other) ? { session: sessionOf(account) } : {}),
  };
}

function conversationOf(account: RunAccount, other: RunAccount) {
  const { histories } = account;
  return { histories, calls: ledgerOf(account), checkpoints: checkpointsOf(account, other) };
}

function byName<T>(entries: readonly (readonly [string, T])[]): { readonly [name: string]: T } {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A repeated milestone resume begins one more lineage: an empty history, and calls that reuse earlier receipts. */
function hasSameLineages(a: RunAccount, b: RunAccount): boolean {
  const lineagesOf = ({ lineages }: RunAccount) =>
    lineages.map(({ stepPath, firstTurn, baseTurn, openTurn }) => ({
      stepPath,
      firstTurn,
      baseTurn,
      openTurn,
    }));
  return isDeepStrictEqual(lineagesOf(a), lineagesOf(b));
}

/** By key: concurrent calls of a code step may be made in another order. */
function ledgerOf({ calls }: RunAccount) {
  return byName(
    calls.map((call) => [`${call.tool} (key ${call.idempotencyKey.slice(0, 8)})`, outcomeOf(call)]),
  );
}

function outcomeOf({ status, receipt }: ToolCallRecord) {
  const { output = null, errorCode = null, uncertain = false } = receipt ?? {};
  return { status, output, errorCode, uncertain };
}

/** Without those taken before a side effect: each attempt takes one again. */
function checkpointsOf(account: RunAccount, other: RunAccount) {
  if (!hasSameSessionEvents(account, other)) return null;
  const isLasting = ({ type }: CheckpointRecord) => type !== "pre_side_effect";
  return account.checkpoints
    .filter(isLasting)
    .map(({ type, stepPath, turnIndex }) => ({ type, stepPath, turnIndex }));
}

function sessionOf({ session }: RunAccount) {
  return byName(session.map(({ name, kind, version, values }) => [name, { kind, version, values }]));
}

/** A call that a person settled, or that was looked up, has none of the session events it would have had. */
function hasSameSessionEvents(a: RunAccount, b: RunAccount): boolean {
  const eventsOf = ({ calls }: RunAccount) =>
    byName(calls.map(({ idempotencyKey, receipt }) => [idempotencyKey, receipt?.sessionEvents ?? []]));
  return isDeepStrictEqual(eventsOf(a), eventsOf(b));
}

/** True if some run may rightly end in another way than undisturbed. */
export function mayEndDifferently(evidence: Evidence): boolean {
  return evidence.accounts.some(({ run }) => mayRunEndDifferently(evidence, run.runId));
}

export function mayRunEndDifferently(evidence: Evidence, runId: string): boolean {
  const { accounts, undisturbed } = evidence;
  const [was, is] = [accountOf(undisturbed?.accounts ?? [], runId), accountOf(accounts, runId)];
  if (was === null || is === null) return false;
  return isCutShort(was) || isCutByBudget(is) || wasSettledDifferently(was, is, codesOf(evidence));
}
