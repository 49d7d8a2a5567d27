import { type Falsification, one, takeOut } from "../invariants-evidence.ts";

/** Falsified evidence of runs that workers take from a queue: the scenario `queue-keys`. */
export const FALSIFIED_QUEUES: readonly Falsification[] = [
  [
    "claimed-by-one",
    "a run was taken from a process that works on it",
    ({ claims }) => void (one(claims).from = { life: 9, isDead: false, silentMs: 10 }),
    /Process 1 claimed key-.*, which process 9 had: it lives, and renewed its lease 10 ms before/,
  ],
  [
    "claimed-by-one",
    "a process called a tool for a run that another one had claimed",
    ({ witness }) => void (one(witness, ({ kind, life }) => kind === "entered" && life === 2).life = 1),
    /Process 1 began a call for key-.* after process 2 had claimed it/,
  ],
  [
    "per-key-held",
    "two runs of a key were claimed at a time",
    ({ claims }) => {
      const { limits } = one(claims, (claim) => claim.limits.some(({ by }) => by === "key"));
      one(limits, ({ by }) => by === "key").running.push("another");
    },
    /2 runs were claimed at a time \(.*another\), but the limit of its key is 1/,
  ],
  [
    "abandoned-is-found",
    "a run was left by its process",
    ({ account }) => void (account.run.status = "running"),
    /key-.* was left by its process, and no worker has taken it/,
  ],
  [
    "abandoned-is-found",
    "a run was left in the queue",
    ({ account }) => void (account.run.status = "queued"),
    /key-.* is ready, and no worker has taken it/,
  ],
  [
    "enqueued-once",
    "a key has two runs",
    ({ enqueued }) => void enqueued.push({ ...one(enqueued), runId: "another" }),
    /charging a was enqueued as several runs: key-.*, another/,
  ],
  [
    "enqueued-once",
    "the run of a key is missing",
    ({ again, enqueued }) => void takeOut(again.accounts, ({ run }) => run.runId === one(enqueued).runId),
    /charging a was enqueued as key-.*, and there is no such run/,
  ],
];

/** Falsified evidence of a fork that waits for a person: the scenario `fork-held`. */
export const FALSIFIED_FORKS: readonly Falsification[] = [
  [
    "forks-wait-for-people",
    "a worker took a fork that no person had resumed",
    ({ again }) => {
      const { events } = one(again.accounts, ({ run }) => run.forkedFrom !== null);
      takeOut(events, ({ type }) => type === "run.resume_requested");
    },
    /A worker of process 2 took explored-2, a fork that no person had resumed/,
  ],
];

/** Falsified evidence of a run that was deleted: the scenario `deletion`. */
export const FALSIFIED_DELETIONS: readonly Falsification[] = [
  [
    "deleted-or-whole",
    "a deleted run has no tombstone",
    ({ deleted }) => void deleted.splice(0),
    /explored-1 is gone, and has no tombstone/,
  ],
  [
    "deleted-or-whole",
    "a deleted run is verified",
    ({ deleted }) => void (one(deleted).refused = null),
    /explored-1 is deleted, but verified/,
  ],
  [
    "deleted-or-whole",
    "a deleted run is there",
    ({ accounts, moments }) =>
      void accounts.push(one(moments.flat(), ({ run }) => run.runId === "explored-1")),
    /explored-1 is deleted, but it is there/,
  ],
  [
    "deleted-or-whole",
    "a tombstone is of another run",
    ({ deleted }) => void (one(deleted).stone.eventHash = "0"),
    /The tombstone of explored-1 has another last event than the run had/,
  ],
];
