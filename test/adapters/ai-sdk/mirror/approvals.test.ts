import type { ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import { asAgent } from "../../../../src/adapters/ai-sdk/index.ts";
import { LOOK_UP, mirrored, REFUND } from "./mirrored-agents.ts";

const SCRIPT = [{ toolCalls: [LOOK_UP(7), REFUND(7), REFUND(8)] }, { text: "Refunded." }];
const options = { runId: "chat-1", by: "ann" };
const messages: ModelMessage[] = [{ role: "user", content: "Refund 7 and 8." }];

type Setup = Awaited<ReturnType<typeof mirrored>>;

/** The messages after the first call, which asks about both refunds. */
async function asked({ runner, tools }: Pick<Setup, "runner" | "tools">) {
  const result = await asAgent(runner, { tools }).generate({ messages, options });
  const ids = result.content.flatMap((part) =>
    part.type === "tool-approval-request" ? [part.approvalId] : [],
  );
  const history = [...messages, ...result.responseMessages];
  const decided = (...approved: boolean[]): ModelMessage[] => [
    ...history,
    {
      role: "tool",
      content: approved.map((each, i) => ({
        type: "tool-approval-response" as const,
        approvalId: ids[i] ?? "",
        approved: each,
        ...(each ? {} : { reason: "Too much." }),
      })),
    },
  ];
  return { ids, decided };
}

describe("decisions about calls, through the AI SDK", () => {
  it("run the approved call once, and give the model the reason of a denial", async () => {
    const setup = await mirrored(SCRIPT, { isConversation: true });
    const { ids, decided } = await asked(setup);
    expect(ids).toHaveLength(2);
    const clerk = asAgent(setup.runner);
    const parts: string[] = [];
    for await (const part of (await clerk.stream({ messages: decided(true, false), options })).stream)
      parts.push(part.type);
    expect(parts).toEqual(expect.arrayContaining(["tool-result", "tool-output-denied", "finish"]));
    // The same decisions again change nothing, and show the same answer.
    expect((await clerk.generate({ messages: decided(true, false), options })).text).toBe("Refunded.");
    expect(setup.ran).toEqual(["look_up 7", "refund 7"]);
    const calls = await setup.store.listToolCalls("chat-1");
    expect(calls.map(({ receipt }) => receipt?.status)).toEqual(["succeeded", "succeeded", "cancelled"]);
    expect(JSON.stringify(calls[2]?.receipt?.output)).toContain("Too much.");
    await expect(clerk.generate({ messages: decided(false, false), options })).rejects.toThrow(
      "it was decided otherwise before",
    );
  });

  it("are refused unless all calls that wait are decided", async () => {
    const setup = await mirrored(SCRIPT, { isConversation: true });
    const { decided } = await asked(setup);
    await expect(asAgent(setup.runner).generate({ messages: decided(true), options })).rejects.toThrow(
      "send the decisions about all calls that wait in one request",
    );
    expect(setup.ran).toEqual(["look_up 7"]);
  });

  it("are refused for a call that the user may not decide", async () => {
    const setup = await mirrored(SCRIPT, { isConversation: true, isUsers: false });
    const { decided } = await asked(setup);
    await expect(asAgent(setup.runner).generate({ messages: decided(true, true), options })).rejects.toThrow(
      'the user may not decide it, since its tool does not have approver: "user"',
    );
    expect((await setup.store.listOpenWaits()).filter(({ kind }) => kind === "approval")).toHaveLength(2);
  });

  it("are refused with other arguments than the person was shown, and for another run", async () => {
    const setup = await mirrored(SCRIPT, { isConversation: true });
    const { decided } = await asked(setup);
    const forged = JSON.parse(JSON.stringify(decided(true, true)).replaceAll('"order":8', '"order":9'));
    const clerk = asAgent(setup.runner);
    await expect(clerk.generate({ messages: forged, options })).rejects.toThrow("has other arguments");
    await expect(
      clerk.generate({ messages: decided(true, true), options: { runId: "chat-2" } }),
    ).rejects.toThrow("the store has no run chat-2");
    expect(setup.ran).toEqual(["look_up 7"]);
  });

  it("continue the run of an agent alone, which the call has to name", async () => {
    const setup = await mirrored(SCRIPT);
    const { decided } = await asked(setup);
    const clerk = asAgent(setup.runner);
    await expect(clerk.generate({ messages: decided(true, true), options: {} })).rejects.toThrow(
      "that the call does not name",
    );
    expect((await clerk.generate({ messages: decided(true, true), options })).text).toBe("Refunded.");
    expect(setup.ran).toEqual(["look_up 7", "refund 7", "refund 8"]);
  });

  it("say what the run waits for, if it is something that the SDK cannot ask", async () => {
    const setup = await mirrored([{ toolCalls: [REFUND(7)] }], { isConversation: true });
    const clerk = asAgent(setup.runner);
    await clerk.generate({ messages, options });
    await expect(
      clerk.generate({ prompt: "Never mind.", options: { ...options, messageId: "m-2" } }),
    ).rejects.toThrow(/Run chat-1 waits for a person \(chat-1~1: May refund run/);
  });
});
