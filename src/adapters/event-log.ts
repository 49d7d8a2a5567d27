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
  /** What models and tools said: only with the level `trace`. */
  readonly content?: JsonObject;
};

/**
 * Logs a run, one line an event, with the ids that receipts and traces have. What models and tools said to each other is
 * logged at the level `trace` alone; why something failed, in the words of whoever failed.
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
      return info(event.resumed ? "run goes on" : "run begins", { resumed: event.resumed });
    case "step.started":
      return info("step begins");
    case "step.finished":
      return info("step done");
    case "step.skipped":
      return info("step was done before");
    case "turn.started":
      return debug("turn begins", { replayed: event.replayed });
    case "turn.committed":
      return { ...info("turn committed", { isComplete: event.isComplete }), content: { text: event.text } };
    case "model.failed":
      return warn(`model failed: ${event.message}`, { retryInMs: event.retryInMs });
    case "usage.baseline":
      return warn("model gave no figures: the reservation stays charged", { ...event.charged });
    case "usage.settled":
      return debug("model call charged", { basis: event.basis, ...event.charged, reserved: event.reserved });
    case "tool.started":
      return { ...debug("tool begins", { tool: event.tool }), content: { input: event.input } };
    case "tool.finished": {
      const fields = pick(event, "tool", "status");
      if (event.status === "succeeded") return info("tool done", fields);
      return event.status === "needs_human"
        ? info("tool asks a person", fields)
        : warn("tool failed", fields);
    }
    case "tool.retrying":
      return warn(`tool is tried again: ${event.message}`, pick(event, "tool", "retryInMs"));
    case "tool.reconciled":
      return info("tool call was looked up", pick(event, "tool", "status"));
    case "tool.waiting":
      return info("tool waits until a lost try can no longer land", pick(event, "tool", "until"));
    case "tool.deduplicated":
      return info("tool is not run again", pick(event, "tool", "duplicateOf"));
    case "tool.in_doubt":
      return warn("nobody knows whether the tool call happened");
    case "checkpoint.saved":
      return info("checkpoint saved", { checkpoint: event.checkpoint });
    case "lineage.begun":
      return info("step goes on with a new line of history", { checkpoint: event.checkpoint });
    case "lease.lost":
      return { level: "error", message: "another worker has the run", fields: { epoch: event.epoch } };
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
