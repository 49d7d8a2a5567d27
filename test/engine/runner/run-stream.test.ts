// The events of a run.

import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/engine/ports/system-clock.ts";
import { NO_RUN_TELEMETRY } from "../../../src/engine/ports/telemetry-port.ts";
import { readClock } from "../../../src/engine/run/lease-keeper.ts";
import { LeasedRun } from "../../../src/engine/runner/leased-run.ts";
import { makeSetup } from "../../../src/engine/runner/runner.ts";
import { Pipeline, type RunEvent, Runner, Step, StepFailedError } from "../../../src/index.ts";
import {
  collect,
  failureAs,
  failureOf,
  memoryStore,
  must,
  noteTool,
  noting,
  scriptedAgent,
} from "../run-fixture.ts";

const types = (events: readonly RunEvent[]) => events.map((event) => event.type);

describe("a stream", () => {
  it("yields the events of a run from its start to its end, in order", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    const { agent } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
    const pipeline = Pipeline.of(
      "p",
      Step.granular("work", agent),
      Step.run("end", (input: string) => input),
    );

    const events = await collect(new Runner(pipeline, { store }).stream("Go", { runId: "r-1" }));

    expect(events.map((event) => ("turn" in event ? `${event.type} ${event.turn}` : event.type))).toEqual([
      "run.started",
      "step.started",
      "turn.started 1",
      "usage.settled 1",
      "tool.started",
      "tool.finished",
      "turn.committed 1",
      "turn.started 2",
      "usage.settled 2",
      "turn.committed 2",
      "step.finished",
      "step.started",
      "step.finished",
      "run.finished",
    ]);
    expect(events.every((event) => event.runId === "r-1")).toBe(true);
    expect(events.find((event) => event.type === "tool.started")).toMatchObject({
      toolCallId: "r-1/work#1.1",
      tool: "note",
      attempt: 1,
      input: { text: "one" },
    });
    expect(events.findLast((event) => event.type === "turn.committed")).toMatchObject({
      text: "Hello",
      isComplete: true,
    });
    expect(events.at(-1)).toMatchObject({ result: { status: "succeeded", output: "Hello" } });
  });

  it("yields a commit only when it is durable", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    const { agent } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
    let commits = 0;
    for await (const event of new Runner(agent, { store }).stream("Go", { runId: "r-1" })) {
      if (event.type !== "turn.committed") continue;
      commits++;
      expect((await store.readGranularState("r-1", "worker"))?.turnIndex).toBeGreaterThanOrEqual(event.turn);
    }
    expect(commits).toBe(2);
  });

  it("throws the error of the run, after all earlier events", async () => {
    const store = await memoryStore();
    const pipeline = Pipeline.of(
      "p",
      Step.run("a", () => 1),
      Step.run("b", () => Promise.reject(new Error("No."))),
    );
    const events: RunEvent[] = [];
    const read = async () => {
      for await (const event of new Runner(pipeline, { store }).stream("Go")) events.push(event);
    };
    await failureAs(StepFailedError, read());
    expect(types(events)).toEqual(["run.started", "step.started", "step.finished", "step.started"]);
  });

  it("that is left early with cancelOnReturn cancels the run, which can be resumed", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const { agent } = scriptedAgent([noting("one"), noting("two"), { text: "Hello" }], { tools: { note } });
    const runner = new Runner(agent, { store });
    for await (const event of runner.stream("Go", { runId: "r-1", cancelOnReturn: true })) {
      if (event.type === "turn.committed") break;
    }
    // Leaving waits until the run is released.
    expect(await store.getRun("r-1")).toMatchObject({
      status: "cancelled",
      owner: null,
      reserved: { tokens: 0 },
    });
    expect((await runner.resume("r-1")).output).toBe("Hello");
    expect(done).toEqual(["one", "two"]);
  });

  it("that is left early by an exception cancels the run too, with cancelOnReturn", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    const { agent } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
    const read = async () => {
      const options = { runId: "r-1", cancelOnReturn: true };
      for await (const event of new Runner(agent, { store }).stream("Go", options)) {
        if (event.type === "turn.started") throw new Error("The reader failed.");
      }
    };
    expect(await failureOf(read())).toHaveProperty("message", "The reader failed.");
    expect((await store.getRun("r-1"))?.status).toBe("cancelled");
  });

  it("that is never read starts nothing", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "Hello" }]);
    const stream = new Runner(agent, { store }).stream("Go");
    await new Promise(setImmediate);
    expect(await store.listRuns()).toEqual([]);
    await stream.return();
    expect(await store.listRuns()).toEqual([]);
  });

  it("is cancelled by a signal as well, and ends with the cancelled result", async () => {
    const store = await memoryStore();
    const cancel = new AbortController();
    const { note } = noteTool(() => cancel.abort());
    const { agent } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
    const events = await collect(new Runner(agent, { store }).stream("Go", { signal: cancel.signal }));
    expect(events.at(-1)).toMatchObject({ type: "run.finished", result: { status: "cancelled" } });
  });

  it("yields the steps that a resumed run skips", async () => {
    const store = await memoryStore();
    const lost = new Runner(
      Pipeline.of(
        "p",
        Step.run("a", () => 1),
        Step.run("b", () => 2),
      ),
      {
        store,
        probe: (point, { stepPath }) => {
          if (point === "step:begun" && stepPath === "b") throw new Error("The process crashed.");
        },
      },
    );
    await failureOf(lost.run("Go", { runId: "r-1" }));
    const claim = await store.claimRun("r-1", { leaseMs: 1, from: ["failed"] });
    expect(claim.kind).toBe("claimed");
    await new Promise((resolve) => setTimeout(resolve, 5));
    const pipeline = Pipeline.of(
      "p",
      Step.run("a", () => 1),
      Step.run("b", () => 2),
    );
    const events = await collect(new Runner(pipeline, { store }).stream("Go", { runId: "r-1" }));
    expect(events[0]).toMatchObject({ type: "run.started", resumed: true });
    expect(events[1]).toMatchObject({ type: "step.skipped", step: "a" });
  });
});

describe("the listener of a runner", () => {
  it("gets the events of run, stream and resume alike, even if it throws", async () => {
    const store = await memoryStore();
    const received: string[] = [];
    const { agent } = scriptedAgent([{ text: "Hello" }]);
    const runner = new Runner(agent, {
      store,
      onEvent: ({ type, runId }) => {
        received.push(`${runId} ${type}`);
        throw new Error("The listener failed.");
      },
    });
    await runner.run("Go", { runId: "r-1" });
    const streamed: string[] = [];
    for await (const { type } of runner.stream("Go", { runId: "r-2" })) streamed.push(`r-2 ${type}`);
    expect(streamed.length).toBeGreaterThan(4);
    expect(received.filter((event) => event.startsWith("r-2"))).toEqual(streamed);
    expect(
      received.filter((event) => event.startsWith("r-1")).map((event) => event.replace("r-1", "r-2")),
    ).toEqual(streamed);
    await runner.resume("r-1");
    expect(received.at(-1)).toBe("r-1 run.finished");
    expect(received).toHaveLength(2 * streamed.length + 1);
  });
});

describe("a listener that throws", () => {
  it("does not affect a tool's receipt, nor stop the run", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const { agent } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
    const root = Step.granular("work", agent);
    const created = await store.createRun({
      runId: "r-1",
      pipeline: root.name,
      entrypoint: "test",
      input: "Go",
      inputHash: new Uint8Array(32),
      shape: [],
      limit: { tokens: null, microDollars: null },
      leaseMs: 30_000,
    });
    const claim = must(created.kind === "created" ? created.claim : null);
    let emitted = 0;
    const work = {
      claim,
      claimedAt: readClock(systemClock),
      resumed: false,
      isRequested: false,
      options: {},
      from: null,
      telemetry: NO_RUN_TELEMETRY,
      listener: () => {
        emitted++;
        throw new Error("The listener failed.");
      },
    };
    const leased = new LeasedRun(makeSetup(root, { store }), store, work);

    const found = { resumed: false, isRequested: false, lost: [], foundInDoubt: [] };
    expect((await leased.execute(found)).output).toBe("Hello");

    expect(emitted).toBeGreaterThan(10);
    expect(done).toEqual(["one"]);
    expect((await store.listToolCalls("r-1")).map((call) => call.status)).toEqual(["succeeded"]);
  });
});
