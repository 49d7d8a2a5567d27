export {
  CRASH_POINTS,
  type CrashPoint,
  type CrashPointSite,
  type CrashProbe,
} from "../engine/crash-points.ts";
export { crashAt } from "./crash-at.ts";
export {
  type CrashExplorerOptions,
  crashExplorer,
  type ExplorerMode,
  type ExplorerProgress,
} from "./explorer/crash-explorer.ts";
export { CrashReport, type ReportCounts, type Violation } from "./explorer/crash-report.ts";
export type { Evidence, LifeRecord, RunAccount } from "./explorer/evidence.ts";
export type { Finding, Invariant, OwnInvariant, Problem } from "./explorer/invariant.ts";
export { INVARIANTS } from "./explorer/invariants/index.ts";
export type { Point } from "./explorer/point.ts";
export type {
  ExecuteStandIn,
  ModelStandIn,
  OtherSide,
  PersonStandIn,
  ProcessTools,
  Scenario,
  ToolStandIn,
} from "./explorer/scenario.ts";
export { parseSchedule, type Schedule, scheduleText } from "./explorer/schedule.ts";
export type { Effect, SeenCall, WitnessLine } from "./explorer/witness.ts";
export type { FencedWrite, LifeEnd } from "./explorer/world.ts";
export { type FakeClock, fakeClock } from "./fake-clock.ts";
export { type Script, type ScriptedResponse, type ScriptedTurn, scriptedModel } from "./scripted-model.ts";
export {
  type ConformanceDatabase,
  type OpenConformanceDatabase,
  type StoreCheck,
  storeConformance,
} from "./store-conformance.ts";
