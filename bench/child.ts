/**
 * `node bench/child.ts work FILE NAME RUNS TURNS` and `node bench/child.ts resume FILE`: the part of a measurement that
 * needs a process of its own. Prints "ready", waits for a line, works, and prints the milliseconds that it took.
 */
import { once } from "node:events";
import { openStore, Runner } from "../src/index.ts";
import { interrupted, refuse, runTogether } from "./measure.ts";
import { benchStep, instantModel } from "./workload.ts";

const [kind = "", file = "", name = "", runs = "", turns = ""] = process.argv.slice(2);

/** One more than the run has. */
const RESUMED_TURNS = 1_001;

// Loads the modules of the engine, which wait for the first run.
const memory = await openStore(":memory:");
await runTogether(memory, "warm", 1, 3);
await memory.close();

if (kind === "resume") await measure(() => resume(file));
else await measure(() => work(file, name, Number(runs), Number(turns)));

async function measure(task: () => Promise<number>): Promise<void> {
  console.log("ready");
  await once(process.stdin, "data");
  console.log(await task());
  process.stdin.destroy();
}

async function work(file: string, name: string, runs: number, turns: number): Promise<number> {
  const store = await openStore(`file:${file}`);
  const elapsed = await runTogether(store, name, runs, turns);
  await store.close();
  return elapsed;
}

/** From opening the store to the request to the model, which it refuses. */
async function resume(file: string): Promise<number> {
  const start = performance.now();
  const store = await openStore(`file:${file}`);
  let asked = Number.NaN;
  const respond = () => {
    asked = performance.now();
    return refuse();
  };
  const step = benchStep({ ...instantModel(1), respond }, RESUMED_TURNS);
  await interrupted(new Runner(step, { store }).resume("run"));
  await store.close();
  return asked - start;
}
