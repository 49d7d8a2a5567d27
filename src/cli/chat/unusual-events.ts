import type { Clock } from "../../engine/ports/clock.ts";
import type { RunEvent } from "../../engine/ports/run-events.ts";
import { progressAfter, progressAt, type RunProgress } from "../screen/progress.ts";
import { type LineAudience, type ProgressLine, progressLines } from "../screen/progress-lines.ts";

/** What the process that answers knows, and no viewer of the log sees. */
const UNUSUAL: readonly RunEvent["type"][] = [
  "model.failed",
  "usage.baseline",
  "tool.retrying",
  "tool.reconciled",
  "tool.waiting",
  "tool.in_doubt",
  "tool.deduplicated",
  "warning",
];

/** The lines about what goes wrong, or is unusual, while this process answers. */
export class UnusualEvents {
  readonly #clock: Clock;
  readonly #audience: LineAudience;
  #progress: RunProgress;

  constructor(clock: Clock, audience: LineAudience) {
    this.#clock = clock;
    this.#audience = audience;
    this.#progress = progressAt(clock.monotonic());
  }

  take(event: RunEvent): readonly ProgressLine[] {
    const now = this.#clock.monotonic();
    const isUnusual = UNUSUAL.includes(event.type);
    const lines = isUnusual ? progressLines(this.#progress, event, now, this.#audience) : [];
    this.#progress = progressAfter(this.#progress, event, now, () => null);
    return lines;
  }
}
