// trace.json: what a viewer shows of a run.

import { describe, expect, it } from "vitest";
import { renderTrace } from "../../src/export/trace.ts";
import { RunNotFoundError, type StoreReader } from "../../src/index.ts";
import { CHARGE, LEASE_MS, newReceipt, SampleRun } from "../../src/testing/store/sample-run.ts";
import { failureAs } from "../engine/run-fixture.ts";
import { eventfulRun } from "./eventful-run.ts";
import { START, tickingStore } from "./sample-store.ts";
import { traceProblems } from "./trace-format.ts";

type TraceEvent = {
  readonly name: string;
  readonly ph: string;
  readonly cat?: string;
  readonly ts: number;
  readonly dur?: number;
  readonly s?: string;
  readonly pid: number;
  readonly tid: number;
  readonly args: { readonly [name: string]: unknown };
};

async function traceOf(reader: StoreReader, runId = "run-1") {
  const trace = await renderTrace(reader, runId);
  const events = trace.traceEvents as unknown as readonly TraceEvent[];
  const slices = events.filter(({ ph }) => ph === "X");
  const marks = events.filter(({ ph }) => ph === "i");
  /** `1.1 turn turn 1 0+300`: process, thread, category, name, start and length in milliseconds. */
  const timeline = slices.map(
    ({ pid, tid, cat, name, ts, dur = 0 }) =>
      `${pid}.${tid} ${cat} ${name} ${ts / 1_000 - START}+${dur / 1_000}`,
  );
  return { trace, events, slices, marks, timeline };
}

describe("the trace of an eventful run", () => {
  it("is valid for viewers, and has everything that happened", async () => {
    const { store, runId } = await eventfulRun();
    const { trace, slices, marks, events } = await traceOf(store, runId);
    expect(traceProblems(trace)).toEqual([]);
    // The checks above saw something.
    expect([slices.length, marks.length].every((count) => count > 10)).toBe(true);
    expect(new Set(slices.map(({ cat }) => cat))).toEqual(
      new Set(["attempt", "step", "turn", "model", "tool", "wait"]),
    );
    // Six attempts, and the people who were asked.
    expect(new Set(events.map(({ pid }) => pid)).size).toBe(7);
    expect(marks.filter(({ name }) => name === "crash").map(({ pid }) => pid)).toEqual([1, 3]);
    expect(marks.filter(({ name }) => name === "commit")).toHaveLength(11);
    expect(JSON.parse(JSON.stringify(trace))).toEqual(trace);
    // Every attempt names its run, step and call.
    const tries = slices.filter(({ cat }) => cat === "tool");
    expect(tries.map(({ args }) => [args.run_id, args.step_id, args.tool_call_id, args.attempt])).toEqual([
      ["r-1", "r-1/research", "r-1/research#1.1", 1],
      ["r-1", "r-1/research", "r-1/research#1.2", 1],
      ["r-1", "r-1/research", "r-1/research#2.1", 1],
      ["r-1", "r-1/research", "r-1/research#3.1", 1],
      ["r-1", "r-1/research", "r-1/research#3.1", 2],
      ["r-1", "r-1/research", "r-1/research#4.1", 1],
      ["r-1", "r-1/research", "r-1/research#6.1", 1],
      ["r-1", "r-1/research", "r-1/research#6.2", 1],
      ["r-1", "r-1/research", "r-1/research#8.1", 1],
      ["r-1", "r-1/research", "r-1/research#8.1", 2],
      ["r-1", "r-1/deliver", "r-1/deliver#0.1", 1],
    ]);
    // The end of each call attempt, as far as its worker could know.
    expect(tries.map(({ args }) => args.status ?? args.outcome)).toEqual([
      "succeeded",
      "succeeded",
      "failed",
      "unknown",
      "succeeded",
      "unknown",
      "succeeded",
      "succeeded",
      "not_applied",
      "succeeded",
      "succeeded",
    ]);
  });
});

describe("the slices of a run", () => {
  it("nest: attempt, step, turn, model call and tool call", async () => {
    const { store } = await tickingStore();
    const run = await SampleRun.create(store);
    await run.committedWithCall(1);
    await store.finishStep(run.fence, { stepKey: run.stepKey, output: "done", context: null });
    await store.releaseRun(run.fence, { status: "succeeded", output: "done", context: {} });
    const { trace, timeline, marks } = await traceOf(store);
    expect(traceProblems(trace)).toEqual([]);
    expect(timeline).toEqual([
      "1.1 attempt attempt 1 100+600",
      "1.1 step draft 200+400",
      "1.1 turn turn 1 300+200",
      "1.1 model model call 300+100",
      "1.1 tool search 400+100",
    ]);
    expect(marks.map(({ name, s }) => [name, s])).toEqual([["commit", "t"]]);
  });

  it("show the usage and cost of a model call", async () => {
    const { store } = await tickingStore();
    const run = await SampleRun.create(store);
    await run.committed(1);
    const { slices } = await traceOf(store);
    expect(slices.find(({ cat }) => cat === "model")?.args).toEqual({
      run_id: "run-1",
      step_id: "run-1/draft",
      turn_index: 1,
      attempt: 1,
      reserved_tokens: 100,
      basis: "provider",
      input_tokens: 20,
      output_tokens: 10,
      cached_input_tokens: 5,
      reasoning_tokens: 2,
      charged_tokens: 30,
      charged_micro_dollars: 300,
    });
  });

  it("have separate threads for parallel calls, and reuse the threads", async () => {
    const { store } = await tickingStore();
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running", "running"]);
    await run.receipt(1, 2);
    await run.receipt(1, 1);
    await store.commitTurn(run.fence, run.commit(1, { receipts: [newReceipt(3)] }));
    await run.journaled(2, ["running", "running"]);
    await run.receipt(2, 1);
    await store.commitTurn(run.fence, run.commit(2, { receipts: [newReceipt(2)] }));
    const { trace, timeline } = await traceOf(store);
    expect(traceProblems(trace)).toEqual([]);
    expect(timeline.filter((line) => line.includes(" tool "))).toEqual([
      "1.1 tool search 400+200",
      "1.2 tool search 400+100",
      "1.3 tool search 400+300",
      "1.1 tool search 900+100",
      "1.2 tool search 900+200",
    ]);
  });

  it("of a worker that died end with its last sign of life, and the next worker has its own process", async () => {
    const { store, clock } = await tickingStore();
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await store.keepTrace(run.fence, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    clock.at += LEASE_MS / 2;
    await store.requestCancel("run-1", { by: "ann" });
    clock.at += LEASE_MS;
    const next = await run.takenOver();
    await store.beginStep(next.fence, {
      path: "draft",
      name: "draft",
      kind: "granular",
      phase: "",
      input: null,
    });
    await next.receipt(1, 1, { source: "reconciled" });
    await store.commitTurn(next.fence, next.commit(1));
    const { trace, timeline, marks } = await traceOf(store);
    expect(traceProblems(trace)).toEqual([]);
    expect(timeline).toEqual([
      "1.1 attempt attempt 1 100+400",
      "1.1 step draft 200+300",
      "1.1 turn turn 1 300+200",
      "1.1 model model call 300+100",
      "1.1 tool search 400+100",
      "2.1 attempt attempt 2 45700+300",
      "2.1 step draft 45800+200",
      "2.1 turn turn 1 45900+100",
    ]);
    expect(marks.map(({ name, pid, s, ts }) => [name, pid, s, ts / 1_000 - START])).toEqual([
      ["crash", 1, "p", 500],
      ["commit", 2, "t", 46_000],
    ]);
  });

  it("of a model call begin when its turn was opened, possibly by the previous commit, and each attempt has its own", async () => {
    const { store } = await tickingStore();
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running"]);
    await store.commitTurn(run.fence, run.commit(1, { receipts: [newReceipt(1)], next: run.opening(2) }));
    const charge = { ...CHARGE, basis: "baseline" } as const;
    await store.settleModelCall(run.fence, { stepKey: run.stepKey, turnIndex: 2, attempt: 1, charge });
    await run.open(2);
    await store.commitTurn(run.fence, run.commit(2, { journal: run.journal(2, [], { attempt: 2 }) }));
    const { trace, timeline, slices } = await traceOf(store);
    expect(traceProblems(trace)).toEqual([]);
    expect(timeline.slice(2)).toEqual([
      "1.1 turn turn 1 300+200",
      "1.1 model model call 300+100",
      "1.1 tool search 400+100",
      "1.1 turn turn 2 500+300",
      "1.1 model model call 500+100",
      "1.1 model model call 700+100",
    ]);
    expect(
      slices.filter(({ cat }) => cat === "model").map(({ args }) => [args.turn_index, args.attempt]),
    ).toEqual([
      [1, 1],
      [2, 1],
      [2, 2],
    ]);
  });

  it("of a run that was cancelled while it waited end when its worker released it", async () => {
    const { store, clock } = await tickingStore();
    const run = await SampleRun.create(store);
    await run.waiting();
    clock.at += 3_600_000;
    await store.requestCancel("run-1", { by: "ann" });
    const { timeline, marks } = await traceOf(store);
    expect(timeline).toEqual(["1.1 attempt attempt 1 100+200", "1.1 step draft 200+100"]);
    expect(marks).toEqual([]);
  });

  it("of a run in progress end at its last event, without a crash mark", async () => {
    const { store } = await tickingStore();
    const run = await SampleRun.create(store);
    await run.open(1);
    const { trace, timeline, marks, slices } = await traceOf(store);
    expect(traceProblems(trace)).toEqual([]);
    expect(timeline.at(-1)).toBe("1.1 model model call 300+0");
    expect(marks).toEqual([]);
    expect(slices[0]?.args.end).toBe("open");
  });

  it("nest even if the clock was set back", async () => {
    const { store, clock } = await tickingStore();
    const run = await SampleRun.create(store);
    await run.open(1);
    clock.at -= 3_600_000;
    await store.journalResponse(run.fence, run.journal(1, ["running", "running"]));
    clock.at += 60_000;
    await run.receipt(1, 1);
    await store.commitTurn(run.fence, run.commit(1, { receipts: [newReceipt(2)] }));
    const { trace, timeline } = await traceOf(store);
    expect(traceProblems(trace)).toEqual([]);
    expect(timeline).toHaveLength(6);
  });

  it("show how long people were asked, in a separate process", async () => {
    const { store, clock } = await tickingStore();
    const run = await SampleRun.create(store);
    await run.journaled(1, ["running", "running"]);
    await run.waiting(run.wait(1, 1), run.wait(1, 2));
    clock.at += 60_000;
    await store.settle("run-1/draft#1.1", { as: "succeeded", result: 1 }, { by: "ann" });
    const { trace, timeline, events, slices } = await traceOf(store);
    expect(traceProblems(trace)).toEqual([]);
    expect(timeline.filter((line) => line.includes(" wait "))).toEqual([
      "2.1 wait in_doubt 500+60100",
      "2.2 wait in_doubt 500+60100",
    ]);
    expect(
      slices.filter(({ cat }) => cat === "wait").map(({ args }) => [args.wait_id, args.answered_by]),
    ).toEqual([
      ["run-1~1", "ann"],
      ["run-1~2", null],
    ]);
    const named = events.find(({ pid, name }) => pid === 2 && name === "process_name");
    expect(named?.args.name).toBe("people");
  });
});

it("the trace of a run that does not exist is refused", async () => {
  const { store } = await tickingStore();
  await failureAs(RunNotFoundError, renderTrace(store, "no-such-run"));
});

describe("the check of the format", () => {
  const named = [
    { name: "process_name", ph: "M", ts: 0, pid: 1, tid: 1, args: { name: "p" } },
    { name: "thread_name", ph: "M", ts: 0, pid: 1, tid: 1, args: { name: "t" } },
  ];
  const slice = (ts: number, dur: number, more: object = {}) => ({
    name: "s",
    cat: "c",
    ph: "X",
    ts,
    dur,
    pid: 1,
    tid: 1,
    args: {},
    ...more,
  });
  const problems = (...events: readonly object[]) =>
    traceProblems({ displayTimeUnit: "ms", traceEvents: [...named, ...events] });

  it("accepts slices that nest or follow each other", () => {
    expect(problems(slice(0, 10), slice(0, 4), slice(4, 6), slice(10, 0), slice(10, 3))).toEqual([]);
  });

  it.each([
    ["crosses another", [slice(0, 10), slice(5, 10)]],
    ["has no time in whole microseconds", [slice(0.5, 1)]],
    ["has no duration", [slice(0, -1)]],
    ["has no name", [slice(0, 1, { name: "" })]],
    ["has no arguments", [slice(0, 1, { args: null })]],
    ["has no category", [slice(0, 1, { cat: undefined })]],
    ["has phase Q", [slice(0, 1, { ph: "Q" })]],
    ["has no scope", [slice(0, 1, { ph: "i", s: "x" })]],
    ["thread 1.2 has no name", [slice(0, 1, { tid: 2 })]],
    ["process 3 has no name", [slice(0, 1, { pid: 3 })]],
    ["is not metadata", [slice(0, 1, { ph: "M", name: "colour" })]],
  ])("finds a slice that %s", (what, events) => {
    expect(problems(...events).join("\n")).toContain(what);
  });
});
