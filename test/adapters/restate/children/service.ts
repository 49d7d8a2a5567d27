// An endpoint of Restate whose runs have one effect in each turn, until it is killed.

import { setTimeout as sleep } from "node:timers/promises";
import * as restate from "@restatedev/restate-sdk";
import { z } from "zod";
import { restateRun } from "../../../../src/adapters/restate/restate.ts";
import { agent, Pipeline, Runner, Step, tool } from "../../../../src/index.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import type { ServiceLine, ServiceOrder } from "./service-order.ts";

const order = JSON.parse(process.argv[2] ?? "") as ServiceOrder;

function say(line: ServiceLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const book = tool({
  name: "book",
  description: "Have one effect.",
  inputSchema: z.object({ turn: z.number() }),
  effect: "external",
  recovery: "keyed",
  dedupe: "call",
  execute: async ({ turn }, { idempotencyKey, runId }) => {
    const headers = { "idempotency-key": idempotencyKey };
    const body = `${runId} ${turn}`;
    const answer = await fetch(`${order.effects}/effects`, { method: "POST", headers, body });
    say({ is: "effect", runId });
    await sleep(order.toolMs);
    return answer.text();
  },
});

const TURNS = 3;
const model = scriptedModel(({ turn }) =>
  turn <= TURNS ? { toolCalls: [{ name: "book", input: { turn } }] } : { text: "Done." },
);
const booking = () =>
  Step.granular("book", agent({ name: "clerk", model, tools: { book } }), { maxTurns: TURNS + 1 });

const work = Pipeline.of(
  "work",
  Step.run("before", (input: string) => input),
  booking(),
  Step.run("after", () => "done"),
);
const asking = Pipeline.of("asking", Step.human("ask", { question: "Which colour?" }), booking());

const store = await openStore(order.store, order.schema === undefined ? {} : { schema: order.schema });
const runners = {
  work: new Runner(work, { store, leaseMs: 3_000 }),
  asking: new Runner(asking, { store, leaseMs: 3_000 }),
};
// Restate gives each attempt of this one up at once, and begins another, while the first one is still in its tool.
const impatient = { name: "impatient", object: { inactivityTimeout: 30, abortTimeout: 30 } };
const services = [
  restateRun(restate, { store, runners }),
  restateRun(restate, { store, runners }, impatient),
];
// It would report every server that is killed.
await restate.serve({ services, port: order.port, logger: () => undefined });
say({ is: "ready" });
