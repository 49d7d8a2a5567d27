import { setTimeout as sleep } from "node:timers/promises";
import { isBusy, storeError } from "./sqlite-error.ts";

const DEADLINE_MS = 10_000;

/** Retries, without blocking the thread, while another process has the file locked. */
export async function whileBusy<T>(file: string, work: () => T): Promise<T> {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      if (!isBusy(cause) || performance.now() > deadline) throw storeError(error, file);
    }
    await sleep(10);
  }
}
