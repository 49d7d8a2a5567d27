import { type ChildProcess, spawn } from "node:child_process";
import { extname } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { MESSAGE_DESCRIPTOR, type WorkerMessage, type WorkerOrder } from "./worker-order.ts";

/** The worker beside this file: TypeScript in a clone, JavaScript when installed. */
const WORKER = fileURLToPath(new URL(`./worker${extname(import.meta.url)}`, import.meta.url));

/** A worker process, as seen by its parent. */
export type WorkerProcess = {
  /** The messages received so far. */
  readonly messages: readonly WorkerMessage[];
  /** Resolves when it has exited and all its messages are read. Rejects if it is silent for too long. */
  readonly end: Promise<WorkerEnd>;
  kill(): void;
};

type WorkerEnd = {
  /** Null if no signal ended it. */
  readonly signal: NodeJS.Signals | null;
  /** Unexpected output. */
  readonly stderr: string;
};

export function startWorker(
  order: WorkerOrder,
  environment: NodeJS.ProcessEnv,
  patienceMs: number,
  onMessage: (message: WorkerMessage) => void,
): WorkerProcess {
  const child = spawn(process.execPath, [WORKER, JSON.stringify(order)], {
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    env: environment,
  });
  const messages: WorkerMessage[] = [];
  const kill = () => void child.kill("SIGKILL");
  const hangs = Promise.withResolvers<never>();
  const silence = setTimeout(() => {
    kill();
    const last = JSON.stringify(messages.at(-1) ?? null).slice(0, 300);
    hangs.reject(new Error(`A process of the job hangs. Its last message is ${last}`));
  }, patienceMs);
  const read = readMessages(child, (message) => {
    silence.refresh();
    messages.push(message);
    onMessage(message);
  });
  const gone = Promise.all([endOf(child), read]).finally(() => clearTimeout(silence));
  return {
    messages,
    end: Promise.race([gone.then(([end]) => end), hangs.promise]),
    kill,
  };
}

/** Reads the messages of a worker; a line cut off by a kill is ignored. */
async function readMessages(child: ChildProcess, onMessage: (message: WorkerMessage) => void): Promise<void> {
  const input = child.stdio[MESSAGE_DESCRIPTOR] as Readable;
  for await (const line of createInterface({ input })) {
    const message = parse(line);
    if (message !== null) onMessage(message);
  }
}

function parse(line: string): WorkerMessage | null {
  try {
    return JSON.parse(line) as WorkerMessage;
  } catch {
    return null;
  }
}

async function endOf(child: ChildProcess): Promise<WorkerEnd> {
  const stderr = child.stderr === null ? Promise.resolve("") : text(child.stderr);
  const signal = await new Promise<NodeJS.Signals | null>((resolve, reject) => {
    child.once("error", reject).once("close", (_code, ended) => resolve(ended));
  });
  return { signal, stderr: await stderr };
}
