import { ConfigurationError } from "../../../core/errors.ts";
import { durationInWords, isWaitMs } from "../../../core/job/duration.ts";
import { isJsonObject, type Json } from "../../../core/json.ts";
import { assertNameSize } from "../../../core/naming/name-size.ts";
import { assertOptions, kindOf, type OptionNames } from "../../../core/naming/option-names.ts";
import { assertEventPattern } from "../../../core/run/event-match.ts";
import type { AnySchema } from "../../../core/standard-schema.ts";
import { isSchema, valueSchema } from "../value-schema.ts";

/** A message that a call has waited for. */
export type ReceivedMessage<T = Json> = {
  /** The name of the event. */
  readonly event: string;
  readonly data: T;
  /** The sender. */
  readonly by: string;
  /** When it was sent, as an ISO date-time. */
  readonly at: string;
};

/** No message came in time. */
export type TimedOut = { readonly timedOut: true };

/** What a step waits for: the options of `Step.receive` and `ctx.receive`. */
export type ReceiveOptions<T = Json> = {
  /** The name of the event, or the beginning of its name and a `*`: `payment.confirmed`, `payment.*`. */
  readonly event: string;
  /**
   * A name by which messages reach the run, for senders that do not know its id: `invoice:7`. The run has it from when it
   * waits until it has ended; if another run has it, the step fails.
   */
  readonly address?: string;
  /** The schema of the data. Data that does not fit fails the step. By default any JSON. */
  readonly schema?: AnySchema<T>;
  /** How long it waits; without a limit by default. */
  readonly timeoutMs?: number;
  /**
   * What happens if no message comes in time. `"fail"`, the default: the step fails, and waits again when the run is
   * resumed. `"go_on"`: the result is `{ timedOut: true }`.
   */
  readonly onTimeout?: "fail" | "go_on";
};

const RECEIVE_NAMES = {
  event: true,
  address: true,
  schema: true,
  timeoutMs: true,
  onTimeout: true,
} satisfies OptionNames<ReceiveOptions>;

const OTHER_NAMES = {
  events: "event",
  matches: "event",
  timeout: "timeoutMs",
  ms: "timeoutMs",
  onDue: "onTimeout",
  addresses: "address",
  to: "address",
};

/** Checks at run time what the types check. `more` are the names of further options, which the caller checks. */
export function assertReceive(
  which: string,
  options: { readonly [K in keyof ReceiveOptions]?: unknown },
  more: { readonly [name: string]: true } = {},
): void {
  assertOptions(which, options, { ...RECEIVE_NAMES, ...more }, OTHER_NAMES);
  const { event, address, schema, timeoutMs, onTimeout } = options;
  assertPatternOf(which, event);
  if (address !== undefined && typeof address !== "function") assertAddress(which, address);
  if (schema !== undefined && !isSchema(schema))
    throw new ConfigurationError(
      `${which} has a schema that is none: give it a zod schema, z.object({ … }).`,
    );
  if (timeoutMs !== undefined) assertWaitMs(`${which} has timeoutMs`, timeoutMs);
  if (onTimeout !== undefined && onTimeout !== "fail" && onTimeout !== "go_on")
    throw new ConfigurationError(
      `${which} has onTimeout ${JSON.stringify(onTimeout)}: use "fail" or "go_on".`,
    );
  if (onTimeout !== undefined && timeoutMs === undefined)
    throw new ConfigurationError(`${which} has onTimeout and waits without a limit: give it timeoutMs.`);
}

/** Refuses what cannot be an address of a run. */
export function assertAddress(which: string, address: unknown): asserts address is string {
  if (typeof address !== "string" || address.trim() === "")
    throw new ConfigurationError(
      `${which} has the address ${typeof address === "string" ? JSON.stringify(address) : kindOf(address)}: give a name such as "invoice:7".`,
    );
  assertNameSize(`address of ${which}`, address);
}

/** A pattern of events that a wait is answered by, with the place of a mistake in the sentence about it. */
export function assertPatternOf(which: string, pattern: unknown): asserts pattern is string {
  try {
    assertEventPattern(pattern);
  } catch (error) {
    throw new ConfigurationError(`${which}: ${(error as Error).message}`);
  }
}

/** Refuses what is no duration of a wait. */
export function assertWaitMs(what: string, ms: unknown): asserts ms is number {
  if (isWaitMs(ms)) return;
  const given = typeof ms === "number" ? String(ms) : JSON.stringify(ms);
  throw new ConfigurationError(`${what} ${given}: give whole milliseconds, from 0 to ten years.`);
}

/** Why a call failed that waited in vain. */
export function nothingCame(where: string, event: string, timeoutMs: number): string {
  return `No message ${event} came to ${where} within ${durationInWords(timeoutMs)}. Resume the run to wait again.`;
}

/** The result of a call that waited for a message, with its data as the schema makes it. */
export async function parseReceived<T>(
  result: Json,
  { schema, event }: Pick<ReceiveOptions<T>, "schema" | "event">,
  where: string,
): Promise<ReceivedMessage<T> | TimedOut> {
  const received = isJsonObject(result) ? result : {};
  if (received.timedOut === true) return { timedOut: true };
  const { data = null, event: name, by, at } = received;
  // The store writes no other results for these calls.
  if (typeof name !== "string" || typeof by !== "string" || typeof at !== "string")
    throw new Error(`${where} received what is no message.`);
  if (schema === undefined) return { event: name, data: data as T, by, at };
  const parsed = await valueSchema(schema).parse(data);
  if (parsed.ok) return { event: name, data: parsed.value as T, by, at };
  throw new ConfigurationError(
    `The message ${name} from ${by}, which ${where} received for ${event}, does not fit its schema: ${parsed.error}`,
  );
}
