import { describe, expect, it } from "vitest";
import { conversation, ModelCallError, ResumeError, Runner } from "../../../src/index.ts";
import { fakeClock } from "../../../src/testing/index.ts";
import { memoryStore, noteTool, noting, scriptedAgent, toolResults } from "../run-fixture.ts";
import { loudly, saying, sayTool, words } from "../session-fixture.ts";
import { chat, ECHO, gate, heardIn, lastHeard } from "./conversation-fixture.ts";

const rejected = () =>
  new ModelCallError("The key is wrong.", {
    kind: "rejected",
    status: 401,
    retryAfterMs: null,
    retryable: false,
  });

describe("stop", () => {
  it("cuts the model off, ends the exchange and not the run, and charges the request", async () => {
    const at = gate();
    const talk = await chat(async (turn) => {
      if (lastHeard(turn) === "One.") await at.pass(turn.options.abortSignal);
      return { text: `Heard ${lastHeard(turn)}` };
    });
    await talk.say("One.");
    const working = talk.work();
    await at.reached;
    expect(await talk.runner.stop("chat", { by: "ben" })).toMatchObject({ kind: "requested" });
    expect(await working).toMatchObject({
      status: "waiting",
      conversation: { exchange: { outcome: "stopped", why: "stopped by ben" }, answer: null },
    });
    expect(await talk.runner.stop("chat")).toEqual({ kind: "nothing" });
    await talk.say("Two.");
    await talk.work();
    expect(heardIn(talk.prompts.at(-1) ?? [])).toEqual(["One.\n\nTwo."]);
    expect(await talk.exchanges()).toEqual([
      ["ann", 1, null, "stopped"],
      ["ann", 1, 1, "complete"],
    ]);
    const [first] = await talk.store.listModelCalls("chat");
    expect(first?.charge?.basis).toBe("baseline");
  });

  it("lets tools finish and keeps their receipts, and does not ask the model again", async () => {
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
    await talk.runner.stop("chat", { by: "ann" });
    at.open();
    await working;
    expect(done).toEqual(["a"]);
    expect(talk.prompts).toHaveLength(1);
    expect(await talk.exchanges()).toEqual([["ann", 1, 1, "stopped"]]);
    await talk.say("Two.");
    await talk.work();
    expect(talk.prompts[1]?.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "user"]);
  });

  it("does not run the calls that had not begun, and says so in their results", async () => {
    const at = gate();
    const { note, done } = noteTool(async () => {
      await at.pass();
      return "noted";
    });
    const two = { toolCalls: ["a", "b"].map((text) => ({ name: "note", input: { text } })) };
    const talk = await chat((turn) => (turn.turn === 1 ? two : { text: "Well." }), {
      agent: { tools: { note } },
      runner: { maxParallelToolCalls: 1 },
    });
    await talk.say("One.");
    const working = talk.work();
    await at.reached;
    await talk.runner.stop("chat", { by: "ann" });
    // The worker looks for the request before the tool returns.
    await new Promise((resolve) => setTimeout(resolve, 50));
    at.open();
    await working;
    expect(done).toEqual(["a"]);
    await talk.say("Two.");
    await talk.work();
    expect(toolResults(talk.prompts[1])).toMatchObject([
      { value: "noted" },
      { value: expect.stringMatching(/not run: stopped by ann/) },
    ]);
  });

  it("denies what waits for an approval, in a conversation that no process holds", async () => {
    const { note, done } = noteTool();
    const talk = await chat((turn) => (turn.turn === 1 ? noting("a") : { text: "Well." }), {
      agent: { tools: { note } },
      runner: { policy: { approve: [{ match: "note" }] } },
    });
    await talk.say("One.");
    expect(await talk.work()).toMatchObject({ status: "waiting", waits: [{ kind: "approval" }] });
    await talk.say("yes, do it", { mode: "interrupt" });
    expect((await talk.store.getRun("chat"))?.status).toBe("waiting");
    await talk.runner.stop("chat", { by: "ann" });
    await talk.work();
    expect(done).toEqual([]);
    expect(await talk.exchanges()).toEqual([
      ["ann", 1, 1, "stopped"],
      ["ann", 2, 2, "complete"],
    ]);
  });
});

describe("an exchange without an answer", () => {
  it("ends with the reason if the model fails for good, and the sender can write again", async () => {
    let isBroken = true;
    const talk = await chat((turn) => {
      if (isBroken) throw rejected();
      return { text: `Heard ${lastHeard(turn)}` };
    });
    await talk.say("One.");
    const failed = await talk.work();
    expect(failed.conversation?.exchange).toMatchObject({
      outcome: "failed",
      why: expect.stringMatching(/key is wrong/),
    });
    isBroken = false;
    await talk.say("Again.");
    expect((await talk.work()).conversation?.answer).toBe("Heard One.\n\nAgain.");
  });

  it("ends after maxTurns, and the next one has as many", async () => {
    const { note } = noteTool(undefined, { recovery: "repeat" });
    const talk = await chat(
      (turn) => (lastHeard(turn) === "Work." ? noting(`n${turn.turn}`) : { text: "Well." }),
      { agent: { tools: { note } }, maxTurns: 2 },
    );
    await talk.say("Work.");
    expect((await talk.work()).conversation?.exchange).toMatchObject({ outcome: "max_turns", lastTurn: 2 });
    await talk.say("Rest.");
    await talk.work();
    expect(await talk.exchanges()).toEqual([
      ["ann", 1, 2, "max_turns"],
      ["ann", 3, 3, "complete"],
    ]);
  });

  it("ends with its budget, inside that of the run", async () => {
    const settings = { maxOutputTokens: 100 };
    const talk = await chat(ECHO, { agent: { settings }, budget: { tokens: 20 } });
    await talk.say("One.");
    const { conversation: last, status } = await talk.work();
    expect([status, last?.exchange.outcome]).toEqual(["waiting", "budget"]);
    expect(await talk.messages()).toEqual([["One.", "taken", 1]]);
    expect(talk.prompts).toEqual([]);
  });
});

describe("a conversation that nobody writes to", () => {
  it("succeeds after closesAfterMs with its last answer, and returns what comes later", async () => {
    const clock = fakeClock();
    const store = await memoryStore({ now: () => clock.now() });
    const talk = await chat(ECHO, { closesAfterMs: 60_000, runner: { store, clock } });
    await talk.say("One.");
    expect(await talk.runner.advance("chat", { turns: 3 })).toEqual({ next: "at", at: clock.now() + 60_000 });
    await clock.advance(60_000);
    expect(await talk.runner.advance("chat")).toEqual({ next: "ended", status: "succeeded" });
    expect((await store.getRun("chat"))?.output).toBe("I heard: One.");
    expect(await talk.say("Late.")).toMatchObject({ status: "returned", reason: "succeeded" });
  });

  it("takes a text that came after the time and before the end", async () => {
    const clock = fakeClock();
    const store = await memoryStore({ now: () => clock.now() });
    const talk = await chat(ECHO, { closesAfterMs: 60_000, runner: { store, clock } });
    await talk.say("One.");
    await talk.work();
    await clock.advance(60_000);
    await store.wakeRun("chat");
    await talk.say("Two.");
    expect(await talk.work()).toMatchObject({ status: "waiting" });
    expect(await talk.exchanges()).toHaveLength(2);
  });
});

describe("an agent that was changed", () => {
  it("is accepted between two exchanges, and that is recorded", async () => {
    const talk = await chat();
    await talk.say("One.");
    await talk.work();
    const changed = await chat(ECHO, { agent: { instructions: "Be brief." }, runner: { store: talk.store } });
    await changed.say("Two.");
    expect((await changed.work()).conversation?.answer).toBe("I heard: One. / Two.");
    const events = await talk.store.listEvents("chat");
    const accepted = events.filter(({ type }) => type === "divergence.accepted");
    expect(accepted).toMatchObject([{ data: { why: expect.stringMatching(/between two exchanges/) } }]);
  });

  it("stops inside an exchange, as any step does, and between exchanges if the conversation says so", async () => {
    const { note } = noteTool();
    const talk = await chat(() => noting("a"), {
      agent: { tools: { note } },
      runner: { policy: { approve: [{ match: "note" }] } },
    });
    await talk.say("One.");
    const { waits } = await talk.work();
    await talk.store.approve(waits[0]?.waitId ?? "");
    const { agent } = scriptedAgent(ECHO, { name: "clerk", tools: { note }, instructions: "Be brief." });
    const other = new Runner(conversation(agent), { store: talk.store });
    await expect(other.resume("chat")).rejects.toThrow(ResumeError);

    const strict = await chat(ECHO, { divergence: "stop" });
    await strict.say("One.");
    await strict.work();
    const changed = await chat(ECHO, {
      divergence: "stop",
      agent: { instructions: "Be brief." },
      runner: { store: strict.store },
    });
    await changed.say("Two.");
    await expect(changed.work()).rejects.toThrow(ResumeError);
  });
});

describe("a resume from a milestone", () => {
  const parts = (script: Parameters<typeof chat>[0], tools: object) =>
    chat(script, {
      agent: { tools: { ...tools }, slices: [words] as never },
      runner: { checkpointTrigger: loudly, policy: { approve: [{ match: "note" }] } },
    });

  it("puts the messages of the open exchange back, and the new line of history takes them", async () => {
    const { say: speak, spoken } = sayTool();
    const { note } = noteTool();
    const talk = await parts(
      (turn) => {
        if (lastHeard(turn) === "One.") return turn.turn === 1 ? saying("one!") : { text: "Said." };
        return turn.turn > 2 ? noting("a") : { text: `Heard ${heardIn(turn.options.prompt).join(" / ")}` };
      },
      { say: speak, note },
    );
    await talk.say("One.");
    await talk.work();
    await talk.say("Two.");
    expect(await talk.work()).toMatchObject({ waits: [{ kind: "approval" }] });
    const result = await talk.runner.resume("chat", { from: "milestone" });
    expect(result.conversation?.answer).toBe("Heard Two.");
    expect(spoken).toEqual(["one!"]);
    expect(await talk.exchanges()).toEqual([
      ["ann", 1, 2, "complete"],
      ["ann", 3, null, "rolled_back"],
      ["ann", 4, 4, "complete"],
    ]);
    expect(await talk.messages()).toEqual([
      ["One.", "taken", 1],
      ["Two.", "taken", 4],
    ]);
    expect((await talk.store.verify("chat")).problems).toEqual([]);
  });

  it("changes nothing between two exchanges: there is nothing to go back from", async () => {
    const { say: speak } = sayTool();
    const talk = await parts(
      (turn) => (turn.turn === 1 ? saying("one!") : { text: `Heard ${lastHeard(turn)}` }),
      { say: speak, note: noteTool().note },
    );
    await talk.say("One.");
    await talk.work();
    await talk.runner.resume("chat", { from: "milestone" });
    await talk.say("Two.");
    await talk.work();
    expect(await talk.history()).toEqual(["One.", "Two."]);
    expect(await talk.store.listLineages("chat")).toEqual([]);
  });
});
