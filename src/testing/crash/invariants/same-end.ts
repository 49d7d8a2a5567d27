import { isDeepStrictEqual } from "node:util";
import type { CheckpointRecord, ToolCallRecord, TurnRecord } from "../../../store/store.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import { FINE, type Invariant, lookAt, type Problem, wrong } from "../invariant.ts";
import { firstDifference } from "./first-difference.ts";
import { accountOf } from "./places.ts";

export const sameEnd: Invariant = {
  name: "same-end",
  promise: "Whatever happened on the way, a run comes to the end that it would have come to undisturbed.",
  judge: (evidence) => {
    const { undisturbed, accounts } = evidence;
    if (undisturbed === null) return { looked: 0, problems: [] };
    const ids = new Set([...undisturbed.accounts, ...accounts].map(({ run }) => run.runId));
    const pairs = [...ids].flatMap((runId) => {
      const [was, is] = [accountOf(undisturbed.accounts, runId), accountOf(accounts, runId)];
      return was !== null && is !== null && wasAnsweredOtherwise(was, is) ? [] : [{ runId, was, is }];
    });
    return lookAt(pairs, ({ runId, was, is }) => {
      if (was === null) return wrong(`There is a run ${runId} that there is not when nothing disturbs it`);
      if (is === null) return wrong(`There is no run ${runId}, and there is one when nothing disturbs it`);
      return judgeEnd(was, is);
    });
  },
};

/**
 * Somebody, or Pawl for want of anybody, has said of a call that it failed because nobody knew. The model was told that
 * and nothing else, so from there on it is another conversation.
 */
function wasAnsweredOtherwise(was: RunAccount, is: RunAccount): boolean {
  const receipts = new Map(was.calls.map(({ idempotencyKey, receipt }) => [idempotencyKey, receipt]));
  return is.calls.some(({ idempotencyKey, receipt }) => {
    const isWord = receipt?.source === "person" || receipt?.errorCode === "unknown_outcome";
    return isWord && !isDeepStrictEqual(receipt.output, receipts.get(idempotencyKey)?.output);
  });
}

function judgeEnd(was: RunAccount, is: RunAccount): readonly Problem[] {
  const isCut = isCutShort(was) || isCutByBudget(is);
  const difference = isCut ? differenceOfCut(was, is) : firstDifference(endOf(was, is), endOf(is, was));
  if (difference === null) return FINE;
  return wrong(`${is.run.runId} does not end as it does when nothing disturbs it: ${difference}`);
}

const BUDGET_CODES: ReadonlySet<string> = new Set(["quota_exceeded", "budget_exceeded", "deadline_exceeded"]);

/** A lost model call costs its reservation, and a stop costs time: a budget may be used up sooner for it, never later. */
function isCutByBudget({ run, waits }: RunAccount): boolean {
  const isAsking = waits.some(({ kind, status }) => kind === "budget" && status === "open");
  return isAsking || (run.error !== null && BUDGET_CODES.has(run.error.code));
}

/** A cancelled run stops where it happens to be. */
function isCutShort(account: RunAccount): boolean {
  return account.run.status === "cancelled" || isCutByBudget(account);
}

/** How far it came may differ, and no turn that it did come to. */
function differenceOfCut(was: RunAccount, is: RunAccount): string | null {
  const [before, after] = [saidIn(was), saidIn(is)];
  if (isCutByBudget(was) && !isCutByBudget(is) && after.length > before.length)
    return `it came to ${after.length} turns, and its budget is for ${before.length}`;
  if (was.run.status === "cancelled" && is.run.status !== "cancelled" && !isCutByBudget(is))
    return `run.status is "${is.run.status}" and was "cancelled"`;
  const both = Math.min(before.length, after.length);
  return firstDifference({ turns: before.slice(0, both) }, { turns: after.slice(0, both) });
}

function saidIn({ turns }: RunAccount): readonly Pick<TurnRecord, "stepPath" | "turnIndex" | "response">[] {
  return turns
    .filter(({ committed }) => committed)
    .map(({ stepPath, turnIndex, response }) => ({ stepPath, turnIndex, response }));
}

/** What has to be the same. When, by whom, and at which try are not part of it. */
function endOf(account: RunAccount, other: RunAccount) {
  const { run, steps, artifacts } = account;
  const { status, output, context, error } = run;
  return {
    run: { status, output, context, error: error?.code ?? null },
    steps: byName(steps.map(({ path, status, output, context }) => [path, { status, output, context }])),
    artifacts: byName(artifacts.map(({ name, hash }) => [name, hash])),
    ...(hasSameLines(account, other) ? conversationOf(account, other) : {}),
    ...(isSessionTold(account, other) ? { session: sessionOf(account) } : {}),
  };
}

function conversationOf(account: RunAccount, other: RunAccount) {
  const { histories } = account;
  return { histories, calls: ledgerOf(account), checkpoints: checkpointsOf(account, other) };
}

function byName<T>(entries: readonly (readonly [string, T])[]): { readonly [name: string]: T } {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Who goes back to a milestone once more begins one more line: an empty history, and calls that meet earlier receipts. */
function hasSameLines(a: RunAccount, b: RunAccount): boolean {
  const linesOf = ({ lineages }: RunAccount) =>
    lineages.map(({ stepPath, firstTurn, baseTurn, openTurn }) => ({
      stepPath,
      firstTurn,
      baseTurn,
      openTurn,
    }));
  return isDeepStrictEqual(linesOf(a), linesOf(b));
}

/** By key: calls that code makes side by side may be asked for in another order. */
function ledgerOf({ calls }: RunAccount) {
  return byName(
    calls.map((call) => [`${call.tool} (key ${call.idempotencyKey.slice(0, 8)})`, outcomeOf(call)]),
  );
}

function outcomeOf({ status, receipt }: ToolCallRecord) {
  const { output = null, errorCode = null, uncertain = false } = receipt ?? {};
  return { status, output, errorCode, uncertain };
}

/** One before each side effect is taken again with each try. */
function checkpointsOf(account: RunAccount, other: RunAccount) {
  if (!isSessionTold(account, other)) return null;
  const isLasting = ({ type }: CheckpointRecord) => type !== "pre_side_effect";
  return account.checkpoints
    .filter(isLasting)
    .map(({ type, stepPath, turnIndex }) => ({ type, stepPath, turnIndex }));
}

function sessionOf({ session }: RunAccount) {
  return byName(session.map(({ name, kind, version, values }) => [name, { kind, version, values }]));
}

/** A call that a person settled, or that was looked up, tells the session nothing of what it would have told. */
function isSessionTold(a: RunAccount, b: RunAccount): boolean {
  const eventsOf = ({ calls }: RunAccount) =>
    byName(calls.map(({ idempotencyKey, receipt }) => [idempotencyKey, receipt?.sessionEvents ?? []]));
  return isDeepStrictEqual(eventsOf(a), eventsOf(b));
}

/** Whether some run may have stopped sooner than it would have undisturbed, for a reason that is nobody's mistake. */
export function mayEndOtherwise(evidence: Evidence): boolean {
  return evidence.accounts.some(({ run }) => mayRunEndOtherwise(evidence, run.runId));
}

export function mayRunEndOtherwise({ accounts, undisturbed }: Evidence, runId: string): boolean {
  const [was, is] = [accountOf(undisturbed?.accounts ?? [], runId), accountOf(accounts, runId)];
  if (was === null || is === null) return false;
  return isCutShort(was) || isCutByBudget(is) || wasAnsweredOtherwise(was, is);
}
