import type {
  CheckpointRecord,
  StepRecord,
  StoreReader,
  ToolCallRecord,
  TurnRecord,
  WaitRecord,
} from "../store/store.ts";
import { everyRecord } from "./record-pages.ts";

/** The number of records in each status. */
export type StatusCounts = ReadonlyMap<string, number>;

/** The number of a run's records of each kind. */
export type RunTally = {
  readonly steps: StatusCounts;
  readonly turns: number;
  readonly committedTurns: number;
  readonly calls: StatusCounts;
  readonly waits: StatusCounts;
  readonly checkpoints: number;
};

/** Counts the records of a run page by page. */
export async function tallyRun(reader: StoreReader, runId: string): Promise<RunTally> {
  const turns = await countBy(
    everyRecord<TurnRecord>((range) => reader.listTurns(runId, range)),
    ({ committed }) => (committed ? "committed" : "open"),
  );
  const checkpoints = await countBy(
    everyRecord<CheckpointRecord>((range) => reader.listCheckpoints(runId, range)),
    ({ type }) => type,
  );
  return {
    steps: await countBy(
      everyRecord<StepRecord>((range) => reader.listSteps(runId, range)),
      statusOf,
    ),
    turns: totalOf(turns),
    committedTurns: turns.get("committed") ?? 0,
    calls: await countBy(
      everyRecord<ToolCallRecord>((range) => reader.listToolCalls(runId, range)),
      statusOf,
    ),
    waits: await countBy(
      everyRecord<WaitRecord>((range) => reader.listWaits(runId, range)),
      statusOf,
    ),
    checkpoints: totalOf(checkpoints),
  };
}

export function totalOf(counts: StatusCounts): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

function statusOf({ status }: { readonly status: string }): string {
  return status;
}

async function countBy<T>(records: AsyncIterable<T>, key: (record: T) => string): Promise<StatusCounts> {
  const counts = new Map<string, number>();
  for await (const record of records) counts.set(key(record), (counts.get(key(record)) ?? 0) + 1);
  return counts;
}
