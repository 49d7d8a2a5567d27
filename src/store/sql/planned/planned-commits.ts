import { setTimeout as sleep } from "node:timers/promises";
import { LeaseLostError } from "../../../core/errors.ts";
import { ANSWERS_IN_A_TICK } from "../driver.ts";
import { rememberEvents } from "../leases.ts";
import type { Row } from "../row.ts";
import { forgetOldHeads } from "../run-head.ts";
import type { SqlScript } from "../script.ts";
import { closedError } from "../sql-overview.ts";
import type { Transaction } from "../transaction.ts";
import type { Write } from "../write.ts";
import { commitWithHints, type HintServer, RefusedHintError } from "./hinted-commit.ts";
import {
  type CommitPlan,
  oneOfEachRun,
  type PlanContext,
  PlannedIntent,
  type SubmittedIntent,
} from "./plan.ts";
import { outcomesOf, type PlanOutcome } from "./plan-outcome.ts";
import { isRenewal, lockedPlans, lockedRun } from "./renewals.ts";
import { COMMIT, RECONNECT, ROLLBACK, type ServerSession, type Statement } from "./server-session.ts";

/** What a server brings. */
export interface PlanServer extends HintServer {
  /** Names the database in errors. */
  readonly name: string;
  /** The server's clock, as far as it is known without asking. */
  now(): number;
  /** Opens a session in place of the last one, which was lost: what that still does is over when this returns. */
  connect(): Promise<ServerSession>;
  /** Begins a transaction, and locks the rows of these runs, in the order of their keys. Returns the server's time. */
  begin(session: ServerSession, runIds: readonly string[]): Promise<number>;
  /** The statements of some writes, without their hints. */
  statementsOf(writes: readonly Write[]): readonly Statement[];
  /** True if the same transaction may succeed on fresh data. */
  isWorthRepeating(error: unknown): boolean;
  /** The error as users get it. */
  errorFor(error: unknown): unknown;
  /** The error for a commit whose answer was lost, and that could not be looked up either. */
  unknownCommit(cause: unknown): Error;
}

/** The most intents in one transaction. */
const MAX_BATCH = 500;
const MAX_TRIES = 6;

/**
 * The commits of a process on a server. Intents that know all they need from the head of their run are planned in memory,
 * and all of them together are one transaction and one round trip. The others ask the server inside a transaction that
 * locks the rows of their runs first; they share it, and each of its round trips.
 */
export class PlannedCommits {
  readonly #server: PlanServer;
  readonly #context: PlanContext;
  readonly #onCommit: (intents: readonly string[]) => void;
  #session: ServerSession | null = null;
  #queue: SubmittedIntent[] = [];
  #working: Promise<void> | null = null;
  #isClosed = false;

  constructor(server: PlanServer, context: PlanContext, onCommit: (intents: readonly string[]) => void) {
    this.#server = server;
    this.#context = context;
    this.#onCommit = onCommit;
  }

  /** Runs an intent inside a transaction, and resolves to its result once that is durable. */
  submit<T>(intent: string, runId: string | null, script: (tx: Transaction) => SqlScript<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(closedError(this.#server.name));
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ intent, runId, script, resolve, reject });
      // After this tick, so that everything submitted in it shares one transaction.
      this.#working ??= new Promise<void>((done) => setImmediate(done)).then(() => this.#work());
    });
  }

  /** Commits the queue, then refuses further intents. */
  async close(): Promise<void> {
    await this.#working;
    this.#isClosed = true;
  }

  /** Drops the queue without an answer, as a killed process would. */
  abandon(): void {
    this.#isClosed = true;
    this.#queue = [];
  }

  async #work(): Promise<void> {
    try {
      while (this.#queue.length > 0) {
        const batch = this.#takeBatch();
        // One that has its answer already is not changed by this.
        await this.#workOnBatch(batch).catch((error: unknown) => this.#refuse(batch, error));
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
    forgetOldHeads(this.#context.heads);
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
    const renewals = plans.filter(isRenewal);
    const commits = plans.filter((plan) => !isRenewal(plan));
    if (renewals.length > 0) await this.#renew(renewals);
    if (commits.length > 0) await this.#commitPlans(commits);
    for (const round of oneOfEachRun(others)) await this.#ask(round);
  }

  /** Null if the intent has to ask the server, or is refused: then fresh data decides. */
  #planInMemory(pending: SubmittedIntent): CommitPlan | null {
    const { heads } = this.#context;
    const { runId } = pending;
    if (runId === null || !heads.has(runId)) return null;
    try {
      const planned = new PlannedIntent(pending, this.#server.now(), this.#context);
      planned.advance();
      if (planned.plan !== null) return planned.plan;
    } catch {
      // It is run again on fresh data, and that outcome counts.
    }
    // The head may have changed in memory already.
    heads.delete(runId);
    return null;
  }

  /** By themselves, and first: one that waited for a row would keep the leases of all others from being renewed. */
  async #renew(plans: readonly CommitPlan[]): Promise<void> {
    const renewals = this.#server.statementsOf(plans.flatMap((plan) => plan.writes));
    let answers: readonly (readonly Row[])[];
    try {
      const session = await this.#connected();
      answers = await session.exchange([...session.begin, ...renewals, COMMIT]);
      answers = answers.slice(session.begin.length, -1);
    } catch {
      // A renewal moves no head: fresh data decides.
      await this.#askInRounds(plans);
      return;
    }
    const locked = lockedPlans(plans, answers.flat());
    const done = plans.filter((plan) => !locked.includes(plan));
    await this.#acknowledge(done);
    for (const plan of locked) this.#refuse([plan.pending], lockedRun(plan));
  }

  /** `isAgain` after a lost connection: a hint may have been the reason. */
  async #commitPlans(plans: readonly CommitPlan[], isAgain = false): Promise<void> {
    const writes = plans.flatMap((plan) => plan.writes);
    try {
      const session = await this.#connected();
      const statements = [...session.begin, ...this.#server.statementsOf(writes)];
      await commitWithHints(session, this.#server, statements, isAgain ? [] : writes).catch(
        (error: unknown) => {
          if (!(error instanceof RefusedHintError)) throw error;
          // The same bytes: the compare-and-set decides.
          return session.exchange([...statements, COMMIT]);
        },
      );
    } catch (error) {
      this.#forget(plans.map(({ pending }) => pending));
      if (this.#server.isConnectionLost(error)) await this.#settle(plans, error);
      else await this.#commitApart(plans);
      return;
    }
    await this.#acknowledge(plans);
  }

  /** A transaction that was refused: those whose run has not moved go again together, the others are planned again. */
  async #commitApart(plans: readonly CommitPlan[]): Promise<void> {
    const where = await this.#whereAre(plans).catch(() => null);
    const unmoved = plans.filter((plan) => where?.get(plan) === "unmoved");
    if (unmoved.length > 0 && unmoved.length < plans.length) {
      await this.#commitPlans(unmoved);
      await this.#askInRounds(plans.filter((plan) => !unmoved.includes(plan)));
    } else await this.#askInRounds(plans);
  }

  async #askInRounds(plans: readonly CommitPlan[]): Promise<void> {
    for (const round of oneOfEachRun(plans.map(({ pending }) => pending))) await this.#ask(round);
  }

  /** Answers a few at a time: what follows the answers is work of this process. */
  async #acknowledge(plans: readonly CommitPlan[]): Promise<void> {
    for (const { writes } of plans) rememberEvents(this.#context.leases, writes);
    for (let done = 0; done < plans.length; done += ANSWERS_IN_A_TICK) {
      if (done > 0) await new Promise((resolve) => setImmediate(resolve));
      for (const { pending, value } of plans.slice(done, done + ANSWERS_IN_A_TICK))
        pending.resolve(value as never);
    }
    // Last: if it throws, everything durable is acknowledged.
    if (plans.length > 0) this.#onCommit(plans.map(({ pending }) => pending.intent));
  }

  /** Runs intents of different runs on fresh data, in one transaction; each by itself if that is refused. */
  async #ask(intents: readonly SubmittedIntent[]): Promise<void> {
    for (let tries = 1; ; tries++) {
      this.#forget(intents);
      const attempt: Attempt = { plans: [], refused: [], isCommitting: false };
      try {
        await this.#transactOrRollBack(await this.#connected(), intents, attempt);
      } catch (error) {
        this.#context.heads.clear();
        if (error instanceof RefusedHintError && tries < MAX_TRIES) continue;
        const isLost = this.#server.isConnectionLost(error);
        if (isLost && attempt.isCommitting) {
          for (const { pending, error: reason } of attempt.refused) this.#refuse([pending], reason);
          await this.#settle(attempt.plans, error);
          return;
        }
        if (intents.length > 1 && !isLost) {
          for (const each of intents) await this.#ask([each]);
          return;
        }
        if (tries < MAX_TRIES && (isLost || this.#server.isWorthRepeating(error))) {
          await sleep(isLost ? 0 : Math.random() * 10 * tries);
          continue;
        }
        this.#refuse(intents, error);
        return;
      }
      for (const { pending, error } of attempt.refused) this.#refuse([pending], error);
      await this.#acknowledge(attempt.plans);
      return;
    }
  }

  async #transactOrRollBack(
    session: ServerSession,
    intents: readonly SubmittedIntent[],
    attempt: Attempt,
  ): Promise<void> {
    try {
      await this.#transact(session, intents, attempt);
    } catch (error) {
      if (!session.isLost) await session.exchange([ROLLBACK]).catch(() => undefined);
      throw error;
    }
  }

  /** Steps all scripts together: the queries that they wait for at a time are one round trip. */
  async #transact(
    session: ServerSession,
    intents: readonly SubmittedIntent[],
    attempt: Attempt,
  ): Promise<void> {
    const runIds = intents.flatMap(({ runId }) => (runId === null ? [] : [runId]));
    const now = await this.#server.begin(session, runIds);
    let asking = intents.map((pending) => new PlannedIntent(pending, now, this.#context));
    for (const each of asking) this.#advance(each, [], attempt, intents.length);
    const writes: Write[] = [];
    for (;;) {
      for (const { plan } of asking) if (plan !== null) attempt.plans.push(plan);
      for (const each of asking) if (each.plan !== null) writes.push(...each.takeUnsent());
      asking = asking.filter(({ query }) => query !== null);
      if (asking.length === 0) break;
      await this.#answer(session, asking, attempt, intents.length);
    }
    if (attempt.plans.length === 0) {
      await session.exchange([ROLLBACK]);
      return;
    }
    // From here on the commit may happen although its answer is lost.
    attempt.isCommitting = true;
    const all = attempt.plans.flatMap((plan) => plan.writes);
    await commitWithHints(session, this.#server, this.#server.statementsOf(writes), all);
  }

  /** One round trip: each script's writes so far, then its query. */
  async #answer(
    session: ServerSession,
    asking: readonly PlannedIntent[],
    attempt: Attempt,
    count: number,
  ): Promise<void> {
    const statements: Statement[] = [];
    const places = asking.map((each) => {
      statements.push(...this.#server.statementsOf(each.takeUnsent()));
      if (each.query !== null) statements.push(each.query);
      return statements.length - 1;
    });
    const answers = await session.exchange(statements);
    for (const [i, each] of asking.entries()) this.#advance(each, answers[places[i] ?? -1], attempt, count);
  }

  /** A refused intent takes nobody else down, unless the server has got writes of it already. */
  #advance(
    planned: PlannedIntent,
    answer: Parameters<PlannedIntent["advance"]>[0],
    attempt: Attempt,
    count: number,
  ): void {
    try {
      planned.advance(answer);
    } catch (error) {
      if (count === 1 || planned.hasSent) throw error;
      this.#forget([planned.pending]);
      attempt.refused.push({ pending: planned.pending, error });
    }
  }

  /**
   * The connection broke while a COMMIT was under way. Whether it happened is read from the log: the hash of its event
   * says whose it is. What did not happen is sent again, the same bytes, and the compare-and-set decides: the first
   * try may still arrive.
   */
  async #settle(plans: readonly CommitPlan[], cause: unknown): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        const where = await this.#whereAre(plans);
        const those = (outcome: PlanOutcome) => plans.filter((plan) => where.get(plan) === outcome);
        // Durable, but another owner has the run now: this worker must stop.
        for (const { pending } of those("followed")) pending.reject(takenOver(pending));
        await this.#acknowledge(those("done"));
        if (those("unmoved").length > 0) await this.#commitPlans(those("unmoved"), true);
        await this.#askInRounds(those("moved"));
        return;
      } catch (error) {
        // The server went away again while it was asked.
        const isLost = this.#server.isConnectionLost(error);
        if (isLost && tries < MAX_TRIES) continue;
        const reason = isLost ? this.#server.unknownCommit(cause) : error;
        this.#refuse(
          plans.map(({ pending }) => pending),
          reason,
        );
        return;
      }
    }
  }

  async #whereAre(plans: readonly CommitPlan[]): Promise<ReadonlyMap<CommitPlan, PlanOutcome>> {
    return outcomesOf(await this.#connected(), plans, this.#context.leases.owner);
  }

  #refuse(intents: readonly SubmittedIntent[], error: unknown): void {
    for (const { reject } of intents) reject(this.#server.errorFor(error));
  }

  #forget(intents: readonly SubmittedIntent[]): void {
    for (const { runId } of intents) if (runId !== null) this.#context.heads.delete(runId);
  }

  async #connected(): Promise<ServerSession> {
    if (this.#session?.isLost === false) return this.#session;
    this.#context.heads.clear();
    for (let tries = 0; ; tries++) {
      try {
        this.#session = await this.#server.connect();
        return this.#session;
      } catch (error) {
        if (this.#isClosed || tries >= RECONNECT.tries || !this.#server.isConnectionLost(error)) throw error;
        await sleep(RECONNECT.everyMs);
      }
    }
  }
}

/** One try to run some intents in a transaction. */
type Attempt = {
  readonly plans: CommitPlan[];
  readonly refused: { readonly pending: SubmittedIntent; readonly error: unknown }[];
  /** True once the COMMIT may have been sent. */
  isCommitting: boolean;
};

function takenOver({ runId, intent }: SubmittedIntent): LeaseLostError {
  return new LeaseLostError(
    `Run ${runId} was claimed by another worker: ${intent} of this one is stored, and this one must stop.`,
    { runId: runId ?? "", epoch: 0 },
  );
}
