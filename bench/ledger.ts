import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { openStore, type Store } from "../src/index.ts";
import { freshStore } from "./measure.ts";

const LOOKUPS = 500;

/** A ledger of `rows` calls, and how long it takes to find one of them by its key. */
export async function ledger(
  file: string,
  rows: number,
): Promise<{ lookUp(): Promise<number>; close(): Promise<void> }> {
  const keys = await fillLedger(file, rows);
  const store: Store = await openStore(`file:${file}`);
  return {
    /** Microseconds a look-up, over keys from all over the ledger. */
    lookUp: async () => {
      const picked = Array.from({ length: LOOKUPS }, () => keys[Math.floor(Math.random() * keys.length)]);
      const start = performance.now();
      for (const key of picked)
        if (key === undefined || (await store.findToolCall("ledger", key)) === null)
          throw new Error("A call that was written was not found.");
      return ((performance.now() - start) * 1_000) / LOOKUPS;
    },
    close: () => store.close(),
  };
}

/** Written directly into the tables, since a million turns would take minutes: one code step with that many calls. */
async function fillLedger(file: string, rows: number): Promise<Buffer[]> {
  const store = await freshStore(file);
  const created = await store.createRun({
    runId: "ledger",
    pipeline: "bench",
    entrypoint: "bench",
    input: null,
    inputHash: new Uint8Array(32),
    shape: null,
    limit: { tokens: null, microDollars: null },
    leaseMs: 60_000,
  });
  if (created.kind !== "created") throw new Error("The store must be empty.");
  const fence = { runId: "ledger", epoch: created.claim.epoch };
  const step = { path: "step", name: "step", kind: "run", phase: "", input: null };
  const { stepKey } = await store.beginStep(fence, step);
  await store.close();

  const database = new DatabaseSync(file);
  const insert = database.prepare(
    `INSERT INTO tool_calls VALUES (1, ?, ?, 0, ?, 0, 'local', 'send_email', 'external', 'opaque', ?, 1, ?,
                                    '{"to":"ann@example.org"}', 'running', 1, 0, 0, 0)`,
  );
  const receipt = database.prepare(
    `INSERT INTO receipts VALUES (1, ?, 'succeeded', 0, 30, NULL, 0, 'tool', NULL, NULL, NULL, NULL, '{"type":"text","value":"sent"}', NULL)`,
  );
  const keys: Buffer[] = [];
  database.exec("PRAGMA synchronous = OFF; BEGIN");
  for (let i = 1; i <= rows; i++) {
    const key = randomBytes(32);
    insert.run(i, stepKey, i, randomBytes(32), key);
    receipt.run(i);
    // Enough keys to cover the whole ledger; all of a million would only fill the memory.
    if (keys.length < 1_000 || i % 1_000 === 0) keys.push(key);
  }
  database.exec("COMMIT");
  database.close();
  return keys;
}
