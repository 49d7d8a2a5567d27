import { describe, expect, test } from "vitest";
import { type CrashFolder, crashFolder } from "./crash-folder.ts";
import type { Act, Variant, WaitingPlace } from "./worker-order.ts";

const RUN: Act = { do: "run", input: "town", runId: "errands-1" };
const RESUME: Act = { do: "resume", runId: "errands-1" };
const EVERY_ORDER = ["town/1", "town/2", "town/3", "town/4"];

/** Starts a worker that stops in the place, and kills it there from outside, by its process id. */
async function killInside(
  folder: CrashFolder,
  wait: WaitingPlace,
  { variant = {}, after = () => true }: { variant?: Variant; after?: () => boolean } = {},
): Promise<void> {
  const worker = folder.start({ scenario: "errands", act: RUN, wait, variant, trace: true });
  await folder.untilWaiting();
  await folder.until(after);
  process.kill(worker.pid, "SIGKILL");
  expect(await worker.end).toEqual({ kind: "killed" });
}

function asked(folder: CrashFolder, turn: number): number {
  return folder.lines("asked").filter((line) => line.turn === turn).length;
}

test.for([1, 3, 5])("a process killed while the model thinks about turn %i asks it again", async (turn) => {
  const folder = crashFolder();
  await killInside(folder, { at: "model", turn });
  const result = await folder.result({ scenario: "errands", act: RESUME });

  expect(result).toMatchObject({ status: "succeeded", resumed: true });
  const expected = [1, 2, 3, 4, 5].map((each) => (each === turn ? 2 : 1));
  expect([1, 2, 3, 4, 5].map((each) => asked(folder, each))).toEqual(expected);
  expect(folder.outside()).toEqual(EVERY_ORDER);
  expect(folder.tries("pay")).toBe(4);
  expect(folder.effects("look")).toBe(4);
  const calls = await folder.withStore((store) => store.listModelCalls("errands-1"));
  const unanswered = calls.filter((call) => call.charge?.basis === "baseline");
  expect(unanswered).toHaveLength(1);
  const reserved = unanswered[0]?.reserved ?? { tokens: 0 };
  expect(unanswered[0]).toMatchObject({ turnIndex: turn, attempt: 1, charge: { amount: reserved } });
  expect(result.usage.charged.tokens).toBe(5 * 15 + reserved.tokens);
});

test.for([
  { tool: "pay", at: "before-effect", paid: 2, looked: 1 },
  { tool: "pay", at: "after-effect", paid: 2, looked: 1 },
  { tool: "look", at: "before-effect", paid: 1, looked: 1 },
  { tool: "look", at: "after-effect", paid: 1, looked: 2 },
] as const)(
  "a process killed in the tool $tool, $at, runs that call again and no other",
  async ({ tool, at, ...expected }) => {
    const folder = crashFolder();
    // The other call of the turn comes to its receipt meanwhile.
    const receipted = () =>
      folder.lines("reached").some((line) => line.point === "tool:receipt-stored" && line.turn === 3);
    await killInside(folder, { tool, at, turn: 3 }, { after: receipted });
    const result = await folder.result({ scenario: "errands", act: RESUME });

    expect(result.status).toBe("succeeded");
    expect(asked(folder, 3)).toBe(1);
    expect(folder.outside()).toEqual(EVERY_ORDER);
    expect({ paid: folder.tries("pay", "town/3"), looked: folder.effects("look", "town/3") }).toEqual(
      expected,
    );
    expect(folder.tries("pay")).toBe(3 + expected.paid);
    const tries = folder.lines("tried").filter((line) => line.order === "town/3" && line.tool === tool);
    expect(tries.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(new Set(tries.map(({ key }) => key)).size).toBe(1);
  },
);

describe("a process killed in a tool that says nothing about being repeated", () => {
  const variant: Variant = { payRecovery: "opaque" };

  test.for(["before-effect", "after-effect"] as const)(
    "stops the run, %s, and the tool is not run again",
    async (at) => {
      const folder = crashFolder();
      await killInside(folder, { tool: "pay", at, turn: 2 }, { variant });
      const before = folder.witness();

      const error = await folder.error({ scenario: "errands", act: RESUME, variant });
      expect(error.name).toBe("ToolCallInDoubtError");
      expect(error.details).toEqual({ toolCallId: "errands-1/errands#2.1", tool: "pay", recovery: "opaque" });
      expect(error.message).toContain("errands-1/errands#2.1");
      expect(error.message).toContain("nobody here knows whether it happened");
      expect(error.message).toContain('declare `recovery: "keyed"`');

      // The run says so to whoever asks, and asking again changes nothing.
      const run = await folder.withStore((store) => store.getRun("errands-1"));
      expect(run).toMatchObject({
        status: "failed",
        error: { code: "tool_call_in_doubt", message: error.message },
      });
      expect(await folder.error({ scenario: "errands", act: RUN, variant })).toEqual(error);
      expect(await folder.error({ scenario: "errands", act: RESUME, variant })).toEqual(error);
      expect(folder.witness()).toEqual(before);
    },
  );

  test("goes on once the tool says that its key makes it safe", async () => {
    const folder = crashFolder();
    await killInside(folder, { tool: "pay", at: "after-effect", turn: 2 }, { variant });
    await folder.error({ scenario: "errands", act: RESUME, variant });
    const result = await folder.result({ scenario: "errands", act: RESUME });

    expect(result.status).toBe("succeeded");
    expect(folder.outside()).toEqual(EVERY_ORDER);
    expect(folder.tries("pay", "town/2")).toBe(2);
    expect(asked(folder, 2)).toBe(1);
  });

  test("stops before any other call of the turn is made", async () => {
    const folder = crashFolder();
    await folder.killed({
      scenario: "errands",
      act: RUN,
      variant,
      crash: { point: "turn:journaled", turn: 2 },
    });
    const before = folder.witness();
    const error = await folder.error({ scenario: "errands", act: RESUME, variant });
    expect(error.name).toBe("ToolCallInDoubtError");
    expect(folder.witness()).toEqual(before);
  });

  test("with its receipt stored, is in no doubt", async () => {
    const folder = crashFolder();
    await folder.killed({
      scenario: "errands",
      act: RUN,
      variant,
      crash: { point: "tool:receipt-stored", turn: 2 },
    });
    const result = await folder.result({ scenario: "errands", act: RESUME, variant });
    expect(result.status).toBe("succeeded");
    expect(folder.tries("pay")).toBe(4);
    expect(folder.outside()).toEqual(EVERY_ORDER);
  });
});
