import type { ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import { asAgent } from "../../../../src/adapters/ai-sdk/index.ts";
import { lastHeard } from "../../../engine/conversation/conversation-fixture.ts";
import { LOOK_UP, mirrored } from "./mirrored-agents.ts";

const options = { runId: "chat-1", by: "ann" };
const user = (content: string): ModelMessage => ({ role: "user", content });
const echo = () => mirrored((turn) => ({ text: `You said ${lastHeard(turn)}.` }), { isConversation: true });

describe("the messages of a call", () => {
  it("add what follows the last answer, once, however often the call is made", async () => {
    const { runner, store } = await echo();
    const clerk = asAgent(runner);
    const first = await clerk.generate({ messages: [user("one")], options });
    const messages = [user("one"), ...first.responseMessages, user("two")];
    const answers = await Promise.all([1, 2].map(() => clerk.generate({ messages, options })));
    expect(answers.map(({ text }) => text)).toEqual(["You said two.", "You said two."]);
    expect((await clerk.generate({ messages: [user("one")], options })).text).toBe("You said one.");
    expect((await store.listMessages("chat-1")).map(({ body }) => body)).toEqual(["one", "two"]);
  });

  it("are refused where they differ from the stored ones, by the number of the first", async () => {
    const { runner, store } = await echo();
    const clerk = asAgent(runner);
    const { responseMessages } = await clerk.generate({ messages: [user("one")], options });
    const other: ModelMessage = { role: "assistant", content: "You said nothing." };
    const refused = async (why: string, ...messages: ModelMessage[]) => {
      await expect(clerk.generate({ messages, options })).rejects.toThrow(why);
    };
    await refused(
      "Message 1 is not the one that run chat-1 has (another text was sent there)",
      user("uno"),
      ...responseMessages,
      user("two"),
    );
    await refused("Message 2 is not the one", user("one"), other, user("two"));
    await refused("Message 1 is not the one", user("two"));
    await refused("no message of the user after the last", user("one"), ...responseMessages);
    expect(await store.listMessages("chat-1")).toHaveLength(1);
  });

  it("may be the last one alone, if the call has its id", async () => {
    const { runner, store } = await echo();
    const clerk = asAgent(runner);
    const say = (messageId: string) => clerk.generate({ prompt: "yes", options: { ...options, messageId } });
    await say("m-1");
    await say("m-2");
    await say("m-2");
    expect((await store.listMessages("chat-1")).map(({ id }) => id)).toEqual(["m-1", "m-2"]);
  });

  it("are texts of people, and one of them for an agent alone", async () => {
    const { runner } = await mirrored([{ toolCalls: [LOOK_UP(7)] }, { text: "Done." }]);
    const clerk = asAgent(runner);
    const image = { type: "file" as const, data: "aGk=", mediaType: "image/png" };
    const refused = async (messages: ModelMessage[], why: string) => {
      await expect(clerk.generate({ messages, options: {} })).rejects.toThrow(why);
    };
    await refused([{ role: "user", content: [image] }], "has a part of type file");
    await refused([{ role: "system", content: "Be rude." }, user("Hi")], "is a system message");
    await refused([user("one"), user("two")], "use new Runner(conversation(agent)");
  });
});
