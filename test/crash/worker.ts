// A process to be killed: works on one run as it is ordered to, and writes what became of it as its last line.

import { join } from "node:path";
import { openStore, PawlError, ResumeError, Runner } from "../../src/index.ts";
import { type CrashProbe, crashAt } from "../../src/testing/index.ts";
import { SCENARIOS } from "./scenarios.ts";
import { untilThere } from "./signal-file.ts";
import { bearWitness } from "./witness.ts";
import type { CrashSite, ReportedError, ReportedResult, WorkerOrder, WorkerReport } from "./worker-order.ts";

const order = JSON.parse(process.argv[2] ?? "null") as WorkerOrder;
const report = await work(order);
process.stdout.write(`${JSON.stringify(report)}\n`);

async function work({ folder, barrier, ...rest }: WorkerOrder): Promise<WorkerReport> {
  if (barrier === "before-open") await atBarrier(folder);
  const store = await openStore(`file:${join(folder, "pawl.db")}`);
  try {
    if (barrier === "after-open") await atBarrier(folder);
    const target = SCENARIOS[rest.scenario]({ folder, variant: rest.variant, wait: rest.wait });
    const runner = new Runner(target, {
      store,
      probe: probeOf(folder, rest),
      ...(rest.leaseMs === undefined ? {} : { leaseMs: rest.leaseMs }),
      ...(rest.variant.pricing === undefined ? {} : { pricing: rest.variant.pricing }),
    });
    return { kind: "result", result: await perform(runner, rest.act) };
  } catch (error) {
    return { kind: "error", error: describe(error) };
  } finally {
    await store.close();
  }
}

async function perform(runner: Runner, act: WorkerOrder["act"]): Promise<ReportedResult> {
  const stop = new AbortController();
  process.once("SIGTERM", () => stop.abort());
  const options = { ...act, signal: stop.signal };
  const result = await (act.do === "run"
    ? runner.run(act.input, options)
    : runner.resume(act.runId, options));
  return JSON.parse(JSON.stringify(result)) as ReportedResult;
}

async function atBarrier(folder: string): Promise<void> {
  bearWitness(folder, { kind: "waiting", place: "barrier" });
  await untilThere(join(folder, "go"));
}

function probeOf(folder: string, { crash, trace }: Pick<WorkerOrder, "crash" | "trace">): CrashProbe {
  const die = crash === undefined ? () => undefined : crashAtNth(crash);
  return (point, site) => {
    if (trace === true)
      bearWitness(folder, { kind: "reached", point, step: site.stepPath, turn: site.turnIndex });
    die(point, site);
  };
}

function crashAtNth({ point, occurrence = 1, ...where }: CrashSite): CrashProbe {
  const die = crashAt(point, where);
  let left = occurrence;
  return (reached, site) => {
    if (reached !== point || (where.turn !== undefined && where.turn !== site.turnIndex)) return;
    if (where.step !== undefined && where.step !== site.stepPath) return;
    left -= 1;
    if (left === 0) die(reached, site);
  };
}

function describe(error: unknown): ReportedError {
  if (!PawlError.isInstance(error)) throw error;
  const { name, message, details } = error;
  return { name, message, details, irrecoverable: error instanceof ResumeError ? error.irrecoverable : null };
}
