// What is set up wrongly is told, and what tests nothing is not called a success.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, tool } from "../../../src/index.ts";
import { type CrashExplorerOptions, crashExplorer } from "../../../src/testing/index.ts";
import { scriptedPort } from "../scripted-port.ts";
import { LABORATORY } from "./laboratory.ts";

function paying(parts: Partial<Parameters<typeof tool>[0]> = {}): CrashExplorerOptions {
  const pay = tool({
    name: "pay",
    description: "Pay once.",
    inputSchema: z.object({}),
    effect: "external",
    recovery: "keyed",
    execute: (_, { idempotencyKey }) => `paid ${idempotencyKey.length}`,
    ...parts,
  });
  const model = scriptedPort([{ toolCalls: [{ name: "pay", input: {} }] }, { text: "Paid." }]);
  const pipeline = agent({ name: "payer", model, tools: { pay } });
  return { ...LABORATORY, pipeline, input: "Go.", modes: ["crash"] };
}

const ONE = { schedule: "crash after tool.pay 1" };

describe("the explorer refuses", () => {
  it.for<readonly [string, object, RegExp]>([
    ["no pipeline", { pipeline: undefined }, /no pipeline to explore/],
    ["an input that is no JSON", { input: undefined }, /The input/],
    ["no mode", { modes: [] }, /`modes` is empty: give some of crash, twice, pause, close, disk, random/],
    ["a mode that there is not", { modes: ["crashes"] }, /`modes` has "crashes"/],
    ["half a pair", { pairs: 0.5 }, /`pairs` is 0.5: give a whole number/],
    [
      "a folder that is not there",
      { folder: "/no/such/folder" },
      /The folder \/no\/such\/folder is not there/,
    ],
    ["a schedule that is none", { schedule: "crash somewhere" }, /names no point/],
    ["a runner that cannot be", { runner: { leaseMs: -1 } }, /leaseMs is -1/],
    ["a stand-in that does nothing", { tools: { pay: {} } }, /tools.pay stands in for nothing/],
    ["a stand-in under a misspelt name", { tools: { Pay: () => 1 } }, /no tool Pay .* did you mean pay\?/],
    ["to leave out what there is not", { invariants: { "same-ends": false } }, /did you mean same-end\?/],
    ["an invariant that has a name of Pawl's", { invariants: { "same-end": () => null } }, /another name/],
    ["a verdict that is no sentence", { invariants: { mine: () => false } }, /The invariant mine gave false/],
  ])("%s", async ([, wrong, says]) => {
    await expect(crashExplorer({ ...paying(), ...wrong })).rejects.toThrow(says);
  });
});

describe("a report", () => {
  it("is no success where the run fails by itself, unless that is meant", async () => {
    const failing = { ...paying(), model: scriptedPort([]), runner: { maxModelAttempts: 1 } };
    const report = await crashExplorer(failing);
    expect(report.unproven).toMatch(/Undisturbed, the run came to: failed/);
    expect(() => report.assertKept()).toThrow(/NOT TESTED/);
    (await crashExplorer({ ...failing, mayFail: true })).assertKept();
  });

  it.for(["crash before tool.nope 1", "pause before tool.nope 1; wake at the end"])(
    "is no success where nobody came to the point of %s",
    async (schedule) => {
      const report = await crashExplorer({ ...paying(), schedule });
      expect(report.counts.missed).toBe(1);
      expect(() => report.assertKept()).toThrow(/No process came to the point/);
    },
  );

  it("names the schedule in which an assertion of one's own failed", async () => {
    const mine = () => {
      expect(1).toBe(2);
      return null;
    };
    const report = await crashExplorer({ ...paying(), ...ONE, invariants: { mine } });
    expect(report.violations.map(({ invariant, times }) => [invariant, times])).toEqual([["mine", 2]]);
    expect(String(report)).toContain("expected 1 to be 2");
  });
});

describe("a stand-in", () => {
  it("that only does the work is looked up by what happened, and the real look-up is not asked", async () => {
    let asked = 0;
    const reconcile = () => {
      asked += 1;
      return { status: "absent" as const };
    };
    const options = paying({ recovery: "reconcile", timeoutMs: 1_000, landsWithinMs: 0, reconcile });
    const report = await crashExplorer({ ...options, tools: { pay: () => "paid" } });
    report.assertKept();
    expect(asked).toBe(0);
    // Left to itself, the tool's own look-up says that nothing happened, and it does.
    const real = await crashExplorer({ ...options, ...ONE });
    expect(asked).toBeGreaterThan(0);
    expect(real.violations.map(({ invariant }) => invariant)).toContain("effects-at-most-once");
  });

  it("that never answers is given up on by the run, and holds up nobody for ever", async () => {
    const silent = () => new Promise<never>(() => undefined);
    const options = paying({ timeoutMs: 500, execute: silent });
    const report = await crashExplorer({
      ...options,
      runner: { maxRetriesPerToolCall: 0 },
      schedule: "undisturbed",
    });
    expect(report.violations).toEqual([]);
  });
});
