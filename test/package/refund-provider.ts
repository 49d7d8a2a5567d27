// A provider that implements as much of OpenAI's Responses API as one refund needs: a call of the tool, then a report.

import { z } from "zod";
import { jsonAnswer, listenOnLoopback } from "../../src/demo/loopback-server.ts";

const request = z.object({
  model: z.string(),
  input: z.array(z.looseObject({ type: z.string().optional() })),
  tools: z.array(z.unknown()).default([]),
});

export type RefundProvider = {
  /** The variables that lead `@ai-sdk/openai` here. */
  readonly env: { readonly OPENAI_API_KEY: string; readonly OPENAI_BASE_URL: string };
  /** The requested models, in order. */
  readonly asked: readonly string[];
  close(): Promise<void>;
};

export async function refundProvider(): Promise<RefundProvider> {
  const asked: string[] = [];
  const server = await listenOnLoopback(({ path, body }) => {
    if (path !== "/v1/responses") return jsonAnswer(404, { error: { message: path } });
    const { model, input, tools } = request.parse(JSON.parse(Buffer.from(body).toString("utf8")));
    asked.push(model);
    const isDone = tools.length === 0 || input.some(({ type }) => type === "function_call_output");
    return jsonAnswer(200, {
      id: `resp_${asked.length}`,
      object: "response",
      created_at: 1,
      model,
      output: [isDone ? REPORT : CALL],
      usage: { input_tokens: 11, output_tokens: 7 },
    });
  });
  const env = { OPENAI_API_KEY: "test", OPENAI_BASE_URL: `${server.url}/v1` };
  return { env, asked, close: () => server.close() };
}

const CALL = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "refund",
  arguments: JSON.stringify({ order: "A-17", euros: 40 }),
  status: "completed",
};

const REPORT = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "The customer has the money back.", annotations: [] }],
};
