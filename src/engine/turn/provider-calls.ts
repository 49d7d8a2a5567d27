import { matchesAction } from "../../core/call/action-pattern.ts";
import type { SideEffectClass } from "../../core/call/tool-call-decision.ts";
import { toolCallIdentityHash, toolCallKey } from "../../core/call/tool-call-key.ts";
import { classifyTool } from "../../core/call/tool-classification.ts";
import type { JsonObject } from "../../core/json.ts";
import { type ProviderCall, providerCallsOf, type ToolOutput } from "../../core/message.ts";
import type { NewReceipt, NewToolCall, Receipt, StoredResponse, ToolCallRecord } from "../../store/store.ts";
import { NO_CALL_HISTORY, type UndecidedCall } from "../call/call-decision.ts";
import { NO_EARLIER_CALL } from "../call/call-earlier-result.ts";
import { makeReceipt } from "../call/call-receipt.ts";
import { PROVIDER_NAMESPACE } from "../definition/provider-tool.ts";
import { failed, providerOutcome, type ToolOutcome } from "../definition/tool-outcome.ts";
import type { TurnCall } from "./turn-call.ts";
import type { TurnScope } from "./turn-scope.ts";

/** A call that the provider ran. It ended before the response arrived: row and receipt are written with the response. */
export type PlannedProviderCall = {
  readonly item: TurnCall;
  /** Null, like the receipt, if an earlier worker wrote it. */
  readonly row: NewToolCall | null;
  readonly receipt: NewReceipt | null;
};

/** The turn of provider calls in the ledger. */
type LedgerTurn = {
  readonly turnIndex: number;
  /** The number of calls of the turn that precede them in the ledger. */
  readonly callsBefore: number;
  /** The rows that an earlier worker wrote. */
  readonly known: readonly ToolCallRecord[] | undefined;
};

/** Plans the ledger rows of the calls that the provider ran for a response. None of them is ever dispatched by Pawl. */
export async function planProviderCalls(
  scope: TurnScope,
  { content }: StoredResponse,
  { turnIndex, callsBefore, known }: LedgerTurn,
): Promise<readonly PlannedProviderCall[]> {
  const planned: PlannedProviderCall[] = [];
  for (const [i, call] of providerCallsOf(content).entries()) {
    const callIndex = callsBefore + i + 1;
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
): Promise<PlannedProviderCall> {
  const { run, path: stepPath, prepared } = scope;
  const { toolName: tool, input, toolCallId } = call.part;
  // A result without its call has no arguments to identify it by.
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
    run.observe.emit({ type: "warning", runId: run.runId, message: forbiddenWarning(tool, forbidden) });
  const made = providerCallOutcome(scope, call);
  const outcome = forbidden === null ? made : { ...made, errorCode: "forbidden" };
  const receipt = providerReceipt(scope, callIndex, outcome);
  const asStored: Receipt = { ...receipt, blob: null, sessionEvents: [], at: run.time.clock.now() };
  const undecided = undecidedProviderCall(scope, call, turnIndex, row, null);
  return { item: providerTurnCall(call, undecided, { kind: "replay", receipt: asStored }), row, receipt };
}

/** Forbidden provider tools are not offered. If the provider runs one anyway, Pawl can only record that it did. */
function forbiddenWarning(tool: string, forbidden: string): string {
  return `The provider ran ${tool} within its answer, although it is forbidden in this run (${forbidden}). The receipt records this. Pawl cannot undo the call.`;
}

/** A worker that died between the two writes left a row without a receipt. The receipt is made from the response. */
function knownCall(
  scope: TurnScope,
  call: ProviderCall,
  turnIndex: number,
  known: ToolCallRecord,
): PlannedProviderCall {
  const { identityHash, idempotencyKey, callIndex, receipt } = known;
  const hashes = {
    identityHash: Buffer.from(identityHash, "hex"),
    idempotencyKey: Buffer.from(idempotencyKey, "hex"),
  };
  const undecided = undecidedProviderCall(scope, call, turnIndex, { callIndex, ...hashes }, known);
  const plan =
    receipt === null
      ? ({ kind: "settled", outcome: providerCallOutcome(scope, call), attempt: known.attempt } as const)
      : ({ kind: "replay", receipt } as const);
  return { item: providerTurnCall(call, undecided, plan), row: null, receipt: null };
}

function providerTurnCall(
  { part }: ProviderCall,
  undecided: UndecidedCall,
  plan: TurnCall["plan"],
): TurnCall {
  return {
    callIndex: undecided.place.callIndex,
    exclusive: false,
    follows: null,
    part,
    undecided,
    plan,
  };
}

function undecidedProviderCall(
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
    comparable: part.input,
    sessionBase: () => run.keeper.session.state,
    blobThresholdBytes: options.blobThresholdBytes,
    known,
    history: NO_CALL_HISTORY,
  };
}

/** The receipt counts no tokens: the model sees the result in the response, which counts them. */
function providerReceipt(scope: TurnScope, callIndex: number, outcome: ToolOutcome): NewReceipt {
  const { blobThresholdBytes } = scope.options;
  return { ...makeReceipt(scope.run, { callIndex, blobThresholdBytes }, outcome), tokens: 0 };
}

function providerCallOutcome({ options }: TurnScope, { part, output }: ProviderCall): ToolOutcome {
  if (output === null)
    return failed("no_result", `The provider ran ${part.toolName}, and its response has no result of it.`, {
      uncertain: true,
    });
  const shown = receiptOutput(output);
  const isSmall = Buffer.byteLength(JSON.stringify(shown.value)) <= options.blobThresholdBytes;
  const kept: ToolOutput = isSmall
    ? shown
    : { type: "text", value: "The result is large: it is in the response of this turn." };
  const hasFailed = output.type === "error-text" || output.type === "error-json";
  return providerOutcome(hasFailed ? "failed" : "succeeded", kept);
}

/** The provider's output in one of the types that a receipt has. */
function receiptOutput(output: JsonObject): ToolOutput {
  const { type, value = null } = output;
  if (type === "json" || type === "content") return { type, value };
  if (type === "text" || type === "error-text")
    return { type, value: typeof value === "string" ? value : JSON.stringify(value) };
  if (type === "error-json") return { type: "error-text", value: JSON.stringify(value) };
  return { type: "json", value: output };
}

/** The effect classes of the calls that will be dispatched. Provider calls are not among them: they have ended. */
export function effectsToDispatch(rows: readonly NewToolCall[]): SideEffectClass[] {
  return rows
    .filter(({ status, namespace }) => status === "running" && namespace !== PROVIDER_NAMESPACE)
    .map(({ effect }) => effect);
}
