// Events on the bus of a run's session: each once, after it is durable, until the run ends.

import { expect, it } from "vitest";
import {
  type BusEvents,
  ConfigurationError,
  dynamic,
  type Json,
  Pipeline,
  promptTemplate,
  Runner,
  type Session,
  Step,
} from "../../../src/index.ts";
import { crashAt } from "../call/call-fixture.ts";
import { memoryStore, scriptedAgent } from "../run-fixture.ts";
import {
  checkpointsOf,
  loudly,
  runUntilFailure,
  said,
  sayer,
  saying,
  sayTool,
  stopsBefore,
  words,
} from "../session-fixture.ts";

const TYPES = [
  "ToolInvoked",
  "PromptRendered",
  "PromptExecuted",
  "TurnCommitted",
  "CheckpointSaved",
  "SessionRolledBack",
] as const satisfies (keyof BusEvents)[];

/** Everything that the bus publishes, in order. */
function listener() {
  const events: (readonly [type: string, event: unknown])[] = [];
  const onSession = (session: Session) => {
    for (const type of TYPES) session.bus.subscribe(type, (event) => events.push([type, event]));
  };
  return { events, onSession };
}

it("publishes prompts, tools, turns, checkpoints and the end of a step, in this order", async () => {
  const store = await memoryStore();
  const prompt = promptTemplate({
    namespace: "t",
    key: "k",
    version: 3,
    sections: [
      dynamic({
        key: "p",
        title: "P",
        slices: [words],
        render: (session) => session.query(words).all().join(" "),
      }),
    ],
  });
  const { say } = sayTool();
  const { agent } = scriptedAgent([saying("one!"), { text: "End." }], {
    instructions: prompt,
    tools: { say },
  });
  const { events, onSession } = listener();
  await new Runner(agent, { store, onSession, checkpointTrigger: loudly }).run("Go", { runId: "r-1" });
  const place = { runId: "r-1", step: "worker" };
  expect(events).toEqual([
    ["PromptRendered", { ...place, turn: 1, prompt: "t:k@3", text: "## P" }],
    [
      "ToolInvoked",
      {
        runId: "r-1",
        toolCallId: "r-1/worker#1.1",
        tool: "say",
        status: "succeeded",
        result: "said one!",
        events: [said("one!")],
      },
    ],
    ["TurnCommitted", { ...place, turn: 1, isComplete: false }],
    ["CheckpointSaved", { ...place, checkpoint: 1, turn: 1 }],
    ["PromptRendered", { ...place, turn: 2, prompt: "t:k@3", text: "## P\n\none!" }],
    ["TurnCommitted", { ...place, turn: 2, isComplete: true }],
    ["PromptExecuted", { ...place, output: "End." }],
  ]);
});

it("publishes a plain text as a prompt without a name, and each tool call's outcome once", async () => {
  const store = await memoryStore();
  const { say } = sayTool({}, () => {
    throw new Error("No.");
  });
  const { events, onSession } = listener();
  await sayer(store, { say }, [saying("one")], { onSession }).runner.run("Go", { runId: "r-1" });
  expect(events[0]).toEqual([
    "PromptRendered",
    { runId: "r-1", step: "worker", turn: 1, prompt: "", text: "You work." },
  ]);
  const tools = events.filter(([type]) => type === "ToolInvoked");
  expect(tools).toMatchObject([["ToolInvoked", { status: "failed", result: "No.", events: [] }]]);
});

it("publishes nothing uncommitted, and a new worker publishes what it commits", async () => {
  const store = await memoryStore();
  const { say } = sayTool({ recovery: "keyed" });
  const first = listener();
  const dying = sayer(store, { say }, [saying("one")], {
    onSession: first.onSession,
    probe: crashAt("turn:before-commit"),
  });
  await runUntilFailure(dying.runner);
  expect(first.events.map(([type]) => type)).toEqual(["PromptRendered"]);
  const second = listener();
  await sayer(store, { say }, [saying("one")], { onSession: second.onSession }).runner.resume("r-1");
  expect(second.events.map(([type]) => type)).toEqual([
    "ToolInvoked",
    "TurnCommitted",
    "PromptRendered",
    "TurnCommitted",
    "PromptExecuted",
    "CheckpointSaved",
  ]);
});

it("publishes a rollback with the checkpoint that the work resumes from, or none", async () => {
  for (const [from, checkpoint] of [
    ["milestone", 1],
    ["beginning", null],
  ] as const) {
    const store = await memoryStore();
    const { say } = sayTool();
    await runUntilFailure(
      sayer(store, { say }, [saying("one!"), saying("two")], { probe: stopsBefore(3) }).runner,
    );
    const { events, onSession } = listener();
    await sayer(store, { say }, [], { onSession }).runner.resume("r-1", { from });
    expect(events[0]).toEqual(["SessionRolledBack", { runId: "r-1", step: "worker", checkpoint }]);
  }
});

it("publishes a duplicate as such, with the events that the session still lacked", async () => {
  const store = await memoryStore();
  const { say } = sayTool();
  await runUntilFailure(
    sayer(store, { say }, [saying("one!"), saying("two")], { probe: stopsBefore(3) }).runner,
  );
  const { events, onSession } = listener();
  await sayer(store, { say }, [saying("two")], { onSession }).runner.resume("r-1", { from: "milestone" });
  expect(events.filter(([type]) => type === "ToolInvoked")).toMatchObject([
    ["ToolInvoked", { status: "deduplicated", result: "said two", events: [said("two")] }],
  ]);
});

it("publishes the checkpoint at the end of a code step", async () => {
  const store = await memoryStore();
  const { events, onSession } = listener();
  const speaks = Step.run("speaks", (_input: Json, ctx) => ctx.session.dispatch(said("one")));
  const idles = Step.run("idles", () => null);
  await new Runner(Pipeline.of("p", speaks, idles), { store, slices: [words], onSession }).run("Go", {
    runId: "r-1",
  });
  expect(await checkpointsOf(store)).toEqual(["1 step_boundary speaks#0"]);
  expect(events).toEqual([["CheckpointSaved", { runId: "r-1", step: "speaks", checkpoint: 1, turn: 0 }]]);
});

it("ends its subscriptions with the run, on success and on failure", async () => {
  const store = await memoryStore();
  const sessions: Session[] = [];
  const onSession = (session: Session) => void sessions.push(session);
  await sayer(store, {}, [], { onSession }).runner.run("Go", { runId: "r-2" });
  await runUntilFailure(sayer(store, {}, [], { onSession, probe: stopsBefore(1) }).runner);
  expect(sessions).toHaveLength(2);
  for (const session of sessions)
    expect(() => session.bus.subscribe("TurnCommitted", () => undefined)).toThrow(ConfigurationError);
});

it("fails the run with the error of onSession, before anything is done", async () => {
  const store = await memoryStore();
  const { runner, prompts } = sayer(store, {}, [], {
    onSession: () => {
      throw new Error("Refused.");
    },
  });
  expect(String(await runUntilFailure(runner))).toMatch(/Refused/);
  expect(prompts).toEqual([]);
});
