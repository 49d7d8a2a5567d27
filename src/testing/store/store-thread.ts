import { Worker } from "node:worker_threads";
import { PawlError } from "../../core/errors.ts";
import type { Store } from "../../store/store.ts";

/** How a thread of its own opens a store on a database. */
export type StoreOnThread = {
  /** The URL of a module whose default export opens a store, given `data`, with the clocks of its thread. */
  readonly module: string;
  /** What that function gets; it is copied to the thread. */
  readonly data: unknown;
  /** Whose clock leases are measured by: the server's, which all processes share, or that of each process. */
  readonly clock: "server" | "process";
};

/** A store on a thread of its own. What its methods get and return is copied, so those that return functions fail. */
export type ThreadedStore = { readonly store: Store; end(): Promise<void> };

type ThreadReply = {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: { readonly name: string; readonly message: string };
};

/** As text: a built package has no file of its own for it. Plain JavaScript, which each version of Node runs. */
const THREAD = `
const { parentPort, workerData } = require("node:worker_threads");
const { module, data, clockOffMs } = workerData;
const now = Date.now;
Date.now = () => now() + clockOffMs;
const reply = async (id, work) => {
  try {
    parentPort.postMessage({ id, value: await work() });
  } catch (error) {
    parentPort.postMessage({ id, error: { ...error, name: error.name, message: error.message } });
  }
};
const opened = import(module).then((loaded) => loaded.default(data));
reply(0, () => opened.then(() => undefined));
parentPort.on("message", ({ id, method, args }) => reply(id, async () => (await opened)[method](...args)));
`;

/** Opens a store on a thread of its own, whose clock is off by so much. */
export async function openOnThread(
  { module, data }: StoreOnThread,
  clockOffMs: number,
): Promise<ThreadedStore> {
  const worker = new Worker(THREAD, { eval: true, workerData: { module, data, clockOffMs } });
  const waiting = new Map<number, (reply: ThreadReply) => void>();
  worker.on("message", (reply: ThreadReply) => {
    waiting.get(reply.id)?.(reply);
    waiting.delete(reply.id);
  });
  worker.on("error", (error: Error) => {
    for (const [id, answer] of waiting) answer({ id, error });
    waiting.clear();
  });
  const answerTo = async (id: number) => {
    const { error, value } = await new Promise<ThreadReply>((resolve) => waiting.set(id, resolve));
    if (error !== undefined) throw copiedError(error);
    return value;
  };
  await answerTo(0);
  let calls = 0;
  const store = new Proxy({} as Store, {
    get: (_, method) => {
      // A promise would be awaited.
      if (method === "then") return undefined;
      return (...args: readonly unknown[]) => {
        const answer = answerTo(++calls);
        worker.postMessage({ id: calls, method, args });
        return answer;
      };
    },
  });
  return {
    store,
    end: async () => {
      await store.close({ graceMs: 0 }).catch(() => undefined);
      await worker.terminate();
    },
  };
}

/** The error of a thread, as one that `isInstance` recognises by its name. */
function copiedError(error: { readonly name: string; readonly message: string }): Error {
  const marker = Object.getOwnPropertySymbols(PawlError.prototype)[0];
  const marked = marker === undefined || !error.name.endsWith("Error") ? {} : { [marker]: true };
  return Object.assign(new Error(error.message), error, marked);
}
