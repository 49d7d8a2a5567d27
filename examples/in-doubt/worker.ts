/**
 * The program that gets killed: an agent that refunds a customer, writes them a letter and closes their account. Each
 * of its tools declares how to recover if its outcome is unknown.
 */
import { z } from "zod";
import { agent, openStore, Runner, tool } from "../../src/index.ts";
import { type CrashPoint, crashAt, scriptedModel } from "../../src/testing/index.ts";
import { OutsideWorld } from "./outside-world.ts";

const [database = "", log = "", crashPoint, crashTurn] = process.argv.slice(2);
const outside = new OutsideWorld(log);

const refund = tool({
  description: "Refund an order.",
  inputSchema: z.object({ order: z.string(), euros: z.number() }),
  effect: "external",
  recovery: "reconcile", // The bank has no idempotency keys, but it can look up a refund.
  timeoutMs: 5_000,
  landsWithinMs: 0,
  execute: ({ order, euros }, call) => {
    console.log(`  refunds ${euros} euros for ${order}`);
    outside.record("refund", call.idempotencyKey, order);
    return `${order} refunded`;
  },
  reconcile: ({ order }, call) => {
    console.log(`  asks the bank whether ${order} was refunded`);
    const isThere = outside.find("refund", call.idempotencyKey) !== null;
    return isThere ? { status: "done", result: `${order} refunded` } : { status: "absent" };
  },
});

const writeLetter = tool({
  description: "Put a letter in the letter box.",
  inputSchema: z.object({ to: z.string(), text: z.string() }),
  effect: "external", // No recovery is declared: it has no key, and cannot be looked up.
  execute: ({ to }, call) => {
    console.log(`  puts a letter to ${to} in the letter box`);
    outside.record("letter", call.idempotencyKey, to);
    return "posted";
  },
});

const closeAccount = tool({
  description: "Close a customer's account permanently.",
  inputSchema: z.object({ customer: z.string() }),
  effect: "external",
  approval: true,
  execute: ({ customer }, call) => {
    console.log(`  closes the account of ${customer}`);
    outside.record("closed", call.idempotencyKey, customer);
    return "closed";
  },
});

const clerk = agent({
  name: "clerk",
  instructions: "Refund the order, tell the customer, close the account.",
  model: scriptedModel([
    { toolCalls: [{ name: "refund", input: { order: "A-17", euros: 250 } }] },
    { toolCalls: [{ name: "write_letter", input: { to: "Ada", text: "You have your money back." } }] },
    { toolCalls: [{ name: "close_account", input: { customer: "Ada" } }] },
    { text: "Ada has her money and her letter, and no account any more." },
  ]),
  tools: { refund, write_letter: writeLetter, close_account: closeAccount },
});

const store = await openStore(`file:${database}`);
const probe =
  crashPoint === undefined ? {} : { probe: crashAt(crashPoint as CrashPoint, { turn: Number(crashTurn) }) };
const result = await new Runner(clerk, { store, ...probe }).run("Ada wants to leave.");
if (result.status === "waiting") for (const { question } of result.waits) console.log(`  waits: ${question}`);
else console.log(`  done: ${String(result.output)}`);
await store.close();
