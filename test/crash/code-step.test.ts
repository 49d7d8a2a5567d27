import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/index.ts";
import { sampledPairs } from "../full-test.ts";
import { type CrashFolder, crashFolder } from "./harness/crash-folder.ts";
import { effectServer } from "./harness/effect-server.ts";
import type { Act, PersonAnswers, Variant } from "./harness/worker-order.ts";

const RUN: Act = { do: "run", input: "town", runId: "receipts-1" };
const RESUME: Act = { do: "resume", runId: "receipts-1" };

function orderOf({ arguments: input }: JsonObject): unknown {
  return (input as JsonObject).order;
}

/** Four calls at once: two equal ones have their receipts, the other two are still running. */
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
  // Receipts are found by the arguments, not by the order of the calls.
  test.for(sampledPairs(["before-effect", "after-effect"] as const, [false, true]))(
    "uses the two receipts and runs the others (%s, reversed: %s)",
    async ([at, reversed]) => {
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
      // The order of the rows depends on timing; their outcomes do not.
      expect(calls.map(({ request, occurrence, attempt }) => ({ request, occurrence, attempt }))).toEqual(
        expect.arrayContaining([
          { request: { order: "same" }, occurrence: 1, attempt: 1 },
          { request: { order: "same" }, occurrence: 2, attempt: 1 },
          { request: { order: "third" }, occurrence: 1, attempt: 2 },
          { request: { order: "fourth" }, occurrence: 1, attempt: 2 },
        ]),
      );
      const tries = await folder.withStore((store) => store.listToolCallAttempts("receipts-1"));
      expect(tries.map(({ outcome }) => outcome)).toEqual(["lost", "lost"]);
    },
  );

  test("asks a person about each of the others that may not be repeated, and runs none of them", async () => {
    const folder = await killedAfterTwo("after-effect");
    const before = folder.witness();
    const variant: Variant = { payRecovery: "opaque" };
    const asking = await folder.result({ scenario: "receipts", act: RESUME, variant });
    expect(asking.status).toBe("waiting");
    expect(asking.waits.map(({ kind }) => kind)).toEqual(["in_doubt", "in_doubt"]);
    expect(new Set(asking.waits.map(({ subject }) => orderOf(subject)))).toEqual(
      new Set(["third", "fourth"]),
    );
    expect(folder.witness()).toEqual(before);

    // A person settles one as succeeded. The other still waits, and the step cannot finish without it.
    const third = asking.waits.find(({ subject }) => orderOf(subject) === "third")?.toolCallId ?? "";
    await folder.withStore((store) => store.settle(third, { as: "succeeded", result: "paid third by hand" }));
    const still = await folder.result({ scenario: "receipts", act: RESUME, variant });
    expect(still.waits.map(({ subject }) => orderOf(subject))).toEqual(["fourth"]);
    const answers = { inDoubt: { as: "retry" } } as const;
    const answer: Act = { do: "answer", runId: "receipts-1", answers };
    const result = await folder.result({ scenario: "receipts", act: answer, variant });
    expect(result).toMatchObject({ status: "succeeded", waits: [] });
    expect(result.output).toMatch(
      /^paid fourth under .*; paid same under .*; paid same under .*; paid third by hand$/,
    );
    expect({ third: folder.tries("pay", "third"), fourth: folder.tries("pay", "fourth") }).toEqual({
      third: 1,
      fourth: 2,
    });
    expect(folder.tries("pay", "same")).toBe(2);
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

/** A code step that booked the window, was killed, and books the terrace when it runs again. */
describe("a code step that makes another call after it was killed", () => {
  const BOOK: Act = { do: "run", input: "window", runId: "booking-1" };
  const RESUME_BOOKING: Act = { do: "resume", runId: "booking-1" };
  const answer = (answers: PersonAnswers): Act => ({ do: "answer", runId: "booking-1", answers });

  test("waits for a person, and follows the answer", async () => {
    const [folder, server] = [crashFolder(), await effectServer({ keyed: true })];
    const booking = { server: server.url, recovery: "keyed" } as const;
    const scenario = "bookingsByCode";
    const crash = { point: "tool:receipt-stored" } as const;
    await folder.killed({ scenario, act: BOOK, variant: { booking }, crash });
    const variant: Variant = { booking: { ...booking, tables: ["terrace"] } };
    const asking = await folder.result({ scenario, act: RESUME_BOOKING, variant });
    expect(asking.waits).toMatchObject([
      {
        kind: "possible_duplicate",
        toolCallId: "booking-1/booking#0.2",
        subject: { arguments: { table: "terrace" }, earlier: "booking-1/booking#0.1" },
      },
    ]);
    expect(asking.waits[0]?.question).toContain("now calls it with other arguments");
    expect(server.effects).toEqual(["window"]);

    // Concurrently, since each gives the code seconds to make the earlier call again.
    const deny = answer({ approval: { deny: "One is enough." } });
    const [denied, approved] = await Promise.all([
      folder.copy().result({ scenario, act: deny, variant }),
      folder.result({ scenario, act: answer({ approval: "approve" }), variant }),
    ]);
    expect(denied.status).toBe("succeeded");
    expect(denied.output).toContain("A person denied book: One is enough.");
    expect(approved).toMatchObject({ status: "succeeded", output: "Done: terrace is booking 2.", waits: [] });
    // One request for each: the denied call has sent nothing.
    expect(server.effects).toEqual(["window", "terrace"]);
    expect(server.requests).toBe(2);
  });

  test("also waits for a person about the call that it left in doubt", async () => {
    const [folder, server] = [crashFolder(), await effectServer({ keyed: true })];
    const booking = { server: server.url, recovery: "keyed" } as const;
    const scenario = "bookingsByCode";
    await folder.killed({ scenario, act: BOOK, variant: { booking }, crash: { point: "tool:executed" } });
    const variant: Variant = { booking: { ...booking, tables: ["terrace"] } };
    const asking = await folder.result({ scenario, act: RESUME_BOOKING, variant });
    expect(asking.waits.map(({ kind }) => kind)).toEqual(["possible_duplicate"]);
    // No code claims the earlier booking any more. It is neither forgotten nor repeated.
    const left = await folder.result({ scenario, act: answer({ approval: "approve" }), variant });
    expect(left.waits).toMatchObject([{ kind: "in_doubt", toolCallId: "booking-1/booking#0.1" }]);
    expect(server.effects).toEqual(["window", "terrace"]);

    const act = answer({ inDoubt: { as: "succeeded", result: "It was booked, and is cancelled." } });
    const result = await folder.result({ scenario, act, variant });
    expect(result).toMatchObject({ status: "succeeded", output: "Done: terrace is booking 2.", waits: [] });
    expect(server.requests).toBe(2);
  });
});
