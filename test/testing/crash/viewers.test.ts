// Viewers of a run in the explorer: that they do what their schedules say, and the same each time.

import { describe, expect, it } from "vitest";
import { crashExplorer, type Evidence, type Scenario } from "../../../src/testing/crash/index.ts";
import { seededRandom } from "../../../src/testing/crash/seeded-random.ts";
import { viewerConducts } from "../../../src/testing/crash/viewers/viewer-conduct.ts";
import { PATIENCE } from "../../patience.ts";
import { EXPLORER_FOLDER } from "./explored-scenario.ts";
import { evidenceLog } from "./random-schedule-log.ts";
import { streamAnswer, streamDeaf, streamWatched } from "./scenarios/streams.ts";

/** The evidence of this schedule, whose promises were kept. */
async function evidenceOf(scenario: Scenario, schedule: string): Promise<Evidence> {
  const seen: Evidence[] = [];
  const keep = (evidence: Evidence) => void seen.push(evidence);
  const report = await crashExplorer({ ...EXPLORER_FOLDER, ...scenario, schedule, invariants: { keep } });
  report.assertKept();
  const last = seen.at(-1);
  if (last === undefined) throw new Error("The schedule was not run.");
  return last;
}

/** The texts that the first viewer was shown piece by piece, by the attempt. */
function shownIn({ viewers }: Evidence): { readonly [attempt: string]: string } {
  const shown: { [attempt: string]: string } = {};
  for (const event of viewers[0]?.sessions.flatMap(({ events }) => events) ?? [])
    if (event.type === "part" && event.kind === "text")
      shown[`${event.turn}.${event.attempt}`] = (shown[`${event.turn}.${event.attempt}`] ?? "") + event.delta;
  return shown;
}

const typesIn = ({ viewers }: Evidence) =>
  viewers[0]?.sessions.flatMap(({ events }) => events.map(({ type }) => type)) ?? [];

describe("a viewer of the explorer", () => {
  it("sees an answer piece by piece, and what a dead process wrote is taken back", PATIENCE, async () => {
    const evidence = await evidenceOf(streamAnswer(), "crash after model.piece 3");
    expect(shownIn(evidence)).toEqual({ 1.1: "All of", 1.2: "All of it is done." });
    expect(typesIn(evidence).filter((type) => type === "attempt.withdrawn")).toHaveLength(1);
    expect(evidence.twins).toHaveLength(1);
  });

  it("is what makes a worker stream, if nothing else does", PATIENCE, async () => {
    const watched = await evidenceOf(streamWatched(), "undisturbed");
    expect(Object.values(shownIn(watched)).join(" ")).toContain("That is all.");
    expect(watched.twins.map(({ live }) => live)).toEqual(["off", "fails"]);
  });

  it("is not shown what a worker writes after another one has taken its run", PATIENCE, async () => {
    const evidence = await evidenceOf(streamDeaf(), "pause after model.piece 2; wake before model.piece 3");
    const [first] = evidence.lives;
    const pieces = first?.reached.filter(({ call }) => call === "model.piece").map(({ nth }) => nth) ?? [];
    expect(Math.max(...pieces)).toBeGreaterThan(2);
    expect(shownIn(evidence)).toEqual({ 1.1: "This", 1.2: "This is said word by word to the end." });
  });

  it.for(["seed 3", "seed 8", "crash before model.piece 4", "pause after model.piece 2; wake at the end"])(
    "does the same each time: %s",
    PATIENCE,
    async (schedule) => {
      const [first, second] = [
        await evidenceOf(streamAnswer(), schedule),
        await evidenceOf(streamAnswer(), schedule),
      ];
      expect(first.viewers.flatMap(({ sessions }) => sessions).length).toBeGreaterThan(2);
      expect(evidenceLog(second)).toBe(evidenceLog(first));
    },
  );
});

describe("the viewers of a schedule", () => {
  const all = Array.from({ length: 50 }, (_, i) => viewerConducts(`seed ${i}`, 3, seededRandom));

  it("are attentive, late, slow, stop, die, and come back in both ways", () => {
    for (const [first] of all)
      expect(first).toMatchObject({ joins: "at once", attention: 1, stalls: false, dies: null });
    const others = all.flatMap((conducts) => conducts.slice(1));
    const joins = others.map(({ joins: when }) => (typeof when === "string" ? when : "at a step"));
    expect(new Set(joins)).toEqual(new Set(["at once", "at a step", "second process", "after the end"]));
    expect(new Set(others.map(({ attention }) => attention))).toEqual(new Set([1, 0.5, 0.15]));
    expect(new Set(others.map(({ stalls }) => stalls))).toEqual(new Set([true, false]));
    const returns = others.map(({ dies }) => dies?.returnsFrom);
    expect(new Set(returns)).toEqual(new Set(["cursor", "beginning", undefined]));
  });

  it("depend on its text alone", () => {
    const plain = (schedule: string) =>
      viewerConducts(schedule, 3, seededRandom).map(({ random: _, ...conduct }) => conduct);
    expect(plain("seed 7")).toEqual(plain("seed 7"));
    expect(plain("seed 7")).not.toEqual(plain("seed 8"));
  });
});
