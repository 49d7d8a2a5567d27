import { describe, expect, it, vi } from "vitest";
import { Pipeline, Runner, Step } from "../../../src/index.ts";
import { memoryStore } from "../run-fixture.ts";

const doubling = Pipeline.of(
  "doubling",
  Step.run("double", (n: number) => n * 2),
);

describe("advance of a run in which workers die", () => {
  it("leaves it to a person after five of them without a commit", async () => {
    const store = await memoryStore();
    const runner = new Runner(doubling, { store });
    const { runId } = await runner.enqueue(1);
    for (let n = 0; n < 6; n++) {
      const claim = { leaseMs: 1, from: ["queued", "running"] } as const;
      await vi.waitFor(async () => expect((await store.claimRun(runId, claim)).kind).toBe("claimed"));
    }
    await vi.waitFor(async () => expect(await runner.advance(runId)).toEqual({ next: "wait" }));
    expect((await store.getRun(runId))?.status).toBe("waiting");
  });
});
