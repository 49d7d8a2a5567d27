// What Pawl makes of an answer without the AI SDK is what the AI SDK makes of it.

import type { LanguageModelV4Content } from "@ai-sdk/provider";
import { MockLanguageModelV4 } from "ai/test";
import fc from "fast-check";
import { expect, it } from "vitest";
import { aiSdkModel } from "../../../src/adapters/ai-sdk/ai-sdk.ts";
import { loadAiSdk } from "../../../src/adapters/ai-sdk/ai-sdk-package.ts";
import { requestOf, sendMail } from "./model-request.ts";
import { figures } from "./streaming-model.ts";

const ai = await loadAiSdk();

const metadata = fc.option(fc.dictionary(fc.string(), fc.dictionary(fc.string(), fc.jsonValue())), {
  nil: undefined,
});
const withMetadata = <T extends object>(part: fc.Arbitrary<T>) =>
  fc
    .tuple(part, metadata)
    .map(([given, providerMetadata]) =>
      providerMetadata === undefined ? given : { ...given, providerMetadata },
    );
const words = fc.oneof(fc.constant(""), fc.string());
const content = fc.tuple(
  fc.array(
    fc.oneof(
      withMetadata(fc.record({ type: fc.constantFrom("text", "reasoning"), text: words })),
      fc.constant({ type: "source", sourceType: "url", id: "1", url: "https://example.com/" }),
    ),
    { maxLength: 4 },
  ),
  fc.uniqueArray(
    withMetadata(
      fc.record({
        type: fc.constant("tool-call"),
        toolCallId: fc.string({ minLength: 1 }),
        toolName: fc.constant("send_mail"),
        input: fc.oneof(
          fc.record({ to: words, more: fc.jsonValue() }).map((value) => JSON.stringify(value)),
          fc.constantFrom(
            ' {"to": "a"} ',
            '{"to":"a","to":" b "}',
            '{"to":"\\u0061"}',
            '{"to":"a","__proto__":{}}',
          ),
        ),
      }),
    ),
    { minLength: 1, maxLength: 3, selector: ({ toolCallId }) => toolCallId },
  ),
);

it("for random texts and valid calls", async () => {
  await fc.assert(
    fc.asyncProperty(content, async ([said, calls]) => {
      const model = new MockLanguageModelV4({
        doGenerate: {
          content: [...said, ...calls] as LanguageModelV4Content[],
          finishReason: { unified: "tool-calls", raw: "tool_calls" },
          usage: figures,
          warnings: [],
        },
      });
      const { content: own, invalidCalls } = await aiSdkModel(model).respond(
        requestOf({ tools: [sendMail] }),
      );
      const { responseMessages } = await ai.generateText({
        model,
        messages: [{ role: "user", content: "Hello" }],
        tools: {
          send_mail: ai.tool({
            inputSchema: ai.jsonSchema(sendMail.inputSchema, {
              validate: async (value) => {
                const read = await sendMail.validate(value);
                return read.ok
                  ? { success: true, value: read.value }
                  : { success: false, error: new Error(read.error) };
              },
            }),
          }),
        },
        maxRetries: 0,
      });
      const [answer] = JSON.parse(JSON.stringify(responseMessages)) as { readonly content: unknown }[];
      // The SDK sends `{}` back in place of arguments that it refuses; Pawl keeps the model's own.
      const shown = own.map((part) =>
        typeof part.toolCallId === "string" && Object.hasOwn(invalidCalls, part.toolCallId)
          ? { ...part, input: {} }
          : part,
      );
      expect(JSON.parse(JSON.stringify(shown).toWellFormed())).toEqual(answer?.content);
    }),
    { numRuns: 60 },
  );
});
