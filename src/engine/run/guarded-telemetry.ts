import type { RunRecord, Store } from "../../store/store.ts";
import type { RunSecrets } from "../definition/run-secrets.ts";
import {
  type MeasuredWorker,
  NO_RUN_TELEMETRY,
  NO_SPAN,
  type OpenSpan,
  type RunTelemetry,
  type SpanStart,
  type Telemetry,
  type WorkerTelemetry,
} from "../ports/telemetry-port.ts";

/** Begins the telemetry of an attempt, which continues the trace of the earlier attempts. */
export async function beginTelemetry(
  telemetry: Telemetry | undefined,
  store: Store,
  { runId, pipeline }: RunRecord,
  { resumed }: { readonly resumed: boolean },
): Promise<RunTelemetry> {
  if (telemetry === undefined) return NO_RUN_TELEMETRY;
  try {
    const attempts = resumed ? await store.listAttempts(runId) : [];
    const earlier = attempts.flatMap(({ traceParent }) => (traceParent === null ? [] : [traceParent]));
    return telemetry.begin({ runId, pipeline, resumed, earlier });
  } catch {
    return NO_RUN_TELEMETRY; // A run that cannot be traced runs anyway.
  }
}

/** Begins the telemetry of a worker; whatever that throws, the worker works. */
export function beginWorkerTelemetry(
  telemetry: Telemetry | undefined,
  worker: MeasuredWorker,
): WorkerTelemetry {
  let begun: WorkerTelemetry | undefined;
  quietly(() => {
    begun = telemetry?.beginWorker?.(worker);
  });
  return {
    onNotice: (notice) => quietly(() => begun?.onNotice(notice)),
    end: () => quietly(() => begun?.end()),
  };
}

/**
 * Guards a run against its telemetry: whatever that throws, the work is done exactly once and its result is passed on. The
 * run's secrets are hidden from it; the inputs of tools have none, since they are stored.
 */
export function guardTelemetry(telemetry: RunTelemetry, secrets: RunSecrets): RunTelemetry {
  const traceParent = traceParentOf(telemetry);
  if (traceParent === undefined || telemetry === NO_RUN_TELEMETRY) return NO_RUN_TELEMETRY;
  return {
    traceParent,
    during: (work) => runOnceWithin(secrets, (once) => telemetry.during(() => once(NO_SPAN)), work),
    within: (start, work) =>
      runOnceWithin(secrets, (once) => telemetry.within(redactedStart(secrets, start), once), work),
    onEvent: (event) => quietly(() => telemetry.onEvent(event)),
    end: (error) => quietly(() => telemetry.end(redactedError(secrets, error))),
  };
}

/** Undefined if reading it throws: telemetry may come from untyped code. */
function traceParentOf(telemetry: RunTelemetry): string | null | undefined {
  try {
    return telemetry.traceParent;
  } catch {
    return undefined;
  }
}

async function runOnceWithin<T>(
  secrets: RunSecrets,
  enter: (once: (span: OpenSpan) => Promise<T>) => Promise<T>,
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> {
  let done: Promise<T> | undefined;
  const once = (span: OpenSpan) => {
    done ??= work(guardedSpan(secrets, span));
    const redacted = done.catch((error: unknown) => {
      throw redactedError(secrets, error);
    });
    // Telemetry that does not await the work must not cause an unhandled rejection.
    redacted.catch(() => undefined);
    return redacted;
  };
  // An error of the work itself is thrown by `done` below.
  await quietlyAsync(() => enter(once));
  return done ?? work(NO_SPAN);
}

/** Redacted when read, since few readers need these fields and redacting a long history takes time. */
function redactedStart(secrets: RunSecrets, start: SpanStart): SpanStart {
  if (start.kind !== "chat") return start;
  const { instructions, messages } = start;
  return {
    ...start,
    get instructions() {
      return secrets.hideText(instructions);
    },
    get messages() {
      return secrets.hide(messages);
    },
  };
}

function guardedSpan(secrets: RunSecrets, span: OpenSpan): OpenSpan {
  return {
    headers: span.headers,
    record: (facts) => quietly(() => span.record(secrets.hide(facts))),
  };
}

/** An error without secrets that still is an instance of its class; the error itself if it has no secrets. */
function redactedError(secrets: RunSecrets, error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error === "string" ? secrets.hideText(error) : error;
  const message = secrets.hideText(error.message);
  if (message === error.message) return error;
  const stack = secrets.hideText(error.stack ?? "");
  return Object.create(error, {
    message: { value: message },
    stack: { value: stack },
    cause: { value: undefined },
  });
}

/** Ignores errors of telemetry. */
function quietly(record: () => void): void {
  try {
    record();
  } catch {
    // Not an error of the run.
  }
}

async function quietlyAsync(enter: () => Promise<unknown>): Promise<void> {
  try {
    await enter();
  } catch {
    // As above.
  }
}
