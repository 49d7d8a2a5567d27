import type { JsonObject } from "../core/json.ts";
import { stepId } from "../core/step-path.ts";
import type { RunEvent, RunEventListener } from "../engine/ports/run-events.ts";

/** A logger with the methods of pino. */
export type EventLogger = {
  readonly [L in "debug" | "info" | "warn" | "error"]: (fields: object, message: string) => void;
} & { isLevelEnabled?(level: string): boolean };

type Line = {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields?: JsonObject;
  /** Model and tool content: logged only at the level `trace`. */
  readonly content?: JsonObject;
};

/**
 * Logs a run, one line per event, with the ids that receipts and traces use. Model and tool content is logged only at the
 * level `trace`; the message of a failure is logged as the failing side wrote it.
 *
 * @example
 * new Runner(researcher, { onEvent: logEvents(pino()) });
 */
export function logEvents(logger: EventLogger): RunEventListener {
  return (event) => {
    const { level, message, fields, content } = lineOf(event);
    const isWhole = content !== undefined && logger.isLevelEnabled?.("trace") === true;
    logger[level]({ event: event.type, ...idsOf(event), ...fields, ...(isWhole ? content : {}) }, message);
  };
}

function idsOf(event: RunEvent): JsonObject {
  return {
    runId: event.runId,
    ...("step" in event ? { stepId: stepId(event.runId, event.step) } : {}),
    ...("toolCallId" in event ? { toolCallId: event.toolCallId } : {}),
    ...("turn" in event ? { turn: event.turn } : {}),
    ...("attempt" in event ? { attempt: event.attempt } : {}),
  };
}

function lineOf(event: RunEvent): Line {
  switch (event.type) {
    case "run.started":
      return info(event.resumed ? "run resumed" : "run started", { resumed: event.resumed });
    case "step.started":
      return info("step started");
    case "step.finished":
      return info("step done");
    case "step.skipped":
      return info("step skipped: already done");
    case "turn.started":
      return debug("turn started", { replayed: event.replayed });
    case "turn.committed":
      return { ...info("turn committed", { isComplete: event.isComplete }), content: { text: event.text } };
    case "model.failed":
      return event.outageSince === null || event.retryInMs === null
        ? warn(`model failed: ${event.message}`, pick(event, "retryInMs", "outageSince"))
        : warn(`waiting for the model: ${event.message}`, pick(event, "retryInMs", "outageSince"));
    case "usage.baseline":
      return warn("model reported no usage: the reservation stays charged", { ...event.charged });
    case "usage.settled":
      return debug("model call charged", { basis: event.basis, ...event.charged, reserved: event.reserved });
    case "tool.started":
      return { ...debug("tool started", { tool: event.tool }), content: { input: event.input } };
    case "tool.finished":
      return toolEnd(event);
    case "tool.retrying":
      return warn(`tool is retried: ${event.message}`, pick(event, "tool", "retryInMs"));
    case "tool.reconciled":
      return info("tool call reconciled", pick(event, "tool", "status"));
    case "tool.waiting":
      return info("tool waits until a lost attempt can no longer take effect", pick(event, "tool", "until"));
    case "tool.deduplicated":
      return info("tool call deduplicated: not run again", pick(event, "tool", "duplicateOf"));
    case "tool.in_doubt":
      return warn("tool call in doubt: it may or may not have happened");
    case "checkpoint.saved":
      return info("checkpoint saved", { checkpoint: event.checkpoint });
    case "exchange.ended":
      return exchangeEnd(event);
    case "lineage.begun":
      return event.reason === "compaction"
        ? info("conversation continues with a summary of its history")
        : info("step continues with a new lineage", { checkpoint: event.checkpoint });
    case "lease.lost":
      return {
        level: "error",
        message: "lease lost: another worker has the run",
        fields: { epoch: event.epoch },
      };
    case "warning":
      return warn(event.message);
    case "run.finished": {
      const { status, usage, waits } = event.result;
      const { charged, modelCalls } = usage;
      return info(`run ${status}`, { status, ...charged, modelCalls, waits: waits.length });
    }
  }
}

function debug(message: string, fields: JsonObject = {}): Line {
  return { level: "debug", message, fields };
}

function info(message: string, fields: JsonObject = {}): Line {
  return { level: "info", message, fields };
}

function warn(message: string, fields: JsonObject = {}): Line {
  return { level: "warn", message, fields };
}

function pick<E, K extends keyof E & string>(event: E, ...names: readonly K[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, event[name]])) as JsonObject;
}

function exchangeEnd(event: Extract<RunEvent, { readonly type: "exchange.ended" }>) {
  const fields = pick(event, "exchange", "outcome");
  if (event.why === null) return info("exchange complete", fields);
  return warn(`exchange ended without a complete answer: ${event.why}`, fields);
}

function toolEnd(event: Extract<RunEvent, { readonly type: "tool.finished" }>) {
  const fields = pick(event, "tool", "status");
  if (event.status === "succeeded") return info("tool done", fields);
  return event.status === "needs_human" ? info("tool needs a person", fields) : warn("tool failed", fields);
}
