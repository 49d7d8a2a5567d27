import type { EventLogger } from "../../adapters/event-log.ts";
import { visibleJson } from "../../core/visible-text.ts";
import type { CliContext } from "../context/cli-context.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { paint } from "./format.ts";
import { LOG_LEVELS, type LogSettings } from "./log-options.ts";

type LineLevel = "debug" | "info" | "warn" | "error";

/** Writes log lines to stderr, synchronously, so that they survive a kill. JSON lines have the fields of pino's. */
export function logLines(context: CliContext, { level, format }: LogSettings): Required<EventLogger> {
  const isLevelEnabled = (wanted: string) =>
    LOG_LEVELS.findIndex((each) => each === wanted) >= LOG_LEVELS.indexOf(level);
  const write = (at: LineLevel) => (fields: object, message: string) => {
    if (!isLevelEnabled(at)) return;
    const time = new Date();
    const line =
      format === "json"
        ? visibleJson(JSON.stringify({ level: at, time: time.toISOString(), ...fields, msg: message }))
        : prettyLine(context, at, time, fields, message);
    context.stderr.write(`${line}\n`);
  };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    isLevelEnabled,
  };
}

const COLOURS = { debug: "blue", info: "green", warn: "yellow", error: "red" } as const;

/** `[12:30:05.123] INFO: tool done {"event":"tool.finished"}` */
function prettyLine(
  { useColour, stderr }: CliContext,
  level: LineLevel,
  time: Date,
  fields: object,
  message: string,
): string {
  const colours = paint({ useColour: useColour && stderr.isTerminal });
  const [hours, minutes, seconds] = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) =>
    String(part).padStart(2, "0"),
  );
  const clock = `${hours}:${minutes}:${seconds}.${String(time.getMilliseconds()).padStart(3, "0")}`;
  const shown =
    Object.keys(fields).length === 0 ? "" : ` ${colours.gray(visibleJson(JSON.stringify(fields)))}`;
  const name = colours[COLOURS[level]](level.toUpperCase());
  return `[${clock}] ${name}: ${colours.cyan(cleanLine(message))}${shown}`;
}
