// How often the messages of a conversation are checked on their way to the AI SDK.

import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { modelMessages } from "../../../src/adapters/ai-sdk/ai-sdk-messages.ts";
import { loadAiSdk } from "../../../src/adapters/ai-sdk/ai-sdk-package.ts";
import type { Message } from "../../../src/core/message.ts";
import { agent, openStore, Runner, tool } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";

const ai = await loadAiSdk();

const watchChecks = () => vi.spyOn(ai.modelMessageSchema, "safeParse");

const called: Message = {
  role: "assistant",
  content: [{ type: "tool-call", toolCallId: "1", toolName: "shop.search", input: {} }],
};

describe("a message of a conversation", () => {
  it("is checked once over many turns", async () => {
    const checks = watchChecks();
    const look = tool({
      description: "Looks.",
      inputSchema: z.object({}),
      effect: "read_only",
      execute: () => "seen",
    });
    let calls = 0;
    const model = scriptedModel(() =>
      ++calls === 12 ? { text: "Done." } : { toolCalls: [{ name: "look", input: {} }] },
    );
    const store = await openStore(":memory:");
    await new Runner(agent({ name: "a", model, tools: { look } }), { store }).run("Go.");
    await store.close();

    // The input, and an answer and a result for each of the eleven turns before the last.
    expect(calls).toBe(12);
    expect(checks).toHaveBeenCalledTimes(1 + 11 * 2);
  });

  it("has another form for another set of tool names, which is checked too", () => {
    const checks = watchChecks();
    const nameSent = (...toolNames: string[]) => {
      const [message] = modelMessages(ai, [called], new Set(toolNames));
      const [part] =
        message?.role === "assistant" && typeof message.content !== "string" ? message.content : [];
      return part?.type === "tool-call" ? part.toolName : null;
    };

    expect(nameSent("shop.search", "mail")).toBe("shop.search");
    expect(nameSent("mail")).toBe("shop_search");
    expect(nameSent("mail", "shop.search")).toBe("shop.search");
    expect(nameSent("mail")).toBe("shop_search");
    expect(checks).toHaveBeenCalledTimes(2);
  });

  it("is refused every time if the AI SDK cannot send it", () => {
    const unknown = { role: "user", content: [{ type: "smell", of: "roses" }] } as unknown as Message;
    for (let turn = 0; turn < 2; turn++)
      expect(() => modelMessages(ai, [called, unknown], new Set())).toThrow(
        "message 2 (user) holds something",
      );
  });
});
