// The rules of the published Trace Event Format, as far as this trace uses it.

type Unknown = { readonly [name: string]: unknown };

const PHASES = ["X", "i", "M"];
const METADATA: { readonly [name: string]: { readonly argument: string; readonly type: string } } = {
  process_name: { argument: "name", type: "string" },
  thread_name: { argument: "name", type: "string" },
  process_sort_index: { argument: "sort_index", type: "number" },
  thread_sort_index: { argument: "sort_index", type: "number" },
};

/** The problems of a trace; empty if a viewer shows all of it. */
export function traceProblems(trace: unknown): readonly string[] {
  if (!isObject(trace)) return ["the trace is not an object"];
  if (!Array.isArray(trace.traceEvents)) return ["traceEvents is not a list"];
  if (trace.displayTimeUnit !== "ms" && trace.displayTimeUnit !== "ns")
    return ["displayTimeUnit is neither ms nor ns"];
  const events: readonly unknown[] = trace.traceEvents;
  const shapes = events.flatMap((event, i) => eventProblems(event).map((what) => `event ${i}: ${what}`));
  return shapes.length > 0
    ? shapes
    : [...nameProblems(events as Unknown[]), ...nestProblems(events as Unknown[])];
}

function eventProblems(event: unknown): readonly string[] {
  if (!isObject(event)) return ["is not an object"];
  const { name, ph, ts, pid, tid, args, cat, dur, s } = event;
  const problems: string[] = [];
  const demand = (holds: boolean, what: string) => void (holds || problems.push(what));
  demand(typeof name === "string" && name !== "", "has no name");
  demand(PHASES.includes(String(ph)), `has phase ${String(ph)}`);
  demand(isTime(ts), "has no time in whole microseconds");
  demand(Number.isSafeInteger(pid) && Number.isSafeInteger(tid), "has no process or thread");
  demand(isObject(args), "has no arguments");
  if (ph === "X") demand(isTime(dur), "has no duration in whole microseconds");
  if (ph !== "M") demand(typeof cat === "string" && cat !== "", "has no category");
  if (ph === "i") demand(s === "g" || s === "p" || s === "t", "has no scope");
  if (ph === "M") {
    const known = METADATA[String(name)];
    demand(known !== undefined, `is not metadata: ${String(name)}`);
    if (known !== undefined && isObject(args))
      demand(typeof args[known.argument] === known.type, `has no ${known.argument}`);
  }
  return problems;
}

/** Every process and thread with an event must have a name. */
function nameProblems(events: readonly Unknown[]): readonly string[] {
  const named = (what: string) =>
    new Set(events.filter(({ ph, name }) => ph === "M" && name === what).map(laneOf(what === "thread_name")));
  const [processes, threads] = [named("process_name"), named("thread_name")];
  return events.flatMap((event) => [
    ...(processes.has(laneOf(false)(event)) ? [] : [`process ${String(event.pid)} has no name`]),
    ...(threads.has(laneOf(true)(event)) ? [] : [`thread ${laneOf(true)(event)} has no name`]),
  ]);
}

const laneOf = (withThread: boolean) => (event: Unknown) =>
  withThread ? `${String(event.pid)}.${String(event.tid)}` : String(event.pid);

/** Slices of one thread must nest or follow each other; a viewer cuts those that cross. */
function nestProblems(events: readonly Unknown[]): readonly string[] {
  const lanes = Map.groupBy(
    events.filter(({ ph }) => ph === "X"),
    laneOf(true),
  );
  return [...lanes].flatMap(([lane, slices]) => {
    const open: number[] = [];
    return slices.toSorted(byExtent).flatMap(({ ts, dur, name }) => {
      const [start, end] = [Number(ts), Number(ts) + Number(dur)];
      while (open.length > 0 && (open.at(-1) ?? 0) <= start) open.pop();
      const crosses = open.length > 0 && end > (open.at(-1) ?? 0);
      open.push(end);
      return crosses ? [`slice ${String(name)} of thread ${lane} crosses another`] : [];
    });
  });
}

function byExtent(a: Unknown, b: Unknown): number {
  return Number(a.ts) - Number(b.ts) || Number(b.dur) - Number(a.dur);
}

function isObject(value: unknown): value is Unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTime(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
