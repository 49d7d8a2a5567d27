import { describe, expect, it, vi } from "vitest";
import { ConfigurationError, Pipeline, Runner, Step, Worker } from "../../../src/index.ts";
import { memoryStore, noteTool, noting, scriptedAgent } from "../run-fixture.ts";
import { chat, ECHO, gate, heardIn, lastHeard } from "./conversation-fixture.ts";

describe("a conversation", () => {
  it("answers its input, and waits for the next message", async () => {
    const { runner, store } = await chat();
    const result = await runner.run("Hello.", { runId: "chat" });
    expect(result).toMatchObject({
      status: "waiting",
      output: null,
      waits: [{ kind: "message" }],
      conversation: { exchange: { exchange: 1, outcome: "complete" }, answer: "I heard: Hello." },
    });
    expect(await store.getRun("chat")).toMatchObject({
      status: "waiting",
      owner: null,
      reserved: { tokens: 0 },
    });
  });

  it("takes a text when it is resumed, with what was said before", async () => {
    const { runner, say, work, store, exchanges, history } = await chat();
    await runner.run("One.", { runId: "chat", startedBy: { by: "ann" } });
    expect(await say("Two.")).toMatchObject({ status: "waiting", reason: null });
    expect((await store.getRun("chat"))?.status).toBe("queued");
    expect((await work()).conversation?.answer).toBe("I heard: One. / Two.");
    expect(await exchanges()).toEqual([
      ["ann", 1, 1, "complete"],
      ["ann", 2, 2, "complete"],
    ]);
    expect(await history()).toEqual(["One.", "Two."]);
    expect((await store.verify("chat")).problems).toEqual([]);
  });

  it("begins with a message, without an input and without an empty message", async () => {
    const { runner, say, prompts, history, messages } = await chat();
    await say("Hi.");
    expect(await runner.advance("chat")).toEqual({ next: "wait" });
    expect(heardIn(prompts[0] ?? [])).toEqual(["Hi."]);
    expect(await history()).toEqual(["Hi."]);
    expect(await messages()).toEqual([["Hi.", "taken", 1]]);
  });

  it("answers one queued text after the other, each in an exchange of its own", async () => {
    const { say, work, exchanges } = await chat();
    for (const text of ["One.", "Two.", "Three."]) await say(text);
    const result = await work();
    expect(result.conversation?.answer).toBe("I heard: One. / Two. / Three.");
    expect(await exchanges()).toEqual([1, 2, 3].map((turn) => ["ann", turn, turn, "complete"]));
  });

  it("is worked on by a worker, which hears of a text and holds nothing while the conversation waits", async () => {
    const { store, target, say } = await chat();
    const end = new AbortController();
    const worker = new Worker({ store, pipelines: { clerk: target }, sweepMs: 50 });
    const ended = worker.run(end.signal);
    for (const [i, text] of ["One.", "Two."].entries()) {
      await say(text);
      await vi.waitFor(async () => {
        expect((await store.listExchanges("chat"))[i]?.outcome).toBe("complete");
        expect(await store.getRun("chat")).toMatchObject({ status: "waiting", owner: null });
      });
    }
    end.abort();
    await ended;
  });

  it("is forecast: the turn that a text would be answered with, or that nothing would be done", async () => {
    const { runner, say, work } = await chat();
    await say("One.");
    expect(await runner.forecast("chat")).toMatchObject({ turn: { index: 1, response: "asked" } });
    await work();
    expect(await runner.forecast("chat")).toMatchObject({ turn: null });
    await say("Two.");
    expect(await runner.forecast("chat")).toMatchObject({ turn: { index: 2, response: "asked" } });
  });

  it("is a step of a pipeline: its last answer is the input of the next one", async () => {
    const { agent } = scriptedAgent(ECHO, { name: "clerk" });
    let now = Date.UTC(2026, 0, 1);
    const store = await memoryStore({ now: () => now });
    const pipeline = Pipeline.of(
      "desk",
      Step.conversation("talk", agent, { closesAfterMs: 60_000 }),
      Step.run("count", (text: string) => text.length),
    );
    const runner = new Runner(pipeline, { store });
    await runner.run("Hi.", { runId: "desk" });
    now += 60_000;
    expect(await runner.resume("desk")).toMatchObject({ status: "succeeded", output: "I heard: Hi.".length });
  });
});

describe("a text that comes while the agent answers", () => {
  it("steers the next turn, after the receipts of this one", async () => {
    const { note } = noteTool();
    const at = gate();
    const talk = await chat(
      async (turn) => {
        if (turn.turn === 1) {
          await at.pass();
          return noting("a");
        }
        return { text: `Then: ${lastHeard(turn)}` };
      },
      { agent: { tools: { note } } },
    );
    await talk.say("One.");
    const working = talk.work();
    await at.reached;
    await talk.say("And this.", { mode: "steer" });
    at.open();
    expect((await working).conversation?.answer).toBe("Then: And this.");
    expect(await talk.messages()).toEqual([
      ["One.", "taken", 1],
      ["And this.", "taken", 2],
    ]);
    expect(await talk.exchanges()).toEqual([["ann", 1, 2, "complete"]]);
    expect(talk.prompts.map((prompt) => prompt.map(({ role }) => role))).toEqual([
      ["system", "user"],
      ["system", "user", "assistant", "tool", "user"],
    ]);
  });

  it("continues the exchange if the answer was complete without it", async () => {
    const at = gate();
    const talk = await chat(async (turn) => {
      if (turn.turn === 1) await at.pass();
      return { text: `Heard ${lastHeard(turn)}` };
    });
    await talk.say("One.");
    const working = talk.work();
    await at.reached;
    await talk.say("More.", { mode: "steer" });
    at.open();
    expect((await working).conversation?.answer).toBe("Heard More.");
    expect(await talk.exchanges()).toEqual([["ann", 1, 2, "complete"]]);
  });

  it("of another person waits for an exchange of its own", async () => {
    const at = gate();
    const talk = await chat(async (turn) => {
      if (turn.turn === 1) await at.pass();
      return { text: `Heard ${lastHeard(turn)}` };
    });
    await talk.say("One.");
    const working = talk.work();
    await at.reached;
    await talk.say("Me too.", { mode: "steer", by: "ben" });
    at.open();
    await working;
    expect(await talk.exchanges()).toEqual([
      ["ann", 1, 1, "complete"],
      ["ben", 2, 2, "complete"],
    ]);
  });

  it("does what whileBusy of the conversation says", async () => {
    const talk = await chat(undefined, { whileBusy: "steer" });
    await talk.say("One.");
    expect(await talk.store.listMessages("chat")).toMatchObject([{ mode: "steer" }]);
  });

  it("interrupts the model: the same turn is asked again with it, and both requests are charged", async () => {
    const at = gate();
    const talk = await chat(async (turn) => {
      if (heardIn(turn.options.prompt).length === 1 && lastHeard(turn) === "One.")
        await at.pass(turn.options.abortSignal);
      return { text: `Heard ${lastHeard(turn)}` };
    });
    await talk.say("One.");
    const working = talk.work();
    await at.reached;
    await talk.say("Stop, rather two.", { mode: "interrupt" });
    const result = await working;
    expect(result.conversation?.answer).toBe("Heard One.\n\nStop, rather two.");
    expect(await talk.messages()).toEqual([
      ["One.", "taken", 1],
      ["Stop, rather two.", "taken", 1],
    ]);
    expect(await talk.exchanges()).toEqual([["ann", 1, 1, "complete"]]);
    const calls = await talk.store.listModelCalls("chat");
    expect(calls.map(({ turnIndex, attempt, charge }) => [turnIndex, attempt, charge?.basis])).toEqual([
      [1, 1, "baseline"],
      [1, 2, "provider"],
    ]);
  });

  it("that interrupts never cuts a tool: the next turn takes it", async () => {
    const at = gate();
    const { note, done } = noteTool(async () => {
      await at.pass();
      return "noted";
    });
    const talk = await chat(
      (turn) => (turn.turn === 1 ? noting("a") : { text: `Heard ${lastHeard(turn)}` }),
      { agent: { tools: { note } } },
    );
    await talk.say("One.");
    const working = talk.work();
    await at.reached;
    await talk.say("Hurry.", { mode: "interrupt" });
    at.open();
    expect((await working).conversation?.answer).toBe("Heard Hurry.");
    expect(done).toEqual(["a"]);
    expect(await talk.store.listModelCalls("chat")).toHaveLength(2);
  });
});

describe("what cannot be sent", () => {
  it("is refused in a sentence: another mode, and a secret by policy", async () => {
    const talk = await chat(undefined, { runner: { policy: { secretKeys: ["token"] } } });
    await expect(talk.say("Hi.", { mode: "loud" as never })).rejects.toThrow(/mode "loud"/);
    const held = { text: "Look.", token: "abc" } as never;
    await expect(talk.runner.send("chat", held, { orStart: {} })).rejects.toThrow(ConfigurationError);
    expect(await talk.store.listRuns()).toEqual([]);
  });

  it("is returned by a run that is no conversation, with the reason", async () => {
    const store = await memoryStore();
    const runner = new Runner(scriptedAgent([{ text: "Done." }]).agent, { store });
    const sent = await runner.send("run-1", "Hi.", { orStart: { input: "Go." } });
    expect(sent).toMatchObject({ status: "returned", reason: "no_conversation" });
  });
});
