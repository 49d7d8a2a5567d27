import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type Agent,
  createAgentUIStreamResponse,
  DefaultChatTransport,
  type InferAgentUIMessage,
  type Output,
  readUIMessageStream,
  type UIMessage,
} from "ai";
import { describe, expect, expectTypeOf, it, onTestFinished } from "vitest";
import { z } from "zod";
import { type AgentCall, asAgent } from "../../../../src/adapters/ai-sdk/index.ts";
import { agent, conversation, openStore, Runner } from "../../../../src/index.ts";
import { scriptedModel } from "../../../../src/testing/index.ts";
import { countedTools, LOOK_UP, mirrored, REFUND } from "./mirrored-agents.ts";

/** A chat endpoint on loopback that knows its user and the run of each chat. */
async function serve(respond: (chatId: string, uiMessages: unknown[]) => Promise<Response>): Promise<string> {
  const answerTo = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, messages } = JSON.parse(Buffer.concat(chunks).toString()) as {
      id: string;
      messages: unknown[];
    };
    const answer = await respond(id, messages);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  };
  const server = createServer((request, response) => void answerTo(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/chat`;
}

/** What `useChat` does with a request: the assistant's message, continued if the last message is one. */
async function post(api: string, messages: UIMessage[]): Promise<UIMessage> {
  const chunks = await new DefaultChatTransport({ api }).sendMessages({
    chatId: "7",
    messages,
    trigger: "submit-message",
    messageId: undefined,
    abortSignal: undefined,
  });
  const last = messages.at(-1);
  let message: UIMessage | undefined;
  const begun = last?.role === "assistant" ? { message: structuredClone(last) } : {};
  for await (const each of readUIMessageStream({ stream: chunks, ...begun })) message = each;
  if (message === undefined) throw new Error("The response has no message.");
  return message;
}

const user = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

describe("a chat over HTTP, through createAgentUIStreamResponse", () => {
  it("asks, is answered, and remembers, with each tool run once", async () => {
    const { runner, tools, ran } = await mirrored(
      [{ toolCalls: [LOOK_UP(7), REFUND(7)] }, { text: "Refunded." }, { text: "You are welcome." }],
      { isConversation: true },
    );
    const clerk = asAgent(runner, { tools });
    const api = await serve((chatId, uiMessages) =>
      createAgentUIStreamResponse({
        agent: clerk,
        uiMessages,
        options: { runId: `ann:${chatId}`, by: "ann" },
      }),
    );
    const asking = await post(api, [user("u-1", "Refund 7.")]);
    const parts = asking.parts.map((part) => ({
      ...part,
      ...("approval" in part && part.state === "approval-requested"
        ? { state: "approval-responded", approval: { id: part.approval.id, approved: true } }
        : {}),
    })) as UIMessage["parts"];
    expect(ran).toEqual(["look_up 7"]);
    const answered = await post(api, [user("u-1", "Refund 7."), { ...asking, parts }]);
    expect(ran).toEqual(["look_up 7", "refund 7"]);
    expect(answered.parts.filter(({ type }) => type !== "step-start")).toMatchObject([
      { type: "tool-look_up", state: "output-available", output: { order: 7 } },
      { type: "tool-refund", state: "output-available", output: { state: "refund done" } },
      { type: "text", text: "Refunded." },
    ]);
    const next = [user("u-1", "Refund 7."), answered, user("u-2", "Thanks.")];
    for (const _ of [1, 2]) {
      const thanks = await post(api, next);
      expect(thanks.parts.at(-1)).toMatchObject({ type: "text", text: "You are welcome." });
    }
    expect(ran).toHaveLength(2);
  });
});

describe("the types of an agent over a run", () => {
  it("are those of the SDK's Agent, with the tools and the output, without a cast", async () => {
    const store = await openStore(":memory:");
    onTestFinished(() => store.close());
    const { tools } = countedTools();
    const output = z.object({ n: z.number() });
    const counter = agent({ name: "counter", model: scriptedModel([]), tools, output });
    const typed = asAgent(new Runner(counter, { store }), { tools });
    type N = { n: number };
    const assigned: Agent<AgentCall, typeof typed.tools, Record<string, unknown>, Output.Output<N>> = typed;
    expect(assigned.version).toBe("agent-v1");
    expect(Object.keys(assigned.tools)).toEqual(["look_up", "refund", "broken"]);
    expectTypeOf<Awaited<ReturnType<typeof typed.generate>>["output"]>().toEqualTypeOf<N>();
    type Part = Extract<InferAgentUIMessage<typeof typed>["parts"][number], { type: "tool-look_up" }>;
    expectTypeOf<Extract<Part, { state: "output-available" }>["output"]>().toEqualTypeOf<{
      order: number;
      state: string;
    }>();
    expectTypeOf<Extract<Part, { state: "input-available" }>["input"]>().toEqualTypeOf<{ order: number }>();
    const untyped: Agent<AgentCall, typeof plain.tools> = asAgent(
      new Runner(conversation(counter), { store }),
    );
    const plain = asAgent(new Runner(counter, { store }));
    expect(untyped.id).toBe("counter");
    await expect(
      typed.tools.look_up.execute?.({ order: 1 }, { toolCallId: "x", messages: [], context: {} }),
    ).rejects.toThrow("run by its runs alone");
  });
});
