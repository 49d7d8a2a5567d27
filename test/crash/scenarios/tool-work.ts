// What the models and tools of all scenarios have in common: they tell what they do, and wait where they are told to.

import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ToolCallContext } from "../../../src/index.ts";
import { blockUntilThere, untilThere } from "../harness/signal-file.ts";
import { bearWitness } from "../harness/witness.ts";
import type { Variant, WaitingPlace } from "../harness/worker-order.ts";

/** What a scenario is made from. */
export type Setting = {
  readonly folder: string;
  readonly variant: Variant;
  readonly wait: WaitingPlace | undefined;
};

/** Tells that it was entered, has its effect, and waits before or after it where it was told to. */
export async function toolWork<T>(
  setting: Setting,
  name: string,
  order: string,
  call: ToolCallContext,
  effect: () => T | Promise<T>,
): Promise<T> {
  const { folder, wait } = setting;
  bearWitness(folder, { kind: "tried", ...toolWitness(name, order, call) });
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

/** As a search, a backup or an upload does. */
function readBeside(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isFile()) readFileSync(join(folder, entry.name));
}

export function bearEffect(folder: string, name: string, order: string, call: ToolCallContext): void {
  bearWitness(folder, { kind: "effect", ...toolWitness(name, order, call) });
}

function toolWitness(name: string, order: string, call: ToolCallContext) {
  const { idempotencyKey: key, stepId, turnIndex: turn, turnKey, attempt } = call;
  return { tool: name, order, key, stepId, turn, turnKey, attempt };
}

/** For as long as chance will have it, so that a kill from outside finds the worker in every place. */
export async function pause({ variant }: Setting): Promise<void> {
  if (variant.longestPauseMs !== undefined) await sleep(Math.random() * variant.longestPauseMs);
}

export async function waitForParent(
  { folder, wait }: Setting,
  signal: AbortSignal | undefined,
): Promise<void> {
  bearWitness(folder, { kind: "waiting", place: wait?.at ?? "" });
  if (wait?.blocks === true) return blockUntilThere(join(folder, "release"));
  const stop = () => stopIfAsked(folder);
  await untilThere(join(folder, "release"), wait?.deaf === true ? undefined : signal, stop);
}

/**
 * By its own hand, where no transaction is open: stopped from outside it could be in the middle of renewing its lease,
 * and then nobody could write to the database any more.
 */
function stopIfAsked(folder: string): void {
  if (!existsSync(join(folder, "stop"))) return;
  rmSync(join(folder, "stop"));
  stopHere(folder);
}

/** Stops this process until somebody continues it. */
export function stopHere(folder: string): void {
  bearWitness(folder, { kind: "waiting", place: "stopped" });
  process.kill(process.pid, "SIGSTOP");
}
