import { type BlobReference, blobReferenceOf } from "../../core/blob-reference.ts";
import type { Message } from "../../core/message.ts";
import type {
  ArtifactRecord,
  AttemptRecord,
  CheckpointRecord,
  EventRecord,
  LineageRecord,
  ModelCallRecord,
  RunRecord,
  StepRecord,
  Store,
  StoredSlice,
  ToolCallRecord,
  ToolCallTry,
  TurnRecord,
  Verification,
  WaitRecord,
} from "../../store/store.ts";
import type { Life } from "./life.ts";
import type { Point } from "./point.ts";
import type { Scenario } from "./scenario.ts";
import type { Schedule } from "./schedule.ts";
import type { WitnessLine } from "./witness.ts";
import type { FencedWrite, LifeEnd } from "./world.ts";

/** All that the store has of one run. */
export type RunAccount = {
  readonly run: RunRecord;
  readonly steps: readonly StepRecord[];
  readonly turns: readonly TurnRecord[];
  readonly calls: readonly ToolCallRecord[];
  readonly tries: readonly ToolCallTry[];
  readonly modelCalls: readonly ModelCallRecord[];
  readonly waits: readonly WaitRecord[];
  readonly events: readonly EventRecord[];
  readonly session: readonly StoredSlice[];
  readonly checkpoints: readonly CheckpointRecord[];
  readonly lineages: readonly LineageRecord[];
  readonly attempts: readonly AttemptRecord[];
  readonly artifacts: readonly ArtifactRecord[];
  /** The history of each granular step, by its path. */
  readonly histories: { readonly [path: string]: readonly Message[] };
  /** The blobs that receipts and artifacts refer to, by their ids: what is there has this hash and size; null: nothing is. */
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
  /** What the database says of itself; nothing where all is well. */
  readonly integrity: readonly string[];
  /** The same without any disturbance; null for that one itself. */
  readonly undisturbed: Evidence | null;
};

export async function readAccounts(store: Store): Promise<readonly RunAccount[]> {
  const runs = await store.listRuns();
  const accounts = await Promise.all(runs.map((run) => readAccount(store, run)));
  return accounts.sort((a, b) => (a.run.runId < b.run.runId ? -1 : 1));
}

async function readAccount(store: Store, run: RunRecord): Promise<RunAccount> {
  const { runId } = run;
  const [steps, turns, calls, artifacts] = await Promise.all([
    store.listSteps(runId),
    store.listTurns(runId),
    store.listToolCalls(runId),
    store.listArtifacts(runId),
  ]);
  const paths = [...new Set(turns.map(({ stepPath }) => stepPath))];
  const histories = await Promise.all(
    paths.map(async (path) => [path, await store.readHistory(runId, path)] as const),
  );
  return {
    run,
    steps,
    turns,
    calls,
    artifacts,
    histories: Object.fromEntries(histories),
    blobs: await readBlobs(store, runId, calls, artifacts),
    tries: await store.listToolCallTries(runId),
    modelCalls: await store.listModelCalls(runId),
    waits: await store.listWaits(runId),
    events: await store.listEvents(runId),
    session: await store.readSession(runId),
    checkpoints: await store.listCheckpoints(runId),
    lineages: await store.listLineages(runId),
    attempts: await store.listAttempts(runId),
    verification: await store.verify(runId),
  };
}

async function readBlobs(
  store: Store,
  runId: string,
  calls: readonly ToolCallRecord[],
  artifacts: readonly ArtifactRecord[],
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
