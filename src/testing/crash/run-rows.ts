import { RunNotFoundError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type {
  ArtifactRecord,
  AttemptRecord,
  CheckpointRecord,
  EventRecord,
  ExchangeRecord,
  LineageRecord,
  MessageRecord,
  ModelCallRecord,
  RunRecord,
  RunUsage,
  StepRecord,
  StoreReader,
  ToolCallAttempt,
  ToolCallRecord,
  TurnRecord,
  WaitRecord,
} from "../../store/store.ts";

/** Everything that a store holds of a run, read at once: the runs of scenarios are short. */
export type RunRows = {
  readonly run: RunRecord;
  readonly input: Json;
  readonly usage: RunUsage;
  readonly attempts: readonly AttemptRecord[];
  readonly steps: readonly StepRecord[];
  readonly turns: readonly TurnRecord[];
  readonly modelCalls: readonly ModelCallRecord[];
  readonly calls: readonly ToolCallRecord[];
  readonly tries: readonly ToolCallAttempt[];
  readonly waits: readonly WaitRecord[];
  readonly checkpoints: readonly CheckpointRecord[];
  readonly lineages: readonly LineageRecord[];
  readonly artifacts: readonly ArtifactRecord[];
  readonly messages: readonly MessageRecord[];
  readonly exchanges: readonly ExchangeRecord[];
  readonly events: readonly EventRecord[];
};

/**
 * The event log is read first: if a worker writes meanwhile, the lists hold at least what the log records. Later changes
 * are in the lists, and in no event.
 */
export async function readRunRows(reader: StoreReader, runId: string): Promise<RunRows> {
  const events = await readEvents(reader, runId);
  const run = await requireRun(reader, runId);
  const [{ input }, usage, attempts, steps, turns, modelCalls, calls] = await Promise.all([
    reader.readRunInput(runId),
    reader.readUsage(runId),
    reader.listAttempts(runId),
    reader.listSteps(runId),
    reader.listTurns(runId),
    reader.listModelCalls(runId),
    reader.listToolCalls(runId),
  ]);
  const [tries, waits, checkpoints, lineages, artifacts, messages, exchanges] = await Promise.all([
    reader.listToolCallAttempts(runId),
    reader.listWaits(runId),
    reader.listCheckpoints(runId),
    reader.listLineages(runId),
    reader.listArtifacts(runId),
    reader.listMessages(runId),
    reader.listExchanges(runId),
  ]);
  return {
    run,
    input,
    usage,
    attempts,
    steps,
    turns,
    modelCalls,
    calls,
    tries,
    waits,
    checkpoints,
    lineages,
    artifacts,
    messages,
    exchanges,
    events,
  };
}

async function requireRun(reader: StoreReader, runId: string): Promise<RunRecord> {
  const run = await reader.getRun(runId);
  if (run !== null) return run;
  throw new RunNotFoundError(
    `There is no run ${runId} in this store: list the runs to see which there are.`,
    {
      runId,
    },
  );
}

const EVENTS_A_PAGE = 5_000;

/** All events, page by page. */
async function readEvents(reader: StoreReader, runId: string): Promise<readonly EventRecord[]> {
  const events: EventRecord[] = [];
  for (;;) {
    const after = events.at(-1)?.seq ?? 0;
    const page = await reader.listEvents(runId, { after, limit: EVENTS_A_PAGE });
    events.push(...page);
    if (page.length < EVENTS_A_PAGE) return events;
  }
}
