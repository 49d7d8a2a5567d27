import { existsSync } from "node:fs";

/** Resolves when the file is there; rejects when the signal says so first. Keeps the process alive meanwhile. */
export function untilThere(file: string, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      clearInterval(timer);
      settle();
    };
    const timer = setInterval(() => {
      if (existsSync(file)) end(resolve);
      else if (signal?.aborted === true) end(() => reject(new Error("told to stop while waiting")));
    }, 2);
  });
}
