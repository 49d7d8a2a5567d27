// A fork is independent: it is resumed by its id alone, repeats no once-only effect, and counts only its own work.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  BudgetExceededError,
  Pipeline,
  type RunnerOptions,
  Step,
  type Store,
  tool,
} from "../../../src/index.ts";
import { acting, actTool, asking, jumpingClock, timedStore } from "../call/call-fixture.ts";
import { budgetOf, callsOf, jobRunner, jobSpec, temporaryFolder } from "../job-fixture.ts";
import { failureAs, memoryStore, must, scriptedAgent } from "../run-fixture.ts";

const HOUR = 3_600_000;

async function textOf(store: Store, runId: string, name: string): Promise<string | null> {
  const bytes = await store.readArtifact(runId, name);
  return bytes === null ? null : Buffer.from(bytes).toString("utf8");
}

describe("a fork that has not been resumed", () => {
  it("waits for a person, and is not to be advanced at once", async () => {
    const store = await memoryStore();
    const { act } = actTool();
    const { agent } = scriptedAgent([acting("a"), acting("b"), { text: "End." }], { tools: { act } });
    const runner = jobRunner(agent, store);
    await runner.run("Go", { runId: "r-1" });
    await runner.fork("r-1", { atTurn: 1, runId: "r-2" });
    expect(await runner.advance("r-2")).toEqual({ next: "wait" });
    await store.requestResume("r-2", {}, { by: "ann" });
    expect(await runner.advance("r-2")).toEqual({ next: "now" });
  });

  it("is not what `run` with the same input resumes: that is the first run", async () => {
    const store = await memoryStore();
    const { act, calls } = actTool();
    const { agent } = scriptedAgent([acting("a"), acting("b"), acting("c"), { text: "End." }], {
      tools: { act },
    });
    const release = new AbortController();
    const first = jobRunner(agent, store, {
      onEvent: (event) => {
        if (event.type === "turn.committed" && event.turn === 2) release.abort();
      },
    });
    expect((await first.run("Go", { runId: "r-1", release: release.signal })).status).toBe("queued");
    const runner = jobRunner(agent, store);
    await runner.fork("r-1", { atTurn: 1, runId: "r-2" });

    const { runId, status } = await runner.run("Go");

    expect([runId, status]).toEqual(["r-1", "succeeded"]);
    expect(calls.map((call) => call.runId)).toEqual(["r-1", "r-1", "r-1"]);
    expect((await store.getRun("r-2"))?.status).toBe("queued");
    expect((await runner.resume("r-2")).status).toBe("succeeded");
  });

  it("is not what `run` with the same input resumes after the first run has ended: that starts a new run", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "End." }]);
    const runner = jobRunner(agent, store);
    await runner.run("Go", { runId: "r-1" });
    await runner.fork("r-1", { atTurn: 1, runId: "r-2" });
    const { runId, resumed } = await runner.run("Go");
    expect(["r-1", "r-2"]).not.toContain(runId);
    expect([resumed, (await store.getRun("r-2"))?.status]).toEqual([false, "queued"]);
  });
});

describe("a once-only effect whose arguments contain a secret", () => {
  const options: RunnerOptions = { policy: { secretKeys: ["token"] } };

  /** Charges twice, and then makes both calls again. */
  async function charged() {
    const store = await memoryStore();
    const done: string[] = [];
    const charge = tool({
      name: "charge",
      description: "Charges.",
      inputSchema: z.object({ amount: z.number(), token: z.string() }),
      effect: "external",
      recovery: "keyed",
      dedupe: "effect",
      execute: ({ amount }, call) => {
        done.push(`${call.runId} ${amount}`);
        return "charged";
      },
    });
    const charging = (amount: number) => asking(["charge", { amount, token: "tok-12345" }]);
    const script = [charging(100), charging(1), charging(100), charging(1), { text: "End." }];
    const { agent } = scriptedAgent(script, { tools: { charge } });
    const runner = jobRunner(agent, store, options);
    await runner.run("Go", { runId: "r-1" });
    expect(done).toEqual(["r-1 100", "r-1 1"]);
    return { store, done, runner };
  }

  it("is not repeated by a fork", async () => {
    const { store, done, runner } = await charged();
    await runner.fork("r-1", { atTurn: 2, runId: "r-2" });
    await runner.resume("r-2");
    expect(done).toHaveLength(2);
    expect((await callsOf(store, "r-2")).slice(2)).toEqual([
      "r-2/worker#3.1 charge deduplicated",
      "r-2/worker#4.1 charge deduplicated",
    ]);
  });

  it("is not repeated by a fork of a fork", async () => {
    const { store, done, runner } = await charged();
    await runner.fork("r-1", { atTurn: 2, runId: "r-2" });
    await runner.resume("r-2");
    const { run } = await runner.fork("r-2", { atTurn: 3, runId: "r-3" });
    await runner.resume("r-3");
    expect(run.forkedFrom).toMatchObject({ runId: "r-2", firstRunId: "r-1" });
    expect(done).toHaveLength(2);
    expect((await callsOf(store, "r-3")).at(-1)).toBe("r-3/worker#4.1 charge deduplicated");
  });
});

describe("an artifact that was replaced later", () => {
  /** A plan, an agent with two turns that rewrites it, and a step that polishes it. */
  async function polished(tick = 1) {
    let now = Date.UTC(2026, 0, 1);
    const store = await memoryStore({
      now: () => {
        now += tick;
        return now;
      },
    });
    const { act } = actTool((_n, call, what) => call.artifact("plan.md", what).then(({ name }) => name));
    const { agent } = scriptedAgent([acting("second"), acting("third"), { text: "End." }], {
      tools: { act },
    });
    const seen: string[] = [];
    const pipeline = Pipeline.of(
      "p",
      Step.run("plan", (_input, ctx) => ctx.artifact("plan.md", "first")),
      Step.granular("talk", agent),
      Step.run("polish", async (_input, ctx) => {
        seen.push(Buffer.from(must(await ctx.readArtifact("plan.md"))).toString("utf8"));
        await ctx.artifact("plan.md", "polished");
      }),
    );
    const workspaceRoot = temporaryFolder();
    const runner = jobRunner(pipeline, store, { workspaceRoot });
    await runner.run("Go", { runId: "r-1" });
    expect(await textOf(store, "r-1", "plan.md")).toBe("polished");
    return { store, runner, seen, workspaceRoot };
  }

  it("has the content of the fork's turn in the fork", async () => {
    const { store, runner, seen, workspaceRoot } = await polished();
    await runner.fork("r-1", { atTurn: 1, runId: "r-2" });
    await runner.fork("r-1", { atTurn: 3, runId: "r-3" });
    expect(await textOf(store, "r-2", "plan.md")).toBe("second");
    expect(await textOf(store, "r-3", "plan.md")).toBe("third");
    await runner.resume("r-3");
    expect(seen).toEqual(["third", "third"]);
    expect(readFileSync(join(workspaceRoot, "pawl-runs", "r-3", "plan.md"), "utf8")).toBe("polished");
    for (const runId of ["r-2", "r-3"]) expect((await store.verify(runId)).problems).toEqual([]);
  });

  it("has the content of its turn in a fork of a fork, written before the fork or after it", async () => {
    const { store, runner } = await polished();
    await runner.fork("r-1", { atTurn: 1, runId: "r-2" });
    await runner.fork("r-2", { atTurn: 1, runId: "r-3" });
    expect(await textOf(store, "r-3", "plan.md")).toBe("second");
    await runner.resume("r-2");
    await runner.fork("r-2", { atTurn: 2, runId: "r-4" });
    expect(await textOf(store, "r-4", "plan.md")).toBe("third");
    for (const runId of ["r-3", "r-4"]) expect((await store.verify(runId)).problems).toEqual([]);
  });

  it("has the forked content in a fork of a fork, even if the fork has rewritten it since", async () => {
    const { store, runner } = await polished();
    await runner.fork("r-1", { atTurn: 1, runId: "r-2" });
    await runner.resume("r-2");
    await runner.fork("r-2", { atTurn: 1, runId: "r-3" });
    expect(await textOf(store, "r-3", "plan.md")).toBe("second");
  });

  it("has the content of the fork's turn even if everything happened in the same millisecond", async () => {
    const { store, runner } = await polished(0);
    await runner.fork("r-1", { atTurn: 3, runId: "r-2" });
    await runner.fork("r-1", { atTurn: 1, runId: "r-3" });
    expect(await textOf(store, "r-2", "plan.md")).toBe("third");
    expect(await textOf(store, "r-3", "plan.md")).toBe("second");
  });
});

describe("the budgets of a fork", () => {
  it("for time start at its first resume, and are enforced like any others", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act } = actTool(() => clock.advance(HOUR), { timeoutMs: 2 * HOUR });
    const { agent } = scriptedAgent([acting("a"), acting("b"), { text: "End." }], { tools: { act } });
    const runner = jobRunner(agent, store, { clock });
    const spec = jobSpec({ budgets: { maxWallclockMinutes: 150 } });
    await runner.run("Go", { runId: "r-1", spec });
    for (const runId of ["r-2", "r-3"]) await runner.fork("r-1", { atTurn: 1, runId });
    await clock.advance(9 * HOUR);
    expect((await runner.resume("r-2")).status).toBe("succeeded");
    const short = runner.resume("r-3", { budgets: { maxWallclockMinutes: 30 } });
    expect(budgetOf(await failureAs(BudgetExceededError, short))).toEqual(["maxWallclockMinutes", 30, 60]);
  });

  it("for steps and calls count only its own work", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool();
    const { agent } = scriptedAgent([acting("a", "b"), acting("c"), acting("d"), { text: "End." }], {
      tools: { act },
    });
    const step = (name: string) => Step.run(name, (_input, ctx) => ctx.call(act, { what: name }));
    const pipeline = Pipeline.of("p", step("first"), Step.granular("talk", agent), step("last"));
    const runner = jobRunner(pipeline, store);
    const spec = jobSpec({ budgets: { maxSteps: 3, maxToolCalls: 6 } });
    await runner.run("Go", { runId: "r-1", spec });
    expect(await store.countWork("r-1")).toEqual({ steps: 3, toolCalls: 6 });
    await runner.fork("r-1", { atTurn: 2, runId: "r-2" });
    expect(await store.countWork("r-2")).toEqual({ steps: 0, toolCalls: 0 });
    // Its own work is two calls, in the agent and in the last step, and one more step.
    await runner.resume("r-2", { budgets: { maxSteps: 1, maxToolCalls: 2 } });
    expect(whats.slice(6)).toEqual(["d", "last"]);
    expect(await store.countWork("r-2")).toEqual({ steps: 1, toolCalls: 2 });
    await runner.fork("r-2", { atTurn: 3, runId: "r-3" });
    expect(await store.countWork("r-3")).toEqual({ steps: 0, toolCalls: 0 });
  });
});
