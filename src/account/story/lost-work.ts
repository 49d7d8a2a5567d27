import { isKept } from "../../core/lineage.ts";
import type { StepPath } from "../../core/step-path.ts";
import { type Amount, addAmount, NOTHING } from "../../core/usage/usage.ts";
import { factsOf, numberIn, textIn } from "../../export/event-facts.ts";
import { LogReader } from "../../export/log-reader.ts";
import { everyRecord } from "../../export/record-pages.ts";
import type { LineageRecord, ModelCallRecord, StoreReader } from "../../store/store.ts";

/** Some requests to models, and what they were charged. */
type LostCalls = { readonly modelCalls: number; readonly charged: Amount };

/** What a run has paid for and does not have. No request is counted twice. */
export type LostWork = {
  /** The provider gave no figures, mostly because a worker died: the whole reservation was charged. */
  readonly unanswered: LostCalls;
  /** Answers in turns that a later lineage has abandoned. */
  readonly abandoned: LostCalls;
  /** Answers that were dropped, so that the model was asked again. */
  readonly dropped: LostCalls;
  readonly total: LostCalls;
};

const NONE: LostCalls = { modelCalls: 0, charged: NOTHING };

/** The cost of the lost work of one run. Reads its model calls and its log once, page by page. */
export async function readLostWork(store: StoreReader, runId: string): Promise<LostWork> {
  const lineages = Map.groupBy(
    // A summary begins a lineage and abandons nothing.
    (await store.listLineages(runId)).filter(({ summary }) => summary === null),
    ({ stepPath }) => stepPath,
  );
  const dropped = await readDroppedTurns(store, runId);
  let lost: LostWork = { unanswered: NONE, abandoned: NONE, dropped: NONE, total: NONE };
  for await (const call of everyRecord<ModelCallRecord>((range) => store.listModelCalls(runId, range))) {
    const kind = lossOf(call, lineages, dropped);
    if (kind === null || call.charge === null) continue;
    const { amount } = call.charge;
    lost = { ...lost, [kind]: plus(lost[kind], amount), total: plus(lost.total, amount) };
  }
  return lost;
}

function lossOf(
  call: ModelCallRecord,
  lineages: ReadonlyMap<StepPath, readonly LineageRecord[]>,
  dropped: DroppedTurns,
): Exclude<keyof LostWork, "total"> | null {
  if (call.charge === null || call.charge.basis === "none") return null;
  if (call.charge.basis === "baseline") return "unanswered";
  if (!isKept(lineages.get(call.stepPath) ?? [], call.turnIndex)) return "abandoned";
  const droppedAt = dropped.droppedAt.get(`${call.stepPath}#${call.turnIndex}`);
  const isSummary = dropped.summaries.has(`${call.stepPath}#${call.turnIndex}.${call.attempt}`);
  const isDropped = droppedAt !== undefined && !isSummary && (call.settledAt ?? droppedAt) <= droppedAt;
  return isDropped ? "dropped" : null;
}

type DroppedTurns = {
  /** When the last answer of a turn was dropped. */
  readonly droppedAt: ReadonlyMap<string, number>;
  /** The requests for summaries, which have the number of the turn after them. */
  readonly summaries: ReadonlySet<string>;
};

async function readDroppedTurns(store: StoreReader, runId: string): Promise<DroppedTurns> {
  const droppedAt = new Map<string, number>();
  const summaries = new Set<string>();
  for await (const event of new LogReader(store, runId).events()) {
    if (event.type !== "turn.dropped" && event.type !== "summary.opened") continue;
    const facts = factsOf(event);
    const turn = `${textIn(facts, "step")}#${numberIn(facts, "turn")}`;
    if (event.type === "turn.dropped") droppedAt.set(turn, event.at);
    else summaries.add(`${turn}.${numberIn(facts, "attempt")}`);
  }
  return { droppedAt, summaries };
}

function plus({ modelCalls, charged }: LostCalls, amount: Amount): LostCalls {
  return { modelCalls: modelCalls + 1, charged: addAmount(charged, amount) };
}
