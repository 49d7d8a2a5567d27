import type { JsonObject } from "../core/json.ts";
import { stepId } from "../core/step-path.ts";
import type { ModelCallRecord, StepRecord, ToolCallRecord } from "../store/store.ts";
import type { Incident, LoggedAttempt } from "./run-incidents.ts";
import { type Chapter, isByOthers } from "./run-outline.ts";

/** Something with a duration, in milliseconds since 1970. Slices on one lane are nested or follow each other. */
export type TraceSlice = {
  readonly lane: number;
  readonly category: "attempt" | "step" | "turn" | "model" | "tool" | "wait";
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly args: JsonObject;
};

/** Something that happened at one moment. */
export type TraceMark = {
  readonly name: string;
  readonly at: number;
  /** About the attempt as a whole, or about its lane. */
  readonly scope: "attempt" | "lane";
  readonly args: JsonObject;
};

type OpenTraceSlice = Omit<TraceSlice, "end"> & { readonly key: string };

/** The lane for sequential work of an attempt; parallel calls take more. */
export const MAIN_LANE = 1;

/** Receives each slice when it ends. `order` counts the slices as they begin, the outer ones first. */
export type SliceListener = {
  readonly onSlice?: (order: number, slice: TraceSlice) => void;
  readonly onMark?: (mark: TraceMark) => void;
};

/** One attempt as nested slices: step, turn, model call and tool call. */
export class ChapterSlices {
  readonly #runId: string;
  readonly #chapter: Chapter;
  readonly #listener: SliceListener;
  /** Open slices of the main lane, the outermost first. */
  readonly #stack: { readonly order: number; readonly slice: OpenTraceSlice }[] = [];
  readonly #tries = new Map<string, { readonly order: number; readonly slice: OpenTraceSlice }>();
  #order = 0;
  #now = 0;

  constructor(runId: string, chapter: Chapter, listener: SliceListener) {
    this.#runId = runId;
    this.#chapter = chapter;
    this.#listener = listener;
    const { attempt, end, number } = chapter;
    this.#now = attempt.startedAt;
    this.#open("attempt", "attempt", `attempt ${number}`, {
      owner: attempt.owner,
      epoch: attempt.epoch,
      resumed_from: attempt.resumedFrom,
      reason: attempt.reason,
      end: attempt.endStatus ?? end,
    });
  }

  /** The number of slices that have begun. */
  get begun(): number {
    return this.#order;
  }

  take(incident: Incident): void {
    if (!isByOthers(incident.event)) this.#take(incident);
  }

  /** After the last incident of the chapter. */
  finish(): void {
    const { end, lastSign } = this.#chapter;
    this.#closeAll(lastSign);
    if (end === "died") this.#mark("crash", "attempt", { last_sign: new Date(lastSign).toISOString() });
  }

  #take(incident: Incident): void {
    const { event, step, turnIndex, asked, answered, started, ended, settled, checkpoint } = incident;
    // Clocks are sometimes set back, and slices must still nest.
    this.#now = Math.max(this.#now, event.at);
    if (step !== null && (event.type === "step.begun" || event.type === "step.resumed")) this.#openStep(step);
    const isTurn = /^(turn|calls?|model)\./.test(event.type) && event.type !== "call.late";
    if (isTurn && step !== null && turnIndex !== null && turnIndex > 0) this.#openTurn(step, turnIndex);
    if (answered !== null) this.#close("model", modelArgs(answered));
    for (const each of started) this.#openTry(each);
    if (ended !== null)
      this.#closeTry(ended.call, ended.outcome === null ? {} : { outcome: ended.outcome.outcome });
    for (const call of settled) this.#closeTry(call, receiptArgs(call));
    if (event.type === "turn.committed") {
      this.#mark("commit", "lane", { ...this.#place(step), turn_index: turnIndex });
      this.#close("turn");
    }
    if (checkpoint !== null)
      this.#mark(`checkpoint ${checkpoint.checkpoint}`, "lane", {
        ...this.#place(step),
        type: checkpoint.type,
      });
    if (event.type === "lineage.begun") {
      const isSummary = incident.facts.reason === "compaction";
      this.#mark(isSummary ? "compaction" : "new line of history", "lane", this.#place(step));
    }
    if (event.type === "artifact.kept")
      this.#mark("artifact", "lane", { ...this.#place(step), ...incident.facts });
    if (asked !== null && step !== null) this.#openModelCall(step, asked);
    if (step !== null && event.type === "step.finished")
      this.#close(`step ${step.path}`, { status: step.status });
  }

  #openStep(step: StepRecord): void {
    this.#open(`step ${step.path}`, "step", step.path, {
      ...this.#place(step),
      kind: step.kind,
      phase: step.phase,
    });
  }

  #openTurn(step: StepRecord, turnIndex: number): void {
    const name = `turn ${turnIndex}`;
    const open = this.#stack.find(({ slice }) => slice.category === "turn");
    if (open?.slice.name === name) return;
    if (open !== undefined) this.#close("turn");
    this.#open("turn", "turn", name, { ...this.#place(step), turn_index: turnIndex });
  }

  #openModelCall(step: StepRecord, { turnIndex, attempt, reserved }: ModelCallRecord): void {
    this.#openTurn(step, turnIndex);
    this.#open("model", "model", "model call", {
      ...this.#place(step),
      turn_index: turnIndex,
      attempt,
      reserved_tokens: reserved.tokens,
    });
  }

  #openTry({ call, attempt }: LoggedAttempt): void {
    const lanes = new Set([...this.#tries.values()].map(({ slice }) => slice.lane));
    let lane = MAIN_LANE;
    while (lanes.has(lane)) lane++;
    const slice = {
      key: call.toolCallId,
      lane,
      category: "tool" as const,
      name: call.tool,
      start: this.#now,
      args: {
        run_id: this.#runId,
        step_id: stepId(this.#runId, call.stepPath),
        tool_call_id: call.toolCallId,
        turn_index: call.turnIndex,
        attempt,
        effect: call.effect,
        recovery: call.recovery,
      },
    };
    this.#tries.set(call.toolCallId, { order: this.#order++, slice });
  }

  /** A call without an attempt has a receipt and no slice. */
  #closeTry({ toolCallId }: ToolCallRecord, args: JsonObject): void {
    const open = this.#tries.get(toolCallId);
    if (open === undefined) return;
    this.#tries.delete(toolCallId);
    this.#end(open, args);
  }

  #open(key: string, category: TraceSlice["category"], name: string, args: JsonObject): void {
    const slice = {
      key,
      category,
      name,
      lane: MAIN_LANE,
      start: this.#now,
      args: { run_id: this.#runId, ...args },
    };
    this.#stack.push({ order: this.#order++, slice });
  }

  /** Closes a slice and everything that is still open inside it. */
  #close(key: string, args: JsonObject = {}): void {
    const index = this.#stack.findLastIndex(({ slice }) => slice.key === key);
    if (index < 0) return;
    for (const open of this.#stack.splice(index).toReversed())
      this.#end(open, open.slice.key === key ? args : {});
  }

  #closeAll(at: number): void {
    this.#now = Math.max(this.#now, at);
    for (const open of this.#tries.values()) this.#end(open, { outcome: "unknown" });
    this.#tries.clear();
    this.#close("attempt");
  }

  #end({ order, slice }: { readonly order: number; readonly slice: OpenTraceSlice }, args: JsonObject): void {
    const { key: _, ...rest } = slice;
    this.#listener.onSlice?.(order, { ...rest, end: this.#now, args: { ...slice.args, ...args } });
  }

  #mark(name: string, scope: TraceMark["scope"], args: JsonObject): void {
    this.#listener.onMark?.({ name, at: this.#now, scope, args: { run_id: this.#runId, ...args } });
  }

  #place(step: StepRecord | null): JsonObject {
    return step === null ? {} : { step_id: stepId(this.#runId, step.path) };
  }
}

function modelArgs({ charge }: ModelCallRecord): JsonObject {
  if (charge === null) return {};
  const { basis, usage, amount } = charge;
  return {
    basis,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    reasoning_tokens: usage.reasoningTokens,
    charged_tokens: amount.tokens,
    charged_micro_dollars: amount.microDollars,
  };
}

function receiptArgs({ receipt }: ToolCallRecord): JsonObject {
  if (receipt === null) return {};
  const { status, source, errorCode } = receipt;
  return { status, source, ...(errorCode === null ? {} : { error_code: errorCode }) };
}
