import type { JsonObject } from "../core/json.ts";
import { stepId } from "../core/step-path.ts";
import type { ModelCallRecord, StepRecord, ToolCallRecord } from "../store/store.ts";
import type { CallTry, Chapter, Incident } from "./run-story.ts";
import { isByOthers } from "./run-story.ts";

/** Something that took time, in milliseconds since 1970. Those on one lane lie in each other or beside each other. */
export type Slice = {
  readonly lane: number;
  readonly category: "attempt" | "step" | "turn" | "model" | "tool" | "wait";
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly args: JsonObject;
};

/** Something that happened at once. */
export type Mark = {
  readonly name: string;
  readonly at: number;
  /** Whether it is about the attempt as a whole, or about what the lane shows. */
  readonly scope: "attempt" | "lane";
  readonly args: JsonObject;
};

type OpenSlice = Omit<Slice, "end"> & { readonly key: string };

/** The lane of what an attempt does one after the other; calls beside each other take more. */
export const MAIN_LANE = 1;

/** What one attempt did, as slices that nest: step, turn, model call and tool call. */
export class ChapterSlices {
  readonly marks: Mark[] = [];
  readonly #runId: string;
  readonly #done: { readonly order: number; readonly slice: Slice }[] = [];
  /** Open slices of the main lane, the outermost first. */
  readonly #stack: { readonly order: number; readonly slice: OpenSlice }[] = [];
  readonly #tries = new Map<string, { readonly order: number; readonly slice: OpenSlice }>();
  #order = 0;
  #now = 0;

  constructor(runId: string, chapter: Chapter, number: number) {
    this.#runId = runId;
    const { attempt, end, lastSign, incidents } = chapter;
    this.#now = attempt.startedAt;
    this.#open("attempt", "attempt", `attempt ${number}`, {
      owner: attempt.owner,
      epoch: attempt.epoch,
      resumed_from: attempt.resumedFrom,
      reason: attempt.reason,
      end: attempt.endStatus ?? end,
    });
    for (const incident of incidents) if (!isByOthers(incident.event)) this.#take(incident);
    this.#closeAll(lastSign);
    if (end === "died") this.#mark("crash", "attempt", { last_sign: new Date(lastSign).toISOString() });
  }

  /** In the order in which they began, the outer ones first. */
  get slices(): readonly Slice[] {
    return this.#done.toSorted((a, b) => a.order - b.order).map(({ slice }) => slice);
  }

  #take(incident: Incident): void {
    const { event, step, turnIndex, asked, answered, started, ended, settled, checkpoint } = incident;
    // Clocks are set back at times, and slices still have to nest.
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
    if (event.type === "lineage.begun") this.#mark("new line of history", "lane", this.#place(step));
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

  #openTry({ call, attempt }: CallTry): void {
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

  /** One that was never tried has a receipt and no slice. */
  #closeTry({ toolCallId }: ToolCallRecord, args: JsonObject): void {
    const open = this.#tries.get(toolCallId);
    if (open === undefined) return;
    this.#tries.delete(toolCallId);
    this.#end(open, args);
  }

  #open(key: string, category: Slice["category"], name: string, args: JsonObject): void {
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

  /** With all that is still open in it. */
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

  #end({ order, slice }: { readonly order: number; readonly slice: OpenSlice }, args: JsonObject): void {
    const { key: _, ...rest } = slice;
    this.#done.push({ order, slice: { ...rest, end: this.#now, args: { ...slice.args, ...args } } });
  }

  #mark(name: string, scope: Mark["scope"], args: JsonObject): void {
    this.marks.push({ name, at: this.#now, scope, args: { run_id: this.#runId, ...args } });
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
