import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CrashPoint } from "../engine/ports/crash-points.ts";
import type { DemoEffect } from "./answer-hold.ts";
import type { Phase } from "./job-pipeline.ts";
import type { Kill } from "./kill-plan.ts";
import type { DemoServices } from "./outside.ts";
import type { StopPoint, WorkerMessage } from "./worker-order.ts";
import { startWorker, type WorkerProcess } from "./worker-process.ts";

/** How a process died. */
export type Death =
  | { readonly kind: "point"; readonly phase: string; readonly point: CrashPoint; readonly turn: number }
  | { readonly kind: "outside"; readonly phase: Phase; readonly effect: DemoEffect; readonly what: string }
  | { readonly kind: "time" };

/** The number of distinct effects on the services, each counted once. */
export type EffectCounts = {
  readonly pages: number;
  readonly modelCalls: number;
  readonly files: number;
  readonly uploads: number;
  readonly mails: number;
  readonly notifications: number;
};

/** One process, from its start to its end. */
export type ProcessLife = {
  readonly messages: readonly WorkerMessage[];
  /** Null if it finished the job. */
  readonly death: Death | null;
  /** The effects of this and all earlier processes by its end. */
  readonly done: EffectCounts;
};

export type KilledJob = {
  /** Contains the job file. */
  readonly folder: string;
  readonly outside: DemoServices;
  /** One for each process but the last. */
  readonly kills: readonly Kill[];
  readonly environment: NodeJS.ProcessEnv;
  /** The next process starts once it has resolved. */
  readonly onLife?: (life: ProcessLife) => Promise<void> | void;
  /** How long a process may be silent before it is killed; five minutes by default, for slow models. */
  readonly patienceMs?: number;
  /** Kills the current process and ends the demo. */
  readonly signal?: AbortSignal;
};

export const REPORT_FILES = ["report.html", "report.pdf"] as const;

const PATIENCE_MS = 300_000;

/** More points than any phase has: stops at its last point. */
const LAST = 1_000_000;

/**
 * Works on the job until it is done, in one process after the other: each is killed as planned, and the next one resumes the
 * run. Rejects if a process ends in any other way.
 */
export async function runKilled(job: KilledJob): Promise<readonly ProcessLife[]> {
  const lives: ProcessLife[] = [];
  for (let i = 0; lives.at(-1)?.death !== null || lives.length === 0; i++) {
    const kill = job.kills[i] ?? null;
    const life = await runOnce(job, kill, lives);
    lives.push(life);
    await job.onLife?.(life);
  }
  return lives;
}

async function runOnce(
  job: KilledJob,
  kill: Kill | null,
  before: readonly ProcessLife[],
): Promise<ProcessLife> {
  job.signal?.throwIfAborted();
  const { folder, outside, environment } = job;
  const started = Promise.withResolvers<void>();
  const halted = Promise.withResolvers<Death>();
  const order = { folder, outside: outside.addresses, stop: stopOf(kill) };
  // Set up first: the effect may happen before anything awaits it.
  const held = kill?.kind === "outside" ? outside.hold.next(kill.effect) : null;
  const worker = startWorker(order, environment, job.patienceMs ?? PATIENCE_MS, (message) => {
    if (message.kind === "event") started.resolve();
    if (message.kind !== "halted") return;
    const { phase, point, turn } = message;
    halted.resolve({ kind: "point", phase, point, turn });
  });
  const stop = () => worker.kill();
  job.signal?.addEventListener("abort", stop, { once: true });
  const planned = deathOf(kill, halted.promise, held, started.promise);
  const death = await Promise.race([planned, worker.end.then(() => null)]);
  worker.kill();
  const { signal, stderr } = await worker.end;
  outside.hold.release();
  job.signal?.removeEventListener("abort", stop);
  job.signal?.throwIfAborted();
  // It may have finished right before it was to be killed.
  const isKilled = death !== null && signal === "SIGKILL";
  if (!isKilled) assertSucceeded(worker, stderr);
  const { messages } = worker;
  const all = [...before, { messages }].flatMap((life) => life.messages);
  return { messages, death: isKilled ? death : null, done: countEffects(folder, outside, all) };
}

/** A process that will be killed inside a service halts at the end of its phase, if it gets that far. */
function stopOf(kill: Kill | null): StopPoint | null {
  if (kill === null || kill.kind === "time") return null;
  return { phase: kill.phase, nth: kill.kind === "point" ? kill.nth : LAST };
}

function deathOf(
  kill: Kill | null,
  halted: Promise<Death>,
  held: Promise<string> | null,
  started: Promise<void>,
): Promise<Death> {
  if (kill?.kind === "time")
    return started.then(() => sleep(kill.afterMs)).then(() => ({ kind: "time" as const }));
  if (kill?.kind !== "outside" || held === null) return halted;
  const { phase, effect } = kill;
  return Promise.race([halted, held.then((what): Death => ({ kind: "outside", phase, effect, what }))]);
}

function assertSucceeded({ messages }: WorkerProcess, stderr: string): void {
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

function countEffects(
  folder: string,
  outside: DemoServices,
  messages: readonly WorkerMessage[],
): EffectCounts {
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
