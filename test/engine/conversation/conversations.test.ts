import { describe, expect, it } from "vitest";
import { conversation, Runner } from "../../../src/index.ts";
import { memoryStore } from "../run-fixture.ts";
import { clerk, heard } from "./conversation-fixture.ts";

describe("a conversation", () => {
  it("answers its input, and waits for the next message", async () => {
    const store = await memoryStore();
    const runner = new Runner(conversation(clerk()), { store });
    const result = await runner.run("Hello.", { runId: "chat" });
    expect(result).toMatchObject({
      status: "waiting",
      output: null,
      waits: [{ kind: "message" }],
      conversation: { exchange: { exchange: 1, outcome: "complete" }, answer: "I heard: Hello." },
    });
    expect(await store.getRun("chat")).toMatchObject({ status: "waiting", owner: null });
  });

  it("takes a text when it is resumed, with what was said before", async () => {
    const store = await memoryStore();
    const runner = new Runner(conversation(clerk()), { store });
    await runner.run("One.", { runId: "chat" });
    const sent = await runner.send("chat", "Two.", { by: "ann" });
    expect(sent).toMatchObject({ status: "waiting", reason: null });
    expect((await store.getRun("chat"))?.status).toBe("queued");
    const result = await runner.resume("chat");
    expect(result.conversation?.answer).toBe("I heard: One. / Two.");
    expect((await store.listExchanges("chat")).map(({ outcome, sentBy }) => [outcome, sentBy])).toEqual([
      ["complete", "somebody"],
      ["complete", "ann"],
    ]);
    expect(heard(await store.readHistory("chat", "clerk"))).toEqual(["One.", "Two."]);
    expect((await store.verify("chat")).problems).toEqual([]);
  });

  it("begins with a message, without an input", async () => {
    const store = await memoryStore();
    const runner = new Runner(conversation(clerk()), { store });
    await runner.send("chat", "Hi.", { by: "ann", orStart: {} });
    await runner.advance("chat");
    await runner.advance("chat");
    expect(heard(await store.readHistory("chat", "clerk"))).toEqual(["Hi."]);
    expect(await store.listMessages("chat")).toMatchObject([
      { status: "taken", mode: "queue", takenBy: { stepPath: "clerk", turn: 1, exchange: 1 } },
    ]);
    expect(await runner.advance("chat")).toEqual({ next: "wait" });
  });
});
