import { describe, expect, it, onTestFinished } from "vitest";
import { asAgent } from "../../../../src/adapters/ai-sdk/index.ts";
import { agent, conversation, openStore, Runner } from "../../../../src/index.ts";
import { response, type StreamedAnswer, streamingPort, text } from "../../../engine/watch/streaming-port.ts";

async function live(isConversation: boolean, ...answers: StreamedAnswer[]) {
  const store = await openStore(":memory:");
  onTestFinished(() => store.close());
  const clerk = agent({ name: "clerk", model: streamingPort(...answers), instructions: "Answer." });
  const runner = new Runner(isConversation ? conversation(clerk) : clerk, { store });
  return asAgent(runner, { parts: "live" }).stream({ prompt: "Hi", options: { runId: "run-1" } });
}

describe('an agent with parts: "live"', () => {
  it.each([true, false])(
    "shows the answer while it is written (conversation: %s)",
    async (isConversation) => {
      const seen = Promise.withResolvers<void>();
      const result = await live(isConversation, async (say) => {
        say(text("Good "));
        await seen.promise;
        return response("Good morning.");
      });
      const deltas: string[] = [];
      for await (const part of result.stream) {
        if (part.type !== "text-delta") continue;
        deltas.push(part.text);
        seen.resolve();
      }
      expect(deltas).toEqual(["Good ", "morning."]);
      expect(await result.text).toBe("Good morning.");
    },
  );

  it("ends with an error if what it has shown is not the answer", async () => {
    const seen = Promise.withResolvers<void>();
    const result = await live(
      true,
      async (say) => {
        say(text("Half an ans"));
        await seen.promise;
        throw new Error("cut");
      },
      () => response("A whole one."),
    );
    const read = async () => {
      for await (const part of result.stream) if (part.type === "text-delta") seen.resolve();
    };
    await expect(read()).rejects.toThrow("was taken back while it was shown");
    await expect(result.text).rejects.toThrow("make the same call again");
  });
});
