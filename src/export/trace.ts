import type { Json, JsonObject } from "../core/json.ts";
import type { StoreReader, WaitRecord } from "../store/store.ts";
import { isoTime } from "./figures.ts";
import { type RunAccount, readRunAccount } from "./run-account.ts";
import { type Chapter, tellStory } from "./run-story.ts";
import { ChapterSlices, MAIN_LANE, type Mark, type Slice } from "./trace-slices.ts";

/**
 * The run in the Trace Event Format, which Perfetto, chrome://tracing and speedscope show: each attempt is a process, with
 * its steps, turns, model calls and tool calls as slices that nest. Made from the store alone.
 */
export async function renderTrace(reader: StoreReader, runId: string): Promise<JsonObject> {
  return traceOf(await readRunAccount(reader, runId));
}

export function traceOf(account: RunAccount): JsonObject {
  const { run } = account;
  const { chapters } = tellStory(account);
  return {
    displayTimeUnit: "ms",
    otherData: {
      run_id: run.runId,
      pipeline: run.pipeline,
      status: run.status,
      started_at: isoTime(run.createdAt),
      last_change_at: isoTime(run.updatedAt),
    },
    traceEvents: [
      ...chapters.flatMap((chapter, i) => attemptEvents(run.runId, chapter, i + 1)),
      ...peopleEvents(account, chapters.length + 1),
    ],
  };
}

function attemptEvents(runId: string, chapter: Chapter, number: number): readonly Json[] {
  const taken = new ChapterSlices(runId, chapter, number);
  return [
    ...processEvents(number, `attempt ${number} (${chapter.attempt.owner})`, taken.slices, "parallel calls"),
    ...taken.slices.map((slice) => sliceEvent(number, slice)),
    ...taken.marks.map((mark) => markEvent(number, mark)),
  ];
}

/** While a person is asked, no worker has the run: a process of its own. */
function peopleEvents({ run, waits }: RunAccount, pid: number): readonly Json[] {
  if (waits.length === 0) return [];
  const slices = waitSlices(waits, run.updatedAt);
  return [
    ...processEvents(pid, "people", slices, "questions"),
    ...slices.map((slice) => sliceEvent(pid, slice)),
  ];
}

/** Questions that are open at the same time lie on lanes of their own. */
function waitSlices(waits: readonly WaitRecord[], until: number): readonly Slice[] {
  const laneEnds: number[] = [];
  const inOrder = waits.toSorted((a, b) => a.createdAt - b.createdAt);
  return inOrder.map((wait) => {
    const end = Math.max(wait.createdAt, wait.answeredAt ?? until);
    const free = laneEnds.findIndex((laneEnd) => laneEnd <= wait.createdAt);
    const lane = free < 0 ? laneEnds.length : free;
    laneEnds[lane] = end;
    return {
      lane: MAIN_LANE + lane,
      category: "wait" as const,
      name: wait.kind,
      start: wait.createdAt,
      end,
      args: {
        run_id: wait.runId,
        wait_id: wait.waitId,
        ...(wait.toolCallId === null ? {} : { tool_call_id: wait.toolCallId }),
        status: wait.status,
        answered_by: wait.answeredBy,
      },
    };
  });
}

/** Names for the viewer, in the order of the run. */
function processEvents(
  pid: number,
  name: string,
  slices: readonly Slice[],
  otherLanes: string,
): readonly Json[] {
  const metadata = (tid: number, what: string, args: JsonObject) => ({
    name: what,
    ph: "M",
    ts: 0,
    pid,
    tid,
    args,
  });
  const lanes = [...new Set([MAIN_LANE, ...slices.map(({ lane }) => lane)])].sort((a, b) => a - b);
  return [
    metadata(MAIN_LANE, "process_name", { name }),
    metadata(MAIN_LANE, "process_sort_index", { sort_index: pid }),
    ...lanes.flatMap((lane) => [
      metadata(lane, "thread_name", { name: lane === MAIN_LANE ? "run" : `${otherLanes} ${lane}` }),
      metadata(lane, "thread_sort_index", { sort_index: lane }),
    ]),
  ];
}

function sliceEvent(pid: number, { lane, category, name, start, end, args }: Slice): Json {
  return {
    name,
    cat: category,
    ph: "X",
    ts: microseconds(start),
    dur: microseconds(end - start),
    pid,
    tid: lane,
    args,
  };
}

function markEvent(pid: number, { name, at, scope, args }: Mark): Json {
  const s = scope === "attempt" ? "p" : "t";
  return { name, cat: "mark", ph: "i", s, ts: microseconds(at), pid, tid: MAIN_LANE, args };
}

function microseconds(ms: number): number {
  return ms * 1_000;
}
