import { describe, expect, test } from "vitest";
import { RunStory, readTimeline } from "../../../src/account/story/run-story.ts";
import type { Timeline } from "../../../src/account/story/timeline.ts";
import type { TimelineSlice } from "../../../src/account/story/timeline-items.ts";
import { LEASE_MS, newReceipt, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { eventfulRun } from "../../export/eventful-run.ts";
import { countingReader, tickingStore } from "../../export/sample-store.ts";

async function startedRun() {
  const { store, clock } = await tickingStore();
  return { store, clock, run: await SampleRun.create(store, "run-1") };
}

const slicesOf = ({ slices }: Timeline): readonly TimelineSlice[] =>
  slices.filter((slice) => slice.kind === "slice");

describe("the lives of a run", () => {
  test("end with their worker: one that died has the window in which it did", async () => {
    const { store, clock, run } = await startedRun();
    await run.open(1);
    clock.at += 2 * LEASE_MS;
    const second = await run.takenOver(store, {
      attempt: { resumedFrom: "turn", reason: "its lease had expired" },
    });
    await store.interruptRun(second.fence);
    const third = await second.takenOver();
    await store.releaseRun(third.fence, { status: "waiting", error: null, waits: [] });
    const fourth = await third.takenOver();
    const { lives, isLive } = await readTimeline(store, "run-1", { now: clock.at });
    expect(lives.map(({ number, end }) => [number, end])).toEqual([
      [1, "died"],
      [2, "left"],
      [3, "released"],
      [4, "open"],
    ]);
    const [first, left] = lives;
    expect(first?.diedBetween).toEqual({ from: first?.lastSign, to: left?.startedAt });
    expect(lives.map(({ diedBetween }) => diedBetween === null)).toEqual([false, true, true, true]);
    expect(left).toMatchObject({ resumedFrom: "turn", reason: "its lease had expired" });
    expect(first?.owner).toMatchObject({ pid: process.pid });
    expect(isLive).toBe(true);
    expect(fourth.fence.epoch).toBe(lives.at(-1)?.epoch);
  });

  test("a run without a living worker is cut where its last sign was, before anybody has claimed it", async () => {
    const { store, clock, run } = await startedRun();
    await run.open(1);
    const live = await readTimeline(store, "run-1", { now: clock.at + 1_000 });
    expect(slicesOf(live).map(({ category, isOpen, isCut }) => [category, isOpen, isCut])).toEqual([
      ["step", true, false],
      ["turn", true, false],
      ["model", true, false],
    ]);
    expect(live.bounds.to).toBe(clock.at + 1_000);
    const dead = await readTimeline(store, "run-1", { now: clock.at + 2 * LEASE_MS });
    expect(dead.lives[0]).toMatchObject({ end: "died", diedBetween: { to: null } });
    expect(slicesOf(dead).map(({ isOpen, isCut }) => [isOpen, isCut])).toEqual([
      [false, true],
      [false, true],
      [false, true],
    ]);
    expect(slicesOf(dead).map(({ to }) => to)).toEqual(
      dead.lives.flatMap(({ lastSign }) => [lastSign, lastSign, lastSign]),
    );
    expect(dead.isLive).toBe(false);
  });
});

describe("the timeline", () => {
  test("has the ids and the outcome of everything that happened", async () => {
    const { store, runId } = await eventfulRun();
    const timeline = await readTimeline(store, runId, { now: Date.UTC(2030, 0) });
    const slices = slicesOf(timeline);
    const tools = slices.filter(({ category }) => category === "tool");
    expect(
      tools.map(({ toolCallId, attempt, outcome, isCut }) => [toolCallId, attempt, outcome, isCut]),
    ).toEqual([
      ["r-1/research#1.1", 1, "succeeded", false],
      ["r-1/research#1.2", 1, "succeeded", false],
      ["r-1/research#2.1", 1, "failed", false],
      ["r-1/research#3.1", 1, "unknown", true],
      ["r-1/research#3.1", 2, "succeeded", false],
      ["r-1/research#4.1", 1, "unknown", true],
      ["r-1/research#6.1", 1, "succeeded", false],
      ["r-1/research#6.2", 1, "succeeded", false],
      ["r-1/research#8.1", 1, "not_applied", false],
      ["r-1/research#8.1", 2, "succeeded", false],
      ["r-1/deliver#0.1", 1, "succeeded", false],
    ]);
    expect(timeline.lives.filter(({ end }) => end === "died")).toHaveLength(2);
    expect(timeline.waits.map(({ waitKind, status, people }) => [waitKind, status, people])).toEqual([
      ["approval", "answered", ["ann"]],
      ["in_doubt", "answered", ["ben"]],
    ]);
    expect(new Set(timeline.marks.map(({ kind }) => kind))).toEqual(
      new Set(["commit", "checkpoint", "crash", "lineage", "artifact"]),
    );
    for (const { from, to } of slices) expect(to).toBeGreaterThanOrEqual(from);
  });

  test("has only what is in its window", async () => {
    const { store, runId } = await eventfulRun();
    const story = new RunStory(store, runId);
    const now = Date.UTC(2030, 0);
    const all = await story.timeline({ now });
    const [, second] = all.lives;
    const from = second?.startedAt ?? 0;
    const to = second?.lastSign ?? 0;
    const part = await story.timeline({ now, from, to });
    expect(part.lives.map(({ number }) => number)).toEqual([2]);
    expect(part.slices.length).toBeGreaterThan(0);
    expect(part.slices.length).toBeLessThan(all.slices.length);
    for (const slice of part.slices) expect(slice.from <= to && slice.to >= from).toBe(true);
    expect(part.bounds).toEqual(all.bounds);
  });

  test("of a run that grows is the same as one that is read at its end", async () => {
    const { store, clock, run } = await startedRun();
    const { reader, counts } = countingReader(store);
    const story = new RunStory(reader, "run-1");
    const look = () => story.timeline({ now: clock.at });
    await look();
    await run.open(1);
    await look();
    await store.journalResponse(run.fence, run.journal(1, ["running", "prepared"]));
    const inTurn = await look();
    expect(slicesOf(inTurn).filter(({ category }) => category === "tool")).toHaveLength(1);
    clock.at += 2 * LEASE_MS;
    const next = await run.takenOver();
    await look();
    await store.recordReceipt(next.fence, {
      stepKey: next.stepKey,
      turnIndex: 1,
      receipt: newReceipt(1, { source: "reconciled" }),
    });
    await look();
    await store.releaseRun(next.fence, { status: "waiting", error: null, waits: [] });
    const grown = await look();
    expect(grown).toEqual(await readTimeline(store, "run-1", { now: clock.at }));
    expect(grown.lastSeq).toBeGreaterThan(5);
    const events = counts.get("listEvents");
    await look();
    expect(counts.get("listEvents")).toBe(events);
  });

  test("shows a wait as withdrawn when its run was cancelled", async () => {
    const { store, clock, run } = await startedRun();
    const wait = { kind: "escalation", question: "Shall it go on?", subject: { why: "it is slow" } } as const;
    await store.releaseRun(run.fence, { status: "waiting", error: null, waits: [wait] });
    const story = new RunStory(store, "run-1");
    expect((await story.timeline({ now: clock.at })).waits).toMatchObject([{ status: "open", to: null }]);
    await store.requestCancel("run-1", { by: "ann" });
    expect((await story.timeline({ now: clock.at })).waits).toMatchObject([{ status: "withdrawn" }]);
  });

  test("of an unknown run says so, and is right once there is one", async () => {
    const { store, clock } = await tickingStore();
    const story = new RunStory(store, "run-1");
    await expect(story.timeline({ now: clock.at })).rejects.toThrow(/run-1/);
    await SampleRun.create(store, "run-1");
    expect((await story.timeline({ now: clock.at })).lives).toHaveLength(1);
  });
});
