// Telling Restate of runs from outside: over its ingress, which is plain HTTP, so that no client is needed.

import { ConfigurationError } from "../../core/errors.ts";
import { assertOptions, type OptionNames } from "../../core/naming/option-names.ts";
import { assertRunId } from "../../core/step-path.ts";
import type { Store } from "../../store/store.ts";

export const OBJECT_NAME = "pawl-run";

/** Where the ingress of Restate is: its address, with headers where it wants a token. */
export type RestateIngress =
  | string
  | { readonly url: string; readonly headers?: { readonly [name: string]: string } };

/** Options of `wake`. */
export type WakeOptions = {
  /** The name of the virtual object; `pawl-run` by default. */
  readonly name?: string;
};

/** Options of `sweepReady`. */
export type SweepOptions = WakeOptions & {
  /** The pipelines that Restate drives. */
  readonly pipelines: readonly string[];
  /** The queues that it drives; `["default"]` by default. */
  readonly queues?: readonly string[];
};

const WAKE_NAMES = { name: true } satisfies OptionNames<WakeOptions>;
const SWEEP_NAMES = { name: true, pipelines: true, queues: true } satisfies OptionNames<SweepOptions>;

/** How long Restate may take to accept an invocation. */
const ACCEPTED_WITHIN_MS = 10_000;

/** The most runs of a kind in one sweep. The others follow, once these have ended or wait. */
const MOST_SWEPT = 1_000;

/** The most requests at a time. */
const AT_ONCE = 16;

/**
 * Tells Restate to work on the run: after an answer, an approval or a message that did not come through Restate. It may be
 * called at any time and any number of times. Resolves when Restate has stored it.
 *
 * @example
 * import { wake } from "pawl/restate";
 *
 * await store.answer("order-7~1", "green");
 * await wake("http://127.0.0.1:8080", "order-7");
 */
export async function wake(ingress: RestateIngress, runId: string, options: WakeOptions = {}): Promise<void> {
  assertOptions("The third argument of wake", options, WAKE_NAMES);
  assertRunId(runId);
  await sendAdvance(ingress, runId, options, {});
}

/**
 * Tells Restate of every run that could continue and that it may not have heard of: ready ones, those whose time has come, and
 * those that a dead process left. Call it every few seconds, in one process or in all of them. Resolves to the runs.
 *
 * @example
 * import { sweepReady } from "pawl/restate";
 *
 * setInterval(() => sweepReady(store, "http://127.0.0.1:8080", { pipelines: ["report"] }).catch(console.error), 10_000);
 */
export async function sweepReady(
  store: Pick<Store, "getRun" | "listReady" | "listSleeping" | "listAbandoned">,
  ingress: RestateIngress,
  options: SweepOptions,
): Promise<readonly string[]> {
  assertOptions("The third argument of sweepReady", options, SWEEP_NAMES, { pipeline: "pipelines" });
  const { pipelines, queues = ["default"] } = options;
  const isDriven = (run: { readonly pipeline: string; readonly queue: string } | null) =>
    run !== null && pipelines.includes(run.pipeline) && queues.includes(run.queue);
  const ready = await store.listReady({ pipelines, queues, limit: MOST_SWEPT });
  const abandoned = await store.listAbandoned();
  const runIds = new Set([...ready, ...abandoned.filter(isDriven)].map(({ runId }) => runId));
  for (const { runId, inMs } of await store.listSleeping({ limit: MOST_SWEPT }))
    if (inMs === 0 && isDriven(await store.getRun(runId))) runIds.add(runId);
  const left = [...runIds];
  // Restate drops one that it still has of an earlier sweep, so that a run that makes no progress does not collect them.
  const headers = { "idempotency-key": "pawl-sweep" };
  const send = async () => {
    for (let runId = left.pop(); runId !== undefined; runId = left.pop())
      await sendAdvance(ingress, runId, options, headers);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
  return [...runIds];
}

async function sendAdvance(
  ingress: RestateIngress,
  runId: string,
  { name = OBJECT_NAME }: WakeOptions,
  headers: { readonly [name: string]: string },
): Promise<void> {
  const { url, headers: own = {} } = typeof ingress === "string" ? { url: ingress } : ingress;
  const path = `${encodeURIComponent(name)}/${encodeURIComponent(runId)}/advance/send`;
  const response = await fetch(new URL(path, url.endsWith("/") ? url : `${url}/`), {
    method: "POST",
    headers: { ...own, ...headers },
    signal: AbortSignal.timeout(ACCEPTED_WITHIN_MS),
  });
  const text = await response.text();
  if (!response.ok)
    throw new ConfigurationError(
      `Restate at ${url} did not accept run ${runId} (${response.status}): ${text.slice(0, 200)} Check the address, and that ${name} is registered.`,
    );
}
