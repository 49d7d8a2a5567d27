/**
 * `node bench/server.ts`: what the reads of the HTTP API take in the server, with 100,000 runs and a run of 20,000 events: on
 * SQLite and on PostgreSQL.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EVERYTHING } from "../src/core/access/scope.ts";
import { createHandler } from "../src/server/http/create-handler.ts";
import { openTestStore } from "../test/browser/dashboard/test-database.ts";
import { fill, LONG } from "../test/browser/dashboard-scale/large-store.ts";
import { measured } from "../test/browser/dashboard-scale/measured.ts";
import { startPostgres } from "../test/store/postgres/postgres-server.ts";
import { atMost, figure, type Line, logProgress, printReport, type Section } from "./report.ts";

/** The first requests compile the code. */
const [WARM_UP, SAMPLES] = [20, 100];

/** The budget of the first one is the dashboard's; the others are there to be compared. */
const READS: readonly { readonly path: string; readonly limitMs?: number }[] = [
  { path: "/v1/runs?limit=50", limitMs: 10 },
  { path: "/v1/runs?limit=50&status=failed" },
  { path: "/v1/runs?limit=50&needs=me" },
  { path: "/v1/runs?limit=50&q=run-777" },
  { path: "/v1/runs?limit=50&q=nowhere" },
  { path: "/v1/runs/counts" },
  { path: "/v1/spend" },
  { path: `/v1/runs/${LONG.runId}` },
  { path: `/v1/runs/${LONG.runId}/timeline` },
  { path: `/v1/runs/${LONG.runId}/transcript` },
  { path: `/v1/runs/${LONG.runId}/events?after=19000` },
];

async function reads(name: string, address: string): Promise<Section> {
  logProgress(`${name}: filling`);
  const store = await openTestStore(address);
  await fill(store, address);
  const handler = createHandler({
    store,
    dashboard: false,
    authenticate: () => ({ name: "ana", id: "ana", role: "viewer", scope: EVERYTHING }),
  });
  const lines: Line[] = [];
  for (const { path, limitMs } of READS) {
    logProgress(`${name}: ${path}`);
    const times: number[] = [];
    for (let i = 0; i < WARM_UP + SAMPLES; i++) {
      const begun = performance.now();
      const answer = await handler.fetch(new Request(`http://127.0.0.1${path}`));
      await answer.arrayBuffer();
      if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}.`);
      if (i >= WARM_UP) times.push(performance.now() - begun);
    }
    const { p50, p95 } = measured(times);
    lines.push(figure(`${name}: GET ${path}, p50`, `${p50.toFixed(1)} ms`));
    lines.push(
      limitMs === undefined ? figure("  p95", `${p95.toFixed(1)} ms`) : atMost("  p95", p95, limitMs, " ms"),
    );
  }
  await handler.close();
  await store.close();
  return { lines, figures: {} };
}

const folder = mkdtempSync(join(tmpdir(), "pawl-bench-server-"));
const server = await startPostgres();
try {
  printReport([
    await reads("SQLite", `file:${join(folder, "pawl.db")}`),
    await reads("PostgreSQL", `${server.url}?schema=${server.newSchema()}`),
  ]);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
