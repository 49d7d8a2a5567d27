import type { WorkerNotice } from "../../engine/worker/worker-options.ts";
import type { CliContext } from "../context/cli-context.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { counted, formatDuration, formatTime, formatTimeOfDay, paint } from "./format.ts";

type LineColour = "red" | "yellow" | null;

/** Prints what a worker does, a line for each thing, on stderr. */
export class WorkerLog {
  readonly #context: CliContext;
  claimed = 0;
  left = 0;

  constructor(context: CliContext) {
    this.#context = context;
  }

  print(notice: WorkerNotice): void {
    if (notice.type === "claimed") this.claimed += 1;
    if (notice.type === "left") this.left += 1;
    const [text, colour] = lineOf(notice);
    this.line(text, colour);
  }

  line(text: string, colour: LineColour = null): void {
    const { stderr, clock } = this.#context;
    const colours = paint(this.#context);
    const shown = cleanLine(text);
    stderr.write(
      `${colours.dim(formatTimeOfDay(clock.now()))} ${colour === null ? shown : colours[colour](shown)}\n`,
    );
  }
}

function lineOf(notice: WorkerNotice): readonly [string, LineColour] {
  switch (notice.type) {
    case "claimed":
      return [`${notice.runId} claimed: ${notice.pipeline}, ${waited(notice.afterMs)}`, null];
    case "left":
      return leftLine(notice);
    case "unknown_pipelines": {
      const those = notice.pipelines.length === 1 ? "that pipeline" : "those pipelines";
      return [
        `runs of ${notice.pipelines.join(", ")} wait, and this worker does not have ${those}`,
        "yellow",
      ];
    }
    case "stalled":
      return [`${notice.runId} waits for a person: workers died in it again and again`, "yellow"];
    case "unfit":
      return [`${notice.runId} is left alone: ${textOf(notice.error)}`, "red"];
    case "blocked":
      return [
        `the event loop was blocked for ${formatDuration(notice.forMs)}: leases were not renewed`,
        "yellow",
      ];
    case "store_failed":
      return [`the store failed, and is tried again: ${textOf(notice.error)}`, "red"];
    case "signals_only":
      return [`works without wake-up jobs: ${notice.reason}`, null];
    case "deleted":
      return [`${counted(notice.runs, "old run")} deleted`, null];
    case "handing_back":
      return [handingBack(notice.runs), null];
    case "fired":
    case "schedule_changed":
    case "schedule_ignored":
    case "schedule_failed":
      return scheduleLine(notice);
  }
}

type ScheduleNotice = Extract<
  WorkerNotice,
  { type: "fired" | "schedule_changed" | "schedule_ignored" | "schedule_failed" }
>;

function scheduleLine(notice: ScheduleNotice): readonly [string, LineColour] {
  switch (notice.type) {
    case "fired": {
      const { name, plannedAt, outcome, runId, why } = notice.firing;
      const what =
        outcome === "started" ? `started ${runId ?? "a run"}` : `${outcome}: ${why ?? "no reason given"}`;
      return [
        `schedule ${name}, planned for ${formatTime(plannedAt)}: ${what}`,
        outcome === "started" ? null : "yellow",
      ];
    }
    case "schedule_changed":
      return [`schedule ${notice.schedule} is ${notice.change}`, null];
    case "schedule_ignored":
      return [`schedule ${notice.schedule} is not changed: ${notice.why}`, "yellow"];
    case "schedule_failed":
      return [
        `${notice.schedule === null ? "the schedules" : `schedule ${notice.schedule}`} failed, and will be tried again: ${textOf(notice.error)}`,
        "red",
      ];
  }
}

function waited(afterMs: number | null): string {
  return afterMs === null ? "left by another worker" : `ready for ${formatDuration(afterMs)}`;
}

function leftLine({
  runId,
  status,
  error,
}: Extract<WorkerNotice, { type: "left" }>): readonly [string, LineColour] {
  if (error === null || status === "waiting") return [`${runId} ${status ?? "left"}`, null];
  return [`${runId} ${status ?? "left"}: ${textOf(error)}`, "red"];
}

function handingBack(runs: number): string {
  return runs === 0
    ? "stops"
    : `stops: finishes what is in progress, and hands ${counted(runs, "run")} back (again: stop at once)`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
