import { type ChildProcess, spawn } from "node:child_process";
import { extname } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { TELLING_DESCRIPTOR, type WorkerMessage, type WorkerOrder } from "./worker-order.ts";

/** Beside this file, in the language that this one is in: TypeScript in a clone, JavaScript when it is installed. */
const WORKER = fileURLToPath(new URL(`./worker${extname(import.meta.url)}`, import.meta.url));

/** One process of the worker, seen from outside. */
export type WorkerLife = {
  /** What it has told so far. */
  readonly messages: readonly WorkerMessage[];
  /** When it is gone and everything that it told has been heard. Rejects where it tells nothing for too long. */
  readonly end: Promise<WorkerEnd>;
  kill(): void;
};

export type WorkerEnd = {
  /** Null where no signal ended it. */
  readonly signal: NodeJS.Signals | null;
  /** What it wrote where nothing should be. */
  readonly stderr: string;
};

export function startWorker(
  order: WorkerOrder,
  environment: NodeJS.ProcessEnv,
  patienceMs: number,
  onMessage: (message: WorkerMessage) => void,
): WorkerLife {
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
    hangs.reject(new Error(`A process of the job hangs. The last that it told is ${last}`));
  }, patienceMs);
  const heard = listen(child, (message) => {
    silence.refresh();
    messages.push(message);
    onMessage(message);
  });
  const gone = Promise.all([endOf(child), heard]).finally(() => clearTimeout(silence));
  return {
    messages,
    end: Promise.race([gone.then(([end]) => end), hangs.promise]),
    kill,
  };
}

/** A line that a kill has cut off is not one. */
async function listen(child: ChildProcess, onMessage: (message: WorkerMessage) => void): Promise<void> {
  const told = child.stdio[TELLING_DESCRIPTOR] as Readable;
  for await (const line of createInterface({ input: told })) {
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
