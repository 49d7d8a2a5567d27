import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { FairQueue, QueueFullError } from "./fair-queue.ts";

// Work on what strangers wrote, on a thread of its own: however long it takes, the process renews its leases meanwhile, and
// after a while it is given up on.

/** A job for a thread: its name in `off-thread-jobs.ts`, which loads the code for it, and the types of that code. */
export type Job<Input, Output> = { readonly name: string; readonly does?: (input: Input) => Output };

export type Limits = {
  /** Counted from when the thread has loaded what it needs. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** For whom it is done, such as a server: each has its turn. Unless said, all of one kind are one. */
  readonly source?: string;
};

/** Work that was given up on; `why` is the end of a sentence that begins with what was to be done. */
export class OffThreadError extends Error {
  readonly why: string;
  constructor(why: string, options?: ErrorOptions) {
    super(`The work on a thread of its own ${why}.`, options);
    this.why = why;
  }
}

export type WorkRequest = { readonly job: string; readonly input: unknown };
export type WorkAnswer =
  | { readonly kind: "begun" }
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "failed"; readonly message: string };

/** More at once would only take turns. */
const MOST_THREADS = Math.max(2, Math.min(4, availableParallelism()));
const MOST_MEGABYTES = 512;

/** Of the kind of this file: `.ts` among the sources, `.js` in the package. */
const WORKER = new URL(
  `../off-thread-worker${/\.\w+$/.exec(import.meta.url)?.[0] ?? ".js"}`,
  import.meta.url,
);

/** Of one source. An answer of a model has at most 128 calls. */
const MOST_WAITING = 256;

const idle: Worker[] = [];
const threads = new FairQueue(MOST_THREADS, MOST_WAITING);

/** Does a job on another thread. Rejects with an `OffThreadError` where it fails or takes too long, and as the signal says. */
export async function offThread<Input, Output>(
  { name: job }: Job<Input, Output>,
  input: Input,
  limits: Limits,
): Promise<Output> {
  const { source = job, signal } = limits;
  try {
    const answer = await threads.run(source, signal, () => askWorker({ job, input }, limits));
    return answer as Output; // off-thread-jobs.ts is checked against the type of the job
  } catch (error) {
    if (!(error instanceof QueueFullError)) throw error;
    throw new OffThreadError(`is not begun while ${MOST_WAITING} others of its kind wait`);
  }
}

async function askWorker(request: WorkRequest, { timeoutMs, signal }: Limits): Promise<unknown> {
  const worker = idle.pop() ?? startWorker();
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
    rest(worker);
  };
  const onError = (error: Error) => giveUp(new OffThreadError(endOf(error), { cause: error }));
  const onExit = () => reject(new OffThreadError("ended before it was done"));
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

/** It gets nothing of the environment: what it reads may have been written by anybody. */
function startWorker(): Worker {
  const worker = new Worker(WORKER, {
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEGABYTES },
  });
  // Also while it has nothing to do: an error that nobody hears of would end the process.
  worker.on("error", () => forget(worker));
  worker.on("exit", () => forget(worker));
  return worker;
}

/** The next job finds it warm; the process does not wait for it to end. */
function rest(worker: Worker): void {
  worker.unref();
  idle.push(worker);
}

function forget(worker: Worker): void {
  const at = idle.indexOf(worker);
  if (at !== -1) idle.splice(at, 1);
}

function endOf(error: Error & { readonly code?: string }): string {
  return error.code === "ERR_WORKER_OUT_OF_MEMORY"
    ? `needs more than ${MOST_MEGABYTES} MB`
    : `failed: ${error.message}`;
}
