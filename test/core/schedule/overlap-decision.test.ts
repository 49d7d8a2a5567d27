import { describe, expect, it } from "vitest";
import { decideOverlap, type EarlierFiring } from "../../../src/core/schedule/overlap-decision.ts";
import type { OverlapPolicy } from "../../../src/core/schedule/schedule-spec.ts";
import type { PersonWaitKind } from "../../../src/core/wait.ts";

const RUN = "nightly@2026-11-16T01:00Z";
const RUNNING: EarlierFiring = { runId: RUN, status: "running", isHeld: true, wait: null };
const asked = (kind: PersonWaitKind): EarlierFiring => ({
  runId: RUN,
  status: "waiting",
  isHeld: false,
  wait: { id: `${RUN}~1`, kind, question: "May the report be sent?" },
});
const decide = (overlap: OverlapPolicy, ...earlier: EarlierFiring[]) =>
  decideOverlap({ name: "nightly", overlap }, earlier);

function whySkipped(...earlier: EarlierFiring[]): string {
  const decision = decide("skip", ...earlier);
  return decision.kind === "skip" ? decision.why : `not skipped: ${decision.kind}`;
}

describe("a firing without an earlier unfinished run", () => {
  it.each(["skip", "cancel", "allow"] as const)("starts under %s", (overlap) => {
    expect(decide(overlap)).toEqual({ kind: "start" });
  });

  it("holds the schedule's key under queue, so that the next firing waits for it", () => {
    expect(decide("queue")).toEqual({ kind: "queue", concurrencyKey: "schedule:nightly" });
  });
});

describe("a firing with an earlier unfinished run", () => {
  it("starts beside it under allow", () => {
    expect(decide("allow", RUNNING, asked("approval"))).toEqual({ kind: "start" });
  });

  it("waits for it under queue", () => {
    expect(decide("queue", RUNNING)).toEqual({ kind: "queue", concurrencyKey: "schedule:nightly" });
  });

  it("cancels all of them under cancel, those that wait for a person too", () => {
    const other = { ...RUNNING, runId: "nightly@2026-11-15T01:00Z" };
    expect(decide("cancel", asked("question"), other)).toEqual({
      kind: "cancel",
      runIds: [RUN, "nightly@2026-11-15T01:00Z"],
    });
  });

  it.each([
    [RUNNING, "is still running."],
    [
      { ...RUNNING, isHeld: false },
      `was left by its worker: the next worker continues it, or \`pawl resume ${RUN}\`.`,
    ],
    [{ ...RUNNING, status: "queued", isHeld: false }, "is still queued."],
    [{ ...RUNNING, status: "waiting", isHeld: false }, `is waiting: \`pawl show ${RUN}\` shows for what.`],
  ] as const)("is skipped under skip, and the reason says what that run does (%#)", (earlier, state) => {
    expect(whySkipped(earlier)).toBe(`Schedule nightly skips this planned time, since run ${RUN} ${state}`);
  });
});

describe("a firing while an earlier run waits for a person", () => {
  it("is skipped: the run counts as unfinished, and the reason names it, the question and the answer", () => {
    expect(whySkipped(asked("approval"))).toBe(
      `Schedule nightly skips this planned time, since run ${RUN} waits for a person, who is asked "May the report be sent?": answer with \`pawl approve ${RUN}~1\` or \`pawl deny ${RUN}~1 --why "…"\`.`,
    );
  });

  it.each([
    ["possible_duplicate", `\`pawl approve ${RUN}~1\``],
    ["in_doubt", `\`pawl settle ${RUN}~1\``],
    ["escalation", `\`pawl answer ${RUN}~1 "…"\` or \`pawl settle ${RUN}~1\``],
    ["question", `\`pawl answer ${RUN}~1 "…"\``],
    ["budget", `\`pawl answer ${RUN}~1 NEW_LIMIT\``],
  ] as const)("is skipped with the command that answers a wait of the kind %s", (kind, command) => {
    expect(whySkipped(asked(kind))).toContain(`answer with ${command}`);
  });

  it("names that run, and not one that needs nobody, and counts the others", () => {
    const others = [1, 2].map((day) => ({ ...RUNNING, runId: `nightly@2026-11-0${day}T01:00Z` }));
    expect(whySkipped(...others, asked("question"))).toContain(`since run ${RUN} waits for a person`);
    expect(whySkipped(...others, asked("question"))).toContain("2 more runs are unfinished as well.");
    expect(whySkipped(RUNNING, ...others.slice(1))).toContain("1 more run is unfinished as well.");
  });
});
