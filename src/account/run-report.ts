import type { Json } from "../core/json.ts";
import type { StepPath } from "../core/step-path.ts";
import { type ExchangeStory, exchangeStories, lastExchanges } from "../export/exchanges.ts";
import { everyRecord } from "../export/record-pages.ts";
import { requireRun } from "../export/run-outline.ts";
import { jsonPieces, type TextPieces } from "../export/text-pieces.ts";
import type {
  ArtifactRecord,
  AttemptRecord,
  CheckpointRecord,
  LineageRecord,
  MessageStatus,
  RunRecord,
  RunUsage,
  StepRecord,
  StoreReader,
  ToolCallRecord,
  TurnRecord,
  WaitRecord,
} from "../store/store.ts";
import { callDocument, turnDocument } from "./documents/call-documents.ts";
import { exchangeDocument, messageDocument, waitDocument } from "./documents/conversation-documents.ts";
import {
  artifactDocument,
  attemptDocument,
  checkpointDocument,
  lineageDocument,
  runDocument,
  stepDocument,
} from "./documents/run-documents.ts";
import { type MailCounts, messagesOf, type ReceivedFile, receivedFiles } from "./run-mail.ts";
import { outageDocument, type RunOutage, readOutage } from "./run-outage.ts";
import { isForNextText } from "./wait-time.ts";

/** Longer lists are cut to their end; another command lists them in full. */
const MOST_LISTED = 20;

/** The last records of a list and its full length. */
export type ListEnd<T> = { readonly count: number; readonly last: readonly T[] };

/** A run at one glance: what is small of it, and the ends of its lists. */
export type RunReport = {
  readonly run: RunRecord;
  readonly input: Json;
  readonly usage: RunUsage;
  /** The outage of the model's provider that the run waits out; null for none. */
  readonly outage: RunOutage | null;
  readonly work: { readonly steps: number; readonly toolCalls: number };
  readonly steps: ListEnd<StepRecord>;
  readonly committedTurns: number;
  /** Only for the steps shown. */
  readonly turnsByStep: ReadonlyMap<StepPath, number>;
  readonly callsByStep: ReadonlyMap<StepPath, number>;
  readonly calls: ListEnd<ToolCallRecord>;
  /** Calls in doubt. */
  readonly doubts: readonly ToolCallRecord[];
  readonly waits: ListEnd<WaitRecord>;
  readonly openWaits: readonly WaitRecord[];
  readonly artifacts: readonly ArtifactRecord[];
  readonly checkpoints: ListEnd<CheckpointRecord>;
  readonly attempts: readonly AttemptRecord[];
  /** The lines of history after the first. */
  readonly lineages: readonly LineageRecord[];
  readonly mail: MailCounts;
  /** Of its conversations. */
  readonly exchanges: ListEnd<ExchangeStory>;
  /** The files that were sent to it. */
  readonly files: ListEnd<ReceivedFile>;
};

/** Reads the run page by page, so that memory does not grow with the run. */
export async function readRunReport(store: StoreReader, runId: string): Promise<RunReport> {
  const run = await requireRun(store, runId);
  const lists = listsOf(store, runId);
  const steps = await endOf(lists.steps());
  const paths = new Set(steps.last.map(({ path }) => path));
  const turnsByStep = new CountByStep(paths);
  const callsByStep = new CountByStep(paths);
  let committedTurns = 0;
  let lastTurn = 0;
  for await (const turn of lists.turns()) {
    if (!turn.committed) continue;
    committedTurns += 1;
    if (turn.stepPath === run.currentStep) lastTurn = turn.turnIndex;
    turnsByStep.add(turn);
  }
  const doubts: ToolCallRecord[] = [];
  const openWaits: WaitRecord[] = [];
  const mail = new Map<MessageStatus, number>();
  return {
    run,
    input: (await store.readRunInput(runId)).input,
    usage: await store.readUsage(runId),
    outage: await readOutage(store, run, lastTurn),
    work: await store.countWork(runId),
    steps,
    committedTurns,
    turnsByStep: turnsByStep.counts,
    callsByStep: callsByStep.counts,
    calls: await endOf(lists.calls(), (call) => {
      callsByStep.add(call);
      if (call.status === "in_doubt") doubts.push(call);
    }),
    doubts,
    waits: await endOf(withoutAnsweredTexts(lists.waits()), (wait) => {
      if (wait.status === "open") openWaits.push(wait);
    }),
    openWaits,
    artifacts: await store.listArtifacts(runId),
    checkpoints: await endOf(lists.checkpoints()),
    attempts: await store.listAttempts(runId),
    lineages: await store.listLineages(runId),
    exchanges: await lastExchanges(store, runId, MOST_LISTED),
    files: await endOf(
      receivedFiles(store, runId, ({ status }) => mail.set(status, (mail.get(status) ?? 0) + 1)),
    ),
    mail,
  };
}

/** The whole stored run as a JSON document, written list by list. `next` is as the reader of the document can use it. */
export function reportDocument(
  store: StoreReader,
  { run, input, usage, outage, work, artifacts, attempts, lineages }: RunReport,
  now: number,
  next: readonly object[],
): TextPieces {
  const lists = listsOf(store, run.runId);
  const document = {
    run: runDocument(run, now),
    input,
    usage,
    outage: outage === null ? null : outageDocument(outage),
    used: work,
    steps: mapped(lists.steps(), stepDocument),
    turns: mapped(lists.turns(), turnDocument),
    calls: mapped(lists.calls(), callDocument),
    waits: mapped(lists.waits(), waitDocument),
    artifacts: artifacts.map(artifactDocument),
    checkpoints: mapped(lists.checkpoints(), checkpointDocument),
    attempts: attempts.map(attemptDocument),
    lineages: lineages.map(lineageDocument),
    exchanges: mapped(exchangeStories(store, run.runId), exchangeDocument),
    messages: mapped(messagesOf(store, run.runId), messageDocument),
    next,
  };
  return jsonPieces(document, 2);
}

/** A conversation waits for each message. Those that have come are in its exchanges. */
async function* withoutAnsweredTexts(
  waits: AsyncIterable<WaitRecord>,
): AsyncGenerator<WaitRecord, void, undefined> {
  for await (const wait of waits) if (wait.status === "open" || !isForNextText(wait)) yield wait;
}

function listsOf(store: StoreReader, runId: string) {
  return {
    steps: () => everyRecord<StepRecord>((range) => store.listSteps(runId, range)),
    turns: () => everyRecord<TurnRecord>((range) => store.listTurns(runId, range)),
    calls: () => everyRecord<ToolCallRecord>((range) => store.listToolCalls(runId, range)),
    waits: () => everyRecord<WaitRecord>((range) => store.listWaits(runId, range)),
    checkpoints: () => everyRecord<CheckpointRecord>((range) => store.listCheckpoints(runId, range)),
  };
}

class CountByStep {
  readonly counts: Map<StepPath, number>;

  constructor(paths: ReadonlySet<StepPath>) {
    this.counts = new Map([...paths].map((path) => [path, 0]));
  }

  add({ stepPath }: { readonly stepPath: StepPath }): void {
    const count = this.counts.get(stepPath);
    if (count !== undefined) this.counts.set(stepPath, count + 1);
  }
}

async function endOf<T>(
  records: AsyncIterable<T>,
  onEach: (record: T) => void = () => undefined,
): Promise<ListEnd<T>> {
  const last: T[] = [];
  let count = 0;
  for await (const record of records) {
    onEach(record);
    count += 1;
    last.push(record);
    if (last.length > MOST_LISTED) last.shift();
  }
  return { count, last };
}

/** The end of a list that is already in memory. */
export function listEnd<T>(list: readonly T[]): ListEnd<T> {
  return { count: list.length, last: list.slice(-MOST_LISTED) };
}

async function* mapped<T>(
  records: AsyncIterable<T>,
  document: (record: T) => object,
): AsyncGenerator<object, void, undefined> {
  for await (const record of records) yield document(record);
}
