import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { FairQueue, QueueFullError } from "./fair-queue.ts";

// Runs work on untrusted input on a worker thread: however long it takes, the process keeps renewing its leases, and the
// work is stopped after a time limit.

/** A job for a thread: its name in `off-thread-jobs.ts`, which loads its code, and the types of that code. */
export type ThreadJob<Input, Output> = { readonly name: string; readonly does?: (input: Input) => Output };

export type ThreadLimits = {
  /** Counted from when the thread has loaded the code. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** The source of the work, such as a server: sources take turns. By default, all jobs of one name are one source. */
  readonly source?: string;
};

/** Work that failed or was stopped. `why` is the end of a sentence whose subject is the work. */
export class OffThreadError extends Error {
  readonly why: string;
  constructor(why: string, options?: ErrorOptions) {
    super(`The work on a worker thread ${why}.`, options);
    this.why = why;
  }
}

export type WorkRequest = { readonly job: string; readonly input: unknown };
export type WorkAnswer =
  | { readonly kind: "begun" }
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "failed"; readonly message: string };

/**
 * What a thread is given when it starts: the address of the zod that Pawl itself uses, or null. A thread that is started from
 * text cannot look for packages.
 */
export type ThreadData = { readonly zod: string | null };

/** More threads than cores would only compete. */
const MOST_THREADS = Math.max(2, Math.min(4, availableParallelism()));
const MOST_MEGABYTES = 512;

/** Per source. A model's answer has at most 128 calls. */
const MOST_WAITING = 256;

const idle: Worker[] = [];
const threads = new FairQueue(MOST_THREADS, MOST_WAITING);

/** Runs a job on another thread. Rejects with an `OffThreadError` if it fails or takes too long, or with the signal's reason. */
export async function offThread<Input, Output>(
  { name: job }: ThreadJob<Input, Output>,
  input: Input,
  limits: ThreadLimits,
): Promise<Output> {
  const { source = job, signal } = limits;
  try {
    const answer = await threads.run(source, signal, () => askWorker({ job, input }, limits));
    return answer as Output; // off-thread-jobs.ts is checked against the type of the job
  } catch (error) {
    if (!(error instanceof QueueFullError)) throw error;
    throw new OffThreadError(`was not started: ${MOST_WAITING} others of its kind are waiting`);
  }
}

async function askWorker(request: WorkRequest, { timeoutMs, signal }: ThreadLimits): Promise<unknown> {
  const worker = idle.pop() ?? (await startWorker());
  // Aborted while the thread was being started: its listener, added below, would never be called.
  if (signal?.aborted === true) {
    makeIdle(worker);
    throw signal.reason;
  }
  worker.ref();
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const giveUp = (error: Error) => {
    void worker.terminate();
    reject(error);
  };
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => giveUp(signal?.reason as Error);
  const onAnswer = (answer: WorkAnswer) => {
    if (answer.kind === "begun") {
      timer = setTimeout(() => giveUp(new OffThreadError(`took longer than ${timeoutMs} ms`)), timeoutMs);
      return;
    }
    if (answer.kind === "done") resolve(answer.value);
    else reject(new OffThreadError(`failed: ${answer.message}`));
    makeIdle(worker);
  };
  const onError = (error: Error) => giveUp(new OffThreadError(whyEnded(error), { cause: error }));
  const onExit = () => reject(new OffThreadError("was stopped before it was done"));
  worker.on("message", onAnswer).on("error", onError).on("exit", onExit);
  signal?.addEventListener("abort", onAbort, { once: true });
  worker.postMessage(request);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    worker.off("message", onAnswer).off("error", onError).off("exit", onExit);
  }
}

/** It gets no environment variables: its input is untrusted. */
async function startWorker(): Promise<Worker> {
  // Loaded on demand: in the package it is a long text.
  const { THREAD_CODE } = await import("./thread-code.ts");
  const worker = new Worker(THREAD_CODE, {
    eval: typeof THREAD_CODE === "string",
    env: {},
    execArgv: [],
    workerData: { zod: addressOf("zod") } satisfies ThreadData,
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEGABYTES },
  });
  // Also while it is idle: an unhandled error would end the process.
  worker.on("error", () => forget(worker));
  worker.on("exit", () => forget(worker));
  return worker;
}

/** Null in a program in one file, where the package need not be installed. */
function addressOf(name: string): string | null {
  try {
    return import.meta.resolve(name);
  } catch {
    return null;
  }
}

/** Keeps it warm for the next job, without keeping the process alive. */
function makeIdle(worker: Worker): void {
  worker.unref();
  idle.push(worker);
}

function forget(worker: Worker): void {
  const at = idle.indexOf(worker);
  if (at !== -1) idle.splice(at, 1);
}

function whyEnded(error: Error & { readonly code?: string }): string {
  return error.code === "ERR_WORKER_OUT_OF_MEMORY"
    ? `needed more than ${MOST_MEGABYTES} MB`
    : `failed: ${error.message}`;
}
