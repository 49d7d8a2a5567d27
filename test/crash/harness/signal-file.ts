import { existsSync } from "node:fs";

/** Resolves when the file is there; rejects when the signal says so first. Keeps the process alive meanwhile. */
export function untilThere(file: string, signal?: AbortSignal, meanwhile = () => {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      clearInterval(timer);
      settle();
    };
    const timer = setInterval(() => {
      meanwhile();
      if (existsSync(file)) end(resolve);
      else if (signal?.aborted === true) end(() => reject(new Error("told to stop while waiting")));
    }, 2);
  });
}

/** The same without letting anything else of the process have its turn: no timer, no answer, no lease. */
export function blockUntilThere(file: string): void {
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(file)) Atomics.wait(nothing, 0, 0, 2);
}
