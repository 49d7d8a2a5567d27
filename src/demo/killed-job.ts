import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CrashPoint } from "../engine/ports/crash-points.ts";
import type { Effect } from "./answer-hold.ts";
import type { Phase } from "./job-pipeline.ts";
import type { Kill } from "./kill-plan.ts";
import type { Outside } from "./outside.ts";
import { startWorker, type WorkerLife } from "./worker-life.ts";
import type { StopPlace, WorkerMessage } from "./worker-order.ts";

/** How a process died. */
export type Death =
  | { readonly kind: "point"; readonly phase: string; readonly point: CrashPoint; readonly turn: number }
  | { readonly kind: "outside"; readonly phase: Phase; readonly effect: Effect; readonly what: string }
  | { readonly kind: "time" };

/** Each effect that the outside has had, however often, counted once. */
export type EffectCounts = {
  readonly pages: number;
  readonly modelCalls: number;
  readonly files: number;
  readonly uploads: number;
  readonly mails: number;
  readonly notifications: number;
};

/** One process, from its start to its end. */
export type Life = {
  readonly messages: readonly WorkerMessage[];
  /** Null where it came to an end by itself. */
  readonly death: Death | null;
  /** What had happened outside by its end, by this and all earlier processes. */
  readonly done: EffectCounts;
};

export type KilledJob = {
  /** Has the job file in it. */
  readonly folder: string;
  readonly outside: Outside;
  /** One for each process but the last. */
  readonly kills: readonly Kill[];
  readonly environment: NodeJS.ProcessEnv;
  readonly onLife?: (life: Life) => void;
  /** How long a process may tell nothing before it is given up on; five minutes unless said, for slow models. */
  readonly patienceMs?: number;
  /** Kills the process that is at work, and ends everything. */
  readonly signal?: AbortSignal;
};

export const REPORT_FILES = ["report.html", "report.pdf"] as const;

const PATIENCE_MS = 300_000;

/** A stop that no phase reaches by counting: its last point. */
const LAST = 1_000_000;

/**
 * Works on the job until it is done, in one process after the other: each is killed as planned, and the next one goes on.
 * Rejects where a process ends in any other way.
 */
export async function runKilled(job: KilledJob): Promise<readonly Life[]> {
  const lives: Life[] = [];
  for (let i = 0; lives.at(-1)?.death !== null || lives.length === 0; i++) {
    const kill = job.kills[i] ?? null;
    const life = await liveOnce(job, kill, lives);
    lives.push(life);
    job.onLife?.(life);
  }
  return lives;
}

async function liveOnce(job: KilledJob, kill: Kill | null, before: readonly Life[]): Promise<Life> {
  job.signal?.throwIfAborted();
  const { folder, outside, environment } = job;
  const begun = Promise.withResolvers<void>();
  const stands = Promise.withResolvers<Death>();
  const order = { folder, outside: outside.addresses, stop: stopOf(kill) };
  // Set up first: the effect may be had before anybody gets to wait for it.
  const held = kill?.kind === "outside" ? outside.hold.next(kill.effect) : null;
  const worker = startWorker(order, environment, job.patienceMs ?? PATIENCE_MS, (message) => {
    if (message.kind === "event") begun.resolve();
    if (message.kind !== "stands") return;
    const { phase, point, turn } = message;
    stands.resolve({ kind: "point", phase, point, turn });
  });
  const stop = () => worker.kill();
  job.signal?.addEventListener("abort", stop, { once: true });
  const planned = deathOf(kill, stands.promise, held, begun.promise);
  const death = await Promise.race([planned, worker.end.then(() => null)]);
  worker.kill();
  const { signal, stderr } = await worker.end;
  outside.hold.release();
  job.signal?.removeEventListener("abort", stop);
  job.signal?.throwIfAborted();
  // It may have come to its end by itself right before it was to be killed.
  const isKilled = death !== null && signal === "SIGKILL";
  if (!isKilled) assertSucceeded(worker, stderr);
  const { messages } = worker;
  const all = [...before, { messages }].flatMap((life) => life.messages);
  return { messages, death: isKilled ? death : null, done: countEffects(folder, outside, all) };
}

/** One that is to die inside of the outside stands still at the end of its phase, should it come so far. */
function stopOf(kill: Kill | null): StopPlace | null {
  if (kill === null || kill.kind === "time") return null;
  return { phase: kill.phase, nth: kill.kind === "point" ? kill.nth : LAST };
}

function deathOf(
  kill: Kill | null,
  stands: Promise<Death>,
  held: Promise<string> | null,
  begun: Promise<void>,
): Promise<Death> {
  if (kill?.kind === "time")
    return begun.then(() => sleep(kill.afterMs)).then(() => ({ kind: "time" as const }));
  if (kill?.kind !== "outside" || held === null) return stands;
  const { phase, effect } = kill;
  return Promise.race([stands, held.then((what): Death => ({ kind: "outside", phase, effect, what }))]);
}

function assertSucceeded({ messages }: WorkerLife, stderr: string): void {
  const last = messages.at(-1);
  if (last?.kind === "ended" && last.status === "succeeded") return;
  const why =
    last?.kind === "failed"
      ? last.message
      : last?.kind === "ended"
        ? `It is ${last.status}: ${last.output}`
        : stderr;
  throw new Error(`A process of the job ended before it was done. ${why.trim()}`);
}

function countEffects(folder: string, outside: Outside, messages: readonly WorkerMessage[]): EffectCounts {
  const asked = messages.flatMap((each) => (each.kind === "asked" ? [`${each.phase} ${each.turn}`] : []));
  return {
    pages: new Set(outside.site.requests).size,
    modelCalls: new Set(asked).size,
    files: REPORT_FILES.filter((name) => existsSync(join(folder, name))).length,
    uploads: outside.uploads.objects.size,
    mails: new Set(outside.mail.accepted.map(({ messageId }) => messageId)).size,
    notifications: outside.notifications.shown.size,
  };
}
