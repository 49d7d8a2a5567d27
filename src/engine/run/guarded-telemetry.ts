import type { RunRecord, Store } from "../../store/store.ts";
import type { RunSecrets } from "../definition/run-secrets.ts";
import {
  NO_RUN_TELEMETRY,
  NO_SPAN,
  type OpenSpan,
  type RunTelemetry,
  type SpanStart,
  type Telemetry,
} from "../ports/telemetry-port.ts";

/** Telemetry of a worker's time with a run, which goes on with the trace of the workers before it. */
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
    return NO_RUN_TELEMETRY; // A run that cannot be traced runs all the same.
  }
}

/**
 * Whatever it throws, the work is done, once, and what comes of it is handed on. What the run knows to be secret, it is not
 * told; what goes into a tool is stored, and so is without secrets already.
 */
export function guardTelemetry(telemetry: RunTelemetry, secrets: RunSecrets): RunTelemetry {
  const traceParent = traceParentOf(telemetry);
  if (traceParent === undefined || telemetry === NO_RUN_TELEMETRY) return NO_RUN_TELEMETRY;
  return {
    traceParent,
    during: (work) => onceWithin(secrets, (once) => telemetry.during(() => once(NO_SPAN)), work),
    within: (start, work) =>
      onceWithin(secrets, (once) => telemetry.within(withoutSecrets(secrets, start), once), work),
    onEvent: (event) => quietly(() => telemetry.onEvent(event)),
    end: (error) => quietly(() => telemetry.end(tellable(secrets, error))),
  };
}

/** What types promise, for telemetry that came without them; undefined where it is none. */
function traceParentOf(telemetry: RunTelemetry): string | null | undefined {
  try {
    return telemetry.traceParent;
  } catch {
    return undefined;
  }
}

async function onceWithin<T>(
  secrets: RunSecrets,
  enter: (once: (span: OpenSpan) => Promise<T>) => Promise<T>,
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> {
  let done: Promise<T> | undefined;
  const once = (span: OpenSpan) => {
    done ??= work(harmlessSpan(secrets, span));
    const told = done.catch((error: unknown) => {
      throw tellable(secrets, error);
    });
    // Whoever does not wait for the work has not to answer for it.
    told.catch(() => undefined);
    return told;
  };
  // What the work itself throws comes out of `done` below.
  await quietlyAsync(() => enter(once));
  return done ?? work(NO_SPAN);
}

/** Hidden when they are read, since few want them and a long history takes a while. */
function withoutSecrets(secrets: RunSecrets, start: SpanStart): SpanStart {
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

function harmlessSpan(secrets: RunSecrets, span: OpenSpan): OpenSpan {
  return {
    headers: span.headers,
    record: (facts) => quietly(() => span.record(secrets.hide(facts))),
  };
}

/** The same error for whoever looks at it, with no secret in what it says; itself where there is none in it. */
function tellable(secrets: RunSecrets, error: unknown): unknown {
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
