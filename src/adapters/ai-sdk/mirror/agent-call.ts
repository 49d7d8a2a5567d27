import { ConfigurationError } from "../../../core/errors.ts";
import { assertOptions, type OptionNames } from "../../../core/naming/option-names.ts";
import type { Person } from "../../../core/person.ts";
import type { RunOptions } from "../../../engine/runner/runner-options.ts";

/**
 * The `options` of a call of an agent that `asAgent` made: which run it is for, and who asks. They are the server's own
 * words: check what a client says before you put it here.
 */
export type AgentCall = {
  /** The run. Required for a conversation, which is one run; without it, and without `key`, see `asAgent`. */
  readonly runId?: string;
  /** The caller's own key in place of a run id, as in `Runner.run`. Not for a conversation. */
  readonly key?: string;
  /** Who asks: the sender of the message, and who decides about calls. */
  readonly by?: string | Person;
  /** The id of the last message. By default it is made of its text and its position among the messages of people. */
  readonly messageId?: string;
  /** For a run that is started by this call. */
  readonly start?: Pick<RunOptions, "metadata" | "context" | "startedBy" | "budget" | "deadline">;
};

const CALL_NAMES = {
  runId: true,
  key: true,
  by: true,
  messageId: true,
  start: true,
} satisfies OptionNames<AgentCall>;

const START_NAMES = {
  metadata: true,
  context: true,
  startedBy: true,
  budget: true,
  deadline: true,
} satisfies OptionNames<NonNullable<AgentCall["start"]>>;

const OTHER_NAMES = { chatId: "runId", id: "runId", user: "by", userId: "by" };

export function assertAgentCall(call: AgentCall, isConversation: boolean): void {
  assertOptions("`options` of a call of the agent", call, CALL_NAMES, OTHER_NAMES);
  if (call.start !== undefined) assertOptions("`options.start`", call.start, START_NAMES);
  if (!isConversation) return;
  if (call.key !== undefined)
    throw new ConfigurationError(
      "A call of a conversation was given a key: give the runId of the conversation.",
    );
  if (call.runId === undefined)
    throw new ConfigurationError(
      "A call of a conversation names no run: give options: { runId }, which your server has looked up for the chat and its user.",
    );
}

export function personOf(by: AgentCall["by"]): Person {
  return typeof by === "string" ? { by } : (by ?? {});
}

/** What `stream` and `generate` of the SDK's agents take and a run cannot have, and what to use instead. */
const INSTEAD: { readonly [name: string]: string } = {
  timeout: "give the run a deadline, options: { start: { deadline } }, or the runner a modelTimeoutMs",
  experimental_sandbox: "give the sandbox to the tools when you make them",
  experimental_steering: 'send messages to the run with runner.send(runId, text, { mode: "steer" })',
};

const PARAMETERS = {
  prompt: true,
  messages: true,
  options: true,
  abortSignal: true,
  onStart: true,
  experimental_onStart: true,
  onStepStart: true,
  experimental_onStepStart: true,
  onToolExecutionStart: true,
  experimental_onToolCallStart: true,
  onToolExecutionEnd: true,
  experimental_onToolCallFinish: true,
  onStepEnd: true,
  onStepFinish: true,
  onEnd: true,
  onFinish: true,
  experimental_transform: true,
};

export function assertParameters(given: object): void {
  for (const [name, value] of Object.entries(given)) {
    const instead = Object.hasOwn(INSTEAD, name) ? INSTEAD[name] : undefined;
    if (value !== undefined && instead !== undefined)
      throw new ConfigurationError(`A call of an agent over a run cannot have ${name}: ${instead}.`);
  }
  assertOptions("A call of an agent over a run", given, { ...PARAMETERS, ...INSTEAD });
}
