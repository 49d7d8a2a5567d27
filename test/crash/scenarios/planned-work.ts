// Shared by the tests of planned work: a folder, a booking server, and the assertions about the end.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Json, Plan, RecoveryClass, Settlement } from "../../../src/index.ts";
import { type CrashFolder, crashFolder } from "../harness/crash-folder.ts";
import { type EffectServer, effectServer } from "../harness/effect-server.ts";
import type { WitnessOf } from "../harness/witness.ts";
import type { Act, PersonAnswers, PlanVariant, ReportedResult, Variant } from "../harness/worker-order.ts";
import { TABLES } from "./planned-scenario.ts";

export type Checkpoints = "file" | "database";
export const CHECKPOINTS = ["file", "database"] as const satisfies Checkpoints[];

export const REQUEST = { objective: "Book four tables." };
export const SETTLED: Settlement = { as: "succeeded", result: "garden is booking 3" };
/** The bookings with session events if a person has settled the third. */
export const ALL_BUT_THE_THIRD = ["window", "terrace", "cellar"];
export const BOTH_DONE = { done: TABLES.slice(0, 2), remaining: TABLES.slice(2) };
export const ALL_BOOKED = `Booked: ${TABLES.join(", ")}.`;

/** A new version of the program, with another prompt and another model. */
export function deployed(variant: Variant): Variant {
  return { ...variant, modelId: "planner-2", plan: { ...variant.plan, promptVersion: 2 } };
}

/** The calls of the two turns that work on a step: one books, and one marks. */
export function stepAsks(id: number, table = TABLES[id - 1] ?? ""): string[][] {
  return [[`book ${table}`, `look ${table}`], [`planning_update_step ${id}`]];
}

/** One call at a time, so that a point belongs to a known call. */
function plannedVariant(server: EffectServer, recovery: RecoveryClass, plan: PlanVariant): Variant {
  const calls = ["book", "look"] as const;
  return { maxParallelToolCalls: 1, plan, booking: { server: server.url, recovery, calls } };
}

export class PlannedWork {
  readonly folder: CrashFolder;
  readonly server: EffectServer;
  readonly variant: Variant;

  constructor(folder: CrashFolder, server: EffectServer, variant: Variant) {
    this.folder = folder;
    this.server = server;
    this.variant = variant;
  }

  static async begin(recovery: RecoveryClass, plan: PlanVariant = {}): Promise<PlannedWork> {
    const server = await effectServer({ keyed: recovery === "keyed" });
    return new PlannedWork(crashFolder(), server, plannedVariant(server, recovery, plan));
  }

  order(act: Act, variant = this.variant) {
    return { scenario: "planned", act, variant } as const;
  }

  execute(
    checkpoints: Checkpoints,
    {
      answers,
      variant,
      request = REQUEST,
    }: { answers?: PersonAnswers; variant?: Variant; request?: Json } = {},
  ): Promise<ReportedResult> {
    return this.folder.result(this.order(execute(checkpoints, request, answers), variant));
  }

  get prompts(): WitnessOf<"prompted">[] {
    return this.folder.lines("prompted");
  }

  /** The id of the only run. */
  async runId(): Promise<string> {
    const runs = await this.folder.withStore((store) => store.listRuns());
    expect(runs).toHaveLength(1);
    return runs[0]?.runId ?? "";
  }

  async slice(runId: string, slice: string): Promise<readonly Json[]> {
    const session = await this.folder.withStore((store) => store.readSession(runId));
    return session.find(({ name }) => name === slice)?.values ?? [];
  }

  async plan(runId: string): Promise<Plan | undefined> {
    return (await this.slice(runId, "plan")).at(-1) as Plan | undefined;
  }

  /**
   * By the server's own log each table was booked once, by default. The plan of the only run is completed, and the session
   * has one event for each booking whose tool returned; a person's settlement makes none.
   */
  async assertDone(
    result: ReportedResult,
    {
      effects = TABLES,
      recorded = TABLES,
    }: { effects?: readonly string[]; recorded?: readonly string[] } = {},
  ): Promise<void> {
    expect(result).toMatchObject({ status: "succeeded", output: ALL_BOOKED, waits: [] });
    expect(result.runId).toBe(await this.runId());
    expect(this.server.effects).toEqual(effects);
    const steps = TABLES.map((title, i) => ({ id: i + 1, title, status: "done" }));
    expect(await this.plan(result.runId)).toMatchObject({ status: "completed", steps });
    expect(await this.slice(result.runId, "booked")).toMatchObject(recorded.map((table) => ({ table })));
  }

  async isCompleted(checkpoints: Checkpoints): Promise<boolean> {
    if (checkpoints === "file") return existsSync(join(this.folder.path, "workers/worker-001/completed"));
    const work = await this.folder.withStore((store) => store.findWork("worker-001"));
    return typeof work?.completedAt === "number";
  }

  /** How each worker after the first resumed the run. */
  async resumedFrom(runId: string): Promise<(string | null)[]> {
    const attempts = await this.folder.withStore((store) => store.listAttempts(runId));
    return attempts.slice(1).map(({ resumedFrom }) => resumedFrom);
  }
}

export function execute(checkpoints: Checkpoints, request: Json = REQUEST, answers?: PersonAnswers): Act {
  return { do: "execute", request, checkpoints, ...(answers === undefined ? {} : { answers }) };
}
