/** What the model of the example says. It sees what a real one would see, and nothing else. */
import type { ModelMessage, ModelReply, ModelRequestBody } from "./model-server.ts";

const ORDER = /\b[A-Z]-\d+\b/;

export function scriptedClerk({ messages }: ModelRequestBody): ModelReply {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const words = textOf(messages[asked]);
  const results = messages.slice(asked + 1).filter(({ role }) => role === "tool");
  const result = textOf(results.at(-1));
  const order = ORDER.exec(words)?.[0];
  if (order === undefined) return { text: `${welcome(messages)} You said: “${words}” ${WHAT_I_DO}` };
  const wantsRefund = /refund/i.test(words);
  if (results.length === 0) return { tool: "find_order", input: { order } };
  if (result.includes('"found":false')) return { text: `There is no order ${order}. Please look again.` };
  if (!wantsRefund) return { text: `${sentence(result)} Write “refund ${order}” if you want to return it.` };
  if (results.length === 1) return { tool: "refund", input: { order, amount: orderIn(result).price } };
  return result.includes('"refunded"')
    ? { text: `Done: the money for ${order} is on its way and arrives within three days. ${GOODBYE}` }
    : { text: `As you wish: I have not refunded ${order}. ${GOODBYE}` };
}

const WHAT_I_DO =
  "I can look up an order for you, or refund it: ask for A-17 or B-4. Whatever happens to the servers meanwhile, you get one answer to each message, and no refund twice.";

const GOODBYE = "Is there anything else that I can do for you?";

/** The name is in the instructions, so an answer shows which version of them the model was given. */
function welcome(messages: readonly ModelMessage[]): string {
  const [, shop = "the shop"] = /clerk of ([^.]+)\./.exec(textOf(messages[0])) ?? [];
  return `Welcome to ${shop}!`;
}

const orderIn = (result: string) => JSON.parse(result) as { [name in "order" | "what" | "price"]: string };

function sentence(result: string): string {
  const { order, what, price } = orderIn(result);
  return `Order ${order} is ${what} for ${price}. It left our house yesterday and will be with you tomorrow.`;
}

function textOf(message: ModelMessage | undefined): string {
  const content = message?.content ?? "";
  return typeof content === "string" ? content : content.map(({ text = "" }) => text).join("");
}
