import { ConfigurationError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { UserMessage } from "../../core/message.ts";
import { assertOptions, type OptionNames } from "../../core/naming/option-names.ts";
import type { Person } from "../../core/person.ts";
import type { MessageMode, MessageStatus } from "../../store/store.ts";
import { PLACE_NAMES, type PlaceOptions } from "./place-options.ts";
import type { RunOptions } from "./runner-options.ts";

/** Options of `Runner.enqueue`. */
export type EnqueueOptions = PlaceOptions &
  Pick<RunOptions, "spec" | "runId" | "key" | "startedBy" | "budget" | "deadline"> & {
    /** No worker takes it before this time. */
    readonly notBefore?: Date;
  };

/** A run that waits for a worker. */
export type EnqueuedRun = {
  readonly runId: string;
  /** True if it was there already: nothing has changed. */
  readonly existed: boolean;
};

/** A message to a run: a text for a conversation, one with pictures or files, or an event that a step or a tool waits for. */
export type MessageToRun = string | UserMessage | { readonly event: string; readonly data?: Json };

/** The run that a message is for: its id, or a name that it is reached by. */
export type Addressee = string | { readonly address: string };

/** Options of `Runner.send`. */
export type SendOptions = {
  /** The sender's own id of the message: the same id again is the same message. A new one by default. */
  readonly id?: string;
  /** Who sends it. */
  readonly by?: string | Person;
  /**
   * What a text does while the agent of the conversation answers another one. `queue`: it begins the next exchange. `steer`:
   * the next turn takes it, if it is of the same sender. `interrupt`: the same, and a model that is being asked is asked again
   * with it; the request that was cut is charged. By default `whileBusy` of the conversation, or `queue`.
   */
  readonly mode?: MessageMode;
  /** Starts the run if there is none: its input, if the pipeline takes one, and how it is enqueued. */
  readonly orStart?: Omit<EnqueueOptions, "runId" | "key"> & { readonly input?: Json };
};

/** Options of `Runner.stop`. */
export type StopOptions = {
  /** Who stops it. */
  readonly by?: string | Person;
};

/** What became of a message. */
export type MessageReceipt = {
  readonly runId: string;
  readonly messageId: string;
  /** It was sent before: nothing has changed. */
  readonly duplicate: boolean;
  /** The run was started for it. */
  readonly started: boolean;
  /** `taken`: a call or a turn has it. `waiting`: it is in the mailbox. `returned`: no call will receive it. */
  readonly status: MessageStatus;
  /** Why it was returned: the status of a run that has ended, or `no_conversation`. */
  readonly reason: string | null;
};

/** Options of `Runner.advance`. */
export type AdvanceOptions = {
  /** The most turns of agents and steps of code to complete; 1 by default. */
  readonly turns?: number;
  /** Hands the run back: what is in progress is finished, and nothing new begins. */
  readonly signal?: AbortSignal;
};

/** What has to happen next for a run to continue. */
export type Advanced =
  /** It can continue at once. */
  | { readonly next: "now" }
  /** At this time, in milliseconds since 1970: it sleeps, or another worker has it. */
  | { readonly next: "at"; readonly at: number }
  /** After an answer or a message; or, if it is a fork that was never resumed, after that. */
  | { readonly next: "wait" }
  | { readonly next: "ended"; readonly status: "succeeded" | "failed" | "cancelled" };

const ENQUEUE_NAMES = {
  ...PLACE_NAMES,
  spec: true,
  runId: true,
  key: true,
  startedBy: true,
  budget: true,
  deadline: true,
  notBefore: true,
} satisfies OptionNames<EnqueueOptions>;

const START_NAMES = {
  ...PLACE_NAMES,
  spec: true,
  startedBy: true,
  budget: true,
  deadline: true,
  notBefore: true,
  input: true,
} satisfies OptionNames<NonNullable<SendOptions["orStart"]>>;

const SEND_NAMES = { id: true, by: true, mode: true, orStart: true } satisfies OptionNames<SendOptions>;
const ADVANCE_NAMES = { turns: true, signal: true } satisfies OptionNames<AdvanceOptions>;

const OTHER_NAMES = {
  id: "runId",
  idempotencyKey: "key",
  delay: "notBefore: new Date(…)",
  runAt: "notBefore",
  startAt: "notBefore",
  tags: "metadata",
  tenant: "metadata: { tenant: … }",
};

export function assertEnqueueOptions(options: unknown): void {
  assertOptions("The second argument of enqueue", options, ENQUEUE_NAMES, OTHER_NAMES);
}

export function assertSendOptions(options: SendOptions): void {
  const others = { messageId: "id", idempotencyKey: "id", from: "by", start: "orStart" };
  assertOptions("The third argument of send", options, SEND_NAMES, others);
  const { mode } = options;
  if (mode !== undefined && !["queue", "steer", "interrupt"].includes(mode))
    throw new ConfigurationError(
      `The message has mode ${JSON.stringify(mode)}: use "queue", "steer" or "interrupt".`,
    );
  if (options.orStart !== undefined)
    assertOptions("orStart", options.orStart, START_NAMES, {
      ...OTHER_NAMES,
      runId: "the run id is the first argument of send",
    });
}

const STOP_NAMES = { by: true } satisfies OptionNames<StopOptions>;

export function assertStopOptions(options: unknown): void {
  assertOptions("The second argument of stop", options, STOP_NAMES, { person: "by", from: "by" });
}

export function assertAdvanceOptions(options: unknown): void {
  assertOptions("The second argument of advance", options, ADVANCE_NAMES, { maxTurns: "turns" });
}
