export {
  type CrashExplorerOptions,
  crashExplorer,
  type ExplorerMode,
  type ExplorerProgress,
} from "./crash-explorer.ts";
export type { Evidence, LiveTwin, ProcessRecord, RunAccount } from "./evidence.ts";
export type { Finding, Invariant, OwnInvariant, Problem } from "./invariant.ts";
export { INVARIANTS } from "./invariants/index.ts";
export type { Point } from "./point.ts";
export { CrashReport, type ReportCounts, type Violation } from "./report/crash-report.ts";
export type {
  ExecuteStandIn,
  ModelStandIn,
  ModelStandInContext,
  PersonStandIn,
  ProcessTools,
  Scenario,
  StandInContext,
  ToolStandIn,
} from "./scenario.ts";
export { parseSchedule, type Schedule, scheduleText } from "./schedule.ts";
export type { ViewerRecord, ViewingSession } from "./viewers/simulated-viewer.ts";
export type { Effect, PostedMessage, SeenCall, WitnessLine } from "./witness.ts";
export type { FencedWrite, ProcessOutcome } from "./world.ts";
