import { describe, expect, it } from "vitest";
import { parseRunSpec } from "../../../../src/core/job/run-spec.ts";
import type { Json } from "../../../../src/core/json.ts";
import { buildPipeline } from "../../../../src/engine/steps/blueprint/blueprint-pipeline.ts";
import { Runner } from "../../../../src/index.ts";
import { jumpingClock, timedStore } from "../../call/call-fixture.ts";

const NO_PARTS = {
  model: () => {
    throw new Error("There is no model.");
  },
  tool: () => {
    throw new Error("There is no tool.");
  },
  source: () => {
    throw new Error("There is no source.");
  },
  check: async () => ({ ok: true as const, value: null }),
};

function parsed(...steps: readonly Json[]) {
  return parseRunSpec({ objective: "Wait", pipeline: { name: "waits", steps: [...steps] } });
}

async function worldOf(...steps: readonly Json[]) {
  const result = parsed(...steps);
  const blueprint = result.ok ? result.spec.pipeline : null;
  if (typeof blueprint !== "object" || blueprint === null) throw new Error("There is no blueprint.");
  const clock = jumpingClock();
  const store = await timedStore(clock);
  return { store, clock, runner: new Runner(buildPipeline(blueprint, NO_PARTS), { store, clock }) };
}

describe("a blueprint that waits", () => {
  it("sleeps, and then receives a message", async () => {
    const { store, clock, runner } = await worldOf(
      { name: "pause", sleep: "3h", phase: "rest" },
      { name: "paid", receive: "payment.*", timeout: "3d" },
    );
    const { waits } = await runner.run("Go", { runId: "r-1" });
    expect(waits).toMatchObject([{ kind: "time", dueAt: clock.now() + 3 * 3_600_000 }]);
    await clock.advance(3 * 3_600_000);
    const later = await runner.resume("r-1");
    expect(later.waits).toMatchObject([{ matches: "payment.*", dueAt: clock.now() + 3 * 86_400_000 }]);
    await store.sendMessage("r-1", { id: "m-1", event: "payment.confirmed", body: 7 });
    expect((await runner.resume("r-1")).output).toMatchObject({ event: "payment.confirmed", data: 7 });
  });

  it.each([
    [{ name: "pause", sleep: "3 hours" }, "must be a duration such as 45s, 30m, 3h or 2d"],
    [{ name: "pause", sleep: 3 }, "must be a duration"],
    [{ name: "pause", sleep: "99999d" }, "at most ten years"],
    [{ name: "paid", receive: "no blanks" }, "must be the name of an event"],
    [{ name: "paid", receive: "a", timeout: "soon" }, "or null to wait without a limit"],
    [{ name: "paid", receive: "a", until: "2d" }, "until"],
  ])("is refused with a sentence: %j", (step, text) => {
    expect(JSON.stringify(parsed(step))).toMatch(text);
    expect(parsed(step).ok).toBe(false);
  });
});
