import { describe, expect, test } from "vitest";
import { sampled } from "../full-test.ts";
import { type CrashFolder, crashFolder } from "./harness/crash-folder.ts";
import type { Act, Variant, WaitSite } from "./harness/worker-order.ts";

const RUN: Act = { do: "run", input: "town", runId: "errands-1" };
const RESUME: Act = { do: "resume", runId: "errands-1" };
const EVERY_ORDER = ["town/1", "town/2", "town/3", "town/4"];

/** Starts a worker that waits there, and kills it from outside, by its process id. */
async function killInside(
  folder: CrashFolder,
  wait: WaitSite,
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

test.for(sampled([1, 3, 5], 3, 1))(
  "a process killed while it waits for the model in turn %i asks it again",
  async (turn) => {
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
  },
);

const INSIDE = [
  { tool: "pay", at: "before-effect", paid: 2, looked: 1 },
  { tool: "pay", at: "after-effect", paid: 2, looked: 1 },
  { tool: "look", at: "before-effect", paid: 1, looked: 1 },
  { tool: "look", at: "after-effect", paid: 1, looked: 2 },
] as const;

test.for(sampled(INSIDE, 3, 2))(
  "a process killed in the tool $tool, $at, runs that call again and no other",
  async ({ tool, at, ...expected }) => {
    const folder = crashFolder();
    // The other call of the turn gets its receipt meanwhile.
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

describe("a process killed in a tool that declares no recovery", () => {
  const variant: Variant = { payRecovery: "opaque" };

  test.for(sampled(["before-effect", "after-effect"] as const))(
    "leaves the run to a person, %s, and the tool does not run again",
    async (at) => {
      const folder = crashFolder();
      await killInside(folder, { tool: "pay", at, turn: 2 }, { variant });
      const paid = folder.outside();

      const result = await folder.result({ scenario: "errands", act: RESUME, variant });
      expect(result).toMatchObject({ status: "waiting", output: null, resumed: true });
      const [wait, ...others] = result.waits;
      expect(others).toEqual([]);
      expect(wait).toMatchObject({
        kind: "in_doubt",
        toolCallId: "errands-1/errands#2.1",
        attempt: 1,
        status: "open",
        subject: { tool: "pay", recovery: "opaque", arguments: { order: "town/2" } },
      });
      expect(wait?.question).toContain("It is not known whether errands-1/errands#2.1 of pay happened");
      expect(await folder.withStore((store) => store.getRun("errands-1"))).toMatchObject({
        status: "waiting",
        owner: null,
        error: null,
        reserved: { tokens: 0, microDollars: 0 },
      });

      // A run or resume by its id returns the wait, and changes nothing; a run without an id starts nothing else.
      const before = folder.witness();
      for (const act of [RUN, RESUME])
        expect(await folder.result({ scenario: "errands", act, variant })).toEqual(result);
      const unnamed = { scenario: "errands", act: { do: "run", input: "town" }, variant } as const;
      expect((await folder.error(unnamed)).details).toEqual({ why: "waiting", runIds: ["errands-1"] });
      expect(folder.witness()).toEqual(before);
      expect(folder.outside()).toEqual(paid);
      expect(folder.tries("pay", "town/2")).toBe(1);
      expect(asked(folder, 2)).toBe(1);
    },
  );

  test("resumes once the tool is declared keyed, and no person is asked any more", async () => {
    const folder = crashFolder();
    await killInside(folder, { tool: "pay", at: "after-effect", turn: 2 }, { variant });
    const asking = await folder.result({ scenario: "errands", act: RESUME, variant });
    expect(asking.waits).toHaveLength(1);
    const result = await folder.result({ scenario: "errands", act: RESUME });

    expect(result).toMatchObject({ status: "succeeded", waits: [] });
    expect(folder.outside()).toEqual(EVERY_ORDER);
    expect(folder.tries("pay", "town/2")).toBe(2);
    expect(asked(folder, 2)).toBe(1);
    const waits = await folder.withStore((store) => store.listWaits("errands-1"));
    expect(waits.map(({ status }) => status)).toEqual(["withdrawn"]);
  });

  test("lets the other calls of the turn run while a person is asked", async () => {
    const folder = crashFolder();
    await folder.killed({
      scenario: "errands",
      act: RUN,
      variant,
      crash: { point: "tool:noted", turn: 2 },
    });
    expect(folder.tries("look", "town/2")).toBe(0);
    const asking = await folder.result({ scenario: "errands", act: RESUME, variant });
    expect(asking.waits.map(({ toolCallId }) => toolCallId)).toEqual(["errands-1/errands#2.1"]);
    expect({ paid: folder.tries("pay", "town/2"), looked: folder.effects("look", "town/2") }).toEqual({
      paid: 0,
      looked: 1,
    });

    const answers = { inDoubt: { as: "retry" } } as const;
    const answer: Act = { do: "answer", runId: "errands-1", answers };
    const result = await folder.result({ scenario: "errands", act: answer, variant });
    expect(result.status).toBe("succeeded");
    expect(folder.outside()).toEqual(EVERY_ORDER);
    // The look has its receipt: it does not run again beside the call that a person retries.
    expect(folder.effects("look")).toBe(4);
    expect(folder.tries("pay")).toBe(4);
    expect(asked(folder, 2)).toBe(1);
  });

  test("after its receipt is stored leaves nothing in doubt", async () => {
    const folder = crashFolder();
    await folder.killed({
      scenario: "errands",
      act: RUN,
      variant,
      crash: { point: "tool:receipt-stored", turn: 2 },
    });
    const result = await folder.result({ scenario: "errands", act: RESUME, variant });
    expect(result).toMatchObject({ status: "succeeded", waits: [] });
    expect(folder.tries("pay")).toBe(4);
    expect(folder.outside()).toEqual(EVERY_ORDER);
  });
});
