import { appendPart, type LivePart } from "../../core/turn/live-part.ts";
import type { LiveAttempt, LiveRow } from "../../store/store.ts";
import type { AttemptWithdrawn, LivePartEvent } from "../ports/live-events.ts";
import type { RunFold, UnansweredAttempt } from "./run-fold.ts";

type Shown = { readonly of: LiveAttempt; next: number; hasShown: boolean; hasGap: boolean };

/** What one viewer was shown of the attempts that are open. */
export class ShownParts {
  readonly #runId: string;
  readonly #attempts = new Map<string, Shown>();

  constructor(runId: string) {
    this.#runId = runId;
  }

  /** The pieces to show: only of the open attempt of the present epoch, and nothing behind a gap. */
  show(rows: readonly LiveRow[], fold: RunFold): readonly LivePartEvent[] {
    const events: LivePartEvent[] = [];
    const found = Map.groupBy(
      rows.filter((row) => fold.isOpen(row)),
      keyOf,
    );
    for (const [key, own] of found) {
      const [first] = own;
      if (first === undefined) continue;
      const shown = this.#attempts.get(key) ?? { of: first, next: 0, hasShown: false, hasGap: false };
      this.#attempts.set(key, shown);
      const { step, turn, attempt } = first;
      for (const part of partsIn(own, shown))
        events.push({ type: "part", runId: this.#runId, step, turn, attempt, ...part });
    }
    return events;
  }

  /** What has to be taken back: those of the ended attempts of which anything was shown. */
  withdraw(ended: readonly UnansweredAttempt[]): readonly AttemptWithdrawn[] {
    const withdrawn: AttemptWithdrawn[] = [];
    for (const { step, turn, attempt, why } of ended)
      for (const [key, { of, hasShown }] of this.#attempts) {
        if (of.step !== step || of.turn !== turn || of.attempt !== attempt) continue;
        this.#attempts.delete(key);
        if (hasShown)
          withdrawn.push({ type: "attempt.withdrawn", runId: this.#runId, step, turn, attempt, why });
      }
    return withdrawn;
  }

  /** An answer is whole: nothing of its attempt is shown any more. */
  forgetClosed(fold: RunFold): void {
    for (const [key, { of }] of this.#attempts) if (!fold.isOpen(of)) this.#attempts.delete(key);
  }
}

/** The pieces of these rows in order, each run of neighbours as one. */
function partsIn(rows: readonly LiveRow[], shown: Shown): readonly LivePart[] {
  const parts: LivePart[] = [];
  for (const { index, parts: own } of rows) {
    if (index < shown.next || shown.hasGap) continue;
    shown.hasGap = index > shown.next;
    if (shown.hasGap) continue;
    shown.next = index + 1;
    for (const part of own) appendPart(parts, part);
  }
  if (parts.length > 0) shown.hasShown = true;
  return parts;
}

function keyOf({ step, turn, attempt, epoch }: LiveAttempt): string {
  return `${step}#${turn}.${attempt}@${epoch}`;
}
