/**
 * Two customers send the same words to one server. It is killed while it works for both, and later stopped with SIGTERM; each
 * request is sent again with its own key, and each customer gets their own run and three refunds.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { compare } from "../demo.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-server-"));
const [database, log] = [join(folder, "pawl.db"), join(folder, "refunds.log")];
const WORDS = "Refund my orders.";

type RunAnswer = { readonly runId: string; readonly status: string };

async function start(): Promise<{ process: ChildProcess; url: string }> {
  const file = fileURLToPath(new URL("./server.ts", import.meta.url));
  const child = spawn(process.execPath, [file, database, log], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const { port } = JSON.parse(line) as { port: number };
  return { process: child, url: `http://127.0.0.1:${port}/` };
}

/** Null if the server has stopped. */
async function ask(url: string, customer: string): Promise<RunAnswer | null> {
  const headers = { "idempotency-key": `${customer}-message-1` };
  const response = await fetch(url, { method: "POST", headers, body: WORDS }).catch(() => null);
  return response?.ok === true ? ((await response.json()) as RunAnswer) : null;
}

const refunds = () => (existsSync(log) ? readFileSync(log, "utf8").split("\n").slice(0, -1) : []);

async function until(count: number): Promise<void> {
  while (refunds().length < count) await sleep(5);
}

/** Both send a request; the server stops before it has answered. */
async function interrupted(signal: NodeJS.Signals, count: number): Promise<void> {
  const server = await start();
  const asked = Promise.all([ask(server.url, "ann"), ask(server.url, "bob")]);
  await until(count);
  const ended = once(server.process, "exit");
  server.process.kill(signal);
  await ended;
  await asked;
  console.log(`  the server has stopped (${signal}), ${refunds().length} refunds were sent`);
}

try {
  console.log("Ann and Bob send the same words. The server is killed while it works for both.");
  await interrupted("SIGKILL", 2);
  console.log("They send them again. The server gets SIGTERM, and closes its store.");
  await interrupted("SIGTERM", 4);
  console.log("They send them a third time.");
  const last = await start();
  const [ann, bob] = await Promise.all([ask(last.url, "ann"), ask(last.url, "bob")]);
  const again = await ask(last.url, "ann");
  const ended = once(last.process, "exit");
  last.process.kill("SIGTERM");
  await ended;
  const runs = new Set([ann?.runId, bob?.runId, again?.runId]);
  const keys = new Set(refunds().map((line) => line.split(" ")[0]));
  compare(
    [
      ["runs", 2, runs.has(undefined) ? 0 : runs.size],
      ["refunds, each with its own key", 6, keys.size],
      ["orders refunded for Ann", 3, ordersOf(ann)],
      ["orders refunded for Bob", 3, ordersOf(bob)],
    ],
    "The same words, two customers: one run each, and nothing refunded twice.",
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function ordersOf(answer: RunAnswer | null): number {
  const lines = refunds().map((line) => line.split(" "));
  return new Set(lines.filter(([, runId]) => runId === answer?.runId).map(([, , order]) => order)).size;
}
