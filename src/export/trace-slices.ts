import type { JsonObject } from "../core/json.ts";
import { type StepPath, stepId } from "../core/step-path.ts";
import type { ModelCallRecord, StepRecord, ToolCallRecord } from "../store/store.ts";
import type { EndedLoggedAttempt, Incident, LoggedAttempt } from "./run-incidents.ts";
import { type Chapter, isByOthers } from "./run-outline.ts";

/** What a slice or a mark is about, as far as that is known. */
export type SlicePlace = {
  readonly step: StepPath | null;
  readonly turn: number | null;
  readonly toolCallId: string | null;
  /** Of the call, or of the request to the model. */
  readonly attempt: number | null;
};

/** Something with a duration, in milliseconds since 1970. Slices on one lane are nested or follow each other. */
export type TraceSlice = {
  readonly lane: number;
  readonly category: "attempt" | "step" | "turn" | "model" | "tool" | "wait";
  readonly name: string;
  readonly start: number;
  readonly end: number;
  /** How many slices it is inside of. */
  readonly depth: number;
  readonly place: SlicePlace;
  /** The status of a step or a receipt, the outcome of an attempt, the basis of a charge; null if there is none yet. */
  readonly outcome: string | null;
  /** It had not ended when the chapter did. */
  readonly isUnfinished: boolean;
  readonly args: JsonObject;
};

/** Something that happened at one moment. */
export type TraceMark = {
  readonly kind: "commit" | "checkpoint" | "lineage" | "compaction" | "artifact" | "crash";
  readonly name: string;
  readonly at: number;
  /** About the attempt as a whole, or about its lane. */
  readonly scope: "attempt" | "lane";
  readonly place: SlicePlace;
  readonly args: JsonObject;
};

type SliceEnding = Pick<TraceSlice, "end" | "outcome" | "isUnfinished">;
type OpenTraceSlice = Omit<TraceSlice, keyof SliceEnding> & { readonly key: string };
type OrderedSlice = { readonly order: number; readonly slice: OpenTraceSlice };

const NOWHERE: SlicePlace = { step: null, turn: null, toolCallId: null, attempt: null };

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
  readonly #listener: SliceListener;
  /** Open slices of the main lane, the outermost first. */
  readonly #stack: OrderedSlice[] = [];
  readonly #tries = new Map<string, OrderedSlice>();
  #order = 0;
  #now = 0;

  constructor(
    runId: string,
    { attempt, end, number }: Pick<Chapter, "attempt" | "end" | "number">,
    listener: SliceListener,
  ) {
    this.#runId = runId;
    this.#listener = listener;
    this.#now = attempt.startedAt;
    this.#open("attempt", "attempt", `attempt ${number}`, NOWHERE, {
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

  /** The slices that have not ended, the outer ones first, as if they ended now. */
  unfinished(now: number): readonly TraceSlice[] {
    const open = [...this.#stack, ...this.#tries.values()];
    return open.map(({ slice }) => ended(slice, unfinishedAt(Math.max(slice.start, now)), {}));
  }

  /** After the last incident of the chapter. */
  finish({ end, lastSign }: Pick<Chapter, "end" | "lastSign">): void {
    this.#now = Math.max(this.#now, lastSign);
    for (const open of this.#tries.values())
      this.#end(open, { ...unfinishedAt(this.#now), outcome: "unknown" }, { outcome: "unknown" });
    this.#tries.clear();
    for (const open of this.#stack.splice(0).toReversed()) this.#end(open, unfinishedAt(this.#now), {});
    if (end === "died")
      this.#mark("crash", "crash", NOWHERE, { last_sign: new Date(lastSign).toISOString() });
  }

  #take(incident: Incident): void {
    const { event, step, turnIndex, asked, answered, started, ended, settled, checkpoint } = incident;
    // Clocks are sometimes set back, and slices must still nest.
    this.#now = Math.max(this.#now, event.at);
    if (step !== null && (event.type === "step.begun" || event.type === "step.resumed")) this.#openStep(step);
    const isTurn = /^(turn|calls?|model)\./.test(event.type) && event.type !== "call.late";
    if (isTurn && step !== null && turnIndex !== null && turnIndex > 0) this.#openTurn(step, turnIndex);
    if (answered !== null) this.#close("model", answered.charge?.basis ?? null, modelArgs(answered));
    for (const each of started) this.#openTry(each);
    if (ended !== null) this.#closeTry(ended.call, ended.outcome?.outcome ?? null, attemptArgs(ended));
    for (const call of settled) this.#closeTry(call, call.receipt?.status ?? null, receiptArgs(call));
    const place = placeOf(step, turnIndex);
    if (event.type === "turn.committed") {
      this.#mark("commit", "commit", place, { ...this.#place(step), turn_index: turnIndex });
      this.#close("turn", "committed");
    }
    if (checkpoint !== null) {
      const args = { ...this.#place(step), type: checkpoint.type };
      this.#mark("checkpoint", `checkpoint ${checkpoint.checkpoint}`, place, args);
    }
    if (event.type === "lineage.begun") {
      const isSummary = incident.facts.reason === "compaction";
      if (isSummary) this.#mark("compaction", "compaction", place, this.#place(step));
      else this.#mark("lineage", "new line of history", place, this.#place(step));
    }
    if (event.type === "artifact.kept")
      this.#mark("artifact", "artifact", place, { ...this.#place(step), ...incident.facts });
    if (asked !== null && step !== null) this.#openModelCall(step, asked);
    if (step !== null && event.type === "step.finished")
      this.#close(`step ${step.path}`, step.status, { status: step.status });
  }

  #openStep(step: StepRecord): void {
    this.#open(`step ${step.path}`, "step", step.path, placeOf(step, null), {
      ...this.#place(step),
      kind: step.kind,
      phase: step.phase,
    });
  }

  #openTurn(step: StepRecord, turnIndex: number): void {
    const name = `turn ${turnIndex}`;
    const open = this.#stack.find(({ slice }) => slice.category === "turn");
    if (open?.slice.name === name) return;
    if (open !== undefined) this.#close("turn", null);
    this.#open("turn", "turn", name, placeOf(step, turnIndex), {
      ...this.#place(step),
      turn_index: turnIndex,
    });
  }

  #openModelCall(step: StepRecord, { turnIndex, attempt, reserved }: ModelCallRecord): void {
    this.#openTurn(step, turnIndex);
    this.#open(
      "model",
      "model",
      "model call",
      { ...placeOf(step, turnIndex), attempt },
      {
        ...this.#place(step),
        turn_index: turnIndex,
        attempt,
        reserved_tokens: reserved.tokens,
      },
    );
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
      depth: this.#stack.length,
      place: { step: call.stepPath, turn: call.turnIndex, toolCallId: call.toolCallId, attempt },
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
  #closeTry({ toolCallId }: ToolCallRecord, outcome: string | null, args: JsonObject): void {
    const open = this.#tries.get(toolCallId);
    if (open === undefined) return;
    this.#tries.delete(toolCallId);
    this.#end(open, { end: this.#now, outcome, isUnfinished: false }, args);
  }

  #open(
    key: string,
    category: TraceSlice["category"],
    name: string,
    place: SlicePlace,
    args: JsonObject,
  ): void {
    const slice = {
      key,
      category,
      name,
      lane: MAIN_LANE,
      start: this.#now,
      depth: this.#stack.length,
      place,
      args: { run_id: this.#runId, ...args },
    };
    this.#stack.push({ order: this.#order++, slice });
  }

  /** Closes a slice and everything that is still open inside it. */
  #close(key: string, outcome: string | null, args: JsonObject = {}): void {
    const index = this.#stack.findLastIndex(({ slice }) => slice.key === key);
    if (index < 0) return;
    for (const open of this.#stack.splice(index).toReversed()) {
      const isIt = open.slice.key === key;
      const ending = { end: this.#now, outcome: isIt ? outcome : null, isUnfinished: false };
      this.#end(open, ending, isIt ? args : {});
    }
  }

  #end({ order, slice }: OrderedSlice, ending: SliceEnding, args: JsonObject): void {
    this.#listener.onSlice?.(order, ended(slice, ending, args));
  }

  #mark(kind: TraceMark["kind"], name: string, place: SlicePlace, args: JsonObject): void {
    const scope = kind === "crash" ? "attempt" : "lane";
    const mark = { kind, name, at: this.#now, scope, place, args: { run_id: this.#runId, ...args } } as const;
    this.#listener.onMark?.(mark);
  }

  #place(step: StepRecord | null): JsonObject {
    return step === null ? {} : { step_id: stepId(this.#runId, step.path) };
  }
}

function ended({ key: _, ...slice }: OpenTraceSlice, ending: SliceEnding, args: JsonObject): TraceSlice {
  return { ...slice, ...ending, args: { ...slice.args, ...args } };
}

function unfinishedAt(end: number): SliceEnding {
  return { end, outcome: null, isUnfinished: true };
}

function placeOf(step: StepRecord | null, turn: number | null): SlicePlace {
  return { ...NOWHERE, step: step?.path ?? null, turn };
}

function attemptArgs({ outcome }: EndedLoggedAttempt): JsonObject {
  return outcome === null ? {} : { outcome: outcome.outcome };
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
