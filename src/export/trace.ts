import type { Json, JsonObject } from "../core/json.ts";
import type { RunRecord, StoreReader, WaitRecord } from "../store/store.ts";
import { isoTime } from "./figures.ts";
import { RecordLookup, waitIndex } from "./record-lookup.ts";
import { everyRecord } from "./record-pages.ts";
import { IncidentReader } from "./run-incidents.ts";
import { type Chapter, type RunOutline, readRunOutline } from "./run-outline.ts";
import { jsonPieces, wholeText } from "./text-pieces.ts";
import { TraceChapter } from "./trace-chapter.ts";
import { MAIN_LANE, type TraceMark, type TraceSlice } from "./trace-slices.ts";

/**
 * The run in the Trace Event Format, which Perfetto, chrome://tracing and speedscope show: each attempt is a process, with
 * its steps, turns, model calls and tool calls as slices that nest. Made from the store alone.
 */
export async function renderTrace(reader: StoreReader, runId: string): Promise<JsonObject> {
  const document = traceOf(reader, await readRunOutline(reader, runId));
  return JSON.parse(await wholeText(jsonPieces(document, 0))) as JsonObject;
}

/** The trace document; its events are generated one by one. */
export function traceOf(reader: StoreReader, outline: RunOutline): object {
  const { run } = outline;
  return {
    displayTimeUnit: "ms",
    otherData: {
      run_id: run.runId,
      pipeline: run.pipeline,
      status: run.status,
      started_at: isoTime(run.createdAt),
      last_change_at: isoTime(run.updatedAt),
    },
    traceEvents: traceEvents(reader, outline),
  };
}

type TraceEvents = AsyncGenerator<Json, void, undefined>;

async function* traceEvents(reader: StoreReader, outline: RunOutline): TraceEvents {
  const records = new RecordLookup(reader, outline.run.runId);
  const incidents = new IncidentReader(reader, outline, records);
  for (const chapter of outline.chapters)
    yield* attemptEvents(chapter, await TraceChapter.read(outline, chapter, incidents));
  yield* peopleEvents(reader, outline, records);
}

async function* attemptEvents({ number, attempt }: Chapter, chapter: TraceChapter): TraceEvents {
  yield* processEvents(number, `attempt ${number} (${attempt.owner})`, chapter.lanes, "parallel calls");
  for await (const slice of chapter.slices()) yield sliceEvent(number, slice);
  for await (const mark of chapter.marks()) yield markEvent(number, mark);
}

/** While the run waits for a person, no worker has it: so people are a process of their own. */
async function* peopleEvents(reader: StoreReader, outline: RunOutline, records: RecordLookup): TraceEvents {
  const { run, chapters } = outline;
  const places = await waitPositions(reader, run);
  if (places.length === 0) return;
  const pid = chapters.length + 1;
  const lanes = [...new Set(places.map(({ lane }) => lane))].sort((a, b) => a - b);
  yield* processEvents(pid, "people", lanes, "questions");
  for (const place of places) {
    const wait = await records.wait(place.index);
    if (wait !== null) yield sliceEvent(pid, waitSlice(wait, place));
  }
}

type WaitPosition = { readonly index: number; readonly lane: number; readonly end: number };

/** Questions that are open at the same time are on separate lanes. */
async function waitPositions(
  reader: StoreReader,
  { runId, updatedAt }: RunRecord,
): Promise<readonly WaitPosition[]> {
  const times: { readonly index: number; readonly start: number; readonly end: number }[] = [];
  for await (const wait of everyRecord<WaitRecord>((range) => reader.listWaits(runId, range))) {
    const { createdAt: start, answeredAt } = wait;
    times.push({ index: waitIndex(wait), start, end: Math.max(start, answeredAt ?? updatedAt) });
  }
  const laneEnds: number[] = [];
  return times
    .sort((a, b) => a.start - b.start)
    .map(({ index, start, end }) => {
      const free = laneEnds.findIndex((laneEnd) => laneEnd <= start);
      const lane = free < 0 ? laneEnds.length : free;
      laneEnds[lane] = end;
      return { index, lane: MAIN_LANE + lane, end };
    });
}

function waitSlice(wait: WaitRecord, { lane, end }: WaitPosition): TraceSlice {
  return {
    lane,
    category: "wait",
    name: wait.kind,
    start: wait.createdAt,
    end,
    depth: 0,
    place: { step: null, turn: null, toolCallId: wait.toolCallId, attempt: null },
    outcome: wait.status,
    isUnfinished: wait.status === "open",
    args: {
      run_id: wait.runId,
      wait_id: wait.waitId,
      ...(wait.toolCallId === null ? {} : { tool_call_id: wait.toolCallId }),
      status: wait.status,
      answered_by: wait.answeredBy,
    },
  };
}

/** Names for the viewer, in the order of the run. */
function processEvents(
  pid: number,
  name: string,
  lanes: readonly number[],
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
  return [
    metadata(MAIN_LANE, "process_name", { name }),
    metadata(MAIN_LANE, "process_sort_index", { sort_index: pid }),
    ...lanes.flatMap((lane) => [
      metadata(lane, "thread_name", { name: lane === MAIN_LANE ? "run" : `${otherLanes} ${lane}` }),
      metadata(lane, "thread_sort_index", { sort_index: lane }),
    ]),
  ];
}

function sliceEvent(pid: number, { lane, category, name, start, end, args }: TraceSlice): Json {
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

function markEvent(pid: number, { name, at, scope, args }: TraceMark): Json {
  const s = scope === "attempt" ? "p" : "t";
  return { name, cat: "mark", ph: "i", s, ts: microseconds(at), pid, tid: MAIN_LANE, args };
}

function microseconds(ms: number): number {
  return ms * 1_000;
}
