// The code of a thread of `off-thread.ts`: it runs one job after the other.

import { parentPort } from "node:worker_threads";
import type { WorkAnswer, WorkRequest } from "./net/off-thread.ts";
import { THREAD_JOBS } from "./off-thread-jobs.ts";

const answer = (message: WorkAnswer) => parentPort?.postMessage(message);

async function perform({ job, input }: WorkRequest): Promise<void> {
  try {
    const load = Object.entries(THREAD_JOBS).find(([name]) => name === job)?.[1];
    if (load === undefined) throw new Error(`There is no job "${job}" in off-thread-jobs.ts.`);
    const work = (await load()) as (input: unknown) => unknown;
    answer({ kind: "begun" });
    answer({ kind: "done", value: await work(input) });
  } catch (error) {
    answer({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
  }
}

parentPort?.on("message", (request: WorkRequest) => void perform(request));
