import { isKept } from "../../../core/lineage.ts";
import { addUsage, NO_USAGE, type Usage } from "../../../core/usage/usage.ts";
import type { ExchangeRecord, Store, ToolCallRecord, TurnRecord, WaitRecord } from "../../../store/store.ts";
import { endError, shownIsAbandoned, waitsError } from "./mirror-errors.ts";
import {
  type CallFate,
  decideCallFate,
  decideTurnFate,
  type MirroredEnd,
  type TurnFate,
  waitsForPeople,
} from "./mirrored-state.ts";
import type { MirroredTarget } from "./mirrored-target.ts";
import type { RunView } from "./run-view.ts";

/** The part of a run that one call shows. */
export type MirroredPart =
  /** A whole run, or what follows a turn of it. */
  | { readonly of: "run"; readonly afterTurn: number }
  /** The exchange of a conversation that has this message; from the turn that takes the first one on. */
  | { readonly of: "messages"; readonly firstNo: number; readonly lastNo: number }
  /** What follows a turn in its exchange. */
  | { readonly of: "exchange"; readonly exchange: number; readonly afterTurn: number };

/** Reads the turns, the receipts and the end of the part of a run that one call shows. */
export class MirroredRun {
  readonly view: RunView;
  readonly target: MirroredTarget;
  readonly #store: Store;
  readonly #part: MirroredPart;
  /** The last turn that was shown; null until the first one is known. */
  #shown: number | null;
  /** Set once the store says that there is no answer. */
  #end: Error | null = null;

  constructor(view: RunView, target: MirroredTarget, part: MirroredPart) {
    this.view = view;
    this.target = target;
    this.#store = target.store;
    this.#part = part;
    this.#shown = part.of === "messages" ? null : part.afterTurn;
  }

  /** The next turn, once its answer is journaled. `orElse` may find something to show before that. */
  async nextTurn<T>(orElse: (turnIndex: number) => T | null): Promise<TurnRecord | T> {
    return this.view.until<TurnRecord | T>(async () => {
      const after = await this.#after();
      if (after === null) return this.#failIfEnded(null);
      const earlier = orElse(after + 1);
      if (earlier !== null) return earlier;
      const [turn] = await this.#turnsAfter(after, 1);
      if (turn === undefined) return this.#failIfEnded(after);
      this.#shown = turn.turnIndex;
      return turn;
    });
  }

  /** Whether a turn is the last one that is shown. Its calls have receipts, if it has any. */
  async fateOf({ turnIndex }: TurnRecord, { hasCalls }: { readonly hasCalls: boolean }): Promise<TurnFate> {
    const { isConversation, mayEndWithCalls } = this.target;
    return this.view.until(async () => {
      const [turn, next] = await this.#turnsAfter(turnIndex - 1, 2);
      if (turn?.turnIndex !== turnIndex) throw shownIsAbandoned(this.view.runId, turnIndex);
      const end = await this.#readEnd();
      const endsWithCommit = isConversation || (hasCalls && !mayEndWithCalls);
      return decideTurnFate({ turn, hasNext: next !== undefined, end, endsWithCommit });
    });
  }

  /** True for the error with which what is shown has ended, by what is stored: nothing more comes. */
  isEnd(error: unknown): boolean {
    return this.#end !== null && this.#end === error;
  }

  /** True if the turn that was shown last, whose calls have receipts, is the last one. */
  async isOver(): Promise<boolean> {
    if (this.#end !== null) return true;
    const turnIndex = this.#shown ?? 0;
    const [turn] = await this.#turnsAfter(turnIndex - 1, 1);
    if (turn?.turnIndex !== turnIndex) throw shownIsAbandoned(this.view.runId, turnIndex);
    return (await this.fateOf(turn, { hasCalls: true })) === "last";
  }

  /** What becomes of a call, once that is known. */
  async fateOfCall(toolCallId: string): Promise<Exclude<CallFate, { kind: "stuck" }>> {
    const fate = await this.view.until(async () => {
      const call = await this.#store.getToolCall(toolCallId);
      if (call === null) throw shownIsAbandoned(this.view.runId, null);
      const hasReceipt = call.receipt !== null;
      const [waits, end] = hasReceipt ? [[], null] : [await this.#openWaits(), await this.#readEnd()];
      return decideCallFate({ toolCallId, hasReceipt, waits, end });
    });
    if (fate.kind === "stuck") throw this.#errorOf(fate.end);
    return fate;
  }

  /** Resolves when a call that a person has decided about has its receipt; rejects if it waits for other people. */
  async afterDecision(toolCallId: string): Promise<void> {
    const fate = await this.fateOfCall(toolCallId);
    if (fate.kind === "asked") throw waitsError(this.view.runId, [fate.wait]);
  }

  /** The ledger's row of a call that has a receipt. */
  async settledCall(toolCallId: string): Promise<ToolCallRecord> {
    return this.view.until(async () => {
      const call = await this.#store.getToolCall(toolCallId);
      return call === null || call.receipt === null ? null : call;
    });
  }

  /** What the model calls of a turn have used, those without an answer included. */
  async usageOf({ stepPath, turnIndex }: TurnRecord): Promise<Usage> {
    const calls = await this.#store.listModelCalls(this.view.runId, {
      after: { stepPath, turnIndex, attempt: 0 },
      limit: MOST_ATTEMPTS,
    });
    // A summary of the history is asked for under the turn that follows, before its exchange begins.
    const exchange = await this.#exchange();
    const since = exchange?.firstTurn === turnIndex ? exchange.beganAt : 0;
    return calls
      .filter((call) => call.stepPath === stepPath && call.turnIndex === turnIndex && call.openedAt >= since)
      .reduce((sum, { charge }) => (charge === null ? sum : addUsage(sum, charge.usage)), NO_USAGE);
  }

  /** The number of the last turn before those that are shown; null if no turn has taken the message yet. */
  async #after(): Promise<number | null> {
    if (this.#shown !== null || this.#part.of !== "messages") return this.#shown;
    const first = await this.#message(this.#part.firstNo);
    const takenBy = first?.takenBy ?? null;
    return takenBy === null ? null : takenBy.turn - 1;
  }

  /** Turns behind this one, in order, without those that the run has abandoned. */
  async #turnsAfter(turnIndex: number, most: number): Promise<readonly TurnRecord[]> {
    const { runId } = this.view;
    const { stepPath } = this.target;
    const lineages = (await this.#store.listLineages(runId)).filter((each) => each.stepPath === stepPath);
    if (this.#shown !== null && this.#shown > 0 && !isKept(lineages, this.#shown))
      throw shownIsAbandoned(runId, this.#shown);
    if ((await this.#store.findStep(runId, stepPath)) === null) return [];
    const kept: TurnRecord[] = [];
    for (let after = turnIndex; ; ) {
      const page = await this.#store.listTurns(runId, { after: { stepPath, turnIndex: after }, limit: most });
      const own = page.filter((turn) => turn.stepPath === stepPath);
      kept.push(...own.filter((turn) => isKept(lineages, turn.turnIndex)));
      const last = own.at(-1);
      if (kept.length >= most || last === undefined || own.length < most) return kept.slice(0, most);
      after = last.turnIndex;
    }
  }

  /** Null while there may be more; `after` is the last turn that was shown. */
  async #failIfEnded(after: number | null): Promise<null> {
    const end = await this.#readEnd();
    if (end === null) return null;
    // Read before the end: a turn may have been stored in between.
    if (after !== null && (await this.#turnsAfter(after, 1)).length > 0) return null;
    if (end.kind !== "complete") throw this.#errorOf(end);
    throw new Error(`Run ${this.view.runId} is complete, and has no further turn to show.`);
  }

  #errorOf(end: Exclude<MirroredEnd, { kind: "complete" }>): Error {
    return end.kind === "failed" ? this.#endedWith(end.error) : waitsError(this.view.runId, end.waits);
  }

  #endedWith(error: Error): Error {
    this.#end = error;
    return error;
  }

  async #readEnd(): Promise<MirroredEnd | null> {
    const { runId } = this.view;
    const run = await this.#store.getRun(runId);
    if (run === null) return null;
    const exchange = await this.#exchange();
    if (exchange !== null && exchange.endedAt !== null) {
      if (exchange.outcome === "complete") return { kind: "complete", lastTurn: exchange.lastTurn };
      return { kind: "failed", error: endError.ofExchange(runId, exchange) };
    }
    switch (run.status) {
      case "succeeded":
        if (this.#part.of === "run") return { kind: "complete", lastTurn: null };
        return { kind: "failed", error: endError.ofClosedConversation(runId) };
      case "failed":
      case "cancelled":
      case "moved":
        return { kind: "failed", error: endError.ofRun(run) };
      case "waiting": {
        const waits = waitsForPeople(await this.#openWaits());
        return waits.length === 0 ? null : { kind: "waits", waits };
      }
      case "queued":
      case "running":
        return null;
    }
  }

  /** The exchange that is shown to its end; null in a run that is no conversation, and before a turn has begun it. */
  async #exchange(): Promise<ExchangeRecord | null> {
    const number = await this.#exchangeNumber();
    if (number === null) return null;
    const { stepPath } = this.target;
    const after = { stepPath, exchange: number - 1 };
    const [found] = await this.#store.listExchanges(this.view.runId, { after, limit: 1 });
    return found?.exchange === number ? found : null;
  }

  async #exchangeNumber(): Promise<number | null> {
    if (this.#part.of === "run") return null;
    if (this.#part.of === "exchange") return this.#part.exchange;
    const last = await this.#message(this.#part.lastNo);
    if (last?.status === "returned" || last?.status === "withdrawn")
      throw this.#endedWith(endError.ofMessage(this.view.runId, last));
    return last?.takenBy?.exchange ?? null;
  }

  async #message(no: number) {
    const [found] = await this.#store.listMessages(this.view.runId, { after: no - 1, limit: 1 });
    return found?.messageNo === no ? found : null;
  }

  #openWaits(): Promise<readonly WaitRecord[]> {
    return this.#store.listWaits(this.view.runId, { open: true });
  }
}

/** More than a turn ever has. */
const MOST_ATTEMPTS = 1_000;
