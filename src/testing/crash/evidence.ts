import { type BlobReference, blobReferenceOf } from "../../core/blob-reference.ts";
import { type FileReference, filesIn, type Message } from "../../core/message.ts";
import type {
  FiringRecord,
  MessageRecord,
  ScheduleRecord,
  Store,
  StoredSlice,
  Tombstone,
  Verification,
  WebhookRecord,
} from "../../store/store.ts";
import type { DatabaseKind } from "./databases/crash-database.ts";
import type { NotedClaim, NotedEnqueue, NotedWorker } from "./ownership-log.ts";
import type { Point } from "./point.ts";
import { type RunRows, readRunRows } from "./run-rows.ts";
import type { Scenario } from "./scenario.ts";
import type { Schedule } from "./schedule.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { ViewerRecord } from "./viewers/simulated-viewer.ts";
import type { WitnessLine } from "./witness.ts";
import type { FencedWrite, NotedEffect, ProcessOutcome } from "./world.ts";

/** Everything that the store holds of one run, and the result of its verification. */
export type RunAccount = RunRows & {
  readonly session: readonly StoredSlice[];
  /** The history of each granular step, by its path. */
  readonly histories: { readonly [path: string]: readonly Message[] };
  /** The stored blobs that receipts, artifacts and messages refer to, by id; null for one that is missing. */
  readonly blobs: { readonly [blobId: string]: BlobReference | null };
  readonly verification: Verification;
};

/** A schedule, and what became of its planned times. */
export type ScheduleAccount = { readonly record: ScheduleRecord; readonly firings: readonly FiringRecord[] };

/** What is left of a deleted run, and the name of the error with which it is verified; null if it verifies. */
export type DeletionAccount = { readonly stone: Tombstone; readonly refused: string | null };

/** One process: the points it reached, and how it ended. */
export type ProcessRecord = {
  readonly number: number;
  readonly reached: readonly Point[];
  /** The points at which time passed while it stood there, so that its lease may have expired. */
  readonly pausedAt: readonly Point[];
  readonly end: ProcessOutcome;
};

export function processRecord(life: SimulatedProcess, end: ProcessOutcome): ProcessRecord {
  return { number: life.number, reached: [...life.reached], pausedAt: [...life.pausedAt], end };
}

/** What is stored after the same schedule with whole answers (`off`), or with live parts that cannot be stored (`fails`). */
export type LiveTwin = {
  readonly live: "off" | "fails";
  readonly accounts: readonly RunAccount[];
};

/** The processes of a schedule, and what was stored at each stop. */
export type ScheduleOutcome = {
  readonly lives: readonly ProcessRecord[];
  readonly moments: readonly (readonly RunAccount[])[];
};

/** Everything that is known after a schedule; the invariants are checked against it. */
export type Evidence = {
  /** The kind of the database that the processes worked on. */
  readonly database: DatabaseKind;
  readonly scenario: Scenario;
  readonly schedule: Schedule;
  /** The processes, in the order in which they were started. */
  readonly lives: readonly ProcessRecord[];
  /** The witness log until the last process had done its work. */
  readonly witness: readonly WitnessLine[];
  /** What the store held of each run at each stop, in order. */
  readonly moments: readonly (readonly RunAccount[])[];
  /** What it held at the end. */
  readonly accounts: readonly RunAccount[];
  /** The schedules of the store at the end. */
  readonly schedules: readonly ScheduleAccount[];
  /** The webhooks of the store at the end. */
  readonly webhooks: readonly WebhookRecord[];
  /** The runs that are deleted at the end. */
  readonly deleted: readonly DeletionAccount[];
  /** What each viewer of the run saw; none for real processes. */
  readonly viewers: readonly ViewerRecord[];
  /** The same schedule without live parts that work, if the run has viewers. */
  readonly twins: readonly LiveTwin[];
  /** Every claim, in order; none for real processes. */
  readonly claims: readonly NotedClaim[];
  /** Every run that was enqueued under a key; none for real processes. */
  readonly enqueued: readonly NotedEnqueue[];
  /** The processes that had a worker; none for real processes. */
  readonly workers: readonly NotedWorker[];
  /** The runs after one more process did the work again, with the witness log of that process. */
  readonly again: {
    readonly end: ProcessOutcome;
    readonly accounts: readonly RunAccount[];
    readonly witness: readonly WitnessLine[];
  };
  readonly writes: readonly FencedWrite[];
  /** The effects that processes marked as about to be sent; null for real processes, which do not report them. */
  readonly noted: readonly NotedEffect[] | null;
  /** The time at which the last process had done its work; null for real processes, each of which has its own. */
  readonly endedAt: number | null;
  /** The problems found by the database's integrity check. */
  readonly integrity: readonly string[];
  /** The evidence of the undisturbed schedule; null in that evidence itself. */
  readonly undisturbed: Evidence | null;
};

export async function readAccounts(store: Store): Promise<readonly RunAccount[]> {
  const runs = await store.listRuns();
  const accounts = await Promise.all(runs.map(({ runId }) => readAccount(store, runId)));
  return accounts.sort((a, b) => (a.run.runId < b.run.runId ? -1 : 1));
}

export async function readSchedules(store: Store): Promise<readonly ScheduleAccount[]> {
  const records = await store.listSchedules();
  return Promise.all(
    records.map(async (record) => ({ record, firings: await store.listFirings(record.name) })),
  );
}

export async function readDeleted(store: Store): Promise<readonly DeletionAccount[]> {
  const stones = await store.listTombstones();
  return Promise.all(
    stones.map(async (stone) => ({ stone, refused: await refusalOf(store.verify(stone.runId)) })),
  );
}

async function refusalOf(verified: Promise<unknown>): Promise<string | null> {
  try {
    await verified;
    return null;
  } catch (error) {
    return error instanceof Error ? error.name : String(error);
  }
}

async function readAccount(store: Store, runId: string): Promise<RunAccount> {
  const account = await readRunRows(store, runId);
  const paths = [...new Set(account.turns.map(({ stepPath }) => stepPath))];
  const [histories, blobs, session, verification] = await Promise.all([
    Promise.all(paths.map(async (path) => [path, await store.readHistory(runId, path)] as const)),
    readBlobs(store, account),
    store.readSession(runId),
    store.verify(runId),
  ]);
  return { ...account, histories: Object.fromEntries(histories), blobs, session, verification };
}

/** The files of a message to a run. */
export function sentFiles({ event, body }: MessageRecord): readonly FileReference[] {
  return event === null ? filesIn(body) : [];
}

async function readBlobs(
  store: Store,
  { run: { runId }, calls, artifacts, messages }: RunRows,
): Promise<RunAccount["blobs"]> {
  const ids = new Set([
    ...calls.flatMap(({ receipt }) => (receipt?.blob ? [receipt.blob.blobId] : [])),
    ...artifacts.map(({ hash }) => hash),
    ...messages.flatMap(sentFiles).map(({ blobId }) => blobId),
  ]);
  const entries = [...ids].map(async (blobId) => {
    const bytes = await store.readBlob(runId, blobId);
    return [blobId, bytes === null ? null : blobReferenceOf(bytes)] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}
