import { existsSync } from "node:fs";

/** Resolves when the file exists; rejects when the signal is aborted first. Keeps the process alive meanwhile. */
export function untilExists(file: string, signal?: AbortSignal, meanwhile = () => {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      clearInterval(timer);
      settle();
    };
    const timer = setInterval(() => {
      meanwhile();
      if (existsSync(file)) end(resolve);
      else if (signal?.aborted === true) end(() => reject(new Error("aborted while waiting")));
    }, 2);
  });
}

/** The same, but blocks the event loop: no timer fires, no answer is read, no lease is renewed. */
export function blockUntilExists(file: string): void {
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(file)) Atomics.wait(nothing, 0, 0, 2);
}
