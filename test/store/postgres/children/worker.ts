// Works on runs whose turns each have one effect, until all have ended or wait, or until it is killed.

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { agent, PawlError, Pipeline, Runner, Step, tool } from "../../../../src/index.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import type { WorkerLine, WorkerOrder } from "./worker-order.ts";

const order = JSON.parse(process.argv[2] ?? "") as WorkerOrder;
const RealDate = Date;
const now = () => RealDate.now() + order.clockMs;
globalThis.Date = class extends RealDate {
  constructor(...given: readonly unknown[]) {
    super(...((given.length === 0 ? [now()] : given) as [number]));
  }
  static override now = now;
} as DateConstructor;

function say(line: WorkerLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const { pid } = process;
const work = tool({
  name: "work",
  description: "Have one effect.",
  inputSchema: z.object({ runId: z.string(), turn: z.number() }),
  effect: "external",
  recovery: order.recovery,
  dedupe: "call",
  timeoutMs: order.timeoutMs,
  landsWithinMs: 0,
  execute: async ({ runId, turn }, { idempotencyKey }) => {
    say({ is: "begun", runId, pid });
    if (order.toolMs === "told") await once(process.stdin, "data");
    else await sleep(order.toolMs);
    const headers = { "idempotency-key": idempotencyKey };
    const body = `${runId} ${turn}`;
    const answer = await fetch(`${order.effects}/effects`, { method: "POST", headers, body });
    say({ is: "ended", runId, pid });
    return answer.text();
  },
  ...(order.recovery === "reconcile"
    ? {
        reconcile: async (_input: unknown, { idempotencyKey }: { idempotencyKey: string }) => {
          const found = await fetch(`${order.effects}/effects/${idempotencyKey}`);
          const result = await found.text();
          return found.ok ? { status: "done" as const, result } : { status: "absent" as const };
        },
      }
    : {}),
});

const store = await openStore(order.url, { schema: order.schema });

/** True if it has ended, or waits for a person. */
async function isOver(runId: string): Promise<boolean> {
  const model = scriptedModel(({ turn }) =>
    turn <= order.turns ? { toolCalls: [{ name: "work", input: { runId, turn } }] } : { text: "Done." },
  );
  const step = Step.granular("work", agent({ name: "worker", model, tools: { work } }), {
    maxTurns: order.turns + 1,
  });
  const runner = new Runner(Pipeline.of("load", step), { store, leaseMs: order.leaseMs });
  try {
    const { status } = await runner.run(runId, { runId });
    say({ is: "left", runId, status, pid });
    return true;
  } catch (error) {
    const status = PawlError.isInstance(error) ? error.code : String(error);
    if (status !== "run_busy") say({ is: "left", runId, status, pid });
    return false;
  }
}

say({ is: "ready" });
await once(process.stdin, "data");
const waiting = [...order.runIds];
await Promise.all(
  Array.from({ length: order.atOnce }, async () => {
    for (let runId = waiting.shift(); runId !== undefined; runId = waiting.shift()) {
      if (await isOver(runId)) continue;
      waiting.push(runId);
      await sleep(50);
    }
  }),
);
await store.close();
process.exit(0);
