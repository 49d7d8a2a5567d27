import { matchesAction } from "../../core/call/action-pattern.ts";
import type { SideEffectClass } from "../../core/call/tool-call-decision.ts";
import { toolCallIdentityHash, toolCallKey } from "../../core/call/tool-call-key.ts";
import { classifyTool } from "../../core/call/tool-classification.ts";
import type { JsonObject } from "../../core/json.ts";
import { type ProviderCall, providerCallsOf, type ToolOutput } from "../../core/message.ts";
import type { NewReceipt, NewToolCall, Receipt, StoredResponse, ToolCallRecord } from "../../store/store.ts";
import { NO_PAST, type UndecidedCall } from "../call/call-decision.ts";
import { NO_EARLIER_CALL } from "../call/call-earlier-result.ts";
import { makeReceipt } from "../call/call-receipt.ts";
import { PROVIDER_NAMESPACE } from "../definition/provider-tool.ts";
import { failed, providerOutcome, type ToolOutcome } from "../definition/tool-outcome.ts";
import type { TurnCall } from "./turn-call.ts";
import type { TurnScope } from "./turn-scope.ts";

/** A call that the provider ran: with its response it is over, so its row and its receipt are written with that. */
export type ProvidedCall = {
  readonly item: TurnCall;
  /** Null where an earlier worker has written them. */
  readonly row: NewToolCall | null;
  readonly receipt: NewReceipt | null;
};

type Where = {
  readonly turnIndex: number;
  /** How many calls of the turn stand before it in the ledger. */
  readonly before: number;
  readonly known: readonly ToolCallRecord[] | undefined;
};

/** What the ledger says of the calls that the provider ran for a response. None of them is ever dispatched from here. */
export async function planProvidedCalls(
  scope: TurnScope,
  { content }: StoredResponse,
  { turnIndex, before, known }: Where,
): Promise<readonly ProvidedCall[]> {
  const planned: ProvidedCall[] = [];
  for (const [i, call] of providerCallsOf(content).entries()) {
    const callIndex = before + i + 1;
    const row = known?.[callIndex - 1];
    if (known === undefined) planned.push(await newCall(scope, call, turnIndex, callIndex));
    else if (row !== undefined) planned.push(knownCall(scope, call, turnIndex, row));
  }
  return planned;
}

async function newCall(
  scope: TurnScope,
  call: ProviderCall,
  turnIndex: number,
  callIndex: number,
): Promise<ProvidedCall> {
  const { run, path: stepPath, prepared } = scope;
  const { toolName: tool, input, toolCallId } = call.part;
  // A result that comes alone has no arguments to be known by.
  const identity = input ?? { resultOf: toolCallId };
  const identityHash = toolCallIdentityHash(PROVIDER_NAMESPACE, tool, identity);
  const keyOf = (occurrence: number) =>
    toolCallKey({
      runId: run.runId,
      namespace: PROVIDER_NAMESPACE,
      tool,
      identityHash,
      scope: { kind: "call", stepPath },
      occurrence,
    });
  const occurrence = await scope.conversation.occurrences.next(identityHash, "call", keyOf);
  const { effect, recovery } =
    prepared.tools.get(tool) ??
    classifyTool({ name: tool, declaredEffect: null, declaredRecovery: null }, run.policy.rules.tools);
  const row: NewToolCall = {
    callIndex,
    namespace: PROVIDER_NAMESPACE,
    tool,
    effect,
    recovery,
    identityHash,
    occurrence,
    idempotencyKey: keyOf(occurrence),
    status: "running",
    timeoutMs: 0,
  };
  const forbidden = matchesAction(run.policy.rules.forbiddenActions, {
    ...(prepared.tools.get(tool) ?? { namespace: PROVIDER_NAMESPACE }),
    name: tool,
  });
  if (forbidden !== null)
    run.observe.emit({ type: "warning", runId: run.runId, message: ranForbidden(tool, forbidden) });
  const made = outcomeOf(scope, call);
  const outcome = forbidden === null ? made : { ...made, errorCode: "forbidden" };
  const receipt = receiptOf(scope, callIndex, outcome);
  const asStored: Receipt = { ...receipt, blob: null, sessionEvents: [], at: run.time.clock.now() };
  const undecided = caseOf(scope, call, turnIndex, row, null);
  return { item: itemOf(call, undecided, { kind: "replay", receipt: asStored }), row, receipt };
}

/** No tool of a provider is offered that is forbidden. One ran all the same: that it did is all that can be recorded. */
function ranForbidden(tool: string, forbidden: string): string {
  return `The provider ran ${tool}, which is forbidden in this run (${forbidden}), within its answer: its receipt says so, and nothing here can undo it.`;
}

/** A worker that died between the two has left a row without its receipt: the response still says what it has to be. */
function knownCall(
  scope: TurnScope,
  call: ProviderCall,
  turnIndex: number,
  known: ToolCallRecord,
): ProvidedCall {
  const { identityHash, idempotencyKey, callIndex, receipt } = known;
  const hashes = {
    identityHash: Buffer.from(identityHash, "hex"),
    idempotencyKey: Buffer.from(idempotencyKey, "hex"),
  };
  const undecided = caseOf(scope, call, turnIndex, { callIndex, ...hashes }, known);
  const plan =
    receipt === null
      ? ({ kind: "settled", outcome: outcomeOf(scope, call), attempt: known.attempt } as const)
      : ({ kind: "replay", receipt } as const);
  return { item: itemOf(call, undecided, plan), row: null, receipt: null };
}

function itemOf({ part }: ProviderCall, undecided: UndecidedCall, plan: TurnCall["plan"]): TurnCall {
  return {
    callIndex: undecided.place.callIndex,
    exclusive: false,
    follows: null,
    part,
    undecided,
    plan,
  };
}

function caseOf(
  { run, stepKey, path, name, options }: TurnScope,
  { part }: ProviderCall,
  turnIndex: number,
  {
    callIndex,
    identityHash,
    idempotencyKey,
  }: Pick<NewToolCall, "callIndex" | "identityHash" | "idempotencyKey">,
  known: ToolCallRecord | null,
): UndecidedCall {
  const error = `${part.toolName} was run by the provider.`;
  return {
    place: { stepKey, stepPath: path, stepName: name, turnIndex, callIndex },
    request: {
      stepPath: path,
      name: part.toolName,
      input: part.input,
      secretInput: part.input,
      isSecretLost: false,
      ownSecrets: [],
      tool: null,
      problem: error,
      enforceKeys: false,
    },
    payload: { kind: "refused", errorCode: "provider_executed", error },
    idempotencyKey: Buffer.from(idempotencyKey).toString("hex"),
    identityHash: Buffer.from(identityHash).toString("hex"),
    earlier: NO_EARLIER_CALL,
    sessionBase: () => run.keeper.session.state,
    blobThresholdBytes: options.blobThresholdBytes,
    known,
    past: NO_PAST,
  };
}

/** Its tokens are those of the response, which holds the result for the model to see. */
function receiptOf(scope: TurnScope, callIndex: number, outcome: ToolOutcome): NewReceipt {
  const { blobThresholdBytes } = scope.options;
  return { ...makeReceipt(scope.run, { callIndex, blobThresholdBytes }, outcome), tokens: 0 };
}

function outcomeOf({ options }: TurnScope, { part, output }: ProviderCall): ToolOutcome {
  if (output === null)
    return failed(
      "no_result",
      `The provider ran ${part.toolName} and has not said in the same response what came of it.`,
      { uncertain: true },
    );
  const shown = shownOutput(output);
  const isSmall = Buffer.byteLength(JSON.stringify(shown.value)) <= options.blobThresholdBytes;
  const kept: ToolOutput = isSmall
    ? shown
    : { type: "text", value: "The result is large: it stands in the response of this turn." };
  const hasFailed = output.type === "error-text" || output.type === "error-json";
  return providerOutcome(hasFailed ? "failed" : "succeeded", kept);
}

/** What the provider said, in the words that a receipt has. */
function shownOutput(output: JsonObject): ToolOutput {
  const { type, value = null } = output;
  if (type === "json" || type === "content") return { type, value };
  if (type === "text" || type === "error-text")
    return { type, value: typeof value === "string" ? value : JSON.stringify(value) };
  if (type === "error-json") return { type: "error-text", value: JSON.stringify(value) };
  return { type: "json", value: output };
}

/** The classes of what is about to go out: a provider's call has long been made. */
export function effectsOf(rows: readonly NewToolCall[]): SideEffectClass[] {
  return rows
    .filter(({ status, namespace }) => status === "running" && namespace !== PROVIDER_NAMESPACE)
    .map(({ effect }) => effect);
}
