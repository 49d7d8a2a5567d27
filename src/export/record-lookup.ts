import type { StepPath } from "../core/step-path.ts";
import { parseWaitId, waitId } from "../core/wait.ts";
import type {
  CheckpointRecord,
  MessageRecord,
  ModelCallRecord,
  StepRecord,
  StoreReader,
  ToolCallAttempt,
  ToolCallRecord,
  TurnRecord,
  WaitRecord,
} from "../store/store.ts";
import { RECORDS_PER_PAGE } from "./record-pages.ts";

/** Events alternate between nested steps: this many are cached. */
const STEPS_KEPT = 8;

/**
 * Finds the records of a run by their keys. It caches the last page of each kind: a log is in order, so the next record is
 * nearly always on it.
 */
export class RecordLookup {
  readonly #reader: StoreReader;
  readonly #runId: string;
  readonly #steps = new Map<StepPath, StepRecord | null>();
  readonly #turns = new LastPage<TurnRecord>();
  readonly #modelCalls = new LastPage<ModelCallRecord>();
  readonly #codeCalls = new LastPage<ToolCallRecord>();
  readonly #attempts = new LastPage<ToolCallAttempt>();
  readonly #waits = new LastPage<WaitRecord>();
  readonly #checkpoints = new LastPage<CheckpointRecord>();
  readonly #messages = new LastPage<MessageRecord>();

  constructor(reader: StoreReader, runId: string) {
    this.#reader = reader;
    this.#runId = runId;
  }

  async step(path: StepPath): Promise<StepRecord | null> {
    const known = this.#steps.get(path);
    if (known !== undefined) return known;
    const step = await this.#reader.findStep(this.#runId, path);
    const [oldest] = this.#steps.keys();
    if (this.#steps.size >= STEPS_KEPT && oldest !== undefined) this.#steps.delete(oldest);
    this.#steps.set(path, step);
    return step;
  }

  turn(stepPath: StepPath, turnIndex: number): Promise<TurnRecord | null> {
    return this.#turns.find(
      (turn) => turn.turnIndex === turnIndex && turn.stepPath === stepPath,
      () => this.#reader.listTurns(this.#runId, pageAfter({ stepPath, turnIndex: turnIndex - 1 })),
    );
  }

  modelCall(stepPath: StepPath, turnIndex: number, attempt: number): Promise<ModelCallRecord | null> {
    return this.#modelCalls.find(
      (call) => call.turnIndex === turnIndex && call.attempt === attempt && call.stepPath === stepPath,
      () =>
        this.#reader.listModelCalls(this.#runId, pageAfter({ stepPath, turnIndex, attempt: attempt - 1 })),
    );
  }

  /** A call of a turn or, with turn 0, of a code step. */
  async call(stepPath: StepPath, turnIndex: number, callIndex: number): Promise<ToolCallRecord | null> {
    if (turnIndex > 0) return (await this.turn(stepPath, turnIndex))?.calls[callIndex - 1] ?? null;
    return this.#codeCalls.find(
      (call) => call.callIndex === callIndex && call.stepPath === stepPath,
      () =>
        this.#reader.listToolCalls(this.#runId, pageAfter({ stepPath, turnIndex, callIndex: callIndex - 1 })),
    );
  }

  toolCallAttempt(toolCallId: string, attempt: number): Promise<ToolCallAttempt | null> {
    return this.#attempts.find(
      (each) => each.toolCallId === toolCallId && each.attempt === attempt,
      () => this.#reader.listToolCallAttempts(this.#runId, pageAfter({ toolCallId, attempt: attempt - 1 })),
    );
  }

  /** By its number in the run. */
  wait(index: number): Promise<WaitRecord | null> {
    const id = waitId(this.#runId, index);
    return this.#waits.find(
      (wait) => wait.waitId === id,
      () =>
        this.#reader.listWaits(
          this.#runId,
          index === 1 ? { limit: RECORDS_PER_PAGE } : pageAfter({ waitId: waitId(this.#runId, index - 1) }),
        ),
    );
  }

  /** The message of this number. */
  message(messageNo: number): Promise<MessageRecord | null> {
    return this.#messages.find(
      (message) => message.messageNo === messageNo,
      () => this.#reader.listMessages(this.#runId, pageAfter(messageNo - 1)),
    );
  }

  checkpoint(checkpoint: number): Promise<CheckpointRecord | null> {
    return this.#checkpoints.find(
      (each) => each.checkpoint === checkpoint,
      () => this.#reader.listCheckpoints(this.#runId, pageAfter({ checkpoint: checkpoint - 1 })),
    );
  }
}

/** The number of a wait in its run. */
export function waitIndex({ waitId: id }: WaitRecord): number {
  return parseWaitId(id)?.index ?? 0;
}

/** The page that begins with the record after this key. */
function pageAfter<Key>(after: Key): { readonly after: Key; readonly limit: number } {
  return { after, limit: RECORDS_PER_PAGE };
}

class LastPage<T> {
  #page: readonly T[] = [];

  async find(isIt: (record: T) => boolean, read: () => Promise<readonly T[]>): Promise<T | null> {
    const known = this.#page.find(isIt);
    if (known !== undefined) return known;
    this.#page = await read();
    return this.#page.find(isIt) ?? null;
  }
}
