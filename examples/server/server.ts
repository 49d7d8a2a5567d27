/**
 * A small server around an agent. Each request names its run by its own key, so that the same words of two customers never
 * share a run; and on SIGTERM the server closes its store, so that the next one continues without waiting.
 */
import { appendFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { agent, openStore, RunBusyError, Runner, tool } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";

const [database = "", log = ""] = process.argv.slice(2);
const store = await openStore(`file:${database}`);

const refund = tool({
  name: "refund",
  description: "Refund an order.",
  inputSchema: z.object({ order: z.string() }),
  recovery: "keyed",
  execute: async ({ order }, call) => {
    // The other side ignores a repeated key.
    appendFileSync(log, `${call.idempotencyKey} ${call.runId} ${order}\n`);
    await sleep(50);
    return "refunded";
  },
});

const model = scriptedModel(({ turn }) =>
  turn <= 3 ? { toolCalls: [{ name: "refund", input: { order: `A${turn}` } }] } : { text: "Done." },
);
const runner = new Runner(agent({ name: "support", model, tools: { refund } }), {
  store,
  identity: "required",
});

const server = createServer((request, response) => {
  void answer(request).then(
    ({ status, body }) => response.writeHead(status, { "content-type": "application/json" }).end(body),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify(server.address())));

/** The same message again, after a crash or from an impatient client, is the same run. */
async function answer(request: IncomingMessage): Promise<{ status: number; body: string }> {
  const key = request.headers["idempotency-key"];
  if (typeof key !== "string") return { status: 400, body: '{"error":"send an Idempotency-Key"}' };
  const words = await text(request);
  try {
    const { runId, status, output, resumed } = await runner.run(words, { key });
    return { status: 200, body: JSON.stringify({ runId, status, output, resumed }) };
  } catch (error) {
    if (RunBusyError.isInstance(error)) return { status: 409, body: '{"error":"the run is in progress"}' };
    throw error;
  }
}

process.once("SIGTERM", () => {
  server.close();
  void store.close().then(() => process.exit(0));
});
