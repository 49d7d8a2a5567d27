// A tool that mutates its arguments or throws the engine's own errors cannot affect the run.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { PersonNeededError } from "../../../src/core/errors.ts";
import { LeaseLostError, NotApplied, tool } from "../../../src/index.ts";
import { memoryStore, must, toolResults } from "../run-fixture.ts";
import { acting, actTool, asking, jumpingClock, runnerOf, timedStore } from "./call-fixture.ts";

describe("a tool that mutates its arguments", () => {
  type Payment = { amount: number; lines: { cents: number }[] };
  const ASKED = { amount: 5, lines: [{ cents: 500 }] };

  /** Doubles its arguments in place and records what it received. */
  function doubling() {
    const given: Payment[] = [];
    const take = (input: Payment) => {
      given.push(structuredClone(input));
      input.amount *= 2;
      for (const line of input.lines) line.cents *= 2;
    };
    return { given, take };
  }
  const inputSchema = z.object({ amount: z.number(), lines: z.array(z.object({ cents: z.number() })) });

  it("gets the same arguments at the next attempt, and the stored request is unchanged", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { given, take } = doubling();
    const pay = tool({
      name: "pay",
      description: "Pays.",
      inputSchema,
      effect: "external",
      execute: (input) => {
        take(input);
        if (given.length < 3) throw new NotApplied("503");
        return "paid";
      },
    });
    const { runner } = runnerOf(store, { pay }, [asking(["pay", ASKED])], { clock });
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("succeeded");
    expect(given).toEqual([ASKED, ASKED, ASKED]);
    expect((await store.listToolCalls("r-1"))[0]?.request).toEqual(ASKED);
  });

  it("gets the original arguments in every look-up and every attempt", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const sent = doubling();
    const looked = doubling();
    const pay = tool({
      name: "pay",
      description: "Pays.",
      inputSchema,
      effect: "external",
      recovery: "reconcile",
      landsWithinMs: 1_000,
      reconcile: (input) => {
        looked.take(input);
        return { status: "absent" as const };
      },
      execute: (input) => {
        sent.take(input);
        if (sent.given.length === 1) throw new Error("Reset.");
        return "paid";
      },
    });
    const { runner } = runnerOf(store, { pay }, [asking(["pay", ASKED])], { clock });
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("succeeded");
    expect([looked.given, sent.given]).toEqual([
      [ASKED, ASKED],
      [ASKED, ASKED],
    ]);
    expect((await store.listToolCalls("r-1"))[0]?.request).toEqual(ASKED);
  });

  it("gets the same non-JSON arguments, made by its schema, at the next attempt too", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const given: string[] = [];
    const remind = tool({
      name: "remind",
      description: "Reminds.",
      inputSchema: z.object({ day: z.string().transform((day) => new Date(day)) }),
      effect: "external",
      execute: ({ day }) => {
        given.push(day.toISOString());
        day.setUTCFullYear(1970);
        if (given.length < 2) throw new NotApplied("503");
        return "ok";
      },
    });
    const { runner } = runnerOf(store, { remind }, [asking(["remind", { day: "2026-03-01" }])], { clock });
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("succeeded");
    expect(given).toEqual(["2026-03-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z"]);
  });
});

describe("an engine error that does not belong to this run", () => {
  const wait = {
    kind: "approval",
    stepKey: 1,
    turnIndex: 1,
    callIndex: 9,
    question: "May it?",
    subject: {},
    argumentsHash: null,
  } as const;

  it.each([
    ["PersonNeededError without waits", () => new PersonNeededError("Ask.", { waits: [] })],
    ["PersonNeededError about another call", () => new PersonNeededError("Ask.", { waits: [wait] })],
    ["LeaseLostError of another run", () => new LeaseLostError("Lost.", { runId: "r-2", epoch: 1 })],
    [
      "LeaseLostError of an earlier epoch of this run",
      (epoch: number) => new LeaseLostError("Lost.", { runId: "r-1", epoch: epoch - 1 }),
    ],
  ])("thrown by a tool is a failure like any other (%s)", async (_name, error) => {
    const store = await memoryStore();
    const { act } = actTool((_n, { epoch }) => {
      throw error(epoch);
    });
    const { runner, prompts } = runnerOf(store, { act }, [acting("a")]);
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");
    expect(toolResults(prompts.at(-1))).toMatchObject([{ type: "error-text" }]);
    expect(must((await store.listToolCalls("r-1"))[0]).receipt).toMatchObject({
      status: "failed",
      errorCode: "tool_error",
      uncertain: true,
      source: "tool",
    });
    expect(await store.listWaits("r-1")).toEqual([]);
  });
});
