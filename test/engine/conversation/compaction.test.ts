import { describe, expect, it } from "vitest";
import {
  ConfigurationError,
  conversation,
  type Message,
  Runner,
  type WatchEvent,
} from "../../../src/index.ts";
import { fakeClock } from "../../../src/testing/index.ts";
import { asking } from "../call/call-fixture.ts";
import { memoryStore, noteTool, noting, scriptedAgent } from "../run-fixture.ts";
import { asksForSummary, clerk, compacting, lineagesIn, PREFIX, summing } from "./compaction-fixture.ts";
import { chat, heardIn, lastHeard } from "./conversation-fixture.ts";

describe("a history above atTokens", () => {
  it("is replaced by a summary before the next exchange, and by another one when it has grown again", async () => {
    const talk = await compacting();
    await talk.tell("One.", "Two.", "Three.");
    const answer = "This is a long answer to the text";
    expect(talk.heard()).toEqual([
      "One.",
      `user: One.\n\nassistant: ${answer} One.`,
      `${PREFIX}Sum 1.\n\nTwo.`,
      `user: ${PREFIX}Sum 1.\n\nTwo.\n\nassistant: ${answer} ${PREFIX}Sum 1.\n\nTwo.`,
      `${PREFIX}Sum 2.\n\nThree.`,
    ]);
    expect(await lineagesIn(talk.store)).toEqual([
      [2, 1, "Sum 1."],
      [3, 2, "Sum 2."],
    ]);
    expect(await talk.history()).toEqual([`${PREFIX}Sum 2.`, "Three."]);
    expect(await talk.exchanges()).toEqual([1, 2, 3].map((turn) => ["ann", turn, turn, "complete"]));
    expect(await talk.messages()).toEqual([
      ["One.", "taken", 1],
      ["Two.", "taken", 2],
      ["Three.", "taken", 3],
    ]);
    expect((await talk.store.verify("chat")).problems).toEqual([]);
  });

  it("is compacted between the exchanges of one worker, too", async () => {
    const talk = await compacting();
    for (const text of ["One.", "Two.", "Three."]) await talk.say(text);
    await talk.work();
    expect(talk.heard().filter((heard) => heard.startsWith("user: "))).toHaveLength(2);
    expect(await lineagesIn(talk.store)).toHaveLength(2);
  });

  it("stays as it is without the option", async () => {
    const talk = await chat(summing());
    for (const text of ["One.", "Two."]) {
      await talk.say(text);
      await talk.work();
    }
    expect(talk.prompts).toHaveLength(2);
    expect(await talk.store.listLineages("chat")).toEqual([]);
  });

  it("loses its input, which the summary covers, and nothing that was not answered", async () => {
    const talk = await compacting();
    await talk.runner.run("The input.", { runId: "chat" });
    await talk.tell("Two.");
    expect(talk.heard().at(-1)).toBe(`${PREFIX}Sum 1.\n\nTwo.`);
    expect(await talk.history()).toEqual([`${PREFIX}Sum 1.`, "Two."]);
  });

  it("does not lose a text whose exchange failed: the new line of history has it", async () => {
    let isDown = false;
    const answer = clerk(() => ({ text: "Sum." }));
    const talk = await compacting(
      (turn) => {
        if (isDown && !asksForSummary(turn)) throw new Error("The model is down.");
        return typeof answer === "function" ? answer(turn) : { text: "" };
      },
      { atTokens: 20 },
      { runner: { maxModelAttempts: 1 } },
    );
    await talk.tell("One.");
    isDown = true;
    await talk.tell("Lost?");
    isDown = false;
    await talk.tell("Three.");
    expect(talk.heard().at(-1)).toBe(`${PREFIX}Sum.\n\nLost?\n\nThree.`);
    expect(await lineagesIn(talk.store)).toEqual([[2, 1, "Sum."]]);
  });
});

describe("the request for a summary", () => {
  it("has no tools, has their calls and results as text, and is charged once", async () => {
    const { note, done } = noteTool();
    const requests: unknown[] = [];
    const talk = await compacting(
      (turn) => {
        if (asksForSummary(turn)) {
          requests.push(turn.options.tools ?? []);
          return { text: "Sum.", usage: { inputTokens: 70, outputTokens: 7 } };
        }
        return lastHeard(turn) === "One." && turn.options.prompt.at(-1)?.role === "user"
          ? noting("a")
          : { text: "Well, that is noted, and it is a long answer." };
      },
      {},
      { agent: { tools: { note } } },
    );
    await talk.tell("One.", "Two.");
    expect(requests.flat()).toEqual([]);
    expect(talk.heard()[2]).toBe(
      'user: One.\n\nassistant: (calls note with {"text":"a"})\n\nresult of note: {"noted":"a"}\n\nassistant: Well, that is noted, and it is a long answer.',
    );
    expect(done).toEqual(["a"]);
    const calls = (await talk.store.listModelCalls("chat")).map(({ turnIndex, attempt, charge }) => [
      turnIndex,
      attempt,
      charge?.amount.tokens,
    ]);
    expect(calls).toContainEqual([3, 1, 77]);
    expect(calls.filter(([turn]) => turn === 3)).toHaveLength(2);
  });

  it("is never a turn: viewers see the new line of history, and no answer of its own", async () => {
    const talk = await compacting();
    await talk.tell("One.", "Two.");
    const seen: WatchEvent[] = [];
    const end = new AbortController();
    for await (const event of talk.runner.watch("chat", { signal: end.signal })) {
      seen.push(event);
      if (seen.filter(({ type }) => type === "run.waiting").length === 2) end.abort();
    }
    const told = seen.map(({ type }) => type).filter((type) => /^(turn|lineage)\./.test(type));
    const turn = ["turn.opened", "turn.journaled", "turn.committed"];
    expect(told).toEqual([...turn, "lineage.begun", ...turn]);
    expect(seen.find(({ type }) => type === "lineage.begun")).toMatchObject({
      reason: "compaction",
      firstTurn: 2,
      baseTurn: 1,
    });
    expect(talk.events).toContainEqual(
      expect.objectContaining({ type: "lineage.begun", reason: "compaction", turn: 2 }),
    );
    expect(await talk.store.listTurns("chat")).toHaveLength(2);
  });

  it("has the instructions of the conversation", async () => {
    const talk = await compacting(summing(), { instructions: "Please summarize in Latin." });
    await talk.tell("One.", "Two.");
    expect(talk.prompts[1]?.[0]).toMatchObject({ role: "system", content: "Please summarize in Latin." });
  });
});

describe("a function", () => {
  it("writes the summary from what the model would see, for free, and is not asked again", async () => {
    const given: (readonly Message[])[] = [];
    const talk = await compacting(summing(), {
      summarize: (history) => {
        given.push(history);
        return `They said ${history.length} things.`;
      },
    });
    await talk.tell("One.", "Two.");
    expect(given.map((history) => history.map(({ role }) => role))).toEqual([["user", "assistant"]]);
    expect(talk.heard()).toEqual(["One.", `${PREFIX}They said 2 things.\n\nTwo.`]);
    expect(await talk.store.listModelCalls("chat")).toHaveLength(2);
    expect((await talk.store.verify("chat")).problems).toEqual([]);
  });
});

describe("receipts", () => {
  it("are kept: an effect that is wanted once is not repeated after a compaction", async () => {
    const { note, done } = noteTool(undefined, { effect: "external", recovery: "opaque" });
    const once = { ...note, dedupe: "effect" as const };
    const talk = await compacting(
      (turn) => {
        if (asksForSummary(turn)) return { text: "Sum." };
        const isAnswered = turn.options.prompt.at(-1)?.role === "tool";
        return isAnswered ? { text: "Noted, with a rather long answer." } : asking(["note", { text: "a" }]);
      },
      {},
      { agent: { tools: { note: once } } },
    );
    await talk.tell("One.", "Two.");
    expect(await lineagesIn(talk.store)).toHaveLength(1);
    expect(done).toEqual(["a"]);
    expect((await talk.store.listToolCalls("chat")).map(({ status }) => status)).toEqual([
      "succeeded",
      "deduplicated",
    ]);
  });
});

describe("a compacted conversation", () => {
  it("is forecast: what the summary may cost, without asking for it and without running a function", async () => {
    const talk = await compacting();
    await talk.tell("One.");
    await talk.say("Two.");
    const { turn } = await talk.runner.forecast("chat");
    expect(turn).toMatchObject({ index: 2, response: "summary" });
    expect(turn?.mayCost?.tokens).toBeGreaterThan(4_096);
    const { agent } = scriptedAgent(summing(), { name: "clerk" });
    const summarize = () => {
      throw new Error("A forecast runs no code of the user.");
    };
    const other = new Runner(conversation(agent, { compaction: { atTokens: 20, summarize } }), {
      store: talk.store,
    });
    expect((await other.forecast("chat")).turn).toEqual({ index: 2, response: "summary", mayCost: null });
    expect(talk.prompts).toHaveLength(1);
  });

  it("is forked before and after its summary", async () => {
    const talk = await compacting();
    await talk.tell("One.", "Two.", "Three.");
    for (const [atTurn, history, lineages] of [
      [1, ["One."], 0],
      [2, [`${PREFIX}Sum 1.`, "Two."], 1],
      [3, [`${PREFIX}Sum 2.`, "Three."], 2],
    ] as const) {
      const { run } = await talk.runner.fork("chat", { atTurn, runId: `fork-${atTurn}` });
      expect(await talk.store.listLineages(run.runId)).toHaveLength(lineages);
      await talk.runner.send(run.runId, "Other.", { by: "ann", orStart: {} });
      await talk.runner.resume(run.runId, { wait: true });
      const heard = heardIn(await talk.store.readHistory(run.runId, "clerk"));
      // What it had was above the limit: it is compacted before the fork continues.
      expect(heard.at(-1)).toBe("Other.");
      expect(talk.prompts.map((prompt) => heardIn(prompt).join("\n\n"))).toContainEqual(
        expect.stringContaining(`user: ${history.join("\n\n")}\n\nassistant:`),
      );
      expect((await talk.store.verify(run.runId)).problems).toEqual([]);
    }
  });

  it("goes back to a milestone from before its summary: what was taken since then waits again", async () => {
    const { note } = noteTool();
    const talk = await compacting(
      (turn) => {
        if (asksForSummary(turn)) return { text: "Sum." };
        const isLast = lastHeard(turn).includes("Two.") && turn.options.prompt.at(-1)?.role !== "tool";
        return isLast ? noting("b") : { text: `This is a long answer to the text ${lastHeard(turn)}` };
      },
      {},
      { agent: { tools: { note: { ...note, approval: true } } } },
    );
    await talk.tell("One.", "Two.");
    expect(await lineagesIn(talk.store)).toEqual([[2, 1, "Sum."]]);
    expect((await talk.store.listWaits("chat")).at(-1)).toMatchObject({ kind: "approval", status: "open" });
    await talk.runner.resume("chat", { wait: true, from: "beginning" });
    // The second text needs an approval again, after a summary of the first one.
    expect(await lineagesIn(talk.store)).toEqual([
      [2, 1, "Sum."],
      [3, 0, null],
      [4, 3, "Sum."],
    ]);
    expect(talk.heard().slice(3)).toEqual([
      "One.",
      "user: One.\n\nassistant: This is a long answer to the text One.",
      `${PREFIX}Sum.\n\nTwo.`,
    ]);
    expect((await talk.store.verify("chat")).problems).toEqual([]);
  });

  it("ends with its last answer, though only a summary is left of it", async () => {
    const clock = fakeClock();
    const store = await memoryStore({ now: () => clock.now() });
    const talk = await compacting(
      clerk(() => ({ text: "Sum." })),
      {},
      { closesAfterMs: 1_000, budget: { tokens: 4_200 }, runner: { store, clock } },
    );
    await talk.tell("One.", `Two${" and more".repeat(1_000)}.`);
    expect(await lineagesIn(store)).toEqual([[2, 1, "Sum."]]);
    expect(await talk.exchanges()).toEqual([
      ["ann", 1, 1, "complete"],
      ["ann", 2, null, "budget"],
    ]);
    await clock.advance(1_000);
    expect(await talk.work()).toMatchObject({
      status: "succeeded",
      output: "This is a long answer to the text One.",
    });
  });
});

describe("options", () => {
  const { agent } = scriptedAgent(summing());
  it.each([
    [{ atTokens: 0 }, /atTokens .* is 0/],
    [{ atTokens: 200_000 }, /historyMaxTokens is 128000/],
    [{ atTokens: 10, keep: 1 }, /has no "keep"/],
    [{ atTokens: 10, instructions: " " }, /empty instructions/],
    [{ atTokens: 10, summarize: "model" }, /no function/],
    [{ atTokens: 10, instructions: "Be short.", summarize: () => "" }, /give one of them/],
  ])("%j is refused", (compaction, message) => {
    const make = () => conversation(agent, { compaction: compaction as never });
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(message);
  });
});
