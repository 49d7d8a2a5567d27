/**
 * The program that gets killed: an agent of six turns with one tool that has a side effect. It contains no code for being
 * killed or resumed; run again with the same input, it resumes.
 */
import { z } from "zod";
import { agent, openStore, Runner, tool } from "../../src/index.ts";
import { type CrashPoint, crashAt, scriptedModel } from "../../src/testing/index.ts";
import { OutsideWorld } from "./outside-world.ts";

const [database = "", log = "", witness = "", crashPoint, crashTurn] = process.argv.slice(2);
const outside = new OutsideWorld(log);

const sendNote = tool({
  description: "Send a note to a customer.",
  inputSchema: z.object({ to: z.string(), text: z.string() }),
  effect: "external",
  recovery: "keyed", // The other side drops a second note with the same key, so running it again is safe.
  execute: ({ to, text }, call) => {
    console.log(
      `  turn ${call.turnIndex}: sends the note to ${to}${call.attempt > 1 ? ` (attempt ${call.attempt})` : ""}`,
    );
    return outside.deliver(call.idempotencyKey, `${to}: ${text}`);
  },
});

const customers = ["Ada", "Grace", "Edsger", "Barbara", "Donald"];
const clerk = agent({
  name: "clerk",
  instructions: "Send every customer a note, one at a time, then say that you are finished.",
  model: scriptedModel(
    [
      ...customers.map((to) => ({
        toolCalls: [{ name: "send_note", input: { to, text: "Your order has left." } }],
      })),
      { text: "All five customers have their note." },
    ],
    { witness },
  ),
  tools: { send_note: sendNote },
});

const store = await openStore(`file:${database}`);
const probe =
  crashPoint === undefined ? {} : { probe: crashAt(crashPoint as CrashPoint, { turn: Number(crashTurn) }) };
const runner = new Runner(clerk, { store, ...probe });

for await (const event of runner.stream("Tell our customers that their orders have left.")) {
  if (event.type === "run.started") {
    console.log(event.resumed ? "  resumes the run it found" : "  starts a new run");
  } else if (event.type === "turn.started") {
    const how = event.replayed ? "uses the response from the journal" : "asks the model";
    console.log(`  turn ${event.turn}: ${how}`);
  } else if (event.type === "run.finished") {
    console.log(`  done: ${String(event.result.output)}`);
  }
}
await store.close();
