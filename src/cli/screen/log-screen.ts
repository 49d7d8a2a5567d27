import { logEvents } from "../../adapters/event-log.ts";
import type { Amount } from "../../core/usage/usage.ts";
import { visibleJson } from "../../core/visible-text.ts";
import type { Clock } from "../../engine/ports/clock.ts";
import type { RunEvent } from "../../engine/ports/run-events.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { LogSettings } from "./log-options.ts";
import { progressAfter, progressAt, type RunProgress, withChargedBefore } from "./progress.ts";
import type { Tone } from "./progress-lines.ts";
import type { RunScreen } from "./progress-screen.ts";

const LEVELS = { bad: "error", warning: "warn", good: "info", quiet: "info", plain: "info" } as const;

type Logger = Awaited<ReturnType<typeof makeLogger>>;

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

  static async open(context: CliContext, settings: LogSettings): Promise<LogScreen> {
    return new LogScreen(await makeLogger(context, settings), context.clock);
  }

  readonly showEvent = (event: RunEvent): void => {
    this.#progress = progressAfter(this.#progress, event, this.#clock.monotonic(), () => null);
    this.#log(event);
  };

  print(tone: Tone, text: string): void {
    this.#logger[LEVELS[tone]](text);
  }

  addEarlierCharges(charged: Amount): void {
    this.#progress = withChargedBefore(this.#progress, charged);
  }

  get progress(): RunProgress {
    return this.#progress;
  }

  start(): void {}
  stop(): void {}
  resume(): void {}
}

/** Pino is imported on demand, since most commands do not log. Lines are written synchronously, so that they survive a kill. */
async function makeLogger({ stderr, useColour }: CliContext, { level, format }: LogSettings) {
  const { pino } = await import("pino");
  const destination = { write: (line: string) => stderr.write(visibleJson(line)) };
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (format === "json") return pino(options, destination);
  const { prettyFactory } = await import("pino-pretty");
  const pretty = prettyFactory({
    colorize: useColour && stderr.isTerminal,
    translateTime: "SYS:HH:MM:ss.l",
    singleLine: true,
  });
  return pino(options, { write: (line) => stderr.write(visibleJson(pretty(line))) });
}
