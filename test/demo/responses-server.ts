// A provider that implements as much of OpenAI's Responses API as the job needs. Its answers come from the script, which gets
// the conversation as it was sent.

import { onTestFinished } from "vitest";
import { z } from "zod";
import type { AssistantPart } from "../../src/core/message.ts";
import type { JobModels } from "../../src/demo/job-agents.ts";
import { jsonAnswer, listenOnLoopback } from "../../src/demo/loopback-server.ts";
import { scriptedResearcher } from "../../src/demo/scripted-researcher.ts";
import type { RequestMessage as Message } from "../../src/engine/ports/model-port.ts";

const request = z.object({
  model: z.string(),
  input: z.array(
    z.union([
      z.object({
        type: z.literal("function_call"),
        call_id: z.string(),
        name: z.string(),
        arguments: z.string(),
      }),
      z.object({ type: z.literal("function_call_output"), call_id: z.string(), output: z.string() }),
      z.object({ role: z.string(), content: z.unknown() }),
    ]),
  ),
});

type Input = z.infer<typeof request>["input"];

export type ResponsesServer = {
  readonly url: string;
  /** The requested models, in order. */
  readonly asked: readonly string[];
  /** The API keys of the requests. */
  readonly keys: ReadonlySet<string>;
};

export async function responsesServer(): Promise<ResponsesServer> {
  const asked: string[] = [];
  const keys = new Set<string>();
  const server = await listenOnLoopback(async ({ path, headers, body }) => {
    if (path !== "/v1/responses") return jsonAnswer(404, { error: { message: path } });
    const { model, input } = request.parse(JSON.parse(Buffer.from(body).toString("utf8")));
    asked.push(model);
    keys.add(String(headers.authorization));
    const messages = input.map((item) => messageOf(item, input));
    const [first, ...conversation] = messages;
    const { content } = await modelFor(first?.role === "system" ? first.content : "").respond({
      instructions: "",
      messages: merged(conversation),
      tools: [],
      outputSchema: null,
      settings: { maxOutputTokens: 1 },
      signal: AbortSignal.timeout(10_000),
    });
    return jsonAnswer(200, {
      id: `resp_${asked.length}`,
      object: "response",
      created_at: 1,
      model,
      output: content.map((part, i) => outputOf(part, `${asked.length}_${i}`)),
      usage: { input_tokens: 11, output_tokens: 7 },
    });
  });
  onTestFinished(() => server.close());
  return { url: `${server.url}/v1`, asked, keys };
}

function modelFor(instructions: string): JobModels["planner"] {
  const { planner, crawler, writer } = scriptedResearcher();
  if (instructions.startsWith("You plan")) return planner;
  return instructions.startsWith("You read") ? crawler : writer;
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = z.array(z.object({ text: z.string() })).parse(content);
  return parts.map(({ text }) => text).join("");
}

function messageOf(item: Input[number], input: Input): Message {
  if ("role" in item) {
    const text = textIn(item.content);
    if (item.role === "assistant") return { role: "assistant", content: [{ type: "text", text }] };
    return item.role === "user" ? { role: "user", content: text } : { role: "system", content: text };
  }
  if (item.type === "function_call")
    return {
      role: "assistant",
      content: [
        {
          type: "tool-call",
          toolCallId: item.call_id,
          toolName: item.name,
          input: z.record(z.string(), z.json()).parse(JSON.parse(item.arguments)),
        },
      ],
    };
  const call = input.find(
    (each) => "type" in each && each.type === "function_call" && each.call_id === item.call_id,
  );
  const toolName = call !== undefined && "name" in call ? call.name : "";
  const value = z.json().parse(JSON.parse(item.output));
  const { call_id: toolCallId } = item;
  return {
    role: "tool",
    content: [{ type: "tool-result", toolCallId, toolName, output: { type: "json", value } }],
  };
}

/** Parallel calls are one message of ours. */
function merged(messages: readonly Message[]): Message[] {
  const all: Message[] = [];
  for (const message of messages) {
    const last = all.at(-1);
    if (message.role === "assistant" && last?.role === "assistant")
      all[all.length - 1] = { role: "assistant", content: [...last.content, ...message.content] };
    else all.push(message);
  }
  return all;
}

function outputOf(part: AssistantPart, id: string): object {
  return part.type === "text"
    ? {
        type: "message",
        id: `msg_${id}`,
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: part.text, annotations: [] }],
      }
    : {
        type: "function_call",
        id: `fc_${id}`,
        call_id: `call_${id}`,
        name: part.toolName,
        arguments: JSON.stringify(part.input),
        status: "completed",
      };
}
