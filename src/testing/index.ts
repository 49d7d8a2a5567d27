export {
  CRASH_POINTS,
  type CrashPoint,
  type CrashPointSite,
  type CrashProbe,
} from "../engine/ports/crash-points.ts";
export { crashAt } from "./crash-at.ts";
export { type FakeClock, fakeClock } from "./fake-clock.ts";
export { type Script, type ScriptedResponse, type ScriptedTurn, scriptedModel } from "./scripted-model.ts";
