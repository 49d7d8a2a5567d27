// A process to be killed: works on one run by its order, and writes the result as its last line.

import { join } from "node:path";
import { asksPermission } from "../../../src/core/wait.ts";
import {
  type CheckpointStore,
  DatabaseCheckpointStore,
  DurableMainLoop,
  FileCheckpointStore,
  openStore,
  PawlError,
  ResumeError,
  Runner,
  type RunnerOptions,
  type Store,
} from "../../../src/index.ts";
import { crashAt } from "../../../src/testing/crash-at.ts";
import type { CrashProbe } from "../../../src/testing/index.ts";
import { SCENARIOS } from "../scenarios/scenarios.ts";
import { stopHere } from "../scenarios/tool-work.ts";
import { dyingCheckpoints } from "./dying-checkpoints.ts";
import { untilExists } from "./signal-file.ts";
import { recordWitness } from "./witness.ts";
import type {
  CrashSite,
  PersonAnswers,
  ReportedError,
  ReportedResult,
  WorkerOrder,
  WorkerReport,
} from "./worker-order.ts";

const order = JSON.parse(process.argv[2] ?? "null") as WorkerOrder;
let ending: Promise<void> | null = null;
const report = await work(order);
// After SIGTERM the report is "closed", whatever the outcome of the run.
if (ending !== null) await (ending as Promise<void>);
process.stdout.write(`${JSON.stringify(report)}\n`);

async function work({ folder, barrier, ...rest }: WorkerOrder): Promise<WorkerReport> {
  if (barrier === "before-open") await atBarrier(folder);
  const store = await openStore(`file:${join(folder, "pawl.db")}`);
  try {
    if (barrier === "after-open") await atBarrier(folder);
    return { kind: "result", result: await runOrder(store, folder, rest) };
  } catch (error) {
    return { kind: "error", error: describe(error) };
  } finally {
    await store.close();
  }
}

type Orders = Omit<WorkerOrder, "folder" | "barrier">;

async function runOrder(store: Store, folder: string, orders: Orders): Promise<ReportedResult> {
  const { act, variant, wait, scenario } = orders;
  const target = SCENARIOS[scenario]({ folder, variant, wait });
  const runnerWith = { store, ...runnerOptions(folder, orders) };
  const stop = new AbortController();
  process.once("SIGTERM", () => {
    if (orders.closesWithin === undefined) stop.abort();
    else ending = end(store, orders);
  });
  const { signal } = stop;
  if (act.do === "execute") {
    for (const { runId } of act.answers === undefined ? [] : await store.listRuns())
      await answerAll(store, runId, act.answers ?? {});
    const warn = (message: string) => recordWitness(folder, { kind: "warned", message });
    const loop = new DurableMainLoop(target, {
      ...runnerWith,
      checkpoints: checkpointsOf(store, folder, orders),
      warn,
    });
    return reported(await loop.execute(act.request, { signal }));
  }
  const runner = new Runner(target, runnerWith);
  if (act.do === "run") {
    const { do: _, input, ...options } = act;
    return reported(await runner.run(input, { ...options, signal }));
  }
  if (act.do === "resume") {
    const { do: _, runId, ...options } = act;
    return reported(await runner.resume(runId, { ...options, signal }));
  }
  const { do: _, runId, answers, ...options } = act;
  await answerAll(store, runId, answers);
  return reported(await runner.resume(runId, { ...options, signal }));
}

/** Ends as a server does on SIGTERM. */
async function end(store: Store, { closesWithin = 0 }: Orders): Promise<void> {
  await store.close({ graceMs: closesWithin });
  const report: WorkerReport = { kind: "closed" };
  process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0));
  await new Promise(() => undefined);
}

function runnerOptions(folder: string, orders: Orders): RunnerOptions {
  const { leaseMs, variant } = orders;
  const { pricing, maxParallelToolCalls } = variant;
  return {
    probe: probeOf(folder, orders),
    ...(leaseMs === undefined ? {} : { leaseMs }),
    ...(orders.identity === undefined ? {} : { identity: orders.identity }),
    ...(pricing === undefined ? {} : { pricing }),
    ...(maxParallelToolCalls === undefined ? {} : { maxParallelToolCalls }),
  };
}

/** Every process that works in the folder has the same worker identity. */
function checkpointsOf(store: Store, folder: string, { act, death }: Orders): CheckpointStore {
  const checkpoints =
    act.do === "execute" && act.checkpoints === "file"
      ? FileCheckpointStore.forWorker(join(folder, "workers"), "worker-001")
      : new DatabaseCheckpointStore(store, "worker-001");
  return death === undefined ? checkpoints : dyingCheckpoints(checkpoints, death);
}

function reported(result: unknown): ReportedResult {
  return JSON.parse(JSON.stringify(result)) as ReportedResult;
}

/** Answers every open wait of the run, as a person would. */
async function answerAll(store: Store, runId: string, { approval, inDoubt }: PersonAnswers): Promise<void> {
  const person = { by: "maria" };
  for (const { waitId, kind, toolCallId, status } of await store.listWaits(runId)) {
    if (status !== "open") continue;
    if (asksPermission(kind) && approval === "approve") await store.approve(waitId, person);
    else if (asksPermission(kind) && typeof approval === "object")
      await store.deny(waitId, approval.deny, person);
    else if (kind === "in_doubt" && inDoubt !== undefined)
      await store.settle(toolCallId ?? "", inDoubt, person);
    else throw new Error(`The order has no answer to ${waitId} (${kind}).`);
  }
}

async function atBarrier(folder: string): Promise<void> {
  recordWitness(folder, { kind: "waiting", place: "barrier" });
  await untilExists(join(folder, "go"));
}

function probeOf(
  folder: string,
  { crash, stop, trace }: Pick<WorkerOrder, "crash" | "stop" | "trace">,
): CrashProbe {
  const die = crash === undefined ? () => undefined : atNth(crash, crashAt(crash.point));
  const pause = stop === undefined ? () => undefined : atNth(stop, () => stopHere(folder));
  return (point, site) => {
    if (trace === true)
      recordWitness(folder, { kind: "reached", point, step: site.stepPath, turn: site.turnIndex });
    pause(point, site);
    die(point, site);
  };
}

function atNth({ point, turn, step, occurrence = 1 }: CrashSite, act: CrashProbe): CrashProbe {
  let left = occurrence;
  return (reached, site) => {
    if (reached !== point || (turn !== undefined && turn !== site.turnIndex)) return;
    if (step !== undefined && step !== site.stepPath) return;
    left -= 1;
    if (left === 0) act(reached, site);
  };
}

function describe(error: unknown): ReportedError {
  if (!PawlError.isInstance(error)) throw error;
  const { name, message, details } = error;
  return { name, message, details, irrecoverable: error instanceof ResumeError ? error.irrecoverable : null };
}
