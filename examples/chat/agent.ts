/** The clerk of a shop, who answers customers. Nothing here knows of pages, servers or processes. */
import type { LanguageModel } from "ai";
import { z } from "zod";
import { agent, conversation, tool } from "../../src/index.ts";

const { MODEL_URL = "", SHOP_URL = "", SHOP_NAME = "Kettle & Co", OPENAI_API_KEY } = process.env;

const Order = z.object({ order: z.string().describe("The number of the order, such as A-17") });
const Refund = Order.extend({
  amount: z.string().describe("The price of the order, as find_order gives it"),
});

const findOrder = tool({
  description: "Looks up an order: what it is, and its price.",
  inputSchema: Order,
  effect: "read_only",
  execute: async ({ order }, { signal }) => shop("GET", `/orders/${encodeURIComponent(order)}`, { signal }),
});

const refund = tool({
  description: "Refunds an order.",
  inputSchema: Refund,
  // The page asks the customer, and nothing happens before the answer.
  approval: true,
  approver: "user",
  // The shop ignores a key that it knows, so a call whose outcome is unknown is simply made again.
  recovery: "keyed",
  execute: async ({ order }, { idempotencyKey, signal }) => {
    const headers = { "idempotency-key": idempotencyKey };
    await shop("POST", `/orders/${encodeURIComponent(order)}/refund`, { headers, signal });
    return { refunded: order };
  },
});

async function shop(method: string, path: string, request: RequestInit): Promise<unknown> {
  const response = await fetch(`${SHOP_URL}${path}`, { ...request, method });
  if (!response.ok) throw new Error(`The shop answered ${response.status}.`);
  return response.json();
}

/** That of a provider whose key is set, else the script behind MODEL_URL, which main.ts starts. */
async function chosenModel(): Promise<LanguageModel> {
  if (MODEL_URL !== "") {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    return createOpenAICompatible({ name: "scripted", baseURL: MODEL_URL, includeUsage: true })("clerk");
  }
  if (OPENAI_API_KEY !== undefined) return (await import("@ai-sdk/openai")).openai("gpt-5.2");
  return (await import("@ai-sdk/anthropic")).anthropic("claude-sonnet-4-5");
}

export const clerk = conversation(
  agent({
    name: "clerk",
    model: await chosenModel(),
    instructions: `You are the clerk of ${SHOP_NAME}. Help customers with their orders, in two or three short sentences.`,
    tools: { find_order: findOrder, refund },
    settings: { maxOutputTokens: 1_000 },
  }),
  { maxTurns: 10 },
);
