// One booking at the booking server, made by an agent in a turn or by the code of a step.

import { z } from "zod";
import {
  agent,
  Step,
  type StepNode,
  type ToolCallContext,
  ToolFailedError,
  tool,
} from "../../../src/index.ts";
import { scriptedPort } from "../../testing/scripted-port.ts";
import { labelOf, resultsIn } from "../harness/prompt.ts";
import { recordWitness } from "../harness/witness.ts";
import type { BookingVariant } from "../harness/worker-order.ts";
import { recordEffect, type Setting, toolWork } from "./tool-work.ts";

/** A booking, and the server's answer. */
export type Booked = { readonly table: string; readonly answer: string };

/** An agent that makes the calls of its variant in its first turn, and reports the results in its second. */
export function bookings(setting: Setting): StepNode {
  const { folder, variant } = setting;
  const { calls = ["book"] } = bookingOf(setting);
  const model = scriptedPort(({ turn, options }) => {
    const table = labelOf(options);
    recordWitness(folder, { kind: "asked", label: table, turn });
    if (turn === 1) return { toolCalls: calls.map((name) => ({ name, input: { table } })) };
    return { text: `Done: ${resultsIn(options).join("; ")}.` };
  });
  const clerk = agent({ name: "clerk", model, tools: { book: bookTool(setting), look: lookTool(setting) } });
  return Step.granular("booking", clerk, variant.step);
}

/** Code that books one table after the other, and reports the failures. */
export function bookingsByCode(setting: Setting): StepNode {
  const book = bookTool(setting);
  return Step.run("booking", async (input: string, context) => {
    const results: string[] = [];
    for (const table of bookingOf(setting).tables ?? [input])
      results.push(await context.call(book, { table }).catch(failureOf));
    return `Done: ${results.join("; ")}.`;
  });
}

function failureOf(error: unknown): string {
  if (error instanceof ToolFailedError) return error.message;
  throw error;
}

export function bookingOf({ variant }: Setting): BookingVariant {
  if (variant.booking === undefined) throw new Error("The variant has no booking server.");
  return variant.booking;
}

/** `onBooked` is called for every booking that is known to be made. */
export function bookTool(
  setting: Setting,
  onBooked: (call: ToolCallContext, booked: Booked) => void = () => {},
) {
  const booking = bookingOf(setting);
  const { server, recovery, approval = false, timeoutMs = 600_000, landsWithinMs = 100 } = booking;
  return tool({
    name: "book",
    description: "Book a table.",
    inputSchema: z.object({ table: z.string() }),
    effect: "external",
    recovery,
    approval,
    timeoutMs,
    landsWithinMs,
    execute: async ({ table }, call) => {
      const send = () => sendTo(server, call.idempotencyKey, table);
      const answer = await toolWork(setting, "book", table, call, send);
      onBooked(call, { table, answer });
      return answer;
    },
    reconcile: async ({ table }, call) => {
      const response = await fetch(`${server}/effects/${call.idempotencyKey}`, { headers: CLOSE_CONNECTION });
      const answer = await response.text();
      if (!response.ok) return { status: "absent" };
      onBooked(call, { table, answer });
      return { status: "done", result: answer };
    },
  });
}

/** A kept connection would keep the worker's process alive after its run. */
const CLOSE_CONNECTION = { connection: "close" };

async function sendTo(server: string, key: string, table: string): Promise<string> {
  const headers = { ...CLOSE_CONNECTION, "idempotency-key": key };
  const response = await fetch(`${server}/effects`, { method: "POST", headers, body: table });
  return response.text();
}

export function lookTool(setting: Setting) {
  return tool({
    name: "look",
    description: "Look at a table.",
    inputSchema: z.object({ table: z.string() }),
    recovery: "repeat",
    execute: ({ table }, call) =>
      toolWork(setting, "look", table, call, () => {
        recordEffect(setting.folder, "look", table, call);
        return `${table} is free`;
      }),
  });
}
