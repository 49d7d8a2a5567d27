import type { EventRecord } from "../../../store/store.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import type { NotedClaim } from "../ownership-log.ts";
import { accountOf, allLines, objectOf } from "./observations.ts";

const DEFAULT_LEASE_MS = 30_000;

export const claimedByOne: Invariant = {
  name: "claimed-by-one",
  promise: "A run is claimed by one process at a time, and only that one calls anything outside for it.",
  judge: (evidence) => {
    const leaseMs = evidence.scenario.runner?.leaseMs ?? DEFAULT_LEASE_MS;
    const taken = checkEach(evidence.claims, ({ runId, life, from }) =>
      from === null || from.isDead || from.silentMs >= leaseMs
        ? FINE
        : wrong(
            `Process ${life} claimed ${runId}, which process ${from.life} had: it lives, and renewed its lease ${from.silentMs} ms before`,
          ),
    );
    const called = checkEach(callsUnderClaims(evidence), ({ life, runId, claim }) =>
      claim === null || claim.life === life
        ? FINE
        : wrong(`Process ${life} began a call for ${runId} after process ${claim.life} had claimed it`),
    );
    return { looked: taken.looked + called.looked, problems: [...taken.problems, ...called.problems] };
  },
};

/**
 * The calls to models and tools, each with the last claim of its run before it. Without those of processes that stood
 * still: between the last look at the lease and the call is one function call.
 */
function callsUnderClaims(evidence: Evidence) {
  const stopped = new Set(evidence.lives.filter(({ pausedAt }) => pausedAt.length > 0).map((l) => l.number));
  return allLines(evidence).flatMap(({ kind, life, runId }, i) => {
    if ((kind !== "asked" && kind !== "entered") || stopped.has(life)) return [];
    return [{ life, runId, claim: claimBefore(evidence.claims, runId, i) }];
  });
}

function claimBefore(claims: readonly NotedClaim[], runId: string, line: number): NotedClaim | null {
  return claims.findLast((claim) => claim.runId === runId && claim.witnessed <= line) ?? null;
}

export const perKeyHeld: Invariant = {
  name: "per-key-held",
  promise: "No more runs are claimed at a time than the limits of their workers allow.",
  judge: ({ claims }) =>
    checkEach(
      claims.flatMap(({ runId, limits }) => limits.map((limit) => ({ runId, ...limit }))),
      ({ runId, by, most, running }) =>
        running.length <= most
          ? FINE
          : wrong(
              `With ${runId}, ${running.length} runs were claimed at a time (${running.join(", ")}), but the limit of its ${by} is ${most}`,
            ),
    ),
};

export const abandonedIsFound: Invariant = {
  name: "abandoned-is-found",
  promise: "While a worker is there, no run stays ready, or with a process that is gone.",
  judge: (evidence) => checkEach(servedRuns(evidence), (account) => judgeServed(account, evidence.endedAt)),
};

/** The runs that a worker could have taken, of a process that has done its work. */
function servedRuns({ accounts, workers, lives }: Evidence): readonly RunAccount[] {
  const done = new Set(lives.filter(({ end }) => end.kind === "returned").map(({ number }) => number));
  const there = workers.filter(({ life }) => done.has(life));
  return accounts.filter(({ run }) =>
    there.some(({ pipelines, queues }) => pipelines.includes(run.pipeline) && queues.includes(run.queue)),
  );
}

function judgeServed({ run }: RunAccount, endedAt: number | null): readonly Problem[] {
  const { runId, status, readyAt } = run;
  if (status === "running") return wrong(`${runId} was left by its process, and no worker has taken it`);
  if (status === "queued" && (endedAt === null || (readyAt ?? 0) <= endedAt))
    return wrong(`${runId} is ready, and no worker has taken it`);
  return FINE;
}

export const forksWaitForPeople: Invariant = {
  name: "forks-wait-for-people",
  promise: "No worker takes a fork before a person has it resumed.",
  judge: ({ claims, again }) =>
    checkEach(
      claims.filter(({ isOfWorker, runId }) => isOfWorker && isFork(again.accounts, runId)),
      ({ runId, epoch, life }) =>
        wasStarted(accountOf(again.accounts, runId)?.events ?? [], epoch)
          ? FINE
          : wrong(`A worker of process ${life} took ${runId}, a fork that no person had resumed`),
    ),
};

function isFork(accounts: readonly RunAccount[], runId: string): boolean {
  return (accountOf(accounts, runId)?.run.forkedFrom ?? null) !== null;
}

/** True if a person had asked for the run before this claim, or had begun it in their own process. */
function wasStarted(events: readonly EventRecord[], epoch: number): boolean {
  const claimed = events.find(({ type, data }) => type === "run.claimed" && objectOf(data).epoch === epoch);
  return events.some(
    ({ type, seq }) =>
      seq < (claimed?.seq ?? 0) && (type === "run.resume_requested" || type === "run.claimed"),
  );
}

export const enqueuedOnce: Invariant = {
  name: "enqueued-once",
  promise: "What is enqueued under one key is one run, and it is there.",
  judge: (evidence) => {
    const byKey = Map.groupBy(evidence.enqueued, ({ pipeline, key }) => `${pipeline} ${key}`);
    return checkEach(byKey, ([name, enqueues]) => {
      const ids = [...new Set(enqueues.map(({ runId }) => runId))];
      if (ids.length > 1) return wrong(`${name} was enqueued as several runs: ${ids.join(", ")}`);
      return ids.flatMap((id) =>
        isKept(evidence, id) ? FINE : wrong(`${name} was enqueued as ${id}, and there is no such run`),
      );
    });
  },
};

function isKept({ again, deleted }: Evidence, runId: string): boolean {
  return accountOf(again.accounts, runId) !== null || deleted.some(({ stone }) => stone.runId === runId);
}
