import { describe, expect, test } from "vitest";
import type { PHASES } from "../../src/demo/job-pipeline.ts";
import type { Kill } from "../../src/demo/kill-plan.ts";
import type { Death } from "../../src/demo/killed-job.ts";
import { ENVIRONMENT, jobFolder, testOutside } from "../demo/demo-fixture.ts";
import { sampled } from "../full-test.ts";
import { PATIENCE } from "../patience.ts";
import { killJob, randomKills } from "./harness/jobs-killed.ts";

async function killedJob(kills: readonly Kill[]) {
  const outside = await testOutside();
  const { lives, ledger } = await killJob(jobFolder(outside), outside, kills, ENVIRONMENT);
  return { outside, ledger, deaths: lives.flatMap(({ death }) => (death === null ? [] : [death])) };
}

function placeOf(death: Death): string {
  if (death.kind === "time") return "some time";
  return death.kind === "point" ? `${death.phase} ${death.point}` : `${death.phase} in the outside`;
}

const point = (phase: (typeof PHASES)[number], nth: number): Kill => ({ kind: "point", phase, nth });

describe("a job that is killed once in every phase does everything once", () => {
  test("at points where an effect has happened and is not stored", PATIENCE, async () => {
    const { deaths } = await killedJob([
      point("plan", 6),
      point("crawl", 15),
      point("synthesise", 8),
      point("render", 2),
      point("upload", 6),
      point("send", 4),
      point("notify", 4),
    ]);
    expect(deaths.map(placeOf)).toEqual([
      "plan model:answered",
      "crawl tool:executed",
      "synthesise turn:journaled",
      "render step:before-finish",
      "upload tool:executed",
      "send tool:executed",
      "notify tool:executed",
    ]);
  });

  test("inside every service, after its effect and before its answer", PATIENCE, async () => {
    const { deaths, outside, ledger } = await killedJob([
      point("plan", 1),
      { kind: "outside", phase: "crawl", effect: "page" },
      point("synthesise", 1_000),
      point("render", 1_000),
      { kind: "outside", phase: "upload", effect: "upload" },
      { kind: "outside", phase: "send", effect: "mail" },
      { kind: "outside", phase: "notify", effect: "notification" },
    ]);
    expect(deaths.map(placeOf)).toEqual([
      "plan step:begun",
      "crawl in the outside",
      "synthesise step:finished",
      "render step:finished",
      "upload in the outside",
      "send in the outside",
      "notify in the outside",
    ]);
    // Each call was recovered as its tool declares: read again, sent again under its key, or looked up.
    expect(outside.site.requests.length).toBeGreaterThan(12);
    expect(outside.uploads.requests.length).toBeGreaterThan(2);
    expect(outside.mail.lookUps).toHaveLength(1);
    expect(outside.notifications.requests).toHaveLength(2);
    const sourceOf = (name: string) => ledger.calls.find(({ tool }) => tool === name)?.receipt?.source;
    expect([sourceOf("send_email"), sourceOf("send_notification")]).toEqual(["reconciled", "tool"]);
  });
});

test(
  "a mail in doubt is sent once, however often the process that looks it up is killed",
  PATIENCE,
  async () => {
    const { deaths, outside } = await killedJob([
      { kind: "outside", phase: "send", effect: "mail" },
      ...[1, 2, 3, 4, 5].map((nth) => point("send", nth)),
    ]);
    expect(deaths.map(placeOf)).toEqual([
      "send in the outside",
      "send step:begun",
      "send tool:before-reconcile",
      "send tool:reconciled",
      "send tool:before-receipt",
      "send tool:receipt-stored",
    ]);
    expect(outside.mail.accepted).toHaveLength(1);
    expect(outside.mail.lookUps.length).toBeGreaterThan(1);
  },
);

test(
  "a job that is killed when all of its stop conditions hold resumes in the phase that it was in",
  PATIENCE,
  async () => {
    const { deaths } = await killedJob([point("notify", 7)]);
    expect(deaths.map(placeOf)).toEqual(["notify step:before-finish"]);
  },
);

test.for(sampled([1, 2, 3, 4, 5, 6], 6))(
  "a job that is killed at random times and places does everything once (seed %i)",
  PATIENCE,
  async (seed) => {
    const { deaths } = await killedJob(randomKills(seed));
    expect(deaths.length).toBeGreaterThan(0);
  },
);
