import { describe, expect, it } from "vitest";
import { MAX_TEXT_BYTES } from "../../../src/core/run/sent-message.ts";
import { REFUSED_MESSAGE } from "../../../src/core/usage/said-file.ts";
import { conversation, Runner } from "../../../src/index.ts";
import { memoryStore, must, noteTool, noting, scriptedAgent } from "../run-fixture.ts";
import { chat, heardIn, lastHeard } from "./conversation-fixture.ts";

/** The answer of a provider with this status. */
const refusal = (statusCode = 400, message = "flagged") => Object.assign(new Error(message), { statusCode });

/** A conversation whose model refuses requests with the word "bad". */
async function strictChat(options: Parameters<typeof chat>[1] = {}) {
  const talk = await chat((turn) => {
    if (JSON.stringify(turn.options.prompt).includes("bad")) throw refusal();
    return { text: `I heard: ${lastHeard(turn)}` };
  }, options);
  const outcomes = async () => (await talk.store.listExchanges("chat")).map(({ outcome }) => outcome);
  return { ...talk, outcomes };
}

describe("a text that the provider refuses", () => {
  it.each(["in the same process", "after a restart"])(
    "is set aside, so that the next one is answered, %s",
    async (when) => {
      const { store, say, work, prompts, outcomes, history } = await strictChat();
      await say("Hello.");
      await work();
      await say("Something bad.");
      if (when === "after a restart") await work();
      await say("Are you there?");
      await work();
      await say("And now?");
      await work();
      expect(await outcomes()).toEqual(["complete", "failed", "complete", "complete"]);
      expect(heardIn(must(prompts.at(-1)))).toEqual([
        "Hello.",
        `${REFUSED_MESSAGE}\n\nAre you there?`,
        "And now?",
      ]);
      expect(await history()).toEqual(["Hello.", REFUSED_MESSAGE, "Are you there?", "And now?"]);
      expect((await store.verify("chat")).problems).toEqual([]);
    },
  );

  it("is still the text that was sent, in the list of messages and in the turn", async () => {
    const { store, say, work, messages } = await strictChat();
    await say("Something bad.");
    await work();
    await say("Are you there?");
    await work();
    expect(await messages()).toEqual([
      ["Something bad.", "taken", 1],
      ["Are you there?", "taken", 1],
    ]);
    const [turn] = await store.listTurns("chat");
    expect(turn?.taken.map(({ body }) => body)).toEqual(["Something bad.", "Are you there?"]);
  });

  it("ends its exchange with a sentence for the sender, without the advice for a failed run", async () => {
    const { store, say, work } = await strictChat();
    await say("Something bad.");
    await work();
    const [exchange] = await store.listExchanges("chat");
    expect(exchange?.why).toBe(
      "scripted/scripted-model rejected the request (400): flagged. From now on the model no longer sees the message: send it again in other words, or a shorter one.",
    );
  });

  it("takes along what was not answered before: which of them it was, nobody says", async () => {
    let isDown = true;
    const { say, work, prompts, store } = await chat(({ options: { prompt } }) => {
      if (isDown) throw refusal(401);
      if (JSON.stringify(prompt).includes("bad")) throw refusal();
      return { text: "Yes." };
    });
    await say("Something bad.");
    await work();
    isDown = false;
    await say("Are you there?");
    await work();
    await say("Hello?");
    await work();
    const outcomes = (await store.listExchanges("chat")).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(["failed", "failed", "complete"]);
    expect(heardIn(must(prompts.at(-1)))).toEqual([`${REFUSED_MESSAGE}\n\n${REFUSED_MESSAGE}\n\nHello?`]);
  });

  it("is set aside if it joined an exchange, without what a turn has answered already", async () => {
    const talk: { say?: (text: string) => Promise<unknown> } = {};
    const { note } = noteTool(async () => {
      await talk.say?.("Something bad.");
      return "noted";
    });
    const { say, work, prompts, exchanges } = await chat(
      ({ turn, options: { prompt } }) => {
        if (JSON.stringify(prompt).includes("bad")) throw refusal();
        return turn === 1 ? noting("a") : { text: "Done." };
      },
      { agent: { tools: { note } } },
    );
    talk.say = (text) => say(text, { mode: "steer" });
    await say("Note it.");
    await work();
    await say("Well?");
    await work();
    expect((await exchanges()).map((exchange) => (exchange as unknown[]).at(-1))).toEqual([
      "failed",
      "complete",
    ]);
    expect(heardIn(must(prompts.at(-1)))).toEqual(["Note it.", `${REFUSED_MESSAGE}\n\nWell?`]);
  });

  it("is set aside, too, if it is the input of the conversation", async () => {
    const { runner, say, work, prompts, outcomes, history } = await strictChat();
    await runner.run("Something bad.", { runId: "chat", wait: true });
    await say("Hello.");
    await work();
    expect(await outcomes()).toEqual(["failed", "complete"]);
    expect(heardIn(must(prompts.at(-1)))).toEqual([`${REFUSED_MESSAGE}\n\nHello.`]);
    expect(await history()).toEqual([REFUSED_MESSAGE, "Hello."]);
  });

  it("comes after its files: without them it may be answered", async () => {
    const { runner, say, work, prompts, outcomes } = await strictChat();
    const data = Buffer.from("a cat");
    const parts = [
      { type: "text", text: "Something bad." } as const,
      { type: "file", mediaType: "image/png", data, filename: "cat.png" } as const,
    ];
    await runner.send("chat", { parts }, { by: "ann", orStart: {} });
    await work();
    await say("One.");
    await work();
    expect(heardIn(must(prompts.at(-1)))).toEqual([
      "Something bad.",
      '[Left out: file "cat.png" (image/png). A request with it was refused.]',
      "One.",
    ]);
    await say("Two.");
    await work();
    expect(await outcomes()).toEqual(["failed", "failed", "complete"]);
    expect(heardIn(must(prompts.at(-1)))).toEqual([`${REFUSED_MESSAGE}\n\n${REFUSED_MESSAGE}\n\nTwo.`]);
  });

  it("stays set aside when the history is compacted", async () => {
    const { say, work, prompts, outcomes } = await strictChat({
      compaction: { atTokens: 20, summarize: () => "They said hello." },
    });
    for (const text of ["Hello.", "Something bad.", "Are you there?"]) {
      await say(text);
      await work();
    }
    expect(await outcomes()).toEqual(["complete", "failed", "complete"]);
    expect(heardIn(must(prompts.at(-1))).join()).toContain(`${REFUSED_MESSAGE}\n\nAre you there?`);
  });

  it.each([
    ["the key was wrong", refusal(401)],
    ["the credit was used up", refusal(402)],
    ["something was forbidden", refusal(403)],
    ["there was no such model", refusal(404)],
    ["the account has no credit", refusal(400, "Your credit balance is too low.")],
    ["the provider failed", refusal(500)],
    ["the connection broke", Object.assign(new Error("reset"), { code: "ECONNRESET" })],
  ])("is sent again if the exchange failed because %s", async (_, failure) => {
    let failures = 1;
    const { say, work, prompts } = await chat(
      () => {
        failures -= 1;
        if (failures >= 0) throw failure;
        return { text: "Yes." };
      },
      { runner: { maxModelAttempts: 1 } },
    );
    await say("One.");
    await work();
    await say("Two.");
    await work();
    expect(heardIn(must(prompts.at(-1)))).toEqual(["One.\n\nTwo."]);
  });
});

describe("a text that is sent", () => {
  it.each([
    ["empty", ""],
    ["blank", " \n\t"],
    ["blank in its parts", { parts: [{ type: "text", text: " " } as const] }],
    ["too large", "x".repeat(MAX_TEXT_BYTES + 1)],
    ["too large as UTF-8", "é".repeat(MAX_TEXT_BYTES / 2 + 1)],
    ["too large in its parts", { parts: ["x", "y".repeat(MAX_TEXT_BYTES)].map(textPart) }],
  ])("is refused if it is %s, before a run is started", async (_, message) => {
    const store = await memoryStore();
    const { agent: clerk } = scriptedAgent([]);
    const runner = new Runner(conversation(clerk), { store });
    await expect(runner.send("chat", message, { by: "ann", orStart: {} })).rejects.toThrow(
      /has (an empty|no) text|1,048,57\d bytes, and at most 1,048,576 are taken: send a shorter text/,
    );
    expect(await store.getRun("chat")).toBeNull();
  });

  it("may be as large as the limit", async () => {
    const { say, messages } = await chat();
    await say("x".repeat(MAX_TEXT_BYTES));
    expect(await messages()).toHaveLength(1);
  });

  it("is no event: the data of one may be empty, and larger", async () => {
    const { say, runner } = await chat();
    await say("One.");
    for (const data of ["", "x".repeat(MAX_TEXT_BYTES + 1)])
      expect(await runner.send("chat", { event: "paid", data }, { by: "bank" })).toBeDefined();
  });
});

function textPart(text: string) {
  return { type: "text", text } as const;
}
