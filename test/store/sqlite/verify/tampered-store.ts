import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { chainHash } from "../../../../src/core/event-chain.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import type { Store, Verification } from "../../../../src/store/store.ts";
import { laterScenario, mailScenario } from "../../../../src/testing/store/sample-mail.ts";
import { SampleRun, sha256 } from "../../../../src/testing/store/sample-run.ts";
import { talkScenario } from "../../../../src/testing/store/sample-talk.ts";
import {
  jobScenario,
  ledgerScenario,
  sessionScenario,
  turnScenario,
} from "../../../../src/testing/store/store-scenarios.ts";
import { tempFolder } from "../temp-folder.ts";

/** The runs of `writeRuns`, each verified before it is tampered with. */
export const RUNS = ["ledger", "run-1", "session", "job", "job-fork", "open", "mail", "later"] as const;

/**
 * Creates a file with eight runs: "ledger", which used every feature of the ledger and has the calls 1 to 5 (of a turn)
 * and 6 and 7 (of code); "run-1", a neighbour; "session", which used every feature of a session; "job", which used
 * every feature of a contract, with its fork; "open", which waits for an approval and a settlement; "mail", which used
 * every feature of a mailbox and of the clock; and "later", which is not ready before its time.
 */
export async function writeRuns(file: string): Promise<void> {
  let now = Date.UTC(2026, 0, 1);
  const store = await openStore(`file:${file}`, { now: () => now });
  await writeRunsTo(store, (ms) => {
    now += ms;
  });
  await store.close();
}

/** The same, in any store. */
export async function writeRunsTo(store: Store, advance: (ms: number) => void): Promise<void> {
  await ledgerScenario(store, advance);
  await turnScenario(store, advance);
  await sessionScenario(store, advance);
  await jobScenario(store, advance);
  const open = await SampleRun.create(store, "open");
  await open.journaled(1, ["running", "prepared"]);
  await open.waiting(open.wait(1, 1), open.approval(1, 2, sha256("arguments").toString("hex")));
  await mailScenario(store, advance);
  await talkScenario(store);
  await laterScenario(store, Date.UTC(2100, 0, 1));
}

/** A copy of the file that can be edited by hand, and verified afterwards. */
export class TamperedStore {
  readonly file: string;

  constructor(template: string) {
    this.file = join(tempFolder(), "pawl.db");
    copyFileSync(template, this.file);
  }

  /** Changes rows by hand; a statement that changes nothing would be a mistake in the test. */
  change(sql: string, ...values: SQLInputValue[]): this {
    this.withDatabase((database) => {
      const { changes } = database.prepare(sql).run(...values);
      if (changes === 0) throw new Error(`Nothing was changed by: ${sql}`);
    });
    return this;
  }

  withDatabase<T>(work: (database: DatabaseSync) => T): T {
    const database = editor(this.file);
    try {
      return work(database);
    } finally {
      database.close();
    }
  }

  /** Appends an event that covers no rows to a run's log, with a correct hash, and all that an event has. */
  addEvent(runId: string, type: string): this {
    this.withDatabase((database) => {
      const run = database.prepare("SELECT * FROM runs WHERE run_id = ?").get(runId) as {
        run_key: number;
        event_seq: number;
        event_hash: Uint8Array;
      };
      const last = database
        .prepare("SELECT data FROM events WHERE run_key = ? AND seq = ?")
        .get(run.run_key, run.event_seq);
      const { head } = JSON.parse(String(last?.data)) as { head: readonly number[] };
      const [seq, data] = [run.event_seq + 1, JSON.stringify({ head })];
      const hash = chainHash(run.event_hash, seq, 1, type, data);
      database
        .prepare("INSERT INTO events VALUES (?, ?, 1, ?, ?, ?, 0)")
        .run(run.run_key, seq, type, data, hash);
    });
    return this;
  }

  async verify(runId = "ledger"): Promise<Verification> {
    const store = await openStore(`file:${this.file}`);
    try {
      return await store.verify(runId);
    } finally {
      await store.close();
    }
  }

  /** The named rows, in order, once for each problem. */
  async named(runId?: string): Promise<string[]> {
    return (await this.verify(runId)).problems.map(({ row }) => row);
  }
}

/** A connection without any constraints. */
export function editor(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  database.exec("PRAGMA ignore_check_constraints = ON");
  return database;
}
