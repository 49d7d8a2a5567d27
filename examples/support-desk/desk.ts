/**
 * The work of the desk: a refund from the customer's words to the answer. The model proposes, code pays, a person allows what
 * is above the limit, and the payment service has the last word. Nothing here knows of queues, processes or HTTP servers.
 */
import { z } from "zod";
import {
  agent,
  FinalFailure,
  type JsonObject,
  NotApplied,
  Pipeline,
  runContext,
  Step,
  type Store,
  ToolFailedError,
  tool,
} from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";

export const Ticket = z.object({
  id: z.string().regex(/^[\w-]{1,60}$/),
  tenant: z.string().min(1).max(60),
  customer: z.string().min(1).max(60),
  order: z.string().min(1).max(60),
  cents: z.int().min(1).max(10_000_000),
  words: z.string().max(5_000),
});

/** From this amount on, a person is asked. */
const APPROVAL_CENTS = 10_000;

/** How long the payment service has before the customer gets the answer that it takes longer. */
const SETTLED_WITHIN_MS = 24 * 60 * 60_000;

/** Where the webhook of a ticket's refund goes. */
export const addressOf = (ticket: string) => `refund:${ticket}`;

/** What the server gives to each run beside its input. It is stored with the run, and no model sees it. */
const customer = runContext(z.object({ customer: z.string() }));

const lookUpOrder = tool({
  name: "look_up_order",
  description: "Looks up whose order it is, and whether it was paid.",
  inputSchema: z.object({ order: z.string() }),
  effect: "read_only",
  execute: ({ order }, call) => ({
    order,
    customer: customer(call).customer,
    isPaid: !order.startsWith("free"),
  }),
});

const Verdict = z.object({ refund: z.boolean(), why: z.string() });

/** A model from a script, so that no API key is needed. For a real one: `model: "openai/gpt-5.2"`, or one of the AI SDK. */
const clerk = agent({
  name: "clerk",
  instructions: "Look up the order of the ticket. Refund it if it was paid. Answer with your verdict.",
  tools: { look_up_order: lookUpOrder },
  output: Verdict,
  model: scriptedModel(({ turn, options: { prompt } }) => {
    const conversation = JSON.stringify(prompt);
    const [, order = ""] = /order \[([^\]]*)\]/.exec(conversation) ?? [];
    if (turn === 1) return { toolCalls: [{ name: "look_up_order", input: { order } }] };
    const isPaid = /"isPaid":true/.test(conversation.replaceAll("\\", ""));
    const why = isPaid ? "The order was paid." : "The order was free.";
    return { text: JSON.stringify({ refund: isPaid, why }) };
  }),
});

/** Pays back. The payment service drops a second refund with the same key, so a crash in the middle is harmless. */
const refundTool = (payments: string) =>
  tool({
    name: "refund",
    description: "Refunds an order.",
    inputSchema: z.object({ ticket: z.string(), order: z.string(), cents: z.number() }),
    effect: "external",
    recovery: "keyed",
    approval: ({ cents }) => cents >= APPROVAL_CENTS,
    execute: async (refund, call) => {
      const response = await fetch(`${payments}/refunds`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": call.idempotencyKey },
        body: JSON.stringify({ ...refund, customer: customer(call).customer }),
        signal: call.signal,
      });
      const text = await response.text();
      if (response.status === 429 || response.status === 503) throw new NotApplied("The service is busy.");
      if (response.status < 500 && !response.ok) throw new FinalFailure(text, { applied: false });
      if (!response.ok) throw new Error(`The payment service answered ${response.status}.`);
      return z.object({ refund: z.string() }).parse(JSON.parse(text));
    },
  });

/** A refund: judge the ticket, pay, wait for the webhook, answer. The output is the answer to the customer. */
export function refundPipeline(payments: string) {
  const refund = refundTool(payments);
  return Pipeline.of(
    "refund",
    Step.granular("judge", clerk, {
      input: (given) => {
        const { order, cents, words } = Ticket.parse(given);
        return `A customer asks for ${cents} cents for order [${order}]: ${words}`;
      },
    }),
    Step.run("pay", async (verdict: z.infer<typeof Verdict>, context) => {
      if (!verdict.refund) return { refund: null, why: verdict.why };
      const { id, order, cents } = Ticket.parse(await context.runInput());
      try {
        const { refund: paid } = await context.call(refund, { ticket: id, order, cents });
        return { refund: paid, why: verdict.why };
      } catch (error) {
        // Anything else fails the run: an operator looks at it, and resumes it.
        if (!ToolFailedError.isInstance(error) || error.details.errorCode !== "denied") throw error;
        return { refund: null, why: error.message };
      }
    }),
    Step.run("settle", async (paid: { refund: string | null; why: string }, context) => {
      if (paid.refund === null) return { ...paid, isSettled: false };
      // The run is released here. The webhook, or the clock, wakes it.
      const message = await context.receive({
        event: "refund.settled",
        schema: z.object({ ticket: z.string(), cents: z.number() }),
        timeoutMs: SETTLED_WITHIN_MS,
        onTimeout: "go_on",
      });
      return { ...paid, isSettled: !("timedOut" in message) };
    }),
    Step.run("answer", ({ refund: paid, why, isSettled }: Settled) => {
      if (paid === null) return `We cannot refund this. ${why}`;
      if (!isSettled) return `Your refund ${paid} is ordered. Your bank takes longer than usual.`;
      return `Your refund ${paid} is on your account.`;
    }),
  );
}

type Settled = { refund: string | null; why: string; isSettled: boolean };

/** Counts the tickets of the desk by their status. */
export function reportPipeline(store: Store) {
  return Pipeline.of(
    "nightly-report",
    Step.run("count", async () => {
      const counts: { [status: string]: number } = {};
      let after: Awaited<ReturnType<Store["listRuns"]>>[number] | undefined;
      for (;;) {
        const page = await store.listRuns({ pipeline: "refund", ...(after === undefined ? {} : { after }) });
        for (const { status } of page) counts[status] = (counts[status] ?? 0) + 1;
        after = page.at(-1);
        if (after === undefined) return counts satisfies JsonObject;
      }
    }),
  );
}
