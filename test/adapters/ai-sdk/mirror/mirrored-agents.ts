import { onTestFinished } from "vitest";
import { z } from "zod";
import { agent, conversation, openStore, Runner, type RunnerOptions, tool } from "../../../../src/index.ts";
import { type Script, scriptedModel } from "../../../../src/testing/index.ts";

/** Tools that count how often they were really run. */
export function countedTools(approver: "operator" | "user" = "user") {
  const ran: string[] = [];
  const run = (name: string, order: number) => {
    ran.push(`${name} ${order}`);
    return { order, state: `${name} done` };
  };
  const inputSchema = z.object({ order: z.number() });
  const tools = {
    look_up: tool({
      description: "Looks an order up.",
      inputSchema,
      effect: "read_only",
      execute: ({ order }) => run("look_up", order),
    }),
    refund: tool({
      description: "Refunds an order.",
      inputSchema,
      approval: true,
      approver,
      execute: ({ order }) => run("refund", order),
    }),
    broken: tool({
      description: "Fails.",
      inputSchema,
      effect: "read_only",
      execute: (): { order: number } => {
        throw new Error("no such order");
      },
    }),
  };
  return { ran, tools };
}

/** A runner of an agent or of a conversation with it, over a store in memory. */
export async function mirrored(
  script: Script,
  options: RunnerOptions & { readonly isConversation?: boolean; readonly isUsers?: boolean } = {},
) {
  const { isConversation = false, isUsers = true, ...own } = options;
  const store = await openStore(":memory:");
  onTestFinished(() => store.close());
  const { ran, tools } = countedTools(isUsers ? "user" : "operator");
  const clerk = agent({ name: "clerk", model: scriptedModel(script), instructions: "Help.", tools });
  const target = isConversation ? conversation(clerk) : clerk;
  return { store, ran, tools, clerk, runner: new Runner(target, { store, ...own }) };
}

export const LOOK_UP = (order: number, id = `c-${order}`) => ({ name: "look_up", input: { order }, id });
export const REFUND = (order: number, id = `r-${order}`) => ({ name: "refund", input: { order }, id });
