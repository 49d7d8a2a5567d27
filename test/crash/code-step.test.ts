import { describe, expect, test } from "vitest";
import { type CrashFolder, crashFolder } from "./crash-folder.ts";
import type { Act } from "./worker-order.ts";

const RUN: Act = { do: "run", input: "town", runId: "receipts-1" };
const RESUME: Act = { do: "resume", runId: "receipts-1" };

/** Four calls at once; two of them, alike, come to their receipts, the other two are still at it. */
async function killedAfterTwo(at: "before-effect" | "after-effect"): Promise<CrashFolder> {
  const folder = crashFolder();
  await folder.killed({
    scenario: "receipts",
    act: RUN,
    wait: { at, turn: 0, orders: ["third", "fourth"] },
    crash: { point: "tool:receipt-stored", occurrence: 2 },
  });
  expect(folder.lines("tried")).toHaveLength(4);
  return folder;
}

describe("a code step killed after two of four calls", () => {
  test.for([
    { at: "before-effect", reversed: false },
    { at: "after-effect", reversed: false },
    // Receipts are found by what was asked for, not by when.
    { at: "after-effect", reversed: true },
  ] as const)(
    "uses the two receipts and runs the others ($at, reversed: $reversed)",
    async ({ at, reversed }) => {
      const folder = await killedAfterTwo(at);
      expect(folder.outside()).toHaveLength(at === "before-effect" ? 2 : 4);
      const result = await folder.result({ scenario: "receipts", act: RESUME, variant: { reversed } });

      expect(result).toMatchObject({ status: "succeeded", resumed: true });
      expect(folder.outside()).toEqual(["fourth", "same", "same", "third"]);
      expect({
        same: folder.tries("pay", "same"),
        third: folder.tries("pay", "third"),
        fourth: folder.tries("pay", "fourth"),
      }).toEqual({ same: 2, third: 2, fourth: 2 });
      const keys = folder.lines("tried").map(({ key }) => key);
      expect(new Set(keys).size).toBe(4);
      for (const key of keys) expect(result.output).toContain(`under ${key.slice(0, 8)}`);

      const calls = await folder.withStore((store) => store.listToolCalls("receipts-1"));
      expect(calls.map(({ status }) => status)).toEqual(Array(4).fill("succeeded"));
      expect(calls.map(({ attempt }) => attempt)).toEqual([1, 1, 2, 2]);
    },
  );

  test("stops where one of the others may not be repeated, and asks for none of them", async () => {
    const folder = await killedAfterTwo("after-effect");
    const before = folder.witness();
    const error = await folder.error({
      scenario: "receipts",
      act: RESUME,
      variant: { payRecovery: "opaque" },
    });
    expect(error.name).toBe("ToolCallInDoubtError");
    expect(folder.witness()).toEqual(before);
  });
});

test("a code step killed when all of its calls have receipts runs none of them again", async () => {
  const folder = crashFolder();
  await folder.killed({ scenario: "receipts", act: RUN, crash: { point: "step:before-finish" } });
  expect(folder.tries("pay")).toBe(4);
  const result = await folder.result({ scenario: "receipts", act: RESUME });
  expect(result.status).toBe("succeeded");
  expect(folder.tries("pay")).toBe(4);
  expect(result.output).toContain("paid fourth under");
});
