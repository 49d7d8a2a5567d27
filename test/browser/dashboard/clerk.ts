// The agent of the journeys. Its input is its plan: a call a turn, in this order. What it really did is in a file.

import { once } from "node:events";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { agent, askHuman, type Json, type Policy, tool } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";

/** What the clerk does in its turns, one after the other. */
export type Plan = readonly { readonly tool: ToolName; readonly input: Json }[];
type ToolName = "notify" | "refund" | "pay" | "wire" | "hold" | "ask_human";

/** Something that has happened outside, or a request to the model. */
export type Witnessed =
  | { readonly kind: "effect"; readonly runId: string; readonly tool: string; readonly input: Json }
  | { readonly kind: "model"; readonly turn: number; readonly plan: string };

/** A payment takes two people, and the one who started the run is none of them. */
export const POLICY: Policy = { approve: [{ match: "pay", people: 2, notStarter: true }] };

type ActOptions = { readonly approval?: boolean; readonly recovery?: "keyed" };

/** How long a bank that does not answer is waited for. */
const SILENCE_MS = 150;

export function clerk({ witness, says = "I do it." }: { readonly witness: string; readonly says?: string }) {
  const saw = (what: Witnessed) => appendFileSync(witness, `${JSON.stringify(what)}\n`);
  const order = z.record(z.string(), z.string());
  const acts = (name: ToolName, description: string, options: ActOptions = {}) =>
    tool({
      name,
      description,
      inputSchema: order,
      effect: "external",
      ...options,
      execute: (input, { runId }) => {
        saw({ kind: "effect", runId, tool: name, input });
        return { done: input };
      },
    });
  const wire = tool({
    name: "wire",
    description: "Sends money. The bank does not answer the first time, and has sent it, or not.",
    inputSchema: z.object({ order: z.string(), isSent: z.boolean() }),
    effect: "external",
    timeoutMs: SILENCE_MS,
    landsWithinMs: 0,
    execute: async (input, { runId, attempt, signal }) => {
      if (attempt > 1 || input.isSent) saw({ kind: "effect", runId, tool: "wire", input });
      if (attempt === 1) {
        await once(signal, "abort");
        throw signal.reason;
      }
      return { wired: input.order };
    },
  });
  const hold = tool({
    name: "hold",
    description: "Lasts until it is stopped.",
    inputSchema: order,
    effect: "read_only",
    execute: async (_, { signal }) => {
      if (!signal.aborted) await once(signal, "abort");
      return { held: true };
    },
  });
  const model = scriptedModel(({ turn, options }) => {
    const asked = options.prompt.find(({ role }) => role === "user");
    const text =
      asked?.role === "user" ? asked.content.map((part) => (part.type === "text" ? part.text : "")) : [];
    const plan = text.join("");
    saw({ kind: "model", turn, plan });
    const call = (JSON.parse(plan) as Plan)[turn - 1];
    return call === undefined
      ? { text: "It is **done**." }
      : { text: says, toolCalls: [{ name: call.tool, input: call.input }] };
  });
  return agent({
    name: "clerk",
    instructions: "Help.",
    model,
    tools: {
      // Whoever is told drops what comes twice, so that a worker may send it again after a crash, on every database.
      notify: acts("notify", "Tells a customer.", { recovery: "keyed" }),
      refund: acts("refund", "Refunds an order.", { approval: true }),
      pay: acts("pay", "Pays an invoice."),
      wire,
      hold,
      ask_human: askHuman,
    },
  });
}

export function witnessed(file: string): readonly Witnessed[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Witnessed);
}
