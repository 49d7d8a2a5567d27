// Wrong options are refused, and a report that tested nothing is not a success.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, tool } from "../../../src/index.ts";
import { type CrashExplorerOptions, crashExplorer } from "../../../src/testing/crash/index.ts";
import { scriptedPort } from "../scripted-port.ts";
import { EXPLORER_FOLDER } from "./explored-scenario.ts";

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
  return { ...EXPLORER_FOLDER, pipeline, input: "Go.", modes: ["crash"] };
}

const ONE = { schedule: "crash after tool.pay 1" };

describe("the explorer refuses", () => {
  it.for<readonly [string, object, RegExp]>([
    ["no pipeline", { pipeline: undefined }, /no pipeline to explore/],
    ["an input that is not JSON", { input: undefined }, /The input/],
    ["no mode", { modes: [] }, /`modes` is empty: give some of crash, twice, pause, close, disk, random/],
    ["an unknown mode", { modes: ["crashes"] }, /`modes` has "crashes"/],
    ["half a pair", { pairs: 0.5 }, /`pairs` is 0.5: give a whole number/],
    [
      "a folder that does not exist",
      { folder: "/no/such/folder" },
      /The folder \/no\/such\/folder does not exist/,
    ],
    ["a text that is not a schedule", { schedule: "crash somewhere" }, /is not a point/],
    ["invalid runner options", { runner: { leaseMs: -1 } }, /leaseMs is -1/],
    ["an empty stand-in", { tools: { pay: {} } }, /tools.pay is not a stand-in/],
    ["a stand-in under a misspelt name", { tools: { Pay: () => 1 } }, /no tool Pay .* did you mean pay\?/],
    ["to leave out an unknown invariant", { invariants: { "same-ends": false } }, /did you mean same-end\?/],
    [
      "an invariant with the name of one of Pawl's",
      { invariants: { "same-end": () => null } },
      /another name/,
    ],
    [
      "an invariant that returns no sentence",
      { invariants: { mine: () => false } },
      /The invariant mine returned false/,
    ],
  ])("%s", async ([, wrong, message]) => {
    await expect(crashExplorer({ ...paying(), ...wrong })).rejects.toThrow(message);
  });
});

describe("a report", () => {
  it("is not a success if the run fails undisturbed, unless it may fail", async () => {
    const failing = { ...paying(), model: scriptedPort([]), runner: { maxModelAttempts: 1 } };
    const report = await crashExplorer(failing);
    expect(report.unproven).toMatch(/Undisturbed, the run ended as: failed/);
    expect(() => report.assertKept()).toThrow(/NOT TESTED/);
    (await crashExplorer({ ...failing, mayFail: true })).assertKept();
  });

  it.for(["crash before tool.nope 1", "pause before tool.nope 1; wake at the end"])(
    "is not a success if no process reached the point of %s",
    async (schedule) => {
      const report = await crashExplorer({ ...paying(), schedule });
      expect(report.counts.missed).toBe(1);
      expect(() => report.assertKept()).toThrow(/No process reached the named point/);
    },
  );

  it("includes a failed assertion of the user's own invariant", async () => {
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
  it("without a reconcile is looked up by its effects, and the real look-up is not called", async () => {
    let asked = 0;
    const reconcile = () => {
      asked += 1;
      return { status: "absent" as const };
    };
    const options = paying({ recovery: "reconcile", timeoutMs: 1_000, landsWithinMs: 0, reconcile });
    const report = await crashExplorer({ ...options, tools: { pay: () => "paid" } });
    report.assertKept();
    expect(asked).toBe(0);
    // Without a stand-in, the tool's own look-up returns "absent", and the call happens again.
    const real = await crashExplorer({ ...options, ...ONE });
    expect(asked).toBeGreaterThan(0);
    expect(real.violations.map(({ invariant }) => invariant)).toContain("effects-at-most-once");
  });

  it("that never answers times out, and does not block the explorer", async () => {
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
