// Runs that workers take from a queue.

import { Step } from "../../../../src/engine/definition/step.ts";
import { Worker } from "../../../../src/engine/worker/worker.ts";
import type { WorkerOptions } from "../../../../src/engine/worker/worker-options.ts";
import type { Store } from "../../../../src/store/store.ts";
import type {
  ExecuteStandIn,
  ProcessTools,
  Scenario,
  StandInContext,
} from "../../../../src/testing/crash/scenario.ts";
import { asks, charge, errandAgent, STAND_INS } from "./errand-tools.ts";

/** Rare, so that a worker that waits for a lease to end makes few points. */
const SWEEP_MS = 10_000;

/** Longer than any lease: a worker that has found nothing to do for so long ends, and what it has left is a problem. */
const PATIENCE_MS = 300_000;

/** Each call takes its own time, so that runs that are worked on side by side end in the same order each time. */
const TAKES_MS: { readonly [order: string]: number } = { a: 100, b: 1_000, c: 1_900, d: 2_500 };

const slowCharge: ExecuteStandIn = async (
  { order }: { readonly order: string },
  { idempotencyKey },
  outside: StandInContext,
) => {
  await outside.take(TAKES_MS[order] ?? 500);
  return `${order}: done with a key of ${idempotencyKey.length} characters`;
};

/** Several runs are at their tools at a time, so that a random schedule may delay each of them. */
const MANY_RETRIES = { maxRetriesPerToolCall: 20 };

const errands = errandAgent([asks(["charge", "a"]), asks(["ship", "b"]), { text: "Done." }]);

const charging = Step.run("charging", (order: string, ctx) => ctx.call(charge, { order }));

/**
 * Runs that are enqueued under keys, and one of them again. The first worker hands its runs back after its first commit
 * of a turn, and a second one takes them.
 */
export function queueWorker(): Scenario {
  return {
    name: "queue-worker",
    pipeline: errands,
    input: "none",
    tools: STAND_INS,
    act: async (tools) => {
      const { runner } = tools;
      await runner.enqueue("one", { key: "one" });
      await runner.enqueue("two", { key: "two", priority: 1 });
      await runner.enqueue("one", { key: "one" });
      const stop = new AbortController();
      await workUntilEnded(tools, { concurrency: 1 }, { stop, after: ["commitTurn", () => stop.abort()] });
      await runner.enqueue("one", { key: "one" });
      await workUntilEnded(tools, { concurrency: 1 });
      return null;
    },
  };
}

/** Five runs, three of them with one key, for workers that take one of a key and two of a queue at a time. */
export function queueKeys(): Scenario {
  return {
    name: "queue-keys",
    pipeline: charging,
    input: "none",
    tools: { charge: slowCharge },
    runner: MANY_RETRIES,
    act: async (tools) => {
      const { runner } = tools;
      for (const [order, concurrencyKey] of Object.entries({ a: "x", b: "x", c: "y", d: "x" }))
        await runner.enqueue(order, { key: order, concurrencyKey, queue: "mail" });
      await runner.enqueue("e", { key: "e", queue: "mail" });
      const options = { queues: ["mail"], limits: { queues: { mail: { total: 2, perKey: 1 } } } };
      await workUntilEnded(tools, { concurrency: 3, ...options });
      return null;
    },
  };
}

/**
 * Runs that a process leaves when it dies: several that its worker has in hand, one that its runner began, and one whose
 * time has not come. Nothing wakes the next worker but its own clock.
 */
export function queueAbandoned(): Scenario {
  return {
    name: "queue-abandoned",
    pipeline: charging,
    input: "none",
    tools: { charge: slowCharge },
    runner: MANY_RETRIES,
    act: async (tools) => {
      const { runner, store, options } = tools;
      // It may be taken from this process: then another one has ended it.
      const isThere = (await store.getRun("direct")) !== null;
      const direct = isThere ? null : runner.run("d", { runId: "direct" }).catch(() => undefined);
      for (const order of ["a", "b"]) await runner.enqueue(order, { key: order });
      const later = "charging-later";
      if ((await store.getRun(later)) === null)
        await runner.enqueue("c", { runId: later, notBefore: new Date(options.clock.now() + 60_000) });
      await direct;
      await workUntilEnded(tools, { concurrency: 3 });
      return null;
    },
  };
}

type WorkHooks = {
  readonly stop?: AbortController;
  /** Called after each call of this method. */
  readonly after?: readonly [method: keyof Store, act: () => void];
};

/** Works until every run has ended, or nothing has changed for a long time. */
async function workUntilEnded(
  { store, options }: ProcessTools,
  given: Partial<WorkerOptions>,
  { stop = new AbortController(), after }: WorkHooks = {},
): Promise<void> {
  const { clock } = options;
  let changed = { text: "", at: clock.monotonic() };
  const onLook = async () => {
    const runs = await store.listRuns();
    if (runs.every(({ status }) => ENDED.has(status))) stop.abort();
    const text = runs.map(({ runId, epoch, status }) => `${runId} ${epoch} ${status}`).join("\n");
    if (text !== changed.text) changed = { text, at: clock.monotonic() };
    if (clock.monotonic() - changed.at > PATIENCE_MS) stop.abort();
  };
  const worker = new Worker({
    ...options,
    store: watchedStore(store, onLook, after),
    pipelines: { errands, charging },
    sweepMs: SWEEP_MS,
    maxStalls: 50,
    ...given,
  });
  await worker.run(stop.signal);
}

const ENDED: ReadonlySet<string> = new Set(["succeeded", "failed", "cancelled"]);

/** A store that wakes no worker, and reports each look of one. */
function watchedStore(store: Store, onLook: () => Promise<void>, after: WorkHooks["after"]): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === "watchReady") return () => Promise.resolve(() => undefined);
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      const isLook = name === "listSleeping";
      if (!isLook && name !== after?.[0]) return member;
      return async (...args: unknown[]): Promise<unknown> => {
        if (isLook) await onLook();
        const result: unknown = await Reflect.apply(member, target, args);
        if (name === after?.[0]) after[1]();
        return result;
      };
    },
  });
}
