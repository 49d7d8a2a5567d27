import type { ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import { asAgent } from "../../../../src/adapters/ai-sdk/index.ts";
import { LOOK_UP, mirrored, REFUND } from "./mirrored-agents.ts";

const CALLS = [{ text: "I look.", toolCalls: [LOOK_UP(7), LOOK_UP(8)] }, { text: "Both are on their way." }];

describe("an agent of the AI SDK over a run", () => {
  it("generates the journaled answer, with the results of the ledger, and runs no tool itself", async () => {
    const { runner, tools, ran, store } = await mirrored(CALLS);
    const clerk = asAgent(runner, { tools });
    const ended: string[] = [];
    const result = await clerk.generate({
      prompt: "Where are 7 and 8?",
      options: { key: "q-1" },
      onStepEnd: ({ text }) => {
        ended.push(text);
      },
    });
    expect(result.text).toBe("Both are on their way.");
    expect(result.steps.map(({ toolResults }) => toolResults.map(({ output }) => output))).toEqual([
      [
        { order: 7, state: "look_up done" },
        { order: 8, state: "look_up done" },
      ],
      [],
    ]);
    expect(ended).toEqual(["I look.", "Both are on their way."]);
    expect(ran.toSorted()).toEqual(["look_up 7", "look_up 8"]);
    const [run] = await store.listRuns();
    expect(result.usage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
    expect(await store.readUsage(run?.runId ?? "")).toMatchObject({ inputTokens: 20, outputTokens: 10 });
  });

  it("streams the turns of a conversation, and the same call again is the same answer", async () => {
    const { runner, tools, ran } = await mirrored(CALLS, { isConversation: true });
    const clerk = asAgent(runner, { tools });
    const call = { prompt: "Where are 7 and 8?", options: { runId: "chat-1", by: "ann" } };
    const first = await clerk.stream(call);
    const parts: string[] = [];
    for await (const part of first.stream) parts.push(part.type);
    expect(parts.filter((type) => !type.startsWith("text-"))).toEqual([
      "start",
      "start-step",
      "tool-call",
      "tool-call",
      "tool-result",
      "tool-result",
      "finish-step",
      "start-step",
      "finish-step",
      "finish",
    ]);
    expect(await (await clerk.stream(call)).text).toBe("Both are on their way.");
    expect(ran).toHaveLength(2);
  });

  it("asks for approvals, and continues with the decision", async () => {
    const { runner, tools, ran } = await mirrored(
      [{ toolCalls: [LOOK_UP(7), REFUND(7), REFUND(8)] }, { text: "Refunded 7." }],
      { isConversation: true },
    );
    const clerk = asAgent(runner, { tools });
    const options = { runId: "chat-1", by: "ann" };
    const messages: ModelMessage[] = [{ role: "user", content: "Refund 7 and 8." }];
    const asked = await clerk.generate({ messages, options });
    const requests = asked.content.filter((part) => part.type === "tool-approval-request");
    expect(requests.map(({ toolCall }) => toolCall.toolName)).toEqual(["refund", "refund"]);
    expect(ran).toEqual(["look_up 7"]);
    const decided: ModelMessage[] = [
      ...messages,
      ...asked.responseMessages,
      {
        role: "tool",
        content: requests.map(({ approvalId }, i) => ({
          type: "tool-approval-response",
          approvalId,
          approved: i === 0,
        })),
      },
    ];
    const result = await clerk.generate({ messages: decided, options });
    expect(result.text).toBe("Refunded 7.");
    expect(ran).toEqual(["look_up 7", "refund 7"]);
  });
});
