import { toolCallKey } from "../../../core/call/tool-call-key.ts";
import type { Json } from "../../../core/json.ts";
import { ONE_PERSON } from "../../../core/person.ts";
import { asksPermission } from "../../../core/wait.ts";
import type { StepRecord, ToolCallRecord, TurnRecord } from "../../../store/store.ts";
import { type CallHistory, decideCall, readCallHistory } from "../../call/call-decision.ts";
import { earlierCall, NO_EARLIER_CALL } from "../../call/call-earlier-result.ts";
import { reidentify } from "../../call/call-identity.ts";
import { makePayload } from "../../call/call-payload.ts";
import { type PreparedTool, prepareTool } from "../../definition/prepared-tool.ts";
import { makeTool } from "../../definition/tool.ts";
import type { ActiveRun, RunWith } from "../../run/active-run.ts";
import type { OpenTurnMode } from "../../turn/loaded-conversation.ts";
import type { TurnCall } from "../../turn/turn-call.ts";
import { planTurnCalls } from "../../turn/turn-call-plan.ts";
import type { TurnScope } from "../../turn/turn-scope.ts";

/** What a resume would do with one tool call. */
export type ForecastCall = {
  readonly toolCallId: string;
  readonly tool: string;
  readonly action: CallAction;
};

/**
 * - `answered`: its receipt is reused.
 * - `run`: it runs for the first time.
 * - `run_again`: it may have happened, and repeating it is safe or was allowed by a person.
 * - `look_up`: the outside system is asked whether it happened.
 * - `ask`: a person is asked.
 * - `deduplicated`: an equal call has succeeded before, and its result is reused.
 * - `refused`: it does not run; the model or the code gets an error.
 * - `later`: this is decided when the call before it has ended.
 * - `dropped`: it is dropped with the response that requested it.
 * - `requested_again`: it failed and ended its step; the code of the step makes the call again, as a new one.
 */
export type CallAction =
  | "answered"
  | "run"
  | "run_again"
  | "look_up"
  | "ask"
  | "deduplicated"
  | "refused"
  | "later"
  | "dropped"
  | "requested_again";

/** Forecasts the calls of a journaled turn. In mode `abandon`, calls that were never sent are dropped. */
export async function forecastTurnCalls(
  scope: TurnScope,
  { turnIndex, response, calls }: TurnRecord,
  mode: OpenTurnMode = "continue",
): Promise<readonly ForecastCall[]> {
  const { items } = await planTurnCalls(scope, turnIndex, response, { known: calls, mode });
  if (mode === "continue" && items.length > 0) scope.run.contract.budget.assertToolCalls();
  return calls.map(({ toolCallId, tool, callIndex }) => {
    const item = items.find((each) => each.callIndex === callIndex);
    return { toolCallId, tool, action: item === undefined ? "dropped" : actionOf(item.plan) };
  });
}

function actionOf(plan: TurnCall["plan"]): CallAction {
  switch (plan.kind) {
    case "replay":
      return "answered";
    case "settled":
      return plan.outcome.status === "deduplicated" ? "deduplicated" : "refused";
    case "person":
      return "ask";
    case "pending":
    case "held":
      return "later";
    case "misconfigured":
      throw plan.error;
    case "work":
      return WORK[plan.decision.kind];
  }
}

const WORK = { execute: "run", retry: "run_again", reconcile: "look_up" } as const;

/**
 * Forecasts the calls of an interrupted code step, provided that its code makes the same calls again. Only that code knows
 * its tools, and it is not run here: each tool is taken to be as the ledger describes it.
 */
export async function forecastCodeStepCalls(
  run: ActiveRun,
  instance: StepRecord,
): Promise<readonly ForecastCall[]> {
  const calls = await run.store.listCodeStepCalls(run.runId, instance.stepKey);
  const history = await readCallHistory(run.store, run.runId);
  const forecast: ForecastCall[] = [];
  for (const call of calls) {
    const { toolCallId, tool } = call;
    if (call.isSuperseded && isFollowed(call, calls)) continue;
    forecast.push({ toolCallId, tool, action: await codeStepAction(run, instance, call, history) });
  }
  return forecast;
}

/** True if a later call has the same identity. */
function isFollowed({ identityHash, callIndex }: ToolCallRecord, calls: readonly ToolCallRecord[]): boolean {
  return calls.some((other) => other.identityHash === identityHash && other.callIndex > callIndex);
}

async function codeStepAction(
  run: ActiveRun,
  instance: StepRecord,
  call: ToolCallRecord,
  history: CallHistory,
): Promise<CallAction> {
  const { stepPath, callIndex, idempotencyKey, identityHash, isSuperseded } = call;
  if (call.receipt !== null && !isSuperseded) return "answered";
  const { stepKey, name: stepName } = instance;
  const known = isSuperseded ? null : call;
  const tool = await standIn(run, call);
  const request = {
    stepPath,
    name: tool.name,
    input: call.request,
    // The code will pass its secrets again.
    secretInput: null,
    isSecretLost: false,
    ownSecrets: [],
    tool,
    problem: null,
    enforceKeys: false,
  };
  const identity = await reidentify(run, request, call);
  const isHarmless = tool.recovery === "repeat" && identity.dedupe === "call";
  const plan = decideCall(run, {
    place: { stepKey, stepPath, stepName, turnIndex: 0, callIndex },
    request,
    payload: await payloadOf(run, request, call, history),
    idempotencyKey,
    identityHash,
    earlier: isHarmless ? NO_EARLIER_CALL : await earlierCall(run, identity, call.occurrence),
    comparable: call.request,
    sessionBase: () => run.keeper.session.state,
    blobThresholdBytes: 0,
    known,
    history,
  });
  return isSuperseded && plan.kind === "work" ? "requested_again" : actionOf(plan);
}

/** A stand-in for a tool, made from the ledger row of its call. */
function standIn(run: RunWith<"policy" | "runId">, call: ToolCallRecord): Promise<PreparedTool> {
  const { tool: name, namespace, effect, recovery, idempotencyKey, occurrence } = call;
  const identityHash = Buffer.from(call.identityHash, "hex");
  const scope = { kind: "effect" } as const;
  const key = toolCallKey({ runId: run.runId, namespace, tool: name, identityHash, scope, occurrence });
  const dedupe = key.toString("hex") === idempotencyKey ? "effect" : "call";
  const nothing = () => null;
  const tool = makeTool({
    name,
    namespace,
    effect,
    recovery,
    dedupe,
    description: "",
    input: { jsonSchema: () => ({}), parse: (value) => Promise.resolve({ ok: true, value }) },
    execute: nothing,
    reconcile: recovery === "reconcile" ? nothing : null,
  });
  return prepareTool(name, tool, run.policy.rules.tools);
}

/** The arguments as a person saw them, if one was asked. A `prepared` call of code needs an approval, or is refused. */
async function payloadOf(
  run: RunWith<"policy">,
  request: Parameters<typeof makePayload>[1],
  { toolCallId, idempotencyKey, status, request: input }: ToolCallRecord,
  { waits }: CallHistory,
): ReturnType<typeof makePayload> {
  const payload = await makePayload(run.policy.rules, request, idempotencyKey);
  if (payload.kind !== "ready") return payload;
  const asked = waits.findLast((wait) => wait.toolCallId === toolCallId && asksPermission(wait.kind));
  const shown: Json = asked?.subject.arguments ?? input;
  const isAsked = asked !== undefined || status === "prepared";
  return { ...payload, input: shown, approval: payload.approval ?? (isAsked ? ONE_PERSON : null) };
}
