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
import { factsOf, listIn, numberIn, numbersIn, textIn } from "./event-facts.ts";
import { type LogPart, LogReader } from "./log-reader.ts";
import type { RecordLookup } from "./record-lookup.ts";
import type { RunOutline } from "./run-outline.ts";

/** One attempt of a call; 0 if there was none. */
export type LoggedAttempt = { readonly call: ToolCallRecord; readonly attempt: number };

/** An attempt that has ended; `outcome` is its stored record. */
export type EndedLoggedAttempt = LoggedAttempt & { readonly outcome: ToolCallAttempt | null };

/** One event of the run's log, with the records that it is about. */
export type Incident = {
  readonly event: EventRecord;
  readonly facts: JsonObject;
  /** The step that it is about, or that was entered last; null before the first one. */
  readonly step: StepRecord | null;
  /** The turn that it is about; 0 for a code step; null for neither. */
  readonly turnIndex: number | null;
  /** The turn's response, if it came with this event and was not dropped later. */
  readonly response: TurnRecord | null;
  /** A response came with this event and was dropped later: it is not stored any more. */
  readonly isDropped: boolean;
  /** The model call that starts here. */
  readonly asked: ModelCallRecord | null;
  /** The model call that ends here, with or without an answer. */
  readonly answered: ModelCallRecord | null;
  /** The calls that a code step makes; those of a turn are in its response. */
  readonly wanted: readonly ToolCallRecord[];
  /** The attempts that start. */
  readonly started: readonly LoggedAttempt[];
  /** An attempt that ended without a receipt. */
  readonly ended: EndedLoggedAttempt | null;
  /** The attempts whose outcome is unknown from here on. */
  readonly lost: readonly LoggedAttempt[];
  /** The calls whose receipts are stored with this event. */
  readonly settled: readonly ToolCallRecord[];
  readonly checkpoint: CheckpointRecord | null;
  /** The questions that are open from here on. */
  readonly opened: readonly WaitRecord[];
  /** The wait that was answered or approved. */
  readonly answer: WaitRecord | null;
  /** The waits that the clock or a message answered, or about which the clock did something else. */
  readonly wakes: readonly WaitRecord[];
};

/** Reads the log of a run event by event, each with its records. Only the state of the current turn is held in memory. */
export class IncidentReader {
  readonly #reader: StoreReader;
  readonly #outline: Pick<RunOutline, "run" | "lastSeq">;
  readonly #records: RecordLookup;
  /** The number of attempts of each call that has no receipt yet. */
  #started = new Map<string, number>();
  /** The step that was entered last: events of its turns do not always name it. */
  #entered: StepPath | null = null;

  constructor(reader: StoreReader, outline: Pick<RunOutline, "run" | "lastSeq">, records: RecordLookup) {
    this.#reader = reader;
    this.#outline = outline;
    this.#records = records;
  }

  /** A second reader at the same position; with a later outline and fresh records, it reads on where the log has grown. */
  copy(outline = this.#outline, records = this.#records): IncidentReader {
    const copy = new IncidentReader(this.#reader, outline, records);
    copy.#started = new Map(this.#started);
    copy.#entered = this.#entered;
    return copy;
  }

  /** Parts must be read in order and without gaps: each continues from the state of the one before. */
  async *read(part: LogPart): AsyncGenerator<Incident, void, undefined> {
    const log = new LogReader(this.#reader, this.#outline.run.runId, part);
    for await (const event of log.events()) yield await this.#incidentOf(event, log);
  }

  async #incidentOf(event: EventRecord, log: LogReader): Promise<Incident> {
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
      wakes: await found(wakesIn(facts), (index) => this.#records.wait(index)),
    };
    this.#forget(incident, place);
    return incident;
  }

  /** A call with a receipt has no further attempts. */
  #forget({ event, settled }: Incident, place: TurnPosition | null): void {
    for (const { stepPath, turnIndex, callIndex } of settled)
      this.#started.delete(callKey(stepPath, turnIndex, callIndex));
    if (place === null || (event.type !== "turn.committed" && event.type !== "turn.dropped")) return;
    const turn = `${turnKey(place.path, place.turnIndex)}.`;
    for (const key of this.#started.keys()) if (key.startsWith(turn)) this.#started.delete(key);
  }

  async #responseIn(facts: JsonObject, place: TurnPosition | null): Promise<TurnRecord | null> {
    if (facts.response === undefined || place === null) return null;
    return this.#records.turn(place.path, place.turnIndex);
  }

  /** A turn is opened by an event of its own, or with the commit of the previous turn. */
  async #askedIn(
    { type }: EventRecord,
    facts: JsonObject,
    place: TurnPosition | null,
  ): Promise<ModelCallRecord | null> {
    if (place === null || facts.reserved === undefined) return null;
    const [turn, attempt] =
      type === "turn.opened" || type === "summary.opened"
        ? [place.turnIndex, numberIn(facts, "attempt") ?? 1]
        : [place.turnIndex + 1, 1];
    return this.#records.modelCall(place.path, turn, attempt);
  }

  async #answeredIn(facts: JsonObject, place: TurnPosition | null): Promise<ModelCallRecord | null> {
    const attempt = numberIn(facts, "attempt");
    if (place === null || attempt === null || facts.basis === undefined) return null;
    return this.#records.modelCall(place.path, place.turnIndex, attempt);
  }

  async #wantedIn(
    { type }: EventRecord,
    facts: JsonObject,
    place: TurnPosition | null,
  ): Promise<readonly ToolCallRecord[]> {
    const isNew = (type === "calls.prepared" || type === "calls.started") && facts.new === true;
    return isNew && place !== null ? this.#callsIn(facts, "calls", place) : [];
  }

  async #startedIn(
    event: EventRecord,
    facts: JsonObject,
    place: TurnPosition | null,
    starts: ReadonlyMap<number, number>,
  ): Promise<readonly LoggedAttempt[]> {
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
    place: TurnPosition | null,
  ): Promise<EndedLoggedAttempt | null> {
    if (type !== "call.tried" && type !== "call.in_doubt" && type !== "call.late") return null;
    const call = await this.#callIn(facts, place);
    if (call === null) return null;
    const attempt = numberIn(facts, "attempt") ?? call.attempt;
    return { call, attempt, outcome: await this.#records.toolCallAttempt(call.toolCallId, attempt) };
  }

  #lostIn(facts: JsonObject): Promise<readonly LoggedAttempt[]> {
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
    place: TurnPosition | null,
  ): Promise<readonly ToolCallRecord[]> {
    if (place === null) return [];
    const isReceipt = type === "call.receipt" || (type === "wait.answered" && facts.source !== undefined);
    const one = isReceipt ? await this.#callIn(facts, place) : null;
    if (one !== null) return [one];
    // The calls that a new lineage abandons are those of the turn that was open.
    const turnIndex = numberIn(facts, "openTurn") ?? place.turnIndex;
    return this.#callsIn(facts, "receipts", { path: place.path, turnIndex });
  }

  async #checkpointIn(facts: JsonObject): Promise<CheckpointRecord | null> {
    const checkpoint = numberIn(facts, "checkpoint");
    return checkpoint === null ? null : this.#records.checkpoint(checkpoint);
  }

  #callsIn(facts: JsonObject, name: string, place: TurnPosition): Promise<readonly ToolCallRecord[]> {
    return found(numbersIn(facts, name), (index) => this.#records.call(place.path, place.turnIndex, index));
  }

  async #callIn(facts: JsonObject, place: TurnPosition | null): Promise<ToolCallRecord | null> {
    const index = numberIn(facts, "call");
    return place === null || index === null ? null : this.#records.call(place.path, place.turnIndex, index);
  }
}

type TurnPosition = { readonly path: StepPath; readonly turnIndex: number };

/** What followed a response: whether it was dropped, and how often each of its calls starts with an event of its own. */
type LaterInTurn = { readonly isDropped: boolean; readonly starts: ReadonlyMap<number, number> };

/** Searches the events that follow, up to the end of the turn. A call that does not start there started with the response. */
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
    for (const index of numbersIn(later, "calls")) starts.set(index, (starts.get(index) ?? 0) + 1);
  }
  return { isDropped: false, starts };
}

/** Looks them up one after the other; leaves out those that do not exist. */
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

/** The numbers of the waits in the facts about the clock and about messages. */
function wakesIn(facts: JsonObject): readonly number[] {
  return [...listIn(facts, "waits"), ...listIn(facts, "received")].flatMap((fact) =>
    isJsonObject(fact) && fact.did !== "reminded" ? (numberIn(fact, "wait") ?? []) : [],
  );
}
