// Shared by the models and tools of all scenarios: they record what they do, and wait where the order says.

import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ToolCallContext } from "../../../src/index.ts";
import { blockUntilExists, untilExists } from "../harness/signal-file.ts";
import { recordWitness } from "../harness/witness.ts";
import type { Variant, WaitSite } from "../harness/worker-order.ts";

/** The inputs of a scenario. */
export type Setting = {
  readonly folder: string;
  readonly variant: Variant;
  readonly wait: WaitSite | undefined;
};

/** Records that the tool was entered, has its effect, and waits before or after it if the order says so. */
export async function toolWork<T>(
  setting: Setting,
  name: string,
  order: string,
  call: ToolCallContext,
  effect: () => T | Promise<T>,
): Promise<T> {
  const { folder, wait } = setting;
  recordWitness(folder, { kind: "tried", ...toolWitness(name, order, call) });
  const waits =
    wait !== undefined &&
    wait.turn === call.turnIndex &&
    (wait.tool === undefined || wait.tool === name) &&
    (wait.orders === undefined || wait.orders.includes(order));
  if (setting.variant.readsBesideIn === call.turnIndex) readBeside(folder);
  await pause(setting);
  if (waits && wait.at === "before-effect") await waitForParent(setting, call.signal);
  const result = await effect();
  await pause(setting);
  if (waits && wait.at === "after-effect") await waitForParent(setting, call.signal);
  return result;
}

/** Reads all files in the folder, as a search, a backup or an upload does. */
function readBeside(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isFile()) readFileSync(join(folder, entry.name));
}

export function recordEffect(folder: string, name: string, order: string, call: ToolCallContext): void {
  recordWitness(folder, { kind: "effect", ...toolWitness(name, order, call) });
}

function toolWitness(name: string, order: string, call: ToolCallContext) {
  const { idempotencyKey: key, stepId, turnIndex: turn, turnKey, attempt } = call;
  return { tool: name, order, key, stepId, turn, turnKey, attempt };
}

/** A random time, so that a kill from outside can hit the worker anywhere. */
export async function pause({ variant }: Setting): Promise<void> {
  if (variant.longestPauseMs !== undefined) await sleep(Math.random() * variant.longestPauseMs);
}

export async function waitForParent(
  { folder, wait }: Setting,
  signal: AbortSignal | undefined,
): Promise<void> {
  recordWitness(folder, { kind: "waiting", place: wait?.at ?? "" });
  if (wait?.blocks === true) return blockUntilExists(join(folder, "release"));
  const stop = () => stopIfAsked(folder);
  await untilExists(join(folder, "release"), wait?.ignoresAbort === true ? undefined : signal, stop);
}

/**
 * The worker stops itself while no transaction is open: stopped from outside it could be renewing its lease, and then no
 * other process could write to the database.
 */
function stopIfAsked(folder: string): void {
  if (!existsSync(join(folder, "stop"))) return;
  rmSync(join(folder, "stop"));
  stopHere(folder);
}

/** Stops this process until the parent continues it. */
export function stopHere(folder: string): void {
  recordWitness(folder, { kind: "waiting", place: "stopped" });
  process.kill(process.pid, "SIGSTOP");
}
