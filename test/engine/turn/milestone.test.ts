// Milestones: stored in the commit that reaches them, and used to resume when a history cannot be used any more.

import { describe, expect, it } from "vitest";
import {
  CheckpointTrigger,
  type Json,
  MaxTurnsExceededError,
  ModelCallError,
  planning,
  promptTemplate,
  QuotaExceededError,
  ResumeError,
  Runner,
  type RunnerOptions,
  type SavedCheckpoint,
  Step,
  StepFailedError,
  type Store,
  StoreUnavailableError,
} from "../../../src/index.ts";
import { asking, crashAt } from "../call/call-fixture.ts";
import { collect, failureAs, memoryStore, must, scriptedAgent } from "../run-fixture.ts";
import {
  checkpointsOf,
  loudly,
  runUntilFailure,
  sayer,
  saying,
  sayTool,
  stopsBefore,
  storedSlice,
  tapped,
  words,
} from "../session-fixture.ts";

const planner = promptTemplate({ namespace: "t", key: "plan", version: 1, sections: [planning()] });

const planned = asking(["planning_setup_plan", { objective: "Tidy", steps: ["Sweep", "Wash"] }]);
const updated = (id: number, status: string) => asking(["planning_update_step", { id, status }]);

describe("a milestone", () => {
  it("is by default a done step of the plan", async () => {
    const store = await memoryStore();
    const script = [
      planned,
      updated(1, "in_progress"),
      updated(1, "done"),
      updated(2, "done"),
      { text: "End." },
    ];
    const { agent } = scriptedAgent(script, { instructions: planner });
    await new Runner(agent, { store }).run("Go", { runId: "r-1" });
    expect(await checkpointsOf(store)).toEqual(["1 milestone worker#3", "2 milestone worker#4"]);
    const { snapshot, cursor } = must(await store.readCheckpoint("r-1", 1));
    expect(snapshot).toMatchObject({
      version: 1,
      session: { id: "r-1" },
      slices: {
        plan: {
          version: 1,
          values: [{ objective: "Tidy", status: "active", steps: [{ id: 1, status: "done" }, { id: 2 }] }],
        },
      },
    });
    expect(cursor).toEqual({
      step: "worker",
      turn: 3,
      lastToolCall: "r-1/worker#3.1",
      artifacts: [],
      phase: "",
      stepIndex: 1,
      remainingPhases: [],
    });
  });

  it("is decided by the runner's trigger, with the session after the event", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const seen: Json[] = [];
    const checkpointTrigger = new CheckpointTrigger({
      eventTypes: ["Said"],
      when: ({ word }, session) => {
        seen.push([word ?? null, session.query(words).all()]);
        return session.query(words).all().length === 2;
      },
    });
    const turns = [saying("one", "two"), saying("three")];
    await sayer(store, { say }, turns, { checkpointTrigger }).runner.run("Go", { runId: "r-1" });
    expect(seen).toEqual([
      ["one", ["one"]],
      ["two", ["one", "two"]],
      ["three", ["one", "two", "three"]],
    ]);
    expect(await checkpointsOf(store)).toEqual(["1 milestone worker#1", "2 step_boundary worker#0"]);
  });

  it("can be an event that no slice handles", async () => {
    const store = await memoryStore();
    const { say } = sayTool({}, (_word, call) => call.session.dispatch({ type: "Reached" }));
    const checkpointTrigger = new CheckpointTrigger({ eventTypes: ["Reached"] });
    await sayer(store, { say }, [saying("one")], { checkpointTrigger }).runner.run("Go", { runId: "r-1" });
    expect(await checkpointsOf(store)).toEqual(["1 milestone worker#1"]);
  });

  it("is stored once for a turn that reaches several, with all events of the turn", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    await sayer(store, { say }, [saying("one!", "two!", "three")]).runner.run("Go", { runId: "r-1" });
    expect(await checkpointsOf(store)).toEqual(["1 milestone worker#1"]);
    const { snapshot, cursor } = must(await store.readCheckpoint("r-1"));
    expect(snapshot.slices).toEqual({ words: { version: 1, values: ["one!", "two!", "three"] } });
    expect(cursor.lastToolCall).toBe("r-1/worker#1.3");
  });

  it("is part of its turn's commit: if that is refused, there is none", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const saved: unknown[] = [];
    const refusing = tapped(store, (intent) => {
      if (intent === "commitTurn") throw new StoreUnavailableError("Full.", { reason: "full" });
    });
    const onCheckpoint = (checkpoint: SavedCheckpoint) => void saved.push(checkpoint);
    await runUntilFailure(sayer(refusing, { say }, [saying("one!")], { onCheckpoint }).runner);
    expect([await checkpointsOf(store), saved]).toEqual([[], []]);
    await sayer(store, { say }, [saying("one!")], { onCheckpoint }).runner.resume("r-1");
    expect(await checkpointsOf(store)).toEqual(["1 milestone worker#1"]);
    expect(saved).toHaveLength(1);
  });

  it("whose trigger throws leaves the receipt, and fails the turn", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    const checkpointTrigger = new CheckpointTrigger({
      eventTypes: ["Said"],
      when: () => {
        throw new Error("The trigger failed.");
      },
    });
    const failure = await runUntilFailure(
      sayer(store, { say }, [saying("one")], { checkpointTrigger }).runner,
    );
    expect(String(failure)).toMatch(/The trigger failed/);
    expect((await store.listToolCalls("r-1"))[0]?.status).toBe("succeeded");
    await sayer(store, { say }, [saying("one")]).runner.resume("r-1");
    expect([await storedSlice(store), spoken]).toEqual([["one"], ["one"]]);
  });

  it("and the end of a step are passed to onCheckpoint once they are durable, and before anything else", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const saved: unknown[] = [];
    const { runner, prompts } = sayer(store, { say }, [saying("one!"), saying("two")], {
      onCheckpoint: async ({ snapshot, cursor }) => {
        await new Promise(setImmediate);
        saved.push([snapshot.slices, cursor, await checkpointsOf(store), prompts.length]);
      },
    });
    await runner.run("Go", { runId: "r-1" });
    expect(saved).toEqual([
      [
        { words: { version: 1, values: ["one!"] } },
        {
          step: "worker",
          turn: 1,
          lastToolCall: "r-1/worker#1.1",
          artifacts: [],
          phase: "",
          stepIndex: 1,
          remainingPhases: [],
          checkpoint: 1,
        },
        ["1 milestone worker#1"],
        1,
      ],
      [
        { words: { version: 1, values: ["one!", "two"] } },
        {
          step: "worker",
          turn: 0,
          lastToolCall: "r-1/worker#2.1",
          artifacts: [],
          phase: "",
          stepIndex: 1,
          remainingPhases: [],
          checkpoint: 2,
        },
        ["1 milestone worker#1", "2 step_boundary worker#0"],
        3,
      ],
    ]);
  });

  it("whose onCheckpoint fails leads to a warning, and the run continues", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const { runner } = sayer(store, { say }, [saying("one!")], {
      onCheckpoint: () => Promise.reject(new Error("The disk is full.")),
    });
    const events = await collect(runner.stream("Go", { runId: "r-1" }));
    const saved = events.filter(({ type }) => type === "warning" || type === "checkpoint.saved");
    expect(saved).toEqual([
      { type: "checkpoint.saved", runId: "r-1", step: "worker", turn: 1, checkpoint: 1 },
      { type: "warning", runId: "r-1", message: "onCheckpoint failed: The disk is full." },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "run.finished", result: { status: "succeeded" } });
  });
});

describe("a milestone resume", () => {
  /** Says `one!`, a milestone, then `two`, and fails before its third turn. */
  async function interrupted(store: Store, options: RunnerOptions = {}) {
    const { say, spoken } = sayTool();
    const probe = stopsBefore(3);
    await runUntilFailure(
      sayer(store, { say }, [saying("one!"), saying("two")], { probe, ...options }).runner,
    );
    expect(await storedSlice(store)).toEqual(["one!", "two"]);
    return { say, spoken };
  }

  it("has the session of the checkpoint, no history, and continues the turn numbers", async () => {
    const store = await memoryStore();
    const { say } = await interrupted(store);
    const before = must(await store.readGranularState("r-1", "worker"));
    const found: unknown[] = [];
    const { runner, prompts } = sayer(store, { say }, [saying("three")], {
      onSession: (session) =>
        session.bus.subscribe("SessionRolledBack", (event) => found.push(event, session.query(words).all())),
    });
    const result = await runner.resume("r-1", { from: "milestone", reason: "The history went bad." });

    expect([result.status, result.output, result.resumed]).toEqual(["succeeded", "End.", true]);
    expect(found).toEqual([{ runId: "r-1", step: "worker", checkpoint: 1 }, ["one!"]]);
    expect(prompts[0]?.filter(({ role }) => role !== "system")).toMatchObject([
      { role: "user", content: [{ type: "text", text: "Go" }] },
    ]);
    expect((await store.listTurns("r-1")).map(({ turnIndex }) => turnIndex)).toEqual([1, 2, 3, 4]);
    expect(await storedSlice(store)).toEqual(["one!", "three"]);
    const state = must(await store.readGranularState("r-1", "worker"));
    expect([before.turnIndex, state.turnIndex]).toEqual([2, 4]);
    expect(JSON.stringify(state.history)).not.toContain("two");
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("is recorded: the attempt with its reason, the lineage, the event", async () => {
    const store = await memoryStore();
    const { say } = await interrupted(store);
    await sayer(store, { say }, []).runner.resume("r-1", { from: "milestone", reason: "A deploy." });
    expect(await store.listAttempts("r-1")).toMatchObject([
      { resumedFrom: null, endStatus: "failed" },
      { resumedFrom: "milestone", reason: "A deploy.", endStatus: "succeeded" },
    ]);
    expect(await store.listLineages("r-1")).toMatchObject([
      { stepPath: "worker", lineage: 1, firstTurn: 3, baseTurn: 1, openTurn: null, checkpoint: 1 },
    ]);
    const events = (await store.listEvents("r-1")).filter(({ type }) => type === "lineage.begun");
    expect(events).toMatchObject([{ data: { step: "worker", turn: 3, from: 1 } }]);
  });

  it("accepts another prompt, model and tools, which a resume by turn refuses", async () => {
    const store = await memoryStore();
    const { say } = await interrupted(store);
    const was = must(await store.readGranularState("r-1", "worker")).fingerprint;
    const changed = (...turns: string[]) => {
      const { agent, prompts } = scriptedAgent([saying(...turns), { text: "End." }], {
        instructions: "You work better.",
        modelId: "scripted-model-2",
        tools: { say },
      });
      return { runner: new Runner(agent, { store, slices: [words] }), prompts };
    };
    const refused = changed("three");
    const error = await failureAs(ResumeError, refused.runner.resume("r-1"));
    expect(error.details.changes.map(({ what }) => what)).toEqual(["model", "prompt"]);
    expect(error.message).toContain('from: "milestone"');
    expect(refused.prompts).toEqual([]);

    const accepted = changed("three");
    expect((await accepted.runner.resume("r-1", { from: "milestone" })).status).toBe("succeeded");
    expect(accepted.prompts[0]?.[0]).toMatchObject({ role: "system", content: "You work better." });
    expect(must(await store.readGranularState("r-1", "worker")).fingerprint).not.toBe(was);
    expect(await storedSlice(store)).toEqual(["one!", "three"]);
  });

  it("fingerprints the new prompt: the old one cannot resume the new history", async () => {
    const store = await memoryStore();
    const { say } = await interrupted(store);
    const { agent } = scriptedAgent([saying("three"), { text: "End." }], { modelId: "m-2", tools: { say } });
    const options = { store, slices: [words] };
    const probe = stopsBefore(4);
    const second = new Runner(agent, { ...options, probe });
    await failureAs(StepFailedError, second.resume("r-1", { from: "milestone" }));
    await failureAs(ResumeError, sayer(store, { say }, []).runner.resume("r-1"));
    expect((await new Runner(agent, options).resume("r-1")).status).toBe("succeeded");
    expect(await storedSlice(store)).toEqual(["one!", "three"]);
  });

  it("counts its turns from zero", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const step = (...all: string[]) => {
      const { agent } = scriptedAgent([...all.map((word) => saying(word)), { text: "End." }], {
        tools: { say },
      });
      return new Runner(Step.granular("worker", agent, { maxTurns: 2 }), { store, slices: [words] });
    };
    await failureAs(MaxTurnsExceededError, step("one", "two", "three").run("Go", { runId: "r-1" }));
    await failureAs(MaxTurnsExceededError, step("one", "two", "three").resume("r-1"));
    const more = step("four", "five", "six").resume("r-1", { from: "milestone" });
    expect((await failureAs(MaxTurnsExceededError, more)).details).toEqual({ maxTurns: 2, step: "worker" });
    expect((await step("seven").resume("r-1", { from: "milestone" })).status).toBe("succeeded");
    expect((await store.listTurns("r-1")).map(({ turnIndex }) => turnIndex)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("adds its charges to the earlier ones, and charges nothing twice", async () => {
    const store = await memoryStore();
    const { say } = await interrupted(store);
    const before = await store.readUsage("r-1");
    const { runner } = sayer(store, { say }, [saying("three")]);
    const { usage } = await runner.resume("r-1", { from: "milestone" });
    expect([before.inputTokens, usage.inputTokens]).toEqual([20, 40]);
    expect([before.outputTokens, usage.outputTokens]).toEqual([10, 20]);
    const run = must(await store.getRun("r-1"));
    expect([run.charged.tokens, run.reserved.tokens]).toEqual([usage.charged.tokens, 0]);
  });

  it("keeps its budget: earlier usage counts", async () => {
    const store = await memoryStore();
    const { say } = await interrupted(store);
    const { runner, prompts } = sayer(store, { say }, [saying("three")]);
    const refused = runner.resume("r-1", { from: "milestone", budget: { tokens: 40 } });
    await failureAs(QuotaExceededError, refused);
    expect(prompts).toEqual([]);
  });

  it("fails as often as its model does, charges each attempt once, and resumes when the model is back", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const make = (isBack: boolean) => {
      const { agent } = scriptedAgent(
        ({ turn }) => {
          if (!isBack && turn === (isResumed ? 1 : 2)) throw new Error("The provider is down.");
          return turn === 1 ? saying("one!") : { text: "End." };
        },
        { tools: { say } },
      );
      return new Runner(agent, { store, slices: [words], checkpointTrigger: loudly, maxModelAttempts: 1 });
    };
    let isResumed = false;
    await failureAs(ModelCallError, make(false).run("Go", { runId: "r-1" }));
    isResumed = true;
    for (let time = 1; time <= 2; time++)
      await failureAs(ModelCallError, make(false).resume("r-1", { from: "milestone" }));
    expect((await make(true).resume("r-1", { from: "milestone" })).status).toBe("succeeded");
    const calls = await store.listModelCalls("r-1");
    const bases = calls.map(({ charge }) => charge?.basis).join(" ");
    expect(bases).toBe("provider baseline baseline baseline provider provider");
    const run = must(await store.getRun("r-1"));
    expect(run.charged.tokens).toBe(calls.reduce((sum, { charge }) => sum + (charge?.amount.tokens ?? 0), 0));
    expect(run.reserved.tokens).toBe(0);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("that was interrupted at its beginning begins one lineage", async () => {
    for (const point of ["lineage:before-begin", "lineage:begun"] as const) {
      const store = await memoryStore();
      const { say } = await interrupted(store);
      const dying = sayer(store, { say }, [], { probe: crashAt(point) });
      await failureAs(StepFailedError, dying.runner.resume("r-1", { from: "milestone" }));
      const { runner, prompts } = sayer(store, { say }, [saying("three")]);
      const from = point === "lineage:begun" ? "turn" : "milestone";
      expect((await runner.resume("r-1", { from })).status).toBe("succeeded");
      expect(prompts[0]?.filter(({ role }) => role !== "system")).toHaveLength(1);
      expect(await store.listLineages("r-1")).toHaveLength(1);
      expect(await storedSlice(store)).toEqual(["one!", "three"]);
    }
  });
});
