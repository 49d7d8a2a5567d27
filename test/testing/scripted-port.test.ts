// The crash tests call their models without the AI SDK. These tests compare both ways: the prompt that the model gets, and
// the response that the engine gets.

import { describe, expect, it } from "vitest";
import { aiSdkModel } from "../../src/adapters/ai-sdk/ai-sdk.ts";
import type { ToolOutput } from "../../src/core/message.ts";
import type {
  RequestMessage as Message,
  ModelPort,
  ModelRequest,
  ModelResponse,
} from "../../src/engine/ports/model-port.ts";
import { type Script, scriptedModel } from "../../src/testing/index.ts";
import { failureOf, requestOf, sendMail } from "../adapters/ai-sdk/model-request.ts";
import { scriptedPort } from "./scripted-port.ts";

type RecordedPort = { readonly prompts: readonly unknown[]; readonly port: ModelPort };

/** The same model without the SDK and with it, each with its recorded prompts. */
function bothWays(script: Script): readonly [plain: RecordedPort, throughSdk: RecordedPort] {
  return [
    recording(script, scriptedPort),
    recording(script, (wrapped) => aiSdkModel(scriptedModel(wrapped))),
  ];
}

function recording(script: Script, portOf: (script: Script) => ModelPort): RecordedPort {
  const prompts: unknown[] = [];
  const port = portOf((turn) => {
    prompts.push(turn.options.prompt.map(({ role, content }) => ({ role, content })));
    const answer = typeof script === "function" ? script(turn) : script[turn.turn - 1];
    if (answer === undefined) throw new Error("The script has no answer.");
    return answer;
  });
  return { prompts, port };
}

function result(toolCallId: string, output: ToolOutput): Message {
  return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName: "send_mail", output }] };
}

const CONVERSATION: readonly Message[] = [
  { role: "user", content: "Go" },
  { role: "system", content: "3 messages were left out." },
  {
    role: "assistant",
    content: [
      { type: "text", text: "I send them." },
      ...["ada", "bob"].map((to, i) => ({
        type: "tool-call",
        toolCallId: `call-1-${i + 1}`,
        toolName: "send_mail",
        input: { to },
      })),
    ],
  },
  result("call-1-1", { type: "json", value: { sent: ["ada"], cc: null } }),
  result("call-1-2", { type: "error-text", value: "There is no bob." }),
  {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: "call-2-1", toolName: "send_mail", input: { to: "eve" } }],
  },
  result("call-2-1", { type: "text", value: "sent" }),
];

async function respond(
  { port }: RecordedPort,
  request: Partial<ModelRequest>,
): Promise<{ readonly response: ModelResponse } | { readonly failure: unknown }> {
  try {
    return { response: await port.respond(requestOf(request)) };
  } catch (error) {
    const { message, details } = error as { message: string; details: unknown };
    return { failure: { message, details } };
  }
}

describe("a scripted model that is called without the AI SDK", () => {
  it.each<[string, Script, Partial<ModelRequest>]>([
    ["a text", [{ text: "Hello." }], {}],
    ["no instructions", [{ text: "Hello." }], { instructions: "" }],
    ["figures of its own", [{ text: "Hello.", usage: { inputTokens: 7, outputTokens: 2 } }], {}],
    ["no figures", [{ text: "Hello.", usage: null }], {}],
    [
      "a text and calls, with ids of its own and without",
      [
        {
          text: "I send two.",
          toolCalls: [
            { name: "send_mail", input: { to: " ada " } },
            { name: "send_mail", input: { to: "bob", cc: [null, 1.5, { a: "ü" }] }, id: "mine" },
          ],
        },
      ],
      { tools: [sendMail] },
    ],
    [
      "calls that do not fit, and of no tool",
      [
        {
          toolCalls: [
            { name: "send_mail", input: { to: 7 } },
            { name: "send_fax", input: {} },
            { name: "send_mail", input: { to: "ada" } },
          ],
        },
      ],
      { tools: [sendMail] },
    ],
    ["a conversation", () => ({ text: "Done." }), { messages: CONVERSATION, tools: [sendMail] }],
    ["an error", [], {}],
  ])(
    "gets the same prompt and returns the same response as one that is called through it: %s",
    async (_what, script, request) => {
      const [plain, throughSdk] = bothWays(script);
      expect(await respond(plain, request)).toEqual(await respond(throughSdk, request));
      expect(plain.prompts).toHaveLength(1);
      expect(plain.prompts).toEqual(throughSdk.prompts);
      const { provider, modelId } = throughSdk.port;
      expect(plain.port).toMatchObject({ provider, modelId });
    },
  );

  it.each(["before", "while"] as const)(
    "fails with the same error if it is aborted %s it is called",
    async (when) => {
      const failures = await Promise.all(
        bothWays(() => new Promise(() => {})).map(async ({ port }) => {
          const abort = new AbortController();
          if (when === "before") abort.abort(new Error("Enough."));
          const failure = failureOf(port, requestOf({ signal: abort.signal }));
          setImmediate(() => abort.abort(new Error("Enough.")));
          const { message, details } = await failure;
          return { message, details };
        }),
      );
      expect(failures).toHaveLength(2);
      expect(failures[0]).toEqual(failures[1]);
      expect(failures[0]).toMatchObject({ details: { kind: when === "before" ? "not_sent" : "no_answer" } });
    },
  );
});
