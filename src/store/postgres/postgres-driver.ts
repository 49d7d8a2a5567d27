import { setTimeout as sleep } from "node:timers/promises";
import { LeaseLostError } from "../../core/errors.ts";
import type { Driver } from "../sql/driver.ts";
import type { Leases } from "../sql/leases.ts";
import type { RunHead } from "../sql/run-head.ts";
import { get, type SqlScript } from "../sql/script.ts";
import { closedError } from "../sql/sql-reader.ts";
import type { Transaction } from "../sql/transaction.ts";
import type { Connection } from "./connection.ts";
import { latestMigration, newerSchema } from "./migrate.ts";
import type { OwnerSession } from "./owner-session.ts";
import { type CommitPlan, type PlanContext, PlannedTransaction, type SubmittedIntent } from "./plan.ts";
import { planContext } from "./plan-context.ts";
import { outcomeOf, type PlanOutcome } from "./plan-outcome.ts";
import {
  firstCause,
  isConnectionLost,
  isWorthRepeating,
  openedReadOnly,
  postgresError,
  unknownCommit,
} from "./postgres-error.ts";
import type { Readers } from "./readers.ts";
import { statementsOf } from "./write-statements.ts";

export type PostgresDriverParts = {
  readonly name: string;
  readonly isReadOnly: boolean;
  readonly connect: () => Promise<Connection>;
  readonly readers: Readers;
  readonly owner: OwnerSession;
  readonly leases: Leases;
  /** Replaces the server's clock, for tests; null for the server's. */
  readonly now: (() => number) | null;
  /** The server's clock minus ours, when the store was opened. */
  readonly clockOffset: number;
  readonly redactionKey: () => Uint8Array;
  readonly onCommit: (intents: readonly string[]) => void;
};

/** The most intents in one transaction. */
const MAX_BATCH = 500;
const MAX_TRIES = 6;
const MAX_RECONNECTS = 40;
const RECONNECT_MS = 250;
const LOCKED_RUN = "SELECT run_key FROM runs WHERE run_id = ? FOR UPDATE";
const LATEST_VERSION = latestMigration();
const SERVER_NOW = "(extract(epoch FROM now()) * 1000)::bigint";
const NOW_AND_VERSION = `SELECT ${SERVER_NOW} AS now, (SELECT max(number) FROM migrations) AS version`;

/**
 * A PostgreSQL database. Intents that know all they need from the head of their run are planned in memory, and all of
 * them together are one transaction and one round trip. The others ask the server inside a transaction of their own,
 * which locks the row of the run first.
 */
export class PostgresDriver implements Driver {
  readonly name: string;
  readonly isReadOnly: boolean;
  readonly #parts: PostgresDriverParts;
  readonly #heads = new Map<string, RunHead>();
  readonly #context: PlanContext;
  #connection: Connection | null = null;
  #queue: SubmittedIntent[] = [];
  #working: Promise<void> | null = null;
  #isClosed = false;
  /** The server's clock minus ours. */
  #offset: number;

  constructor(parts: PostgresDriverParts) {
    this.name = parts.name;
    this.isReadOnly = parts.isReadOnly;
    this.#parts = parts;
    this.#offset = parts.clockOffset;
    this.#context = planContext(parts.leases, parts.owner, this.#heads);
  }

  now(): number {
    return this.#parts.now?.() ?? Date.now() + this.#offset;
  }

  write<T>(intent: string, runId: string | null, script: (tx: Transaction) => SqlScript<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(closedError(this.name));
    if (this.isReadOnly) return Promise.reject(openedReadOnly(this.name));
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ intent, runId, script, resolve, reject });
      // After this tick, so that everything submitted in it shares one transaction.
      this.#working ??= new Promise<void>((done) => setImmediate(done)).then(() => this.#work());
    });
  }

  async read<T>(script: () => SqlScript<T>): Promise<T> {
    try {
      return await this.#parts.readers.run(script);
    } catch (error) {
      throw postgresError(error, this.name);
    }
  }

  async close(ownerLock: "release" | "hold"): Promise<void> {
    await this.#working;
    this.#isClosed = true;
    await this.#connection?.end();
    await this.#parts.readers.end();
    if (ownerLock === "release") await this.#parts.owner.release();
  }

  async vanish(): Promise<void> {
    this.#isClosed = true;
    this.#queue = [];
    await Promise.all([this.#connection?.end(), this.#parts.readers.end(), this.#parts.owner.release()]);
  }

  /** The server checks its own pages; a damaged one fails the query that reads it. */
  async checkIntegrity(): Promise<readonly string[]> {
    const checked = await this.read(() => get("SELECT current_setting('data_checksums') AS checksums"));
    return checked?.text("checksums") === "off"
      ? ["The server does not check the pages of its files (data_checksums is off): it cannot notice damage."]
      : [];
  }

  isOwnFile(): Promise<boolean> {
    return Promise.resolve(false);
  }

  redactionKey(): Uint8Array {
    return this.#parts.redactionKey();
  }

  async #work(): Promise<void> {
    try {
      while (this.#queue.length > 0) {
        const batch = this.#takeBatch();
        // One that has its answer already is not changed by this.
        await this.#workOnBatch(batch).catch((error: unknown) => {
          for (const { reject } of batch) reject(postgresError(error, this.name));
        });
      }
    } finally {
      this.#working = null;
    }
  }

  /** As many as may run beside each other, in order: one that concerns no single run is alone. */
  #takeBatch(): SubmittedIntent[] {
    const alone = this.#queue.findIndex(({ runId }) => runId === null);
    const end = alone === -1 ? MAX_BATCH : Math.max(alone, 1);
    return this.#queue.splice(0, Math.min(end, MAX_BATCH));
  }

  async #workOnBatch(batch: readonly SubmittedIntent[]): Promise<void> {
    const plans: CommitPlan[] = [];
    const others: SubmittedIntent[] = [];
    const waiting = new Set<string | null>([null]);
    for (const pending of batch) {
      // One that follows another of its run that has to ask has to wait for it.
      const plan = waiting.has(pending.runId) ? null : this.#planInMemory(pending);
      if (plan !== null) plans.push(plan);
      else {
        others.push(pending);
        waiting.add(pending.runId);
      }
    }
    if (plans.length > 0) await this.#commitPlans(plans);
    for (const pending of others) await this.#ask(pending);
  }

  /** Null if the intent has to ask the server, or is refused: then fresh data decides. */
  #planInMemory(pending: SubmittedIntent): CommitPlan | null {
    const { runId, script } = pending;
    if (runId === null || !this.#heads.has(runId)) return null;
    const tx = new PlannedTransaction(this.now(), this.#context);
    try {
      const step = script(tx).next();
      if (step.done === true) return { pending, value: step.value, writes: tx.writes };
    } catch {
      // It is run again on fresh data, and that outcome counts.
    }
    // The head may have changed in memory already.
    this.#heads.delete(runId);
    return null;
  }

  async #commitPlans(plans: readonly CommitPlan[]): Promise<void> {
    const writes = plans.flatMap((plan) => plan.writes);
    try {
      const connection = await this.#connected();
      await this.#send(connection, [
        { text: "BEGIN", values: [] },
        ...statementsOf(writes, this.#clockText()),
      ]);
      this.#acknowledge(plans);
    } catch (error) {
      this.#dropHeads(plans);
      if (isConnectionLost(error)) await this.#settleUnknown(plans, error);
      else await this.#commitApart(plans);
    }
  }

  /** A transaction that was refused: those whose run has not moved go again together, the others are planned again. */
  async #commitApart(plans: readonly CommitPlan[]): Promise<void> {
    const moved: CommitPlan[] = [];
    const unmoved: CommitPlan[] = [];
    for (const plan of plans) {
      const where = await this.#whereIs(plan).catch(() => "moved");
      (where === "unmoved" ? unmoved : moved).push(plan);
    }
    if (moved.length > 0 && unmoved.length > 0) await this.#commitPlans(unmoved);
    else moved.push(...unmoved);
    for (const { pending } of moved) await this.#ask(pending);
  }

  /** Sends the statements and a COMMIT without waiting in between: one round trip. */
  async #send(
    connection: Connection,
    statements: readonly { text: string; values: readonly unknown[] }[],
  ): Promise<void> {
    const sent = statements.map(({ text, values }, i) =>
      i === 0 && text === "BEGIN" ? connection.begin() : connection.send(text, values),
    );
    const committed = connection.send("COMMIT");
    await allOrFirstCause([...sent, committed]);
    // A COMMIT after a failed statement succeeds, as a rollback.
    if ((await committed).command !== "COMMIT") throw new Error("The transaction was rolled back.");
  }

  #acknowledge(plans: readonly CommitPlan[]): void {
    for (const { pending, value } of plans) pending.resolve(value as never);
    this.#parts.onCommit(plans.map(({ pending }) => pending.intent));
  }

  /** Runs an intent in a transaction of its own, on fresh data. */
  async #ask(pending: SubmittedIntent): Promise<void> {
    for (let tries = 1; ; tries++) {
      if (pending.runId !== null) this.#heads.delete(pending.runId);
      const attempt: { plan: CommitPlan | null } = { plan: null };
      try {
        const connection = await this.#connected();
        await this.#inTransaction(connection, pending, attempt);
        if (attempt.plan !== null) this.#acknowledge([attempt.plan]);
        return;
      } catch (error) {
        this.#heads.clear();
        if (isConnectionLost(error)) {
          if (attempt.plan !== null) {
            await this.#settleUnknown([attempt.plan], error);
            return;
          }
          if (tries < MAX_TRIES) continue;
        } else if (isWorthRepeating(error) && tries < MAX_TRIES) {
          await sleep(Math.random() * 10 * tries);
          continue;
        }
        pending.reject(postgresError(error, this.name));
        return;
      }
    }
  }

  async #inTransaction(
    connection: Connection,
    pending: SubmittedIntent,
    attempt: { plan: CommitPlan | null },
  ): Promise<void> {
    try {
      void connection.begin();
      const now = await this.#lockedNow(connection, pending.runId);
      const tx = new PlannedTransaction(now, this.#context);
      const script = pending.script(tx);
      let step = script.next();
      while (step.done !== true) {
        const { text, values } = step.value;
        const sent = statementsOf(tx.takeUnsent(), this.#clockText()).map((each) =>
          connection.send(each.text, each.values),
        );
        const rows = connection.rows(text, values);
        step = script.next(await allOrFirstCause([...sent, rows]));
      }
      const plan: CommitPlan = { pending, value: step.value, writes: tx.writes };
      const last = statementsOf(tx.takeUnsent(), this.#clockText());
      // From here on the commit may happen although its answer is lost.
      attempt.plan = plan;
      await this.#send(connection, last);
    } catch (error) {
      if (!connection.isLost && attempt.plan === null)
        await connection.send("ROLLBACK").catch(() => undefined);
      if (!isConnectionLost(error)) attempt.plan = null;
      throw error;
    }
  }

  /** Locks the row of the run, and reads the server's clock. */
  async #lockedNow(connection: Connection, runId: string | null): Promise<number> {
    const locked = runId === null ? [] : [connection.rows(LOCKED_RUN, [runId])];
    const [row] = await allOrFirstCause([...locked, connection.rows(NOW_AND_VERSION)]);
    const version = row?.int("version") ?? 0;
    // Rows that this program writes would not be what a newer one expects.
    if (version > LATEST_VERSION) throw newerSchema(this.name, version, LATEST_VERSION);
    this.#offset = (row?.int("now") ?? 0) - Date.now();
    return this.#parts.now?.() ?? row?.int("now") ?? 0;
  }

  /**
   * The connection broke while a COMMIT was under way. Whether it happened is read from the log: the hash of its event
   * says whose it is. What did not happen is sent again, the same bytes, and the compare-and-set decides: the first
   * try may still arrive.
   */
  async #settleUnknown(plans: readonly CommitPlan[], cause: unknown): Promise<void> {
    for (const plan of plans) await this.#settle(plan, cause);
  }

  async #settle(plan: CommitPlan, cause: unknown): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        const where = await this.#whereIs(plan);
        // Durable, but another owner has the run now: this worker must stop.
        if (where === "followed") throw takenOver(plan.pending);
        if (where === "done") this.#acknowledge([plan]);
        else if (where === "unmoved") await this.#commitPlans([plan]);
        else await this.#ask(plan.pending);
        return;
      } catch (error) {
        // The server went away again while it was asked.
        if (isConnectionLost(error) && tries < MAX_TRIES) continue;
        const reason = isConnectionLost(error)
          ? unknownCommit(this.name, cause)
          : postgresError(error, this.name);
        plan.pending.reject(reason);
        return;
      }
    }
  }

  async #whereIs(plan: CommitPlan): Promise<PlanOutcome> {
    return outcomeOf(await this.#connected(), plan, this.#parts.leases.owner);
  }

  #dropHeads(plans: readonly CommitPlan[]): void {
    for (const { pending } of plans) if (pending.runId !== null) this.#heads.delete(pending.runId);
  }

  #clockText(): string {
    const { now } = this.#parts;
    return now === null ? SERVER_NOW : String(now());
  }

  async #connected(): Promise<Connection> {
    const lost = this.#connection;
    if (lost !== null && !lost.isLost) return lost;
    this.#heads.clear();
    for (let tries = 0; ; tries++) {
      try {
        this.#connection = await this.#parts.connect();
        // What the old session still does must not come after what this one finds out.
        if (lost !== null && !lost.isPooled)
          await this.#connection
            .send("SELECT pg_terminate_backend($1, 2000)", [lost.backend])
            .catch(() => undefined);
        return this.#connection;
      } catch (error) {
        if (this.#isClosed || tries >= MAX_RECONNECTS || !isConnectionLost(error)) throw error;
        await sleep(RECONNECT_MS);
      }
    }
  }
}

function takenOver({ runId, intent }: SubmittedIntent): LeaseLostError {
  return new LeaseLostError(
    `Run ${runId} was claimed by another worker: ${intent} of this one is stored, and this one must stop.`,
    { runId: runId ?? "", epoch: 0 },
  );
}

/** The last answer; or the error that the others follow from, once all have failed. */
async function allOrFirstCause<T>(sent: readonly [...Promise<unknown>[], Promise<T>]): Promise<T> {
  const outcomes = await Promise.allSettled(sent);
  const failures = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
  if (failures.length > 0) throw firstCause(failures);
  return sent[sent.length - 1] as Promise<T>;
}
