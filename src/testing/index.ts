export {
  CRASH_POINTS,
  type CrashPoint,
  type CrashPointSite,
  type CrashProbe,
} from "../engine/ports/crash-points.ts";
export {
  type CrashExplorerOptions,
  crashExplorer,
  type ExplorerMode,
  type ExplorerProgress,
} from "./crash/crash-explorer.ts";
export { CrashReport, type ReportCounts, type Violation } from "./crash/crash-report.ts";
export type { Evidence, ProcessRecord, RunAccount } from "./crash/evidence.ts";
export type { Finding, Invariant, OwnInvariant, Problem } from "./crash/invariant.ts";
export { INVARIANTS } from "./crash/invariants/index.ts";
export type { Point } from "./crash/point.ts";
export type {
  ExecuteStandIn,
  ModelStandIn,
  PersonStandIn,
  ProcessTools,
  Scenario,
  StandInContext,
  ToolStandIn,
} from "./crash/scenario.ts";
export { parseSchedule, type Schedule, scheduleText } from "./crash/schedule.ts";
export type { Effect, SeenCall, WitnessLine } from "./crash/witness.ts";
export type { FencedWrite, ProcessOutcome } from "./crash/world.ts";
export { crashAt } from "./crash-at.ts";
export { type FakeClock, fakeClock } from "./fake-clock.ts";
export { type Script, type ScriptedResponse, type ScriptedTurn, scriptedModel } from "./scripted-model.ts";
export {
  type ConformanceDatabase,
  type OpenConformanceDatabase,
  type StoreCheck,
  storeConformance,
} from "./store/store-conformance.ts";
