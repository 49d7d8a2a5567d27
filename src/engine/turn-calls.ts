import { ToolCallInDoubtError } from "../core/errors.ts";
import type { ToolCallPart, ToolOutput } from "../core/message.ts";
import { toolCallsOf } from "../core/message.ts";
import { decideToolCall } from "../core/tool-call-decision.ts";
import type { NewReceipt, NewToolCall, StoredResponse, ToolCallRecord } from "../store/store.ts";
import { reach } from "./run-handle.ts";
import { planToolCall, replayedPayload, requestOf, type ToolCallPlan } from "./tool-call-plan.ts";
import { dispatchTool, failed, inDoubt } from "./tool-gateway.ts";
import { makeReceipt } from "./tool-receipt.ts";
import type { TurnScope } from "./turn-scope.ts";

/** The tool calls of one response, ready to be written to the ledger and run. */
export type TurnCalls = {
  readonly items: readonly CallItem[];
  /** Ledger rows for the journal; those of a replayed turn are there already. */
  readonly rows: readonly NewToolCall[];
};

type CallItem = {
  readonly part: ToolCallPart;
  readonly callIndex: number;
  readonly idempotencyKey: string;
  readonly payload: ToolCallPlan["payload"];
  /** The row that an earlier worker left. */
  readonly known: ToolCallRecord | null;
};

/** What the model will see of a call: whole, however large. */
export type TurnCallResult = {
  readonly part: ToolCallPart;
  readonly output: ToolOutput;
  readonly tokens: number;
};

type ReadyItem = CallItem & { readonly payload: Extract<ToolCallPlan["payload"], { kind: "ready" }> };

export async function planTurnCalls(
  scope: TurnScope,
  turnIndex: number,
  response: StoredResponse,
  known: readonly ToolCallRecord[] = [],
): Promise<TurnCalls> {
  const parts = toolCallsOf(response.content);
  const requests = parts.map((part) =>
    requestOf(
      part,
      scope.run.runId,
      scope.path,
      scope.prepared.tools,
      response.invalidCalls?.[part.toolCallId] ?? null,
    ),
  );
  if (known.length > 0) {
    const items = known.map(async (row) => {
      const [part, request] = [parts[row.callIndex - 1], requests[row.callIndex - 1]];
      if (part === undefined || request === undefined)
        throw new Error(`Call ${row.toolCallId} is not in its response.`);
      const payload = await replayedPayload(request, row, scope.options.enforceIdempotency);
      return { part, callIndex: row.callIndex, idempotencyKey: row.idempotencyKey, payload, known: row };
    });
    return { items: await Promise.all(items), rows: [] };
  }
  const plans: ToolCallPlan[] = [];
  for (const request of requests) {
    plans.push(await planToolCall(request, scope.options.enforceIdempotency, scope.conversation.occurrences));
  }
  const items = plans.map((plan, i) => {
    const part = parts[i];
    if (part === undefined) throw new Error(`Turn ${turnIndex} has more plans than calls.`);
    return {
      part,
      callIndex: i + 1,
      idempotencyKey: plan.idempotencyKey.toString("hex"),
      payload: plan.payload,
      known: null,
    };
  });
  return { items, rows: ledgerRows(scope, plans) };
}

/** Those dispatched at once are `running` from the start; the rest wait as `prepared`, and in a cancelled run all do. */
function ledgerRows(scope: TurnScope, plans: readonly ToolCallPlan[]): NewToolCall[] {
  const misconfigured = plans.some((plan) => plan.payload.kind === "misconfigured");
  let free = misconfigured || scope.run.signal.aborted ? 0 : scope.run.maxParallelToolCalls;
  return plans.map(({ request, identityHash, occurrence, idempotencyKey, payload }, i) => {
    const status = payload.kind === "ready" && free-- > 0 ? "running" : "prepared";
    return {
      callIndex: i + 1,
      namespace: request.tool?.namespace ?? "local",
      tool: request.name,
      effect: request.tool?.effect ?? "external",
      identityHash,
      occurrence,
      idempotencyKey,
      status,
    };
  });
}

/**
 * Runs the calls that have no receipt, side by side, each receipt stored as soon as its tool returns. The last one is
 * handed back instead: it rides in the turn's commit.
 */
export async function runTurnCalls(
  scope: TurnScope,
  turnIndex: number,
  calls: TurnCalls,
): Promise<{ readonly results: readonly TurnCallResult[]; readonly unstored: readonly NewReceipt[] }> {
  const done = new Map<number, TurnCallResult>();
  const unstored: NewReceipt[] = [];
  const runnable: ReadyItem[] = [];
  for (const item of calls.items) {
    const { payload, known, part, callIndex } = item;
    if (known !== null && known.receipt !== null)
      done.set(callIndex, { part, output: known.receipt.output, tokens: known.receipt.tokens });
    else if (payload.kind === "misconfigured") throw payload.error;
    else if (payload.kind === "invalid") {
      assertNotBegun(scope, known, payload.error);
      const receipt = receiptOf(scope, callIndex, failed("invalid_input", payload.error));
      unstored.push(receipt);
      done.set(callIndex, { part, output: receipt.output, tokens: receipt.tokens });
    } else runnable.push(assertRunnable({ ...item, payload }));
  }
  unstored.push(...(await runSideBySide(scope, turnIndex, runnable, calls.rows, done)));
  return { results: inOrder(calls.items, done), unstored };
}

function assertRunnable(item: ReadyItem): ReadyItem {
  const { known, payload } = item;
  if (known === null) return item;
  const decision = decideToolCall(known.status, payload.tool.recovery);
  if (decision.kind === "refuse") throw inDoubt(known.toolCallId, payload.tool);
  return item;
}

/** A call that may have happened must not be called failed because its arguments are not valid any more. */
function assertNotBegun({ prepared }: TurnScope, known: ToolCallRecord | null, problem: string): void {
  if (known?.status !== "running") return;
  const { toolCallId, tool } = known;
  const recovery = prepared.tools.get(tool)?.recovery ?? "opaque";
  if (recovery === "repeat") return;
  throw new ToolCallInDoubtError(
    `Call ${toolCallId} of tool ${tool} was running when its worker stopped, and cannot be repeated now: ${problem} Nobody here knows whether it happened: let the tool take the arguments that it took then, and resume.`,
    { toolCallId, tool, recovery },
  );
}

async function runSideBySide(
  scope: TurnScope,
  turnIndex: number,
  runnable: readonly ReadyItem[],
  rows: readonly NewToolCall[],
  done: Map<number, TurnCallResult>,
): Promise<readonly NewReceipt[]> {
  const { run, path, stepKey } = scope;
  const first = runnable.slice(0, run.maxParallelToolCalls);
  const waiting = runnable.slice(run.maxParallelToolCalls);
  const begun = new Set(rows.filter((row) => row.status === "running").map((row) => row.callIndex));
  const toStart = first.map((item) => item.callIndex).filter((index) => !begun.has(index));
  if (toStart.length > 0) {
    run.signal.throwIfAborted();
    await run.store.startToolCalls(run.fence, { stepKey, turnIndex, callIndexes: toStart });
  }

  let unfinished = runnable.length;
  let stopped = false;
  const unstored = new Map<number, NewReceipt>();
  const work = async (item: ReadyItem): Promise<void> => {
    const receipt = await dispatch(scope, turnIndex, item, done);
    unstored.set(item.callIndex, receipt);
    unfinished -= 1;
    if (unfinished === 0) return;
    const next = stopped || run.signal.aborted ? undefined : waiting.shift();
    reach(run, "tool:before-receipt", path, turnIndex);
    await run.store.recordReceipt(run.fence, {
      stepKey,
      turnIndex,
      receipt,
      start: next === undefined ? [] : [next.callIndex],
    });
    unstored.delete(item.callIndex);
    reach(run, "tool:receipt-stored", path, turnIndex);
    if (next !== undefined) await work(next);
  };
  const outcomes = await Promise.allSettled(
    first.map((item) =>
      work(item).catch((error: unknown) => {
        stopped = true;
        throw error;
      }),
    ),
  );
  // Whatever is thrown here came after every effect under way had ended and left its receipt.
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (failure !== undefined) {
    await keepReceipts(scope, turnIndex, [...unstored.values()]);
    throw failure.reason;
  }
  if (unfinished > 0) run.signal.throwIfAborted();
  return [...unstored.values()];
}

/**
 * Stores what tools did in a turn that fails for another reason, as far as the store takes it: a call whose outcome is
 * known is not to be in doubt. That reason is the one to tell, so nothing is thrown here.
 */
export async function keepReceipts(
  { run, stepKey }: TurnScope,
  turnIndex: number,
  receipts: readonly NewReceipt[],
): Promise<void> {
  for (const receipt of receipts)
    await run.store
      .recordReceipt(run.fence, { stepKey, turnIndex, receipt, start: [] })
      .catch(() => undefined);
}

async function dispatch(
  scope: TurnScope,
  turnIndex: number,
  { part, callIndex, idempotencyKey, payload, known }: ReadyItem,
  done: Map<number, TurnCallResult>,
): Promise<NewReceipt> {
  const outcome = await dispatchTool(scope.run, {
    tool: payload.tool,
    request: part.input,
    input: payload.input,
    stepPath: scope.path,
    stepName: scope.name,
    turnIndex,
    callIndex,
    attempt: (known?.attempt ?? 0) + 1,
    idempotencyKey,
  });
  const receipt = receiptOf(scope, callIndex, outcome);
  done.set(callIndex, { part, output: outcome.output, tokens: receipt.tokens });
  return receipt;
}

function receiptOf(scope: TurnScope, callIndex: number, outcome: ReturnType<typeof failed>): NewReceipt {
  return makeReceipt(callIndex, outcome, scope.options.blobThresholdBytes, scope.run.estimateTokens);
}

function inOrder(items: readonly CallItem[], done: ReadonlyMap<number, TurnCallResult>): TurnCallResult[] {
  return items.map(({ callIndex }) => {
    const result = done.get(callIndex);
    if (result === undefined) throw new Error(`Call ${callIndex} came to no result.`);
    return result;
  });
}
