import { z } from "zod";
import { ConfigurationError, FinalFailure, NeedsWait } from "../../../core/errors.ts";
import { durationInWords, MAX_WAIT_MS, parseInstant } from "../../../core/job/duration.ts";
import type { JsonObject } from "../../../core/json.ts";
import { assertOptions, type OptionNames } from "../../../core/naming/option-names.ts";
import { matchesEvent } from "../../../core/run/event-match.ts";
import type { NeededWait } from "../../../core/wait.ts";
import { builtInTool, type Tool } from "../tool.ts";
import {
  assertPatternOf,
  assertWaitMs,
  nothingCame,
  type ReceivedMessage,
  type TimedOut,
} from "./received-message.ts";

// Tools whose calls wait. They throw what they wait for and never run long: the run is released, and the clock or the
// mailbox of the run writes the result.

/** The name of the tools that wait for a message. */
export const WAIT_FOR = "wait_for";

const MAX_SECONDS = MAX_WAIT_MS / 1_000;

const EXAMPLE_TIME = "2026-11-18T08:00:00+01:00";

const sleepInput = z
  .object({
    until: z
      .string()
      .optional()
      .describe(`The time to wait until: an ISO date-time with an offset, such as ${EXAMPLE_TIME}.`),
    seconds: z.number().min(0).max(MAX_SECONDS).optional().describe("How long to wait, in seconds."),
  })
  .refine(({ until, seconds }) => (until === undefined) !== (seconds === undefined), {
    error: "Give exactly one of until and seconds.",
  })
  .refine(({ until }) => until === undefined || parseInstant(until) !== null, {
    error: `Give until as a date-time with an offset, such as ${EXAMPLE_TIME}.`,
    path: ["until"],
  });

/**
 * A tool that waits until a time, or for some seconds. The run is released meanwhile, and the result is the time.
 *
 * @example
 * const clerk = agent({ name: "clerk", model, instructions: "Wait until the office opens.", tools: { wait_until: sleepTool } });
 */
export const sleepTool: Tool<z.input<typeof sleepInput>, { readonly until: string }> = builtInTool({
  name: "wait_until",
  description: "Wait until a time, or for some seconds. Give exactly one of the two.",
  inputSchema: sleepInput,
  effect: "read_only",
  recovery: "repeat",
  dedupe: "call",
  execute({ until, seconds = 0 }): { readonly until: string } {
    const at = parseInstant(until);
    throw sleepOf(at === null ? { inMs: Math.round(seconds * 1_000) } : { at });
  },
});

function sleepOf(due: NonNullable<NeededWait["due"]>): NeedsWait {
  const text =
    "at" in due
      ? `It waits until ${new Date(due.at).toISOString()}.`
      : `It waits for ${durationInWords(due.inMs)}.`;
  return new NeedsWait(text, { kind: "time", due, onDue: { action: "answer", value: null } });
}

const sleepAtInput = z.object({ ms: z.number().optional(), until: z.string().optional() });

/** `sleepTool` for a step. Its n-th sleep is the same sleep after a restart, whatever its time is then. */
export const sleepInStep: Tool<z.input<typeof sleepAtInput>, { readonly until: string }> = builtInTool({
  name: "wait_until",
  description: "Waits.",
  inputSchema: sleepAtInput,
  effect: "read_only",
  recovery: "repeat",
  dedupe: "call",
  identity: () => ({}),
  execute({ ms = 0, until }): { readonly until: string } {
    const at = parseInstant(until);
    throw sleepOf(at === null ? { inMs: ms } : { at });
  },
});

/** The time of a Date or of a text, for `sleepInStep`. */
export function instantOf(what: string, given: unknown): string {
  const at = parseInstant(given);
  if (at !== null) return new Date(at).toISOString();
  const shown = given instanceof Date ? "an invalid Date" : JSON.stringify(given);
  throw new ConfigurationError(
    `${what} is ${shown}: give a Date, or a date-time with an offset such as ${EXAMPLE_TIME}.`,
  );
}

/** The options of `receiveTool`. */
export type ReceiveToolOptions = {
  /** The events that the model may wait for; a `*` at the end stands for anything: `["payment.*"]`. */
  readonly events: readonly string[];
  /** The longest wait, and that of a call that names none; without a limit by default. */
  readonly timeoutMs?: number;
};

const RECEIVE_TOOL_NAMES = { events: true, timeoutMs: true } satisfies OptionNames<ReceiveToolOptions>;

const receiveInput = z.object({
  event: z.string().describe("The event to wait for."),
  timeoutSeconds: z.number().min(0).max(MAX_SECONDS).optional().describe("How long to wait at most."),
});

/**
 * A tool that waits for a message to the run: `{ event, data, by, at }`, or `{ timedOut: true }` if none came in time. A
 * message that came before is there.
 *
 * @example
 * const clerk = agent({ name: "clerk", model, tools: { wait_for: receiveTool({ events: ["payment.*"] }) } });
 */
export function receiveTool(
  options: ReceiveToolOptions,
): Tool<z.input<typeof receiveInput>, ReceivedMessage | TimedOut> {
  assertOptions("receiveTool({ … })", options, RECEIVE_TOOL_NAMES, { event: "events", timeout: "timeoutMs" });
  const { events, timeoutMs: longest } = options;
  const given: unknown = events;
  if (!Array.isArray(given) || given.length === 0)
    throw new ConfigurationError('receiveTool({ … }) needs events: give a list such as ["payment.*"].');
  for (const pattern of events) assertPatternOf("receiveTool({ … })", pattern);
  if (longest !== undefined) assertWaitMs("receiveTool({ … }) has timeoutMs", longest);
  return builtInTool({
    name: WAIT_FOR,
    description: `Wait for an event: ${events.join(", ")}${events.some((event) => event.endsWith("*")) ? " (a * stands for anything)" : ""}.`,
    inputSchema: receiveInput,
    effect: "read_only",
    recovery: "repeat",
    dedupe: "call",
    execute({ event, timeoutSeconds }): ReceivedMessage | TimedOut {
      if (!events.some((pattern) => allows(pattern, event)))
        throw new FinalFailure(
          `${JSON.stringify(event)} is no event to wait for here: wait for one of ${events.join(", ")}.`,
          { applied: false },
        );
      const asked = timeoutSeconds === undefined ? longest : Math.round(timeoutSeconds * 1_000);
      const timeoutMs = asked === undefined || longest === undefined ? asked : Math.min(asked, longest);
      throw receiveOf(event, timeoutMs === undefined ? null : { ms: timeoutMs, fails: null });
    },
  });
}

/** True if every event that the model asks for is one that the pattern allows. */
function allows(pattern: string, asked: string): boolean {
  return asked.endsWith("*")
    ? pattern.endsWith("*") && asked.slice(0, -1).startsWith(pattern.slice(0, -1))
    : matchesEvent(pattern, asked);
}

function receiveOf(
  event: string,
  limit: { readonly ms: number; readonly fails: string | null } | null,
  address?: string,
): NeedsWait {
  assertPatternOf("The wait for a message", event);
  const most = limit === null ? "" : `, at most ${durationInWords(limit.ms)}`;
  const place = address === undefined ? {} : { address };
  const wait = { kind: "message", matches: event, ...place } as const;
  if (limit === null) return new NeedsWait(`It waits for ${event}.`, wait);
  const { ms, fails } = limit;
  return new NeedsWait(`It waits for ${event}${most}.`, {
    ...wait,
    due: { inMs: ms },
    onDue: fails === null ? { action: "answer", value: { timedOut: true } } : { action: "fail", why: fails },
  });
}

const receiveAtInput = z.object({
  event: z.string(),
  address: z.string().optional(),
  timeoutMs: z.number().optional(),
  onTimeout: z.enum(["fail", "go_on"]).optional(),
});

/** `receiveTool` for a step. Its n-th wait for an event is the same wait after a restart. `where` is for its errors. */
export function receiveInStep(where: string): Tool<z.input<typeof receiveAtInput>, JsonObject> {
  return builtInTool({
    name: WAIT_FOR,
    description: "Waits for a message.",
    inputSchema: receiveAtInput,
    effect: "read_only",
    recovery: "repeat",
    dedupe: "call",
    identity: ({ event }) => ({ event }),
    execute({ event, address, timeoutMs, onTimeout = "fail" }): JsonObject {
      if (timeoutMs === undefined) throw receiveOf(event, null, address);
      const fails = onTimeout === "fail" ? nothingCame(where, event, timeoutMs) : null;
      throw receiveOf(event, { ms: timeoutMs, fails }, address);
    },
  });
}
