import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { openStore } from "../src/index.ts";
import { freshStore } from "./measure.ts";

const CHILD = fileURLToPath(new URL("child.ts", import.meta.url));

/** `runs` runs in each of several processes on one database, all at once; returns turns a second of all together. */
export async function workTogether(
  file: string,
  processes: number,
  runs: number,
  turns: number,
): Promise<number> {
  await (await freshStore(file)).close();
  const children = await Promise.all(
    Array.from({ length: processes }, (_, i) =>
      startChild("work", file, `p${i}`, String(runs), String(turns)),
    ),
  );
  const elapsed = await Promise.all(children.map((child) => child.go()));
  return (processes * runs * turns * 1_000) / Math.max(...elapsed);
}

/** Milliseconds from opening the store to the request to the model, in a new process. */
export async function resumeInNewProcess(file: string): Promise<number> {
  // What the process before left in the WAL is not part of it.
  await (await openStore(`file:${file}`)).close();
  return (await startChild("resume", file)).go();
}

async function startChild(...args: readonly string[]): Promise<{ go(): Promise<number> }> {
  const child = spawn(process.execPath, [CHILD, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  if ((await lines.next()).value !== "ready") throw await failure(child);
  return {
    go: async () => {
      child.stdin.write("go\n");
      const elapsed = Number((await lines.next()).value);
      if (Number.isNaN(elapsed)) throw await failure(child);
      if (child.exitCode === null) await once(child, "exit");
      return elapsed;
    },
  };
}

async function failure(child: ChildProcess): Promise<Error> {
  if (child.exitCode === null) await once(child, "exit");
  return new Error(`A process of the measurement ended with ${child.exitCode}.`);
}
