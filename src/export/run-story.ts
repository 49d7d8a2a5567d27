import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { StepPath } from "../core/step-path.ts";
import type {
  CheckpointRecord,
  EventRecord,
  ModelCallRecord,
  StepRecord,
  StoreReader,
  ToolCallAttempt,
  ToolCallRecord,
  TurnRecord,
  WaitRecord,
} from "../store/store.ts";
import { callIndexesIn, factsOf, leadingNumber, listIn, numberIn, numbersIn, textIn } from "./event-facts.ts";
import { type LogPart, LogReader } from "./log-reader.ts";
import type { RecordLookup } from "./record-lookup.ts";
import type { RunOutline } from "./run-outline.ts";

/** A call and which of its tries is meant; 0 where it was never tried. */
export type CallTry = { readonly call: ToolCallRecord; readonly attempt: number };

/** A try that is over; `outcome` is what was kept of it. */
export type EndedTry = CallTry & { readonly outcome: ToolCallAttempt | null };

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

/** Tells the log of a run event by event, each with what it is about. Only what the present turn needs is held. */
export class StoryTeller {
  readonly #reader: StoreReader;
  readonly #outline: Pick<RunOutline, "run" | "lastSeq">;
  readonly #records: RecordLookup;
  /** How often each call has gone out, until it has its receipt. */
  #started = new Map<string, number>();
  /** The step that was entered last: events of its turns do not always say so. */
  #entered: StepPath | null = null;

  constructor(reader: StoreReader, outline: Pick<RunOutline, "run" | "lastSeq">, records: RecordLookup) {
    this.#reader = reader;
    this.#outline = outline;
    this.#records = records;
  }

  /** One that tells what follows again. */
  copy(): StoryTeller {
    const teller = new StoryTeller(this.#reader, this.#outline, this.#records);
    teller.#started = new Map(this.#started);
    teller.#entered = this.#entered;
    return teller;
  }

  /** Parts are to be told in their order, all of them: one goes on from what was said before it. */
  async *tell(part: LogPart): AsyncGenerator<Incident, void, undefined> {
    const log = new LogReader(this.#reader, this.#outline.run.runId, part);
    for await (const event of log.events()) yield await this.#tellEvent(event, log);
  }

  async #tellEvent(event: EventRecord, log: LogReader): Promise<Incident> {
    const facts = factsOf(event);
    if (event.type === "step.begun" || event.type === "step.resumed") this.#entered = textIn(facts, "step");
    const path = textIn(facts, "step") ?? this.#entered;
    const turnIndex = numberIn(facts, "turn");
    const place = path === null || turnIndex === null ? null : { path, turnIndex };
    const later = await laterInTurn(event, facts, log.following(this.#outline.lastSeq));
    const wait = numberIn(facts, "wait");
    const incident: Incident = {
      event,
      facts,
      step: path === null ? null : await this.#records.step(path),
      turnIndex,
      response: later.isDropped ? null : await this.#responseIn(facts, place),
      isDropped: later.isDropped,
      asked: await this.#askedIn(event, facts, place),
      answered: await this.#answeredIn(facts, place),
      wanted: await this.#wantedIn(event, facts, place),
      started: later.isDropped ? [] : await this.#startedIn(event, facts, place, later.starts),
      ended: await this.#endedIn(event, facts, place),
      lost: await this.#lostIn(facts),
      settled: await this.#settledIn(event, facts, place),
      checkpoint: await this.#checkpointIn(facts),
      opened: await found(numbersIn(facts, "waits"), (index) => this.#records.wait(index)),
      answer: wait === null ? null : await this.#records.wait(wait),
    };
    this.#forget(incident, place);
    return incident;
  }

  /** A call that has its receipt does not go out again. */
  #forget({ event, settled }: Incident, place: TurnPlace | null): void {
    for (const { stepPath, turnIndex, callIndex } of settled)
      this.#started.delete(callKey(stepPath, turnIndex, callIndex));
    if (place === null || (event.type !== "turn.committed" && event.type !== "turn.dropped")) return;
    const turn = `${turnKey(place.path, place.turnIndex)}.`;
    for (const key of this.#started.keys()) if (key.startsWith(turn)) this.#started.delete(key);
  }

  async #responseIn(facts: JsonObject, place: TurnPlace | null): Promise<TurnRecord | null> {
    if (facts.response === undefined || place === null) return null;
    return this.#records.turn(place.path, place.turnIndex);
  }

  /** A turn is opened by itself, or with the commit of the one before it. */
  async #askedIn(
    { type }: EventRecord,
    facts: JsonObject,
    place: TurnPlace | null,
  ): Promise<ModelCallRecord | null> {
    if (place === null || facts.reserved === undefined) return null;
    const [turn, attempt] =
      type === "turn.opened" ? [place.turnIndex, numberIn(facts, "attempt") ?? 1] : [place.turnIndex + 1, 1];
    return this.#records.modelCall(place.path, turn, attempt);
  }

  async #answeredIn(facts: JsonObject, place: TurnPlace | null): Promise<ModelCallRecord | null> {
    const attempt = numberIn(facts, "attempt");
    if (place === null || attempt === null || facts.basis === undefined) return null;
    return this.#records.modelCall(place.path, place.turnIndex, attempt);
  }

  async #wantedIn(
    { type }: EventRecord,
    facts: JsonObject,
    place: TurnPlace | null,
  ): Promise<readonly ToolCallRecord[]> {
    const isNew = (type === "calls.prepared" || type === "calls.started") && facts.digest !== undefined;
    return isNew && place !== null ? this.#callsIn(facts, "calls", place) : [];
  }

  async #startedIn(
    event: EventRecord,
    facts: JsonObject,
    place: TurnPlace | null,
    starts: ReadonlyMap<number, number>,
  ): Promise<readonly CallTry[]> {
    if (place === null) return [];
    const isStart = event.type === "calls.started";
    if (!isStart && facts.response === undefined) return [];
    const calls = await this.#callsIn(facts, "calls", place);
    return calls.flatMap((call) => {
      if (!isStart && (starts.get(call.callIndex) ?? 0) >= call.attempt) return [];
      const key = callKey(place.path, place.turnIndex, call.callIndex);
      const attempt = (this.#started.get(key) ?? 0) + 1;
      this.#started.set(key, attempt);
      return [{ call, attempt }];
    });
  }

  async #endedIn(
    { type }: EventRecord,
    facts: JsonObject,
    place: TurnPlace | null,
  ): Promise<EndedTry | null> {
    if (type !== "call.tried" && type !== "call.in_doubt" && type !== "call.late") return null;
    const call = await this.#callIn(facts, place);
    if (call === null) return null;
    const attempt = numberIn(facts, "attempt") ?? call.attempt;
    return { call, attempt, outcome: await this.#records.toolCallTry(call.toolCallId, attempt) };
  }

  #lostIn(facts: JsonObject): Promise<readonly CallTry[]> {
    return found(listIn(facts, "inDoubt"), async (item) => {
      if (!isJsonObject(item)) return null;
      const [path, turnIndex] = [textIn(item, "step"), numberIn(item, "turn")];
      if (path === null || turnIndex === null) return null;
      const call = await this.#callIn(item, { path, turnIndex });
      return call === null ? null : { call, attempt: numberIn(item, "attempt") ?? call.attempt };
    });
  }

  async #settledIn(
    { type }: EventRecord,
    facts: JsonObject,
    place: TurnPlace | null,
  ): Promise<readonly ToolCallRecord[]> {
    if (place === null) return [];
    const isReceipt = type === "call.receipt" || (type === "wait.answered" && facts.source !== undefined);
    const one = isReceipt ? await this.#callIn(facts, place) : null;
    if (one !== null) return [one];
    // The calls that a new line of history leaves behind are those of the turn that was open.
    const turnIndex = numberIn(facts, "openTurn") ?? place.turnIndex;
    return this.#callsIn(facts, "receipts", { path: place.path, turnIndex });
  }

  async #checkpointIn(facts: JsonObject): Promise<CheckpointRecord | null> {
    const checkpoint = leadingNumber(facts.checkpoint);
    return checkpoint === null ? null : this.#records.checkpoint(checkpoint);
  }

  #callsIn(facts: JsonObject, name: string, place: TurnPlace): Promise<readonly ToolCallRecord[]> {
    return found(callIndexesIn(facts, name), (index) =>
      this.#records.call(place.path, place.turnIndex, index),
    );
  }

  async #callIn(facts: JsonObject, place: TurnPlace | null): Promise<ToolCallRecord | null> {
    const index = numberIn(facts, "call");
    return place === null || index === null ? null : this.#records.call(place.path, place.turnIndex, index);
  }
}

type TurnPlace = { readonly path: StepPath; readonly turnIndex: number };

/** What became of a response: whether it was dropped, and how often each of its calls goes out by an event of its own. */
type LaterInTurn = { readonly isDropped: boolean; readonly starts: ReadonlyMap<number, number> };

/** Looked up in the events that follow, up to the end of the turn. A call that is not started there went out with the response. */
async function laterInTurn(
  event: EventRecord,
  facts: JsonObject,
  following: AsyncIterable<EventRecord>,
): Promise<LaterInTurn> {
  const starts = new Map<number, number>();
  if (facts.response === undefined || event.type === "turn.committed") return { isDropped: false, starts };
  const [step, turn] = [textIn(facts, "step"), numberIn(facts, "turn")];
  for await (const { type, data } of following) {
    const later = factsOf({ data });
    if (textIn(later, "step") !== step) continue;
    if (type === "lineage.begun") break;
    if (numberIn(later, "turn") !== turn) continue;
    if (type === "turn.dropped") return { isDropped: true, starts };
    if (type === "turn.committed" || later.response !== undefined) break;
    if (type !== "calls.started") continue;
    for (const index of callIndexesIn(later, "calls")) starts.set(index, (starts.get(index) ?? 0) + 1);
  }
  return { isDropped: false, starts };
}

/** One after the other, without those that are not there. */
async function found<K, T>(keys: readonly K[], find: (key: K) => Promise<T | null>): Promise<readonly T[]> {
  const records: T[] = [];
  for (const key of keys) {
    const record = await find(key);
    if (record !== null) records.push(record);
  }
  return records;
}

function turnKey(path: StepPath, turnIndex: number): string {
  return `${path}#${turnIndex}`;
}

function callKey(path: StepPath, turnIndex: number, callIndex: number): string {
  return `${turnKey(path, turnIndex)}.${callIndex}`;
}
