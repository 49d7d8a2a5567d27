import type { ToolSet } from "ai";
import { ConfigurationError } from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import { assertOptions, type OptionNames } from "../../../core/naming/option-names.ts";
import type { Runner } from "../../../engine/runner/runner.ts";
import type { GivenTools } from "../agent.ts";
import { loadAiSdk } from "../ai-sdk-package.ts";
import { type AgentCall, assertAgentCall, assertParameters } from "./agent-call.ts";
import type {
  AsAgentOptions,
  Context,
  MirroredAgent,
  MirroredOutput,
  MirroredToolSet,
} from "./agent-types.ts";
import { beginCall } from "./begin-call.ts";
import type { CallMeans } from "./call-means.ts";
import { ledgerResult } from "./ledger-result.ts";
import { mirroredModel } from "./mirrored-model.ts";
import { mirroredOutput } from "./mirrored-output.ts";
import { type MirroredTarget, targetOf } from "./mirrored-target.ts";
import { MirroredTools, shownTools } from "./mirrored-tools.ts";
import { whenAborted } from "./when-aborted.ts";

/**
 * The AI SDK's `Agent` interface over a durable agent: `generate`, `stream`, and with them `createAgentUIStreamResponse`. The
 * SDK gets a model that is the run, and tools that are its ledger: it never runs a tool, and what it shows is what was stored.
 *
 * For a conversation, `options.runId` of each call names the run; the same call again is the same message. For an agent alone
 * each call is a run: the one that `options.runId` or `options.key` names, or, as with `runner.run`, the unfinished run of the
 * same prompt, or a new one.
 *
 * @example
 * const chat = asAgent(new Runner(conversation(clerk), { store }));
 * const { text } = await chat.generate({ prompt: "Where is order 7?", options: { runId: "chat-7", by: "ann" } });
 */
export function asAgent<O, T extends GivenTools>(
  runner: Runner<O, Json>,
  options: AsAgentOptions<T> & { readonly tools: T },
): MirroredAgent<MirroredToolSet<T>, MirroredOutput<O>>;
export function asAgent<O>(
  runner: Runner<O, Json>,
  options?: AsAgentOptions,
): MirroredAgent<ToolSet, MirroredOutput<O>>;
export function asAgent<O>(
  runner: Runner<O, Json>,
  options: AsAgentOptions = {},
): MirroredAgent<ToolSet, MirroredOutput<O>> {
  assertOptions("The second argument of asAgent", options, NAMES, OTHER_NAMES);
  const target = targetOf(runner);
  assertSameTools(target, options.tools);
  const { drive = true, parts = "journaled", onAbort = "leave" } = options;
  assertWord("parts", parts, ["journaled", "live"]);
  assertWord("onAbort", onAbort, ["leave", "stop"]);
  const means = { runner, target, drives: drive, wantsLive: parts === "live" };
  return {
    version: "agent-v1",
    id: target.agent.name,
    tools: shownTools(target.agent),
    generate: async (parameters) => {
      const begun = await begin({ ...means, wantsLive: false }, parameters, onAbort);
      try {
        return await begun.ai.generateText<ToolSet, Context, MirroredOutput<O>>(begun.settings);
      } finally {
        begun.leave();
      }
    },
    stream: async (parameters) => {
      const begun = await begin(means, parameters, onAbort);
      return begun.ai.streamText<ToolSet, Context, MirroredOutput<O>>({
        ...begun.settings,
        // An error is in the stream, and rejects the promises of the result: it need not be printed as well.
        onError: () => undefined,
      });
    },
  };
}

/** What `generateText` and `streamText` get: a model that is the run, and tools that are its ledger. */
async function begin<O>(
  means: CallMeans<O>,
  parameters: Parameters<MirroredAgent<ToolSet, MirroredOutput<O>>["stream"]>[0],
  onAbort: NonNullable<AsAgentOptions["onAbort"]>,
) {
  assertParameters(parameters);
  const { prompt, messages, options: _, abortSignal, ...callbacks } = parameters;
  const call = callOf(parameters);
  const { target } = means;
  assertAgentCall(call, target.isConversation);
  const given = prompt ?? messages;
  if (given === undefined || (prompt !== undefined && messages !== undefined))
    throw new ConfigurationError("A call of an agent needs one of prompt and messages.");
  abortSignal?.throwIfAborted();
  const ai = await loadAiSdk();
  const { run, decided } = await beginCall(means, given, call);
  const { view } = run;
  const tools = new MirroredTools(target.agent, async (toolCallId) =>
    ledgerResult(target.store, view.runId, await run.settledCall(toolCallId)),
  );
  const forget = whenAborted(abortSignal, means, view, onAbort, call.by);
  const leave = () => {
    forget();
    view.leave();
  };
  // The SDK asks for the results of approved calls at once: an error there would be taken for one of the tool.
  for (const toolCallId of decided) await run.afterDecision(toolCallId);
  const step = {
    run,
    tools,
    showsLive: means.wantsLive,
    onRest: () => {
      forget();
      view.rest();
    },
    onOver: leave,
  };
  const settings = {
    ...callbacks,
    ...(prompt === undefined ? { messages: given as NonNullable<typeof messages> } : { prompt }),
    model: mirroredModel(step),
    tools: tools.set,
    output: mirroredOutput(ai, target.agent) as MirroredOutput<O>,
    toolApproval: ({ toolCall }: { readonly toolCall: { readonly toolCallId: string } }) =>
      tools.approvalOf(toolCall.toolCallId),
    stopWhen: async () => {
      const isOver = await run.isOver();
      if (isOver) leave();
      return isOver;
    },
    maxRetries: 0,
    telemetry: { isEnabled: false },
    ...(abortSignal === undefined ? {} : { abortSignal }),
  };
  return { ai, settings, leave };
}

/** `createAgentUIStream` passes the options on, also if there are none. */
function callOf({ options }: { readonly options?: AgentCall }): AgentCall {
  return options ?? {};
}

const NAMES = {
  tools: true,
  drive: true,
  parts: true,
  onAbort: true,
} satisfies OptionNames<AsAgentOptions>;

const OTHER_NAMES = {
  live: 'parts: "live"',
  worker: "drive",
  runId: "options: { runId } of each call",
  by: "options: { by } of each call",
};

function assertWord(name: string, given: string, words: readonly string[]): void {
  if (words.includes(given)) return;
  throw new ConfigurationError(
    `asAgent was given ${name} ${JSON.stringify(given)}: use ${words.map((word) => JSON.stringify(word)).join(" or ")}.`,
  );
}

/** The tools are given for their types: others than the agent's would be types of something else. */
function assertSameTools({ agent }: MirroredTarget, tools: GivenTools | undefined): void {
  if (tools === undefined) return;
  const own = [...Object.keys(agent.tools), ...Object.keys(agent.sources)];
  const unknown = Object.keys(tools).find((name) => !own.includes(name));
  if (unknown === undefined) return;
  throw new ConfigurationError(
    `asAgent was given the tool ${unknown}, which agent ${agent.name} does not have: give it the tools that the agent was made with.`,
  );
}
