// Questions to a person from an agent with ask_human and from Step.human. Each is asked once, and the answer is the
// result.

import { describe, expect, it } from "vitest";
import {
  AlreadySettledError,
  askHuman,
  ConfigurationError,
  type Json,
  Pipeline,
  type RunnerOptions,
  Step,
  type Store,
} from "../../../src/index.ts";
import { callsOf, jobRunner, jobSpec, temporaryFolder } from "../job-fixture.ts";
import { failureAs, failureOf, memoryStore, noteTool, scriptedAgent, toolResults } from "../run-fixture.ts";
import { asking, crashAt, jumpingClock, ledger, openWait, timedStore } from "./call-fixture.ts";

/** The lease that a worker holds when it dies while it stops. */
const LEASE_MS = 30_000;

const which = asking(["ask_human", { question: "Which one?", choices: ["red", "blue"] }]);

/** An agent that asks a person, makes a note in the same turn, and ends. */
async function asker(options: RunnerOptions = {}) {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  const { note, done } = noteTool();
  const beside = { toolCalls: [...(which.toolCalls ?? []), { name: "note", input: { text: "one" } }] };
  const { agent, prompts } = scriptedAgent([beside, { text: "End." }], {
    tools: { ask_human: askHuman, note },
  });
  const workspaceRoot = temporaryFolder();
  const make = (more: RunnerOptions = {}) =>
    jobRunner(agent, store, { workspaceRoot, clock, ...options, ...more });
  return { store, done, prompts, make, clock };
}

async function waitIds(store: Store): Promise<string[]> {
  return (await store.listWaits("r-1")).map(({ waitId, status }) => `${waitId} ${status}`);
}

describe("an agent that asks a person", () => {
  it("leaves the run waiting with its question, and gets the answer as the result of its call", async () => {
    const { store, done, prompts, make } = await asker();
    const { status, waits } = await make().run("Go", { runId: "r-1" });
    expect(status).toBe("waiting");
    expect(waits).toMatchObject([
      {
        kind: "question",
        question: "Which one?",
        toolCallId: "r-1/worker#1.1",
        subject: { tool: "ask_human", arguments: { question: "Which one?", choices: ["red", "blue"] } },
      },
    ]);
    expect(done).toEqual(["one"]);

    await store.answer("r-1~1", "blue", { by: "Ada" });
    expect((await store.getRun("r-1"))?.status).toBe("queued");
    expect((await make().resume("r-1")).output).toBe("End.");
    expect(toolResults(prompts[1])).toEqual([
      { type: "text", value: "blue" },
      { type: "json", value: { noted: "one" } },
    ]);
    expect([done, prompts.length]).toEqual([["one"], 2]);
    expect(await ledger(store)).toEqual([
      ["succeeded", 1, "person"],
      ["succeeded", 1, "tool"],
    ]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it.each<[string, Json, Json]>([
    ["a text", "blue", { type: "text", value: "blue" }],
    ["a number", 7, { type: "json", value: 7 }],
    ["nothing", null, { type: "json", value: null }],
    ["an object", { to: ["ada@example.com"] }, { type: "json", value: { to: ["ada@example.com"] } }],
  ])("may be answered with %s", async (_what, answer, result) => {
    const store = await memoryStore();
    const { agent, prompts } = scriptedAgent(
      [asking(["ask_human", { question: "To whom?" }]), { text: "End." }],
      {
        tools: { ask_human: askHuman },
      },
    );
    const runner = jobRunner(agent, store);
    await runner.run("Go", { runId: "r-1" });
    await store.answer("r-1~1", answer);
    await runner.resume("r-1");
    expect(toolResults(prompts[1])).toEqual([result]);
  });

  it("asks once, however often the run is resumed before the answer", async () => {
    const { store, done, prompts, make } = await asker();
    await make().run("Go", { runId: "r-1" });
    for (let times = 1; times <= 3; times++) {
      const { status, waits } = await make().resume("r-1");
      expect([status, waits.map(({ waitId }) => waitId)]).toEqual(["waiting", ["r-1~1"]]);
    }
    expect(await waitIds(store)).toEqual(["r-1~1 open"]);
    await store.answer("r-1~1", "red");
    expect((await make().resume("r-1")).output).toBe("End.");
    expect([done, prompts.length, (await store.listToolCalls("r-1"))[0]?.attempt]).toEqual([["one"], 2, 1]);
  });

  it.each(["tool:executed", "tool:try-ended", "run:before-wait", "run:waiting"] as const)(
    "asks once if its process dies at %s",
    async (point) => {
      const { store, done, prompts, make, clock } = await asker({ maxParallelToolCalls: 1 });
      await failureOf(make({ probe: crashAt(point) }).run("Go", { runId: "r-1" }));
      await clock.advance(LEASE_MS);
      expect((await make().resume("r-1")).status).toBe("waiting");
      const { waitId } = await openWait(store);
      expect(await waitIds(store)).toEqual([`${waitId} open`]);
      await store.answer(waitId, "red");
      expect((await make().resume("r-1")).output).toBe("End.");
      expect([done, prompts.length]).toEqual([["one"], 2]);
    },
  );

  it("gets one answer; a later one is refused", async () => {
    const { store, make } = await asker();
    await make().run("Go", { runId: "r-1" });
    await store.answer("r-1~1", "red");
    await failureAs(AlreadySettledError, store.answer("r-1~1", "blue"));
    await expect(store.approve("r-1~1")).rejects.toThrow(AlreadySettledError);
  });

  it("has the same fingerprint before and after the answer", async () => {
    const { store, make } = await asker();
    await make().run("Go", { runId: "r-1" });
    const before = (await store.readGranularState("r-1", "worker"))?.fingerprint;
    await store.answer("r-1~1", "red");
    await make().resume("r-1");
    const after = (await store.readGranularState("r-1", "worker"))?.fingerprint;
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    expect(after).toBe(before);
  });

  it("asks in every job, whatever its escalation settings", async () => {
    const { make } = await asker();
    const escalation = {
      askHumanOnAmbiguousRecipient: false,
      askHumanOnAuthFailure: false,
      askHumanOnRepeatedFailures: false,
    };
    const { status } = await make().run("Go", { runId: "r-1", spec: jobSpec({ escalation }) });
    expect(status).toBe("waiting");
  });

  it("asks two questions in one turn, and continues when both are answered", async () => {
    const store = await memoryStore();
    const both = asking(["ask_human", { question: "Which?" }], ["ask_human", { question: "When?" }]);
    const { agent, prompts } = scriptedAgent([both, { text: "End." }], { tools: { ask_human: askHuman } });
    const runner = jobRunner(agent, store);
    expect((await runner.run("Go", { runId: "r-1" })).waits).toHaveLength(2);
    await store.answer("r-1~2", "Monday");
    expect((await store.getRun("r-1"))?.status).toBe("waiting");
    expect((await runner.resume("r-1")).waits.map(({ waitId }) => waitId)).toEqual(["r-1~1"]);
    await store.answer("r-1~1", "This");
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(toolResults(prompts[1])).toEqual([
      { type: "text", value: "This" },
      { type: "text", value: "Monday" },
    ]);
  });

  it("gets an error for an invalid question, and no person is asked", async () => {
    const store = await memoryStore();
    const wrong = asking(
      ["ask_human", { question: "" }],
      ["ask_human", { question: "Which?", choices: ["one"] }],
    );
    const { agent } = scriptedAgent([wrong, { text: "End." }], { tools: { ask_human: askHuman } });
    expect((await jobRunner(agent, store).run("Go", { runId: "r-1" })).output).toBe("End.");
    expect(await store.listWaits("r-1")).toEqual([]);
  });
});

describe("a human step", () => {
  const pipeline = Pipeline.of(
    "p",
    Step.run("draft", () => "A letter."),
    Step.human("check", { question: (draft: string) => `Send this? ${draft}`, choices: ["yes", "no"] }),
    Step.run("end", (said) => `It said ${typeof said === "string" ? said : "nothing"}.`),
  );

  it("leaves the run waiting, and passes the answer to the next step", async () => {
    const store = await memoryStore();
    const runner = jobRunner(pipeline, store);
    const { waits } = await runner.run("Go", { runId: "r-1" });
    expect(waits).toMatchObject([
      {
        kind: "question",
        question: "Send this? A letter.",
        toolCallId: "r-1/check#0.1",
        subject: { arguments: { choices: ["yes", "no"] } },
      },
    ]);
    await store.answer("r-1~1", "yes");
    expect((await runner.resume("r-1")).output).toBe("It said yes.");
    expect(await callsOf(store)).toEqual(["r-1/check#0.1 ask_human succeeded"]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("rejects an answer that is not one of its choices", async () => {
    const store = await memoryStore();
    await jobRunner(pipeline, store).run("Go", { runId: "r-1" });
    const error = await failureAs(ConfigurationError, store.answer("r-1~1", "perhaps"));
    expect(error.message).toContain('"yes", "no"');
    expect(await waitIds(store)).toEqual(["r-1~1 open"]);
  });

  it("asks once, however often the run is resumed before the answer", async () => {
    const store = await memoryStore();
    const runner = jobRunner(pipeline, store);
    await runner.run("Go", { runId: "r-1" });
    await runner.resume("r-1");
    await runner.resume("r-1");
    expect(await waitIds(store)).toEqual(["r-1~1 open"]);
    await store.answer("r-1~1", "no");
    expect((await runner.resume("r-1")).output).toBe("It said no.");
  });

  it.each(["tool:try-ended", "run:before-wait", "run:waiting"] as const)(
    "asks once if its process dies at %s",
    async (point) => {
      const clock = jumpingClock();
      const store = await timedStore(clock);
      const options = { workspaceRoot: temporaryFolder(), clock };
      const dying = jobRunner(pipeline, store, { ...options, probe: crashAt(point) });
      await failureOf(dying.run("Go", { runId: "r-1" }));
      await clock.advance(LEASE_MS);
      const runner = jobRunner(pipeline, store, options);
      await runner.resume("r-1");
      const { waitId } = await openWait(store);
      expect(await waitIds(store)).toEqual([`${waitId} open`]);
      await store.answer(waitId, "yes");
      expect((await runner.resume("r-1")).output).toBe("It said yes.");
    },
  );

  it.each(["after", "before"])("keeps its open question when it is reworded %s the answer", async (when) => {
    const store = await memoryStore();
    const asking = (question: string) =>
      jobRunner(
        Pipeline.of(
          "p",
          Step.human("check", { question }),
          Step.run("end", (said) => `It said ${typeof said === "string" ? said : "nothing"}.`),
        ),
        store,
      );
    await asking("Send teh report?").run("Go", { runId: "r-1" });
    const reworded = asking("Send the report?");
    if (when === "before") expect((await reworded.resume("r-1")).status).toBe("waiting");
    expect(await waitIds(store)).toEqual(["r-1~1 open"]);
    await store.answer("r-1~1", "yes");
    expect((await reworded.resume("r-1")).output).toBe("It said yes.");
    expect(await callsOf(store)).toEqual(["r-1/check#0.1 ask_human succeeded"]);
  });

  it("asks the same question once per step", async () => {
    const store = await memoryStore();
    const check = (name: string) => Step.human(name, { question: "Continue?" });
    const runner = jobRunner(Pipeline.of("p", check("first"), check("second")), store);
    await runner.run("Go", { runId: "r-1" });
    await store.answer("r-1~1", "yes");
    expect((await runner.resume("r-1")).status).toBe("waiting");
    await store.answer("r-1~2", "no");
    expect((await runner.resume("r-1")).output).toBe("no");
  });

  it("asks once per iteration of a loop, even if the words change on every resume", async () => {
    const store = await memoryStore();
    let words = 0;
    const ask = Step.human("check", { question: () => `Enough? ${++words}` });
    const loop = Step.loop("again", ask, { until: (said) => said === "yes", maxIterations: 5 });
    const runner = jobRunner(loop, store);
    await runner.run("Go", { runId: "r-1" });
    for (const said of ["no", "no", "yes"]) {
      await runner.resume("r-1");
      await store.answer((await openWait(store)).waitId, said);
      await runner.resume("r-1");
    }
    expect(await store.getRun("r-1")).toMatchObject({ status: "succeeded", output: "yes" });
    expect((await callsOf(store)).map((call) => call.split(" ")[0])).toEqual([
      "r-1/again[1]/check#0.1",
      "r-1/again[2]/check#0.1",
      "r-1/again[3]/check#0.1",
    ]);
  });

  it("asks again in each iteration of a loop", async () => {
    const store = await memoryStore();
    const loop = Step.loop("again", Step.human("check", { question: "Enough?" }), {
      until: (said) => said === "yes",
      maxIterations: 5,
    });
    const runner = jobRunner(loop, store);
    await runner.run("Go", { runId: "r-1" });
    for (const said of ["no", "no", "yes"]) {
      await store.answer((await openWait(store)).waitId, said);
      await runner.resume("r-1");
    }
    expect(await store.getRun("r-1")).toMatchObject({ status: "succeeded", output: "yes" });
    expect(await waitIds(store)).toHaveLength(3);
  });

  it.each([
    ["", /is ""/],
    [null, /is null/],
    [7, /is 7/],
  ])("fails if its question is %j", async (said, message) => {
    const store = await memoryStore();
    const step = Step.human("check", { question: () => said as string });
    const error = await failureAs(ConfigurationError, jobRunner(step, store).run("Go"));
    expect(error.message).toMatch(message);
  });
});
