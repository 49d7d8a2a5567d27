import { logEvents } from "../../adapters/event-log.ts";
import type { Amount } from "../../core/usage/usage.ts";
import type { Clock } from "../../engine/ports/clock.ts";
import type { RunEvent } from "../../engine/ports/run-events.ts";
import type { CliContext } from "../context/cli-context.ts";
import { logLines } from "./log-lines.ts";
import type { LogSettings } from "./log-options.ts";
import { progressAfter, progressAt, type RunProgress, withChargedBefore } from "./progress.ts";
import type { Tone } from "./progress-lines.ts";
import type { RunScreen } from "./progress-screen.ts";

const LEVELS = { bad: "error", warning: "warn", good: "info", quiet: "info", plain: "info" } as const;

type Logger = ReturnType<typeof logLines>;

/** Shows a run as a log: one line per event, on stderr. */
export class LogScreen implements RunScreen {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #log: (event: RunEvent) => void;
  #progress: RunProgress;
  hint = "";

  private constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
    this.#log = logEvents(logger);
    this.#progress = progressAt(clock.monotonic());
  }

  static open(context: CliContext, settings: LogSettings): LogScreen {
    return new LogScreen(logLines(context, settings), context.clock);
  }

  readonly showEvent = (event: RunEvent): void => {
    this.#progress = progressAfter(this.#progress, event, this.#clock.monotonic(), () => null);
    this.#log(event);
  };

  print(tone: Tone, text: string): void {
    this.#logger[LEVELS[tone]]({}, text);
  }

  addEarlierCharges(charged: Amount): void {
    this.#progress = withChargedBefore(this.#progress, charged);
  }

  get progress(): RunProgress {
    return this.#progress;
  }

  /** A log has what happened, and nothing that may be taken back. */
  showLive(): void {}
  start(): void {}
  stop(): void {}
  resume(): void {}
}
