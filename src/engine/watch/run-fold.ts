import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { EventRecord, LiveAttempt } from "../../store/store.ts";
import type { AttemptWithdrawn } from "../ports/live-events.ts";

/** An attempt of a model call that is over without an answer. */
export type UnansweredAttempt = Pick<AttemptWithdrawn, "step" | "turn" | "attempt" | "why">;

type OpenAttempt = Omit<UnansweredAttempt, "why">;

/** After these nothing of earlier attempts is open, and the epoch is known. */
const CLAIMS: readonly string[] = ["run.created", "run.claimed", "run.arrived"];

/** Which worker holds the run, and which attempts are open, by the events of its log up to one of them. */
export class RunFold {
  #epoch = 0;
  #isHeld = false;
  #isEnded = false;
  readonly #open = new Map<string, OpenAttempt>();

  /** True if the state after this event does not depend on those before it. */
  static isKnownAfter({ type }: EventRecord): boolean {
    return CLAIMS.includes(type);
  }

  /** True while a worker has the run, as far as its log says. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** True for what belongs to the open attempt of the present epoch: anything else is old, and is not shown. */
  isOpen({ step, turn, attempt, epoch }: LiveAttempt): boolean {
    return epoch === this.#epoch && this.#open.get(keyOf(step, turn))?.attempt === attempt;
  }

  /** Goes one event further. Returns the attempts that have ended with it and brought no answer. */
  apply({ type, data }: EventRecord): readonly UnansweredAttempt[] {
    const facts = isJsonObject(data) ? data : {};
    if (type.startsWith("run.")) return this.#applyToRun(type, facts);
    const { step, turn, attempt, reserved, interrupted } = facts;
    if (typeof step !== "string" || typeof turn !== "number") return [];
    switch (type) {
      case "turn.opened":
        if (typeof attempt === "number") this.#open.set(keyOf(step, turn), { step, turn, attempt });
        return [];
      case "model.settled":
        return this.#end(
          (each) => each.step === step && each.turn === turn,
          interrupted === true ? "interrupted" : "failed",
        );
      case "lineage.begun":
        return this.#end((each) => each.step === step, "interrupted");
      case "turn.journaled":
      case "turn.committed":
        this.#open.delete(keyOf(step, turn));
        // A commit may reserve for the next turn.
        if (type === "turn.committed" && reserved !== undefined)
          this.#open.set(keyOf(step, turn + 1), { step, turn: turn + 1, attempt: 1 });
        return [];
      default:
        return [];
    }
  }

  #applyToRun(type: string, { epoch }: JsonObject): readonly UnansweredAttempt[] {
    if (CLAIMS.includes(type)) {
      this.#epoch = typeof epoch === "number" ? epoch : this.#epoch;
      this.#isHeld = type !== "run.arrived";
      this.#isEnded = false;
      return this.#end(() => true, "lost");
    }
    switch (type) {
      case "run.succeeded":
      case "run.failed":
      case "run.cancelled":
        this.#isEnded = true;
        this.#isHeld = false;
        return this.#end(() => true, "interrupted");
      case "run.waiting":
      case "run.queued":
      case "run.interrupted":
        this.#isHeld = false;
        return this.#end(() => true, "interrupted");
      case "run.resume_requested":
        this.#isEnded = false;
        this.#isHeld = false;
        return this.#end(() => true, "lost");
      case "run.stalled":
        this.#isHeld = false;
        return this.#end(() => true, "lost");
      default:
        return [];
    }
  }

  #end(
    isOver: (attempt: OpenAttempt) => boolean,
    why: UnansweredAttempt["why"],
  ): readonly UnansweredAttempt[] {
    const over = [...this.#open].filter(([, attempt]) => isOver(attempt));
    for (const [key] of over) this.#open.delete(key);
    return over.map(([, attempt]) => ({ ...attempt, why }));
  }
}

function keyOf(step: string, turn: number): string {
  return `${step}#${turn}`;
}
