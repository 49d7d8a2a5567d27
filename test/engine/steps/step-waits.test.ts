// Steps that wait for the clock or for a message: nothing is held meanwhile, and no wait begins again.

import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import {
  type CodeStepContext,
  ConfigurationError,
  type Json,
  Pipeline,
  type ReceivedMessage,
  Runner,
  Step,
  type StepNode,
  type Store,
  type TimedOut,
  ToolFailedError,
  type WiredStep,
} from "../../../src/index.ts";
import { actTool, jumpingClock, timedStore } from "../call/call-fixture.ts";
import { failureAs } from "../run-fixture.ts";

/** A step with a clock that moves only when it is told to. */
async function worldOf(step: StepNode) {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  return { store, clock, make: (other: StepNode = step) => new Runner(other, { store, clock }) };
}

const inCode = (code: (ctx: CodeStepContext) => unknown) =>
  Step.run("code", async (_input: Json, ctx) => ((await code(ctx)) ?? null) as Json);

const message = (id: string, body: Json, event = "payment.confirmed") => ({
  id,
  event,
  body,
  by: { by: "bank" },
});

async function waitTimes(store: Store, runId = "r-1") {
  return (await store.listWaits(runId)).map(({ dueAt, status }) => [dueAt, status]);
}

describe("Step.sleep", () => {
  it("leaves the run waiting, and passes its input on when the time has come", async () => {
    const { store, clock, make } = await worldOf(
      Pipeline.of(
        "p",
        Step.run("one", () => ({ n: 1 })),
        Step.sleep("pause", 3_600_000),
      ),
    );
    const { status, waits } = await make().run(null, { runId: "r-1" });
    expect([status, waits]).toMatchObject(["waiting", [{ kind: "time", dueAt: clock.now() + 3_600_000 }]]);
    await clock.advance(3_599_999);
    expect((await make().resume("r-1")).status).toBe("waiting");
    await clock.advance(1);
    expect((await make().resume("r-1")).output).toEqual({ n: 1 });
    expect(
      (await store.listToolCalls("r-1")).map(({ attempt, receipt }) => [attempt, receipt?.source]),
    ).toEqual([[1, "pawl"]]);
  });

  it("sleeps until a time that its input says, and not at all if that has passed", async () => {
    const until = { until: (at: string) => at };
    const { clock, make } = await worldOf(Pipeline.of("p", Step.sleep<string>("pause", until)));
    const later = new Date(clock.now() + 5_000).toISOString();
    const { waits } = await make().run(later, { runId: "r-1" });
    expect(waits).toMatchObject([{ dueAt: clock.now() + 5_000 }]);
    expect((await make().run("2020-01-01T00:00:00+01:00", { runId: "r-2" })).status).toBe("succeeded");
    expect((await make().run("tomorrow", { runId: "r-3" }).catch(String)) as string).toMatch(
      'until of Step.sleep("pause", …) is "tomorrow": give a Date, or a date-time with an offset',
    );
  });

  it("computes its time once, whatever the code says after a restart", async () => {
    const { store, clock, make } = await worldOf(Step.sleep("pause", 1_000));
    await make().run(null, { runId: "r-1" });
    await clock.advance(400);
    await make(Step.sleep("pause", 60_000)).resume("r-1");
    expect(await waitTimes(store)).toEqual([[clock.now() + 600, "open"]]);
  });

  it("is refused with a sentence if its time is none", () => {
    const mistakes: readonly [unknown, string][] = [
      [1.5, 'Step.sleep("pause", …) has 1.5: give whole milliseconds, from 0 to ten years.'],
      [-1, "has -1: give whole milliseconds"],
      [4e11, "has 400000000000: give whole milliseconds"],
      [undefined, "has undefined: give whole milliseconds"],
      [{ untill: () => "" }, 'Step.sleep("pause", …) has no "untill": did you mean until?'],
      [{ until: "08:00" }, 'Step.sleep("pause", …) has a string as until: give a function of its input.'],
    ];
    for (const [time, text] of mistakes) {
      expect(() => Step.sleep("pause", time as number)).toThrow(ConfigurationError);
      expect(() => Step.sleep("pause", time as number)).toThrow(text);
    }
  });

  it("has the type of its input as output", () => {
    const pipeline = Pipeline.of(
      "p",
      Step.run("one", () => ({ n: 1 })),
      Step.sleep("pause", 1),
      Step.run("two", ({ n }) => {
        expectTypeOf(n).toEqualTypeOf<number>();
        return n;
      }),
    );
    expectTypeOf(pipeline).toExtend<WiredStep<number, Json>>();
    expect(pipeline.children).toHaveLength(3);
  });
});

describe("ctx.sleep", () => {
  it("is not slept again by a step that starts again", async () => {
    const { act, whats } = actTool();
    const { store, clock, make } = await worldOf(
      inCode(async (ctx) => {
        await ctx.sleep(1_000);
        await ctx.call(act, { what: "a" });
        await ctx.sleep(1_000);
        return "done";
      }),
    );
    await make().run(null, { runId: "r-1" });
    await clock.advance(1_000);
    await make().resume("r-1");
    expect(whats).toEqual(["a"]);
    await clock.advance(1_000);
    expect((await make().resume("r-1")).output).toBe("done");
    expect(whats).toEqual(["a"]);
    expect(await waitTimes(store)).toHaveLength(2);
  });

  it("of no time continues at once", async () => {
    const { make } = await worldOf(inCode((ctx) => ctx.sleep(0)));
    expect((await make().run(null, { runId: "r-1" })).status).toBe("succeeded");
  });

  it("is the same sleep after a restart if only its time has changed", async () => {
    const { store, clock, make } = await worldOf(inCode((ctx) => ctx.sleep(1_000)));
    await make().run(null, { runId: "r-1" });
    await clock.advance(1_000);
    const changed = inCode(async (ctx) => {
      await ctx.sleep(99_000);
      return "awake";
    });
    expect((await make(changed).resume("r-1")).output).toBe("awake");
    expect(await waitTimes(store)).toHaveLength(1);
  });

  it("does not count as a failure of its tool, however often it is called", async () => {
    const { clock, make } = await worldOf(
      inCode(async (ctx) => {
        for (let i = 0; i < 12; i++) await ctx.sleep(1_000);
        return "done";
      }),
    );
    let result = await make().run(null, { runId: "r-1" });
    for (let i = 0; i < 12; i++) {
      expect(result.waits.map(({ kind }) => kind)).toEqual(["time"]);
      await clock.advance(1_000);
      result = await make().resume("r-1");
    }
    expect(result.output).toBe("done");
  });

  it("is refused with a sentence if its time is none", async () => {
    const { make } = await worldOf(inCode((ctx) => ctx.sleep("1h" as unknown as number)));
    const error = await failureAs(ConfigurationError, make().run(null, { runId: "r-1" }));
    expect(error.message).toBe(
      'ctx.sleep of step code has "1h": give whole milliseconds, from 0 to ten years.',
    );
  });
});

describe("Step.receive", () => {
  const paid = Step.receive("paid", {
    event: "payment.*",
    schema: z.object({ amount: z.number() }),
    timeoutMs: 5_000,
  });

  it("outputs the message that answers it", async () => {
    const { store, clock, make } = await worldOf(paid);
    const { status, waits } = await make().run(null, { runId: "r-1" });
    expect([status, waits]).toMatchObject(["waiting", [{ kind: "message", matches: "payment.*" }]]);
    const at = new Date(clock.now()).toISOString();
    await store.sendMessage("r-1", message("m-1", { amount: 7 }));
    expect((await make().resume("r-1")).output).toEqual({
      event: "payment.confirmed",
      data: { amount: 7 },
      by: "bank",
      at,
    });
  });

  it("finds a message that came before it waited", async () => {
    const { act } = actTool(async () => store.sendMessage("r-1", message("m-1", { amount: 7 })));
    const { store, make } = await worldOf(
      Pipeline.of(
        "p",
        Step.run("early", async (_: Json, ctx) => (await ctx.call(act, { what: "a" }), null)),
        paid,
      ),
    );
    expect((await make().run(null, { runId: "r-1" })).output).toMatchObject({ data: { amount: 7 } });
  });

  it("fails with its name if nothing comes in time, and waits again when the run is resumed", async () => {
    const { store, clock, make } = await worldOf(paid);
    await make().run(null, { runId: "r-1" });
    await clock.advance(5_000);
    const error = await failureAs(ToolFailedError, make().resume("r-1"));
    expect(error.message).toBe(
      "Tool wait_for failed: No message payment.* came to step paid within 5 seconds. Resume the run to wait again.",
    );
    expect((await make().resume("r-1")).status).toBe("waiting");
    await store.sendMessage("r-1", message("m-1", { amount: 7 }));
    expect((await make().resume("r-1")).output).toMatchObject({ data: { amount: 7 } });
  });

  it("receives what came to a failed run once that is resumed", async () => {
    const { store, clock, make } = await worldOf(paid);
    await make().run(null, { runId: "r-1" });
    await clock.advance(5_000);
    await failureAs(ToolFailedError, make().resume("r-1"));
    const late = await store.sendMessage("r-1", message("m-1", { amount: 7 }));
    expect([late.status, late.reason]).toEqual(["returned", "failed"]);
    expect((await make().resume("r-1")).output).toMatchObject({ data: { amount: 7 } });
    expect(await store.sendMessage("r-1", message("m-1", { amount: 7 }))).toMatchObject({
      isDuplicate: true,
      status: "taken",
    });
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("is reached by an address of its input, from when it waits until the run has ended", async () => {
    const byInvoice = Step.receive("paid", {
      event: "payment.*",
      address: ({ id }: { readonly id: number }) => `invoice:${id}`,
    });
    const { store, make } = await worldOf(byInvoice);
    const runner = new Runner(byInvoice, { store });
    expect(await store.findAddress("invoice:7")).toBeNull();
    await make().run({ id: 7 }, { runId: "r-1" });
    await make().run({ id: 8 }, { runId: "r-2" });
    const paidNow = { event: "payment.confirmed", data: 40 };
    const sent = await runner.send({ address: "invoice:7" }, paidNow, { id: "m-1", by: "bank" });
    expect(sent).toMatchObject({ runId: "r-1", status: "taken" });
    expect((await make().resume("r-1")).output).toMatchObject({ data: 40 });
    expect(await store.findAddress("invoice:7")).toBeNull();
    expect(await store.findAddress("invoice:8")).toBe("r-2");
    expect((await store.verify("r-1")).problems).toEqual([]);
    expectTypeOf(byInvoice).toExtend<WiredStep<ReceivedMessage, { readonly id: number }>>();
  });

  it("fails in a sentence while another run has its address, and waits once that is free", async () => {
    const { store, make } = await worldOf(Step.receive("paid", { event: "paid", address: "invoice:7" }));
    await make().run(null, { runId: "r-1" });
    const error = await failureAs(ToolFailedError, make().run(null, { runId: "r-2" }));
    expect(error.message).toMatch('The address "invoice:7" belongs to run r-1, which has not ended');
    expect((await store.getRun("r-2"))?.status).toBe("failed");
    await store.requestCancel("r-1");
    expect((await make().resume("r-2")).status).toBe("waiting");
    expect(await store.findAddress("invoice:7")).toBe("r-2");
    expect((await store.verify("r-2")).problems).toEqual([]);
  });

  it("may give its run several addresses, and one of them again", async () => {
    const { store, make } = await worldOf(
      inCode(async (ctx) => {
        await ctx.receive({ event: "a", address: "invoice:7" });
        await ctx.receive({ event: "b", address: "order:7" });
        return (await ctx.receive({ event: "c", address: "invoice:7" })).data;
      }),
    );
    const send = (address: string, event: string) =>
      new Runner(
        inCode(() => null),
        { store },
      ).send({ address }, { event, data: event });
    await make().run(null, { runId: "r-1" });
    await send("invoice:7", "a");
    await make().resume("r-1");
    await send("order:7", "b");
    await make().resume("r-1");
    await send("order:7", "c");
    expect((await make().resume("r-1")).output).toBe("c");
  });

  it("continues without a message if it says so", async () => {
    const { clock, make } = await worldOf(
      Step.receive("paid", { event: "payment.confirmed", timeoutMs: 5_000, onTimeout: "go_on" }),
    );
    await make().run(null, { runId: "r-1" });
    await clock.advance(5_000);
    expect((await make().resume("r-1")).output).toEqual({ timedOut: true });
  });

  it("fails with a sentence if the data does not fit", async () => {
    const { store, make } = await worldOf(paid);
    await make().run(null, { runId: "r-1" });
    await store.sendMessage("r-1", message("m-1", { amount: "seven" }));
    const error = await failureAs(ConfigurationError, make().resume("r-1"));
    expect(error.message).toMatch(
      "The message payment.confirmed from bank, which step paid received for payment.*, does not fit its schema:",
    );
    expect(error.message).toMatch("amount");
  });

  it("has the type of the message as output", () => {
    expectTypeOf(Step.receive<{ amount: number }>("a", { event: "a" })).toExtend<
      WiredStep<ReceivedMessage<{ amount: number }>, Json>
    >();
    const later = Step.receive<number>("a", { event: "a", timeoutMs: 1, onTimeout: "go_on" });
    expectTypeOf<NonNullable<(typeof later)["outputType"]>>().toEqualTypeOf<
      ReceivedMessage<number> | TimedOut
    >();
    Pipeline.of(
      "p",
      paid,
      Step.run("amount", ({ data }) => {
        expectTypeOf(data).toEqualTypeOf<{ amount: number }>();
        return data.amount;
      }),
    );
    expect(later.name).toBe("a");
  });

  it("is refused with a sentence if its options are wrong", () => {
    const mistakes: readonly [object, string][] = [
      [{ event: "" }, 'Step.receive("paid", …): It waits for ""'],
      [{ events: ["a"] }, 'Step.receive("paid", …) has no "events": did you mean event?'],
      [{ event: "a", timeout: 1 }, "did you mean timeoutMs?"],
      [{ event: "a", timeoutMs: 0.5 }, "has timeoutMs 0.5: give whole milliseconds"],
      [
        { event: "a", timeoutMs: 1, onTimeout: "continue" },
        'has onTimeout "continue": use "fail" or "go_on".',
      ],
      [{ event: "a", onTimeout: "go_on" }, "has onTimeout and waits without a limit: give it timeoutMs."],
      [{ event: "a", schema: 5 }, "has a schema that is none"],
      [{ event: "a", address: " " }, 'Step.receive("paid", …) has the address " ": give a name such as'],
      [{ event: "a", address: 7 }, "has the address a number: give a name such as"],
      [{ event: "a", address: "x".repeat(1_025) }, "has 1025 bytes: use at most 1024."],
    ];
    for (const [options, text] of mistakes)
      expect(() => Step.receive("paid", options as { event: string })).toThrow(text);
  });
});

describe("ctx.receive", () => {
  it("is matched by its event after a restart, not by its place", async () => {
    const { store, make } = await worldOf(
      inCode((ctx) => Promise.all([ctx.receive({ event: "a" }), ctx.receive({ event: "b" })])),
    );
    const { waits } = await make().run(null, { runId: "r-1" });
    expect(waits.map(({ matches }) => matches)).toEqual(["a", "b"]);
    await store.sendMessage("r-1", message("m-1", 1, "a"));
    await store.sendMessage("r-1", message("m-2", 2, "b"));
    const turned = inCode(async (ctx) => [
      (await ctx.receive({ event: "b" })).data,
      (await ctx.receive({ event: "a" })).data,
    ]);
    expect((await make(turned).resume("r-1")).output).toEqual([2, 1]);
  });

  it("gives the code an error, or a result, if nothing comes in time", async () => {
    const { clock, make } = await worldOf(
      inCode(async (ctx) => {
        const first = await ctx.receive({ event: "a", timeoutMs: 10, onTimeout: "go_on" });
        const second = await failureAs(ToolFailedError, ctx.receive({ event: "b", timeoutMs: 10 }));
        return [first, second.message];
      }),
    );
    await make().run(null, { runId: "r-1" });
    await clock.advance(10);
    await make().resume("r-1");
    await clock.advance(10);
    expect((await make().resume("r-1")).output).toEqual([
      { timedOut: true },
      "Tool wait_for failed: No message b came to step code within 10 ms. Resume the run to wait again.",
    ]);
  });
});

describe("a run that waits for the clock or a message", () => {
  it("is continued by `run` too, with and without its id", async () => {
    const { clock, make } = await worldOf(Step.sleep("pause", 1_000));
    await make().run("a", { runId: "r-1" });
    await clock.advance(1_000);
    expect(await make().run("a", { runId: "r-1" })).toMatchObject({ status: "succeeded", resumed: true });
    const { runId } = await make().run("b");
    await clock.advance(1_000);
    expect(await make().run("b")).toMatchObject({ status: "succeeded", runId });
  });
});
