import { SILENT_WORKER_MS } from "../../account/health/queue-health.ts";
import { asksPeople } from "../../core/wait.ts";
import type { HeldRun } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import { cleanLine, cut } from "../context/terminal-text.ts";
import type { ActivityView, WorkerView } from "./activity-view.ts";
import {
  counted,
  formatDuration,
  formatMoment,
  formatTimeOfDay,
  formatWholeNumber,
  paint,
} from "./format.ts";
import { type Column, formatTable } from "./table.ts";

/** More queues and workers than this are counted. */
const MOST_ROWS = 10;

/** The activity of a store, as one text: queues, workers, the runs that they hold, and what waits for whom. */
export function activityText(context: CliContext, view: ActivityView, title: string): string {
  const { bold } = paint(context);
  const section = (name: string, body: string) => (body === "" ? "" : `\n${bold(name)}\n${body}`);
  return [
    headText(context, view, title),
    section("Queues", queuesText(context, view)),
    section("Workers", workersText(context, view)),
    section("Held runs", heldText(context, view)),
    section("Waits", waitsText(context, view)),
  ].join("");
}

function headText(context: CliContext, { at, workers, held, running }: ActivityView, title: string): string {
  const { bold, dim } = paint(context);
  const living = workers.filter(({ seenMs }) => seenMs < SILENT_WORKER_MS);
  const room = total(living, ({ facts }) => facts.concurrency);
  const busy = total(living, ({ facts }) => facts.runIds.length);
  const figures = [
    counted(living.length, "worker"),
    ...(living.length === 0 ? [] : [`${busy} of ${room} runs`]),
    ...(living.length > 0 || held.length === 0 ? [] : [`${total(running, (each) => each.running)} held`]),
    `${formatRate(total(living, (each) => each.claimedPerMin))} claimed/min`,
    `${formatRate(total(living, (each) => each.finishedPerMin))} finished/min`,
  ];
  const width = context.stdout.isTerminal ? context.stdout.columns - 1 : Number.POSITIVE_INFINITY;
  const name = cleanLine(title);
  const first = cut(`pawl top  ${formatTimeOfDay(at)}  ${name}`, width);
  return `${bold(first.slice(0, 8))}${dim(first.slice(8))}\n${cut(figures.join(" · "), width)}\n`;
}

type QueueRow = {
  readonly queue: string;
  readonly ready: number;
  readonly oldestMs: number;
  readonly running: number;
  readonly sleeping: number;
  readonly nextInMs: number | null;
};

function queueRows({ ready, running, sleeping }: ActivityView): readonly QueueRow[] {
  const names = [...ready, ...running, ...sleeping].map(({ queue }) => queue);
  return [...new Set(names)].sort().map((queue) => {
    const depths = ready.filter((each) => each.queue === queue);
    const asleep = sleeping.find((each) => each.queue === queue);
    return {
      queue,
      ready: total(depths, (each) => each.ready),
      oldestMs: Math.max(0, ...depths.map(({ oldestMs }) => oldestMs)),
      running: running.find((each) => each.queue === queue)?.running ?? 0,
      sleeping: asleep?.sleeping ?? 0,
      nextInMs: asleep?.nextInMs ?? null,
    };
  });
}

function queuesText(context: CliContext, view: ActivityView): string {
  const columns: readonly Column<QueueRow>[] = [
    { title: "queue", value: ({ queue }) => queue, rank: 0, atLeast: 8 },
    { title: "ready", value: ({ ready }) => formatWholeNumber(ready), rank: 0, align: "right" },
    {
      title: "oldest",
      value: ({ ready, oldestMs }) => (ready === 0 ? "" : formatDuration(oldestMs)),
      rank: 2,
      align: "right",
    },
    { title: "running", value: ({ running }) => formatWholeNumber(running), rank: 1, align: "right" },
    { title: "sleeping", value: ({ sleeping }) => formatWholeNumber(sleeping), rank: 3, align: "right" },
    {
      title: "next wake",
      value: ({ nextInMs }) => wakeText(nextInMs, view.at),
      rank: 4,
      paint: (paints, text, { nextInMs }) => (isOverdue(nextInMs) ? paints.yellow(text) : text),
    },
  ];
  const rows = queueRows(view);
  return rows.length === 0 ? "  nothing is queued\n" : listText(context, columns, rows, rows.length);
}

/** Workers wake runs within a second or two. */
const OVERDUE_MS = 10_000;

function isOverdue(nextInMs: number | null): boolean {
  return nextInMs !== null && nextInMs < -OVERDUE_MS;
}

function wakeText(nextInMs: number | null, now: number): string {
  if (nextInMs === null) return "";
  if (isOverdue(nextInMs)) return `overdue by ${formatDuration(-nextInMs)}`;
  return nextInMs < 60_000 ? `in ${formatDuration(nextInMs)}` : formatMoment(now + nextInMs, now);
}

function workersText(context: CliContext, { workers }: ActivityView): string {
  const columns: readonly Column<WorkerView>[] = [
    { title: "worker", value: workerName, rank: 0, atLeast: 10 },
    { title: "version", value: ({ facts }) => facts.version ?? "", rank: 4, atLeast: 7 },
    {
      title: "runs",
      value: ({ facts }) => `${facts.runIds.length}/${facts.concurrency}`,
      rank: 1,
      align: "right",
    },
    { title: "claimed/min", value: (each) => formatRate(each.claimedPerMin), rank: 5, align: "right" },
    { title: "finished/min", value: (each) => formatRate(each.finishedPerMin), rank: 3, align: "right" },
    {
      title: "p95 latency",
      value: ({ facts }) => (facts.claimLatency === null ? "" : formatDuration(facts.claimLatency.p95Ms)),
      rank: 6,
      align: "right",
    },
    {
      title: "seen",
      value: ({ seenMs }) =>
        seenMs < SILENT_WORKER_MS
          ? `${formatDuration(seenMs)} ago`
          : `not seen for ${formatDuration(seenMs)}`,
      rank: 2,
      paint: (paints, text, { seenMs }) => (seenMs < SILENT_WORKER_MS ? text : paints.red(text)),
    },
  ];
  return workers.length === 0
    ? "  no worker takes runs: `pawl worker` starts one\n"
    : listText(context, columns, workers, workers.length);
}

function workerName({ host, facts }: WorkerView): string {
  return `${host}/${facts.pid}`;
}

/** The process of an owner, as workers are named: one that has not reported the run yet, or is no worker. */
function ownerName(owner: string | null): string {
  return owner?.replace(/^(.+\/\d+)\/[^/]*$/, "$1") ?? "nobody";
}

function heldText(context: CliContext, { held, running, workers }: ActivityView): string {
  const holder = new Map(
    workers.flatMap((worker) => worker.facts.runIds.map((runId) => [runId, workerName(worker)] as const)),
  );
  const columns: readonly Column<HeldRun>[] = [
    // Enough of it to tell apart what began in the same millisecond. Commands take the beginning of an id.
    { title: "run", value: ({ runId }) => runId, rank: 0, atLeast: 18 },
    { title: "pipeline", value: ({ pipeline }) => pipeline, rank: 3, atLeast: 8 },
    {
      title: "by",
      value: ({ runId, owner }) => holder.get(runId) ?? ownerName(owner),
      rank: 2,
      atLeast: 10,
    },
    { title: "held", value: ({ heldMs }) => formatDuration(heldMs), rank: 4, align: "right" },
    {
      title: "silent",
      value: ({ silentMs }) => formatDuration(silentMs),
      rank: 1,
      align: "right",
      // Leases are renewed several times before they are over.
      paint: (paints, text, { silentMs, leaseMs }) => (silentMs > leaseMs ? paints.red(text) : text),
    },
  ];
  return held.length === 0
    ? ""
    : listText(
        context,
        columns,
        held,
        total(running, (each) => each.running),
      );
}

function waitsText(context: CliContext, { waits, firstWaits }: ActivityView): string {
  if (waits.length === 0) return "";
  const kinds = formatTable(
    context,
    [
      { title: "about", value: ({ kind }) => kind, rank: 0 },
      { title: "open", value: ({ open }) => formatWholeNumber(open), rank: 0, align: "right" },
      { title: "oldest", value: ({ oldestMs }) => formatDuration(oldestMs), rank: 1, align: "right" },
      {
        title: "first",
        value: ({ kind }) =>
          firstWaits
            .filter((each) => each.kind === kind)
            .map(({ waitId }) => waitId)
            .join(" "),
        rank: 2,
        atLeast: 12,
      },
    ] satisfies readonly Column<ActivityView["waits"][number]>[],
    waits,
    "  ",
  );
  return waits.some(({ kind }) => asksPeople(kind))
    ? `${kinds}  \`pawl waits\` shows the questions\n`
    : kinds;
}

function listText<R>(
  context: CliContext,
  columns: readonly Column<R>[],
  rows: readonly R[],
  count: number,
): string {
  const shown = rows.slice(0, MOST_ROWS);
  const more = count - shown.length;
  return `${formatTable(context, columns, shown, "  ")}${more > 0 ? `  and ${formatWholeNumber(more)} more\n` : ""}`;
}

function formatRate(perMinute: number): string {
  return perMinute < 10 ? String(perMinute) : formatWholeNumber(Math.round(perMinute));
}

function total<T>(list: readonly T[], value: (each: T) => number): number {
  return Math.round(list.reduce((sum, each) => sum + value(each), 0) * 10) / 10;
}
