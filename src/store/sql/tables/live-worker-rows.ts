import { canonicalJson } from "../../../core/canonical-json.ts";
import { isJsonObject, type Json } from "../../../core/json.ts";
import { assertNameSize } from "../../../core/naming/name-size.ts";
import type { LiveWorker, WorkerCounts, WorkerFacts, WorkerReport } from "../../store.ts";
import { all, get, type SqlScript } from "../script.ts";
import type { Transaction } from "../transaction.ts";
import { parseJson } from "./run-row.ts";

/** A worker that was not heard of for this long is dead, and is no longer listed. */
const FORGOTTEN_MS = 60_000;

export function* reportWorker(tx: Transaction, { workerId, host, facts }: WorkerReport): SqlScript<void> {
  assertNameSize("worker's id", workerId);
  const known = yield* get("SELECT started_at FROM live_workers WHERE worker_id = ?", workerId);
  const dead = yield* all(
    "SELECT worker_id FROM live_workers WHERE seen_at < ? AND worker_id <> ? ORDER BY worker_id",
    tx.now - FORGOTTEN_MS,
    workerId,
  );
  const started_at = known?.int("started_at") ?? tx.now;
  const row = { worker_id: workerId, host, facts: canonicalJson(facts), started_at, seen_at: tx.now };
  tx.write({ kind: "upsert", table: "live_workers", row });
  for (const each of dead) removeWorker(tx, each.text("worker_id"));
}

// oxlint-disable-next-line require-yield -- it asks nothing
export function* forgetWorker(tx: Transaction, workerId: string): SqlScript<void> {
  removeWorker(tx, workerId);
}

function removeWorker(tx: Transaction, workerId: string): void {
  tx.write({ kind: "remove", table: "live_workers", key: { worker_id: workerId } });
}

/** Those that began first, first. */
export function* listWorkers(now: number): SqlScript<LiveWorker[]> {
  const rows = yield* all("SELECT * FROM live_workers ORDER BY started_at, worker_id");
  return rows.map((row) => ({
    workerId: row.text("worker_id"),
    host: row.text("host"),
    facts: readFacts(parseJson(row.text("facts"))),
    startedAt: row.int("started_at"),
    seenMs: Math.max(0, now - row.int("seen_at")),
  }));
}

/** Other versions of Pawl may report other facts: what is missing is shown as nothing. */
function readFacts(json: Json): WorkerFacts {
  const facts = isJsonObject(json) ? json : {};
  const counts = isJsonObject(facts.counts) ? facts.counts : {};
  const latency = isJsonObject(facts.claimLatency) ? facts.claimLatency : null;
  return {
    pid: numberIn(facts.pid),
    version: typeof facts.version === "string" ? facts.version : null,
    pipelines: textsIn(facts.pipelines),
    queues: textsIn(facts.queues),
    concurrency: numberIn(facts.concurrency),
    runIds: textsIn(facts.runIds),
    counts: {
      claimed: numberIn(counts.claimed),
      succeeded: numberIn(counts.succeeded),
      failed: numberIn(counts.failed),
      waiting: numberIn(counts.waiting),
      handedBack: numberIn(counts.handedBack),
      takeovers: numberIn(counts.takeovers),
    } satisfies WorkerCounts,
    claimLatency:
      latency === null ? null : { p50Ms: numberIn(latency.p50Ms), p95Ms: numberIn(latency.p95Ms) },
    blockedAt: typeof facts.blockedAt === "number" ? facts.blockedAt : null,
  };
}

function numberIn(value: Json | undefined): number {
  return typeof value === "number" ? value : 0;
}

function textsIn(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
