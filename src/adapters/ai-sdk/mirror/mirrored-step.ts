import type { LanguageModelV4Content, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { type AssistantPart, isToolCallPart, ledgerCallsOf, toolCallsOf } from "../../../core/message.ts";
import { toolCallId } from "../../../core/step-path.ts";
import { addUsage, NO_USAGE } from "../../../core/usage/usage.ts";
import type { TurnRecord } from "../../../store/store.ts";
import { contentOf, sdkFinishReason, sdkUsage, streamPartsOf, stringIn } from "./mirrored-content.ts";
import type { MirroredRun } from "./mirrored-run.ts";
import type { MirroredTools } from "./mirrored-tools.ts";
import { ShownLive, type StreamedPiece } from "./shown-live.ts";

type StepFinish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

/** What a step of the SDK gets, in order: whole parts of a settled answer, or pieces of one that is being written. */
export type StepPart =
  | { readonly is: "content"; readonly content: LanguageModelV4Content; readonly id: string }
  | { readonly is: "piece"; readonly piece: StreamedPiece }
  | { readonly is: "finish"; readonly finish: StepFinish };

export type StepMeans = {
  readonly run: MirroredRun;
  readonly tools: MirroredTools;
  readonly showsLive: boolean;
  /** The run waits for a person, whom the SDK asks. */
  readonly onRest: () => void;
  /** Nothing more is looked for. */
  readonly onOver: () => void;
};

/**
 * One step of the SDK: one turn of the run, up to the point where its calls have receipts or wait for a person. The SDK
 * takes a step without calls for the last one, so a turn without calls that is not the last shares a step with the next.
 */
export async function* stepParts(means: StepMeans): AsyncGenerator<StepPart> {
  try {
    yield* turnParts(means);
  } catch (error) {
    means.onOver();
    throw error;
  }
}

async function* turnParts(means: StepMeans): AsyncGenerator<StepPart> {
  const { run, tools, showsLive } = means;
  let usage = NO_USAGE;
  for (;;) {
    const live = new ShownLive(run.view.runId);
    const turn = yield* journaledTurn(run, live, showsLive);
    const hasCalls = toolCallsOf(turn.response.content).length > 0;
    const fate = hasCalls ? null : await run.fateOf(turn, { hasCalls });
    const isLast = fate !== "continues";
    usage = addUsage(usage, await run.usageOf(turn));
    const { agent } = run.target;
    // An answer that does not fit the schema was asked again: it is no part of the output.
    if (isLast || agent.output === null) yield* settledParts({ run, tools }, turn, live);
    else live.assertNothingShown(turn.turnIndex);
    if (!isLast) continue;
    const finishReason = sdkFinishReason(turn.response.finishReason, hasCalls);
    if (!hasCalls) means.onOver();
    else if (tools.asksAny) means.onRest();
    yield { is: "piece", piece: metadataOf(turn) };
    yield { is: "finish", finish: { type: "finish", finishReason, usage: sdkUsage(usage) } };
    return;
  }
}

/** The next turn of the run; until it is journaled, the pieces of it, if they are wanted. */
async function* journaledTurn(
  run: MirroredRun,
  live: ShownLive,
  showsLive: boolean,
): AsyncGenerator<StepPart, TurnRecord> {
  for (;;) {
    const found = await run.nextTurn((turn) => {
      const events = showsLive ? run.view.takeLive() : [];
      return events.length === 0 ? null : { pieces: live.add(turn, events) };
    });
    if (!("pieces" in found)) return found;
    for (const piece of found.pieces) yield { is: "piece", piece };
  }
}

/** The whole answer, without what was shown of it while it was written. */
async function* settledParts(
  { run, tools }: Pick<StepMeans, "run" | "tools">,
  turn: TurnRecord,
  live: ShownLive,
): AsyncGenerator<StepPart> {
  const { content } = turn.response;
  const { pieces, rest } = live.settle(turn.turnIndex, content);
  for (const piece of pieces) yield { is: "piece", piece };
  const idOf = ledgerIds(run, turn);
  for (const [index, part] of content.entries()) {
    if (!rest.has(index)) continue;
    const made = contentOf(part, idOf(part));
    if (made === null) continue;
    if (made.type === "tool-call" && isToolCallPart(part)) {
      tools.add(made.toolName);
      const fate = await run.fateOfCall(made.toolCallId);
      if (fate.kind === "asked") tools.ask(made.toolCallId, fate.wait);
    }
    yield { is: "content", content: made, id: `${turn.turnIndex}.${index}` };
  }
}

/** The ledger's id of each call: unique in the store, unlike the provider's. */
function ledgerIds(run: MirroredRun, { stepPath, turnIndex, response }: TurnRecord) {
  const calls = ledgerCallsOf(response.content).map((call) => call.toolCallId);
  return (part: AssistantPart): string => {
    const index = calls.indexOf(stringIn(part.toolCallId));
    return index === -1
      ? stringIn(part.toolCallId)
      : toolCallId(run.view.runId, stepPath, turnIndex, index + 1);
  };
}

function metadataOf({ response, at }: TurnRecord): StreamedPiece {
  const { responseId } = response;
  return {
    type: "response-metadata",
    timestamp: new Date(at),
    ...(responseId === null ? {} : { id: responseId }),
  };
}

/** A step as parts of a stream. */
export async function* streamedStep(means: StepMeans): AsyncGenerator<LanguageModelV4StreamPart> {
  yield { type: "stream-start", warnings: [] };
  for await (const part of stepParts(means)) {
    if (part.is === "content") yield* streamPartsOf(part.content, part.id);
    else yield part.is === "piece" ? part.piece : part.finish;
  }
}
