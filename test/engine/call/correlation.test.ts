// Correlation ids, by which the outside system knows an effect: stored at once, and passed to the look-up.

import { describe, expect, it } from "vitest";
import { LeaseLostError, type ToolCallContext } from "../../../src/index.ts";
import { toolResults } from "../run-fixture.ts";
import { acting, actTool, crashAt, jumpingClock, openWait, runnerOf, timedStore } from "./call-fixture.ts";

type Setup = {
  /** What each attempt does. */
  readonly tries: readonly ((call: ToolCallContext) => unknown)[];
  readonly lookUp?: (call: ToolCallContext) => "done" | "absent" | "unknown";
};

async function setup({ tries, lookUp = () => "done" }: Setup) {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  const looked: (string | null)[] = [];
  const { act } = actTool((n, call) => tries[n - 1]?.(call) ?? `done ${n}`, {
    recovery: "reconcile",
    reconcile: (_, call) => {
      looked.push(call.correlationId);
      const status = lookUp(call);
      return status === "done" ? { status, result: "found" } : { status };
    },
  });
  const make = (more: Parameters<typeof runnerOf>[3] = {}) =>
    runnerOf(store, { act }, [acting("a")], { clock, ...more });
  return { store, looked, make };
}

const failing = (id: string) => async (call: ToolCallContext) => {
  await call.correlate(id);
  throw new Error("Connection reset.");
};

describe("the correlation id of a call", () => {
  it("is passed to the look-up of its attempt and stored in the receipt", async () => {
    const { store, looked, make } = await setup({ tries: [failing("prov-77")] });
    const { runner, prompts } = make();
    await runner.run("Go", { runId: "r-1" });
    expect(looked).toEqual(["prov-77"]);
    expect(toolResults(prompts[1])).toEqual([{ type: "text", value: "found" }]);
    expect(await store.listToolCalls("r-1")).toMatchObject([
      { receipt: { source: "reconciled", correlationId: "prov-77" } },
    ]);
  });

  it("is durable as soon as `correlate` resolves, and the next process uses it", async () => {
    const { store, looked, make } = await setup({ tries: [(call) => call.correlate("prov-77")] });
    await expect(
      make({ probe: crashAt("tool:executed") }).runner.run("Go", { runId: "r-1" }),
    ).rejects.toThrow();
    await make().runner.resume("r-1");
    expect(looked).toEqual(["prov-77"]);
    expect((await store.listToolCalls("r-1"))[0]?.receipt?.correlationId).toBe("prov-77");
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("belongs to one attempt: the look-up of a later attempt does not get an earlier id", async () => {
    const { looked, make, store } = await setup({
      tries: [failing("prov-1"), () => undefined],
      lookUp: ({ attempt }) => (attempt === 1 ? "absent" : "unknown"),
    });
    const { runner } = make({ probe: crashAt("tool:executed", 2) });
    await expect(runner.run("Go", { runId: "r-1" })).rejects.toThrow();
    expect(new Set(looked)).toEqual(new Set(["prov-1"]));
    looked.splice(0);
    expect((await make().runner.resume("r-1")).status).toBe("waiting");
    expect(looked).toEqual([null]);
    expect((await openWait(store)).subject).not.toHaveProperty("correlationId");
  });

  it("is shown to the person who has to settle the call", async () => {
    const { store, make } = await setup({ tries: [failing("prov-77")], lookUp: () => "unknown" });
    await make().runner.run("Go", { runId: "r-1" });
    expect(await openWait(store)).toMatchObject({ kind: "in_doubt", subject: { correlationId: "prov-77" } });
  });

  it("is available to the tool itself from then on", async () => {
    const seen: unknown[] = [];
    const { make } = await setup({
      tries: [
        async (call) => {
          seen.push(call.correlationId);
          await call.correlate("prov-77");
          seen.push(call.correlationId);
        },
      ],
    });
    await make().runner.run("Go", { runId: "r-1" });
    expect(seen).toEqual([null, "prov-77"]);
  });

  it("is refused to a worker that has lost the run", async () => {
    const refused: unknown[] = [];
    const { make, store } = await setup({
      tries: [
        async (call) => {
          await store.releaseRun({ runId: "r-1", epoch: call.epoch }, { status: "queued" });
          refused.push(await call.correlate("prov-77").catch((error: unknown) => error));
          throw new Error("Not sent.");
        },
      ],
    });
    await expect(make().runner.run("Go", { runId: "r-1" })).rejects.toThrow();
    expect(refused).toEqual([expect.any(LeaseLostError)]);
  });
});
