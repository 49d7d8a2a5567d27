import { type BlobReference, blobReferenceOf } from "../../core/blob-reference.ts";
import type { Message } from "../../core/message.ts";
import type { Store, StoredSlice, Verification } from "../../store/store.ts";
import type { Life } from "./life.ts";
import type { Point } from "./point.ts";
import { readRunAccount, type RunAccount as StoredAccount } from "./run-account.ts";
import type { Scenario } from "./scenario.ts";
import type { Schedule } from "./schedule.ts";
import type { WitnessLine } from "./witness.ts";
import type { FencedWrite, LifeEnd, NotedEffect } from "./world.ts";

/** All that the store has of one run, and whether it is whole. */
export type RunAccount = StoredAccount & {
  readonly session: readonly StoredSlice[];
  /** The history of each granular step, by its path. */
  readonly histories: { readonly [path: string]: readonly Message[] };
  /** What is there of the blobs that receipts and artifacts refer to, by their ids: what its bytes are, or null. */
  readonly blobs: { readonly [blobId: string]: BlobReference | null };
  readonly verification: Verification;
};

/** One process: how far it came, and how it ended. */
export type LifeRecord = {
  readonly number: number;
  readonly reached: readonly Point[];
  /** The points that it stood at while time went by, so that its lease may have run out there. */
  readonly pausedAt: readonly Point[];
  readonly end: LifeEnd;
};

export function lifeRecord(life: Life, end: LifeEnd): LifeRecord {
  return { number: life.number, reached: [...life.reached], pausedAt: [...life.pausedAt], end };
}

/** What a course of events leaves beside what the world has. */
export type Course = {
  readonly lives: readonly LifeRecord[];
  readonly moments: readonly (readonly RunAccount[])[];
};

/** What is known after a schedule, for those who judge it. */
export type Evidence = {
  readonly scenario: Scenario;
  readonly schedule: Schedule;
  /** In the order in which they were started. */
  readonly lives: readonly LifeRecord[];
  /** What the witness saw until the last process had done its work. */
  readonly witness: readonly WitnessLine[];
  /** What the store had of each run at each death, in order. */
  readonly moments: readonly (readonly RunAccount[])[];
  /** What it had in the end. */
  readonly accounts: readonly RunAccount[];
  /** And when a process had done the same once more, with what the witness saw of that. */
  readonly again: {
    readonly end: LifeEnd;
    readonly accounts: readonly RunAccount[];
    readonly witness: readonly WitnessLine[];
  };
  readonly writes: readonly FencedWrite[];
  /** What processes noted as about to leave; null where only they know, being real ones. */
  readonly noted: readonly NotedEffect[] | null;
  /** What the database says of itself; nothing where all is well. */
  readonly integrity: readonly string[];
  /** The same without any disturbance; null for that one itself. */
  readonly undisturbed: Evidence | null;
};

export async function readAccounts(store: Store): Promise<readonly RunAccount[]> {
  const runs = await store.listRuns();
  const accounts = await Promise.all(runs.map(({ runId }) => readAccount(store, runId)));
  return accounts.sort((a, b) => (a.run.runId < b.run.runId ? -1 : 1));
}

async function readAccount(store: Store, runId: string): Promise<RunAccount> {
  const account = await readRunAccount(store, runId);
  const paths = [...new Set(account.turns.map(({ stepPath }) => stepPath))];
  const histories = await Promise.all(
    paths.map(async (path) => [path, await store.readHistory(runId, path)] as const),
  );
  return {
    ...account,
    histories: Object.fromEntries(histories),
    blobs: await readBlobs(store, account),
    session: await store.readSession(runId),
    verification: await store.verify(runId),
  };
}

async function readBlobs(
  store: Store,
  { run: { runId }, calls, artifacts }: StoredAccount,
): Promise<RunAccount["blobs"]> {
  const ids = new Set([
    ...calls.flatMap(({ receipt }) => (receipt?.blob ? [receipt.blob.blobId] : [])),
    ...artifacts.map(({ hash }) => hash),
  ]);
  const entries = [...ids].map(async (blobId) => {
    const bytes = await store.readBlob(runId, blobId);
    return [blobId, bytes === null ? null : blobReferenceOf(bytes)] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}
