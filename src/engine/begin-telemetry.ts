import type { RunRecord, Store } from "../store/store.ts";
import {
  NO_RUN_TELEMETRY,
  NOT_TRACED,
  type OpenSpan,
  type RunTelemetry,
  type Telemetry,
} from "./telemetry-port.ts";

/** Telemetry of a worker's time with a run, which goes on with the trace of the workers before it. */
export async function beginTelemetry(
  telemetry: Telemetry | undefined,
  store: Store,
  { runId, pipeline }: RunRecord,
  resumed: boolean,
): Promise<RunTelemetry> {
  if (telemetry === undefined) return NO_RUN_TELEMETRY;
  try {
    const attempts = resumed ? await store.listAttempts(runId) : [];
    const earlier = attempts.flatMap(({ traceParent }) => (traceParent === null ? [] : [traceParent]));
    return harmless(telemetry.begin({ runId, pipeline, resumed, earlier }));
  } catch {
    return NO_RUN_TELEMETRY; // A run that cannot be traced runs all the same.
  }
}

/** Whatever it throws, the work is done, once, and what comes of it is handed on. */
function harmless(telemetry: RunTelemetry): RunTelemetry {
  return {
    traceParent: telemetry.traceParent,
    during: (work) => onceWithin((once) => telemetry.during(() => once(NOT_TRACED)), work),
    within: (start, work) => onceWithin((once) => telemetry.within(start, once), work),
    onEvent: (event) => quietly(() => telemetry.onEvent(event)),
    end: (error) => quietly(() => telemetry.end(error)),
  };
}

async function onceWithin<T>(
  enter: (once: (span: OpenSpan) => Promise<T>) => Promise<T>,
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> {
  let done: Promise<T> | undefined;
  const once = (span: OpenSpan) => {
    done ??= work(harmlessSpan(span));
    return done;
  };
  // What the work itself throws comes out of `done` below.
  await quietlyAsync(() => enter(once));
  return done ?? work(NOT_TRACED);
}

function harmlessSpan(span: OpenSpan): OpenSpan {
  return { headers: span.headers, tell: (facts) => quietly(() => span.tell(facts)) };
}

function quietly(tell: () => void): void {
  try {
    tell();
  } catch {
    // It is the listener's own.
  }
}

async function quietlyAsync(enter: () => Promise<unknown>): Promise<void> {
  try {
    await enter();
  } catch {
    // As above.
  }
}
