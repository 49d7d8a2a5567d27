// Streamed answers in the protocols of providers: reasoning, a text, two calls and usage.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModel } from "ai";
import type { JsonObject } from "../../../src/core/json.ts";
import { API_KEY } from "./model-request.ts";

export type RecordedStream = {
  readonly name: string;
  readonly modelAt: (baseURL: string) => Exclude<LanguageModel, string>;
  readonly body: string;
  /** The text in the body with which the provider says that the answer is whole. */
  readonly end: string;
  readonly reasons: boolean;
};

const WORDS = ["Ich schreibe", " Ann", " und Zoë – sofort 📬", "."];
export const SAID = WORDS.join("");
export const REASONED = "Two mails: ann, zoë.";
const ARGUMENTS = [
  ['{"to":', '"ann@', 'x.org"}'],
  ['{"t', 'o":"zoë@x.org"', "}"],
] as const;

/** A server-sent event without a name. */
const data = (value: JsonObject | string) =>
  `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
type Typed = JsonObject & { readonly type: string };
/** One that is named after its type. */
const event = (value: Typed) => `event: ${value.type}\n${data(value)}`;

function chatChunks(reasoning: string | null): string {
  const chunk = (delta: JsonObject, finish: string | null = null) =>
    data({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1_700_000_000,
      model: "m",
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
  const called = (index: number, given: JsonObject) => chunk({ tool_calls: [{ index, ...given }] });
  return [
    chunk({ role: "assistant", content: "" }),
    ...(reasoning === null ? [] : [chunk({ reasoning_content: reasoning })]),
    ...WORDS.map((content) => chunk({ content })),
    ...ARGUMENTS.flatMap((pieces, index) => [
      called(index, {
        id: `call_${index}`,
        type: "function",
        function: { name: "send_mail", arguments: "" },
      }),
      ...pieces.map((piece) => called(index, { function: { arguments: piece } })),
    ]),
    chunk({}, "tool_calls"),
    data({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1_700_000_000,
      model: "m",
      choices: [],
      usage: { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 },
    }),
    data("[DONE]"),
  ].join("");
}

function anthropicEvents(): string {
  const block = (index: number, start: JsonObject, ...deltas: readonly JsonObject[]) => [
    event({ type: "content_block_start", index, content_block: start }),
    ...deltas.map((delta) => event({ type: "content_block_delta", index, delta })),
    event({ type: "content_block_stop", index }),
  ];
  return [
    event({
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "claude",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 20, output_tokens: 1 },
      },
    }),
    event({ type: "ping" }),
    ...block(
      0,
      { type: "thinking", thinking: "", signature: "" },
      { type: "thinking_delta", thinking: REASONED },
      { type: "signature_delta", signature: "sig-1" },
    ),
    ...block(1, { type: "text", text: "" }, ...WORDS.map((text) => ({ type: "text_delta", text }))),
    ...ARGUMENTS.flatMap((pieces, index) =>
      block(
        index + 2,
        { type: "tool_use", id: `call_${index}`, name: "send_mail", input: {} },
        ...pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
      ),
    ),
    event({
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { output_tokens: 9 },
    }),
    event({ type: "message_stop" }),
  ].join("");
}

function responseEvents(): string {
  const item = (output_index: number, begun: JsonObject, between: readonly Typed[], done: JsonObject) => [
    event({ type: "response.output_item.added", output_index, item: begun }),
    ...between.map((each) => event({ output_index, ...each })),
    event({ type: "response.output_item.done", output_index, item: { ...begun, ...done } }),
  ];
  const response = { id: "resp_1", created_at: 1_700_000_000, model: "m" };
  const summary = { item_id: "rs_1", summary_index: 0 };
  const message = { item_id: "msg_1", content_index: 0 };
  return [
    event({ type: "response.created", response }),
    ...item(
      0,
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: null },
      [
        { type: "response.reasoning_summary_part.added", ...summary },
        { type: "response.reasoning_summary_text.delta", ...summary, delta: REASONED },
        { type: "response.reasoning_summary_part.done", ...summary },
      ],
      { encrypted_content: "enc-1" },
    ),
    ...item(
      1,
      { type: "message", id: "msg_1" },
      WORDS.map((delta) => ({ type: "response.output_text.delta", ...message, delta })),
      {},
    ),
    ...ARGUMENTS.flatMap((pieces, index) =>
      item(
        index + 2,
        {
          type: "function_call",
          id: `fc_${index}`,
          call_id: `call_${index}`,
          name: "send_mail",
          arguments: "",
        },
        pieces.map((delta) => ({
          type: "response.function_call_arguments.delta",
          item_id: `fc_${index}`,
          delta,
        })),
        { arguments: pieces.join(""), status: "completed" },
      ),
    ),
    event({
      type: "response.completed",
      response: { ...response, incomplete_details: null, usage: { input_tokens: 20, output_tokens: 9 } },
    }),
  ].join("");
}

const openai = (baseURL: string) => createOpenAI({ baseURL, apiKey: API_KEY });

export const RECORDED: readonly RecordedStream[] = [
  {
    name: "an OpenAI-compatible server",
    modelAt: (baseURL) =>
      createOpenAICompatible({ name: "fake", baseURL, apiKey: API_KEY, includeUsage: true }).chatModel("m"),
    body: chatChunks(REASONED),
    end: '"finish_reason":"tool_calls"',
    reasons: true,
  },
  {
    name: "OpenAI's chat",
    modelAt: (baseURL) => openai(baseURL).chat("gpt-4o"),
    body: chatChunks(null),
    end: '"finish_reason":"tool_calls"',
    reasons: false,
  },
  {
    name: "OpenAI's responses",
    modelAt: (baseURL) => openai(baseURL).responses("gpt-5.2"),
    body: responseEvents(),
    end: '"type":"response.completed"',
    reasons: true,
  },
  {
    name: "Anthropic",
    modelAt: (baseURL) => createAnthropic({ baseURL, apiKey: API_KEY })("claude-sonnet-4-5"),
    body: anthropicEvents(),
    end: '"type":"message_stop"',
    reasons: true,
  },
];
