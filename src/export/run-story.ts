import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { StepPath } from "../core/step-path.ts";
import { waitId } from "../core/wait.ts";
import type {
  AttemptRecord,
  CheckpointRecord,
  EventRecord,
  ModelCallRecord,
  StepRecord,
  ToolCallRecord,
  ToolCallTry,
  TurnRecord,
  WaitRecord,
} from "../store/store.ts";
import { callIndexesIn, factsOf, leadingNumber, listIn, numberIn, numbersIn, textIn } from "./event-facts.ts";
import type { RunAccount } from "./run-account.ts";

/** A call and which of its tries is meant; 0 where it was never tried. */
export type CallTry = { readonly call: ToolCallRecord; readonly attempt: number };

/** A try that is over; `outcome` is what was kept of it. */
export type EndedTry = CallTry & { readonly outcome: ToolCallTry | null };

/** One event of the run's log, with the records that it tells of. */
export type Incident = {
  readonly event: EventRecord;
  readonly facts: JsonObject;
  /** The step that it is about, or that was entered last; null before the first one. */
  readonly step: StepRecord | null;
  /** The turn that it is about; 0: what the code of a step does; null: neither. */
  readonly turnIndex: number | null;
  /** The turn's response, where it came with this event and was not dropped since. */
  readonly response: TurnRecord | null;
  /** A response came with it, which somebody had dropped since: it is not kept. */
  readonly isDropped: boolean;
  /** The model is asked from here on. */
  readonly asked: ModelCallRecord | null;
  /** The model's answer is here, or it is known that there will be none. */
  readonly answered: ModelCallRecord | null;
  /** Calls that the code of a step asks for; those of a turn are in its response. */
  readonly wanted: readonly ToolCallRecord[];
  /** Tries that go out. */
  readonly started: readonly CallTry[];
  /** A try that ended without a receipt. */
  readonly ended: EndedTry | null;
  /** Tries of which nobody knows from here on how they ended. */
  readonly lost: readonly CallTry[];
  /** Calls whose receipt is stored with it. */
  readonly settled: readonly ToolCallRecord[];
  readonly checkpoint: CheckpointRecord | null;
  /** What people are asked from here on. */
  readonly opened: readonly WaitRecord[];
  /** What somebody has said. */
  readonly answer: WaitRecord | null;
};

/** One time that a worker had the run, and what happened until the next one took it. */
export type Chapter = {
  readonly attempt: AttemptRecord;
  /**
   * `released`: the worker let go of the run. `died`: it never did, and another took over or ended the run. `open`: nobody
   * has looked since.
   */
  readonly end: "released" | "died" | "open";
  /** When something was last heard of the worker. */
  readonly lastSign: number;
  readonly incidents: readonly Incident[];
};

/** The log of a run, told. */
export type Story = {
  /** What happened before any worker had the run: it was forked from another. */
  readonly prologue: readonly Incident[];
  readonly chapters: readonly Chapter[];
};

/** The attempts of a run in their order, each event with what it is about. */
export function tellStory(account: RunAccount): Story {
  const teller = new Teller(account);
  const prologue: Incident[] = [];
  const byEpoch = new Map<number, Incident[]>();
  let current = prologue;
  for (const event of account.events) {
    const facts = factsOf(event);
    if (event.type === "run.created" || event.type === "run.claimed") {
      current = [];
      byEpoch.set(numberIn(facts, "epoch") ?? 0, current);
    }
    current.push(teller.tell(event, facts));
  }
  // A run that is being worked on may have been taken since its log was read: of that there is nothing to tell yet.
  const chapters = account.attempts.flatMap((attempt) => {
    const incidents = byEpoch.get(attempt.epoch);
    return incidents === undefined ? [] : [chapterOf(account, attempt, incidents)];
  });
  return { prologue, chapters };
}

function chapterOf(
  { run, attempts }: RunAccount,
  attempt: AttemptRecord,
  incidents: readonly Incident[],
): Chapter {
  const isLast = attempts.at(-1)?.epoch === attempt.epoch;
  const lastSign = incidents.findLast(({ event }) => !isByOthers(event))?.event.at ?? attempt.startedAt;
  if (attempt.endedAt !== null) return { attempt, end: "released", lastSign, incidents };
  return { attempt, end: isLast && run.status === "running" ? "open" : "died", lastSign, incidents };
}

/** What a person says, and what comes from a worker that has lost the run, is no sign of life of its present worker. */
export function isByOthers(event: EventRecord): boolean {
  if (event.type === "run.cancelled") return textIn(factsOf(event), "by") !== null;
  return (
    event.type.startsWith("wait.") || event.type === "call.late" || event.type === "run.cancel_requested"
  );
}

class Teller {
  readonly #runId: string;
  readonly #steps: ReadonlyMap<StepPath, StepRecord>;
  readonly #turns: ReadonlyMap<string, TurnRecord>;
  readonly #modelCalls: ReadonlyMap<string, ModelCallRecord>;
  readonly #calls: ReadonlyMap<string, ToolCallRecord>;
  readonly #tries: ReadonlyMap<string, ToolCallTry>;
  readonly #waits: ReadonlyMap<string, WaitRecord>;
  readonly #checkpoints: ReadonlyMap<number, CheckpointRecord>;
  /** How often each call goes out by an event of its own; the other time, it goes out with its turn's response. */
  readonly #starts: ReadonlyMap<string, number>;
  /** The events whose response was dropped since. */
  readonly #dropped: ReadonlySet<number>;
  readonly #started = new Map<string, number>();
  /** The step that was entered last: events of its turns do not always say so. */
  #entered: StepPath | null = null;

  constructor(account: RunAccount) {
    this.#runId = account.run.runId;
    this.#steps = byKey(account.steps, ({ path }) => path);
    this.#turns = byKey(account.turns, (turn) => turnKey(turn.stepPath, turn.turnIndex));
    this.#modelCalls = byKey(account.modelCalls, (call) =>
      tryKey(turnKey(call.stepPath, call.turnIndex), call.attempt),
    );
    this.#calls = byKey(account.calls, (call) => callKey(call.stepPath, call.turnIndex, call.callIndex));
    this.#tries = byKey(account.tries, (each) => tryKey(each.toolCallId, each.attempt));
    this.#waits = byKey(account.waits, (wait) => wait.waitId);
    this.#checkpoints = byKey(account.checkpoints, ({ checkpoint }) => checkpoint);
    this.#starts = countStarts(account.events);
    this.#dropped = droppedResponses(account.events);
  }

  tell(event: EventRecord, facts: JsonObject): Incident {
    if (event.type === "step.begun" || event.type === "step.resumed") this.#entered = textIn(facts, "step");
    const path = textIn(facts, "step") ?? this.#entered;
    const turnIndex = numberIn(facts, "turn");
    const isDropped = this.#dropped.has(event.seq);
    return {
      event,
      facts,
      step: path === null ? null : (this.#steps.get(path) ?? null),
      turnIndex,
      response: isDropped ? null : this.#responseIn(facts, path, turnIndex),
      isDropped,
      asked: this.#askedIn(event, facts, path, turnIndex),
      answered: this.#answeredIn(facts, path, turnIndex),
      wanted: this.#wantedIn(event, facts, path, turnIndex),
      started: isDropped ? [] : this.#startedIn(event, facts, path, turnIndex),
      ended: this.#endedIn(event, facts, path, turnIndex),
      lost: this.#lostIn(facts),
      settled: this.#settledIn(event, facts, path, turnIndex),
      checkpoint: this.#checkpoints.get(leadingNumber(facts.checkpoint) ?? 0) ?? null,
      opened: numbersIn(facts, "waits").flatMap((index) => this.#waits.get(waitId(this.#runId, index)) ?? []),
      answer: this.#waits.get(waitId(this.#runId, numberIn(facts, "wait") ?? 0)) ?? null,
    };
  }

  #responseIn(facts: JsonObject, path: StepPath | null, turnIndex: number | null): TurnRecord | null {
    if (facts.response === undefined || path === null || turnIndex === null) return null;
    return this.#turns.get(turnKey(path, turnIndex)) ?? null;
  }

  /** A turn is opened by itself, or with the commit of the one before it. */
  #askedIn(
    { type }: EventRecord,
    facts: JsonObject,
    path: StepPath | null,
    turnIndex: number | null,
  ): ModelCallRecord | null {
    if (path === null || turnIndex === null || facts.reserved === undefined) return null;
    const [turn, attempt] =
      type === "turn.opened" ? [turnIndex, numberIn(facts, "attempt") ?? 1] : [turnIndex + 1, 1];
    return this.#modelCalls.get(tryKey(turnKey(path, turn), attempt)) ?? null;
  }

  #answeredIn(facts: JsonObject, path: StepPath | null, turnIndex: number | null): ModelCallRecord | null {
    const attempt = numberIn(facts, "attempt");
    if (path === null || turnIndex === null || attempt === null || facts.basis === undefined) return null;
    return this.#modelCalls.get(tryKey(turnKey(path, turnIndex), attempt)) ?? null;
  }

  #wantedIn(
    { type }: EventRecord,
    facts: JsonObject,
    path: StepPath | null,
    turnIndex: number | null,
  ): ToolCallRecord[] {
    const isNew = (type === "calls.prepared" || type === "calls.started") && facts.digest !== undefined;
    return isNew && path !== null && turnIndex !== null ? this.#callsIn(facts, "calls", path, turnIndex) : [];
  }

  #startedIn(
    event: EventRecord,
    facts: JsonObject,
    path: StepPath | null,
    turnIndex: number | null,
  ): CallTry[] {
    if (path === null || turnIndex === null) return [];
    const isStart = event.type === "calls.started";
    if (!isStart && facts.response === undefined) return [];
    return this.#callsIn(facts, "calls", path, turnIndex).flatMap((call) => {
      const key = callKey(path, turnIndex, call.callIndex);
      if (!isStart && (this.#starts.get(key) ?? 0) >= call.attempt) return [];
      const attempt = (this.#started.get(key) ?? 0) + 1;
      this.#started.set(key, attempt);
      return [{ call, attempt }];
    });
  }

  #endedIn(
    { type }: EventRecord,
    facts: JsonObject,
    path: StepPath | null,
    turnIndex: number | null,
  ): EndedTry | null {
    if (type !== "call.tried" && type !== "call.in_doubt" && type !== "call.late") return null;
    const call = this.#callIn(facts, path, turnIndex);
    if (call === null) return null;
    const attempt = numberIn(facts, "attempt") ?? call.attempt;
    return { call, attempt, outcome: this.#tries.get(tryKey(call.toolCallId, attempt)) ?? null };
  }

  #lostIn(facts: JsonObject): CallTry[] {
    return listIn(facts, "inDoubt").flatMap((item) => {
      if (!isJsonObject(item)) return [];
      const call = this.#callIn(item, textIn(item, "step"), numberIn(item, "turn"));
      return call === null ? [] : [{ call, attempt: numberIn(item, "attempt") ?? call.attempt }];
    });
  }

  #settledIn(
    { type }: EventRecord,
    facts: JsonObject,
    path: StepPath | null,
    turnIndex: number | null,
  ): ToolCallRecord[] {
    if (path === null || turnIndex === null) return [];
    const isReceipt = type === "call.receipt" || (type === "wait.answered" && facts.source !== undefined);
    const one = isReceipt ? this.#callIn(facts, path, turnIndex) : null;
    if (one !== null) return [one];
    // The calls that a new line of history leaves behind are those of the turn that was open.
    const turn = numberIn(facts, "openTurn") ?? turnIndex;
    return this.#callsIn(facts, "receipts", path, turn);
  }

  #callsIn(facts: JsonObject, name: string, path: StepPath, turnIndex: number): ToolCallRecord[] {
    return callIndexesIn(facts, name).flatMap(
      (index) => this.#calls.get(callKey(path, turnIndex, index)) ?? [],
    );
  }

  #callIn(facts: JsonObject, path: StepPath | null, turnIndex: number | null): ToolCallRecord | null {
    const index = numberIn(facts, "call");
    if (path === null || turnIndex === null || index === null) return null;
    return this.#calls.get(callKey(path, turnIndex, index)) ?? null;
  }
}

function countStarts(events: readonly EventRecord[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const event of events) {
    const facts = factsOf(event);
    const [path, turnIndex] = [textIn(facts, "step"), numberIn(facts, "turn")];
    if (event.type !== "calls.started" || path === null || turnIndex === null) continue;
    for (const index of callIndexesIn(facts, "calls")) {
      const key = callKey(path, turnIndex, index);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return counts;
}

/** Backwards: a response that is dropped is the last one of its turn before that. */
function droppedResponses(events: readonly EventRecord[]): ReadonlySet<number> {
  const dropped = new Set<number>();
  const awaited = new Set<string>();
  for (const event of events.toReversed()) {
    const facts = factsOf(event);
    const key = turnKey(textIn(facts, "step") ?? "", numberIn(facts, "turn") ?? 0);
    if (event.type === "turn.dropped") awaited.add(key);
    else if (facts.response !== undefined && awaited.delete(key)) dropped.add(event.seq);
  }
  return dropped;
}

function turnKey(path: StepPath, turnIndex: number): string {
  return `${path}#${turnIndex}`;
}

function callKey(path: StepPath, turnIndex: number, callIndex: number): string {
  return `${turnKey(path, turnIndex)}.${callIndex}`;
}

function tryKey(key: string, attempt: number): string {
  return `${key} ${attempt}`;
}

function byKey<K, T>(items: readonly T[], key: (item: T) => K): ReadonlyMap<K, T> {
  return new Map(items.map((item) => [key(item), item]));
}
