import type { ModelMessage } from "ai";
import { sha256Hex } from "../../../core/canonical-json.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import { namedRunId } from "../../../engine/runner/run-selection.ts";
import { runnerSetup } from "../../../engine/runner/runner.ts";
import type { MessageRecord, Store } from "../../../store/store.ts";
import type { AgentCall } from "./agent-call.ts";
import { recordDecisions } from "./call-decisions.ts";
import { type CallMeans, viewOf } from "./call-means.ts";
import { driveRun } from "./drive-run.ts";
import { type GivenMessages, readMessages } from "./given-messages.ts";
import { assertSameHistory } from "./history-check.ts";
import { type MirroredPart, MirroredRun } from "./mirrored-run.ts";
import type { MirroredTarget } from "./mirrored-target.ts";
import { startRun } from "./start-run.ts";

/** The part of a run that answers a call, and the calls of tools that the call has decided about. */
type BegunCall = { readonly run: MirroredRun; readonly decided: readonly string[] };

/** Makes what the call says durable, has the run worked on, and returns the part of it that answers the call. */
export async function beginCall<O>(
  means: CallMeans<O>,
  prompt: string | readonly ModelMessage[],
  call: AgentCall,
): Promise<BegunCall> {
  const given = readMessages(prompt);
  if (given.decisions.length > 0) return decide(means, given, call);
  const run = means.target.isConversation ? say(means, given, call) : startRun(means, inputOf(given), call);
  return { run: await run, decided: [] };
}

/** A person has decided about calls: that is recorded, and what follows their turn is shown. */
async function decide<O>(means: CallMeans<O>, given: GivenMessages, call: AgentCall): Promise<BegunCall> {
  const { runner, target } = means;
  const { root } = runnerSetup(runner);
  const runId = namedRunId(call, root.name, undefined);
  if (runId === null)
    throw new ConfigurationError(
      "The last message decides about calls of a run that the call does not name: give options: { runId }, or the key that the run was started with.",
    );
  await assertHistory(target.store, runId, given);
  const { toolCallIds, turnIndex } = await recordDecisions(target.store, runId, given.decisions, call.by);
  const view = viewOf(means, runId);
  const mirrored = new MirroredRun(view, target, await partAfter(target, runId, turnIndex));
  if (means.wantsLive) await view.watching();
  if (means.drives) void driveRun(runner, view);
  return { run: mirrored, decided: toolCallIds };
}

async function partAfter(
  { store, isConversation, stepPath }: MirroredTarget,
  runId: string,
  afterTurn: number,
): Promise<MirroredPart> {
  if (!isConversation) return { of: "run", afterTurn };
  const exchanges = await store.listExchanges(runId);
  const own = exchanges.findLast((each) => each.stepPath === stepPath && each.firstTurn <= afterTurn);
  return { of: "exchange", exchange: own?.exchange ?? 1, afterTurn };
}

/** A person has said something to a conversation. */
async function say<O>(means: CallMeans<O>, given: GivenMessages, call: AgentCall): Promise<MirroredRun> {
  const { runner, target } = means;
  const { runId = "", by, start } = call;
  if (given.newFrom === given.texts.length) throw nothingNew();
  const stored = await assertHistory(target.store, runId, given, call.messageId);
  for (const [position, { text }] of given.texts.entries()) {
    if (position < given.newFrom) continue;
    const isLast = position === given.texts.length - 1;
    const id = isLast ? (call.messageId ?? derivedId(position, text)) : derivedId(position, text);
    if (call.messageId === undefined && position < stored.length) continue;
    await runner.send(runId, text, { id, orStart: { ...start }, ...(by === undefined ? {} : { by }) });
  }
  const view = viewOf(means, runId);
  const part = await saidPart(target.store, runId, given, call.messageId);
  const mirrored = new MirroredRun(view, target, part);
  if (means.wantsLive) await view.watching();
  if (means.drives) void driveRun(runner, view);
  return mirrored;
}

/** The exchanges of what follows the last answer. */
async function saidPart(
  store: Store,
  runId: string,
  { texts, newFrom }: GivenMessages,
  messageId: string | undefined,
): Promise<MirroredPart> {
  const said = await saidTexts(store, runId);
  const last =
    messageId === undefined
      ? said[texts.length - 1]
      : said.find((each) => each !== "input" && each.id === messageId);
  const first = messageId === undefined || newFrom < texts.length - 1 ? said[newFrom] : last;
  if (last === undefined) throw new Error(`A message to run ${runId} was sent, and is not in the store.`);
  if (last === "input") return { of: "exchange", exchange: 1, afterTurn: 0 };
  const firstNo = first === undefined || first === "input" ? last.messageNo : first.messageNo;
  return { of: "messages", firstNo, lastNo: last.messageNo };
}

/** What people have said to a run, in order: its input, if it began with one, and the messages. */
async function saidTexts(store: Store, runId: string): Promise<readonly (MessageRecord | "input")[]> {
  const { input } = await store.readRunInput(runId);
  const messages = await store.listMessages(runId);
  const texts = messages.filter(({ event, status }) => event === null && status !== "withdrawn");
  return [...(input === null ? [] : ["input" as const]), ...texts];
}

/** Compares what the caller has with what the store has. Returns the stored texts of people. */
async function assertHistory(
  store: Store,
  runId: string,
  given: GivenMessages,
  messageId?: string,
): Promise<readonly string[]> {
  if ((await store.getRun(runId)) === null) {
    if (given.newFrom === 0 && given.calls.length === 0 && given.answers.length === 0) return [];
    throw new ConfigurationError(
      `The call has an earlier answer, and the store has no run ${runId}: begin with a message of the user alone.`,
    );
  }
  const { input } = await store.readRunInput(runId);
  const said = await saidTexts(store, runId);
  const texts = said.map((each) => textOf(each === "input" ? input : each.body));
  // With its own id, the last message may be sent without the others, and its position says nothing.
  const compared = messageId === undefined ? given : { ...given, texts: given.texts.slice(0, given.newFrom) };
  assertSameHistory(runId, compared, { texts, turns: await store.listTurns(runId) });
  return texts;
}

/** A run that a program has started may have any input. */
function textOf(body: Json): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** The same text at the same position of a run is the same message, however often it is sent. */
function derivedId(position: number, text: string): string {
  return `ai-sdk-${position + 1}-${sha256Hex(text).slice(0, 16)}`;
}

/** The input of an agent that is no conversation: one text. */
function inputOf({ texts, answers, calls }: GivenMessages): string {
  const [only] = texts;
  if (only !== undefined && texts.length === 1 && answers.length === 0 && calls.length === 0)
    return only.text;
  if (only === undefined) throw nothingNew();
  throw new ConfigurationError(
    "The call has more than one message, and each run of the agent begins with one: use new Runner(conversation(agent), { store }) for a conversation.",
  );
}

function nothingNew(): ConfigurationError {
  return new ConfigurationError(
    "The call has no message of the user after the last answer: send what the user says, or the decision about a call, as the last message.",
  );
}
