// A provider on loopback that implements as much of OpenAI's Responses API as a job needs.

import { onTestFinished, vi } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../../../src/core/json.ts";
import { jsonAnswer, listenOnLoopback } from "../../../src/demo/loopback-server.ts";

const request = z.object({
  model: z.string(),
  input: z.array(z.looseObject({ type: z.string().optional(), output: z.unknown().optional() })),
  tools: z.array(z.looseObject({ name: z.string() })).default([]),
  text: z.unknown().optional(),
});

export type Asked = z.infer<typeof request>;

/** Its response: a text, or a tool call. */
export type ProviderAnswer = string | { readonly call: string; readonly input: JsonObject };

export type Provider = {
  readonly asked: readonly Asked[];
  /** Resolves after this many requests. */
  askedTimes(count: number): Promise<void>;
};

/** Answers each request with the result of the script, and waits for it. */
export async function startProvider(
  script: (asked: Asked) => ProviderAnswer | Promise<ProviderAnswer>,
): Promise<Provider> {
  const asked: Asked[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  const server = await listenOnLoopback(async ({ path, body }) => {
    if (path !== "/v1/responses") return jsonAnswer(404, { error: { message: path } });
    const each = request.parse(JSON.parse(Buffer.from(body).toString("utf8")));
    asked.push(each);
    for (const { count, resolve } of waiting) if (asked.length >= count) resolve();
    const id = asked.length;
    return jsonAnswer(200, {
      id: `resp_${id}`,
      object: "response",
      created_at: 1,
      model: each.model,
      output: [outputOf(await script(each), String(id))],
      usage: { input_tokens: 11, output_tokens: 7 },
    });
  });
  onTestFinished(() => server.close());
  vi.stubEnv("OPENAI_BASE_URL", `${server.url}/v1`);
  vi.stubEnv("OPENAI_API_KEY", "sk-of-the-test");
  onTestFinished(() => void vi.unstubAllEnvs());
  return {
    asked,
    askedTimes: async (count) => {
      if (asked.length >= count) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ count, resolve });
      await promise;
    },
  };
}

/** The tool results so far, as texts. */
export function resultsIn({ input }: Asked): readonly string[] {
  return input.flatMap(({ type, output }) =>
    type === "function_call_output" ? [typeof output === "string" ? output : JSON.stringify(output)] : [],
  );
}

function outputOf(answer: ProviderAnswer, id: string): object {
  if (typeof answer !== "string")
    return {
      type: "function_call",
      id: `fc_${id}`,
      call_id: `call_${id}`,
      name: answer.call,
      arguments: JSON.stringify(answer.input),
      status: "completed",
    };
  const content = [{ type: "output_text", text: answer, annotations: [] }];
  return { type: "message", id: `msg_${id}`, role: "assistant", status: "completed", content };
}
