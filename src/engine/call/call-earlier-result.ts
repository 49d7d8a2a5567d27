import type { Json } from "../../core/json.ts";
import type { ToolOutput } from "../../core/message.ts";
import type { SessionEvent } from "../../core/session-event.ts";
import type { ToolCallRecord } from "../../store/store.ts";
import type { ToolOutcome } from "../definition/tool-outcome.ts";
import type { RunWith } from "../run/active-run.ts";
import { readBlobValue } from "../run/blob-hydrator.ts";
import type { CallIdentity } from "./call-identity.ts";

/** The result of an earlier call with the same identity. */
export type EarlierCall =
  | { readonly kind: "none" }
  /** It succeeded. `output` is the whole result; `lacking` are its session events that the present session lacks. */
  | {
      readonly kind: "succeeded";
      readonly toolCallId: string;
      /** The arguments of the call that ran, comparable. */
      readonly request: Json;
      readonly output: ToolOutput;
      readonly lacking: readonly SessionEvent[];
    }
  /** It failed, and may have happened anyway. */
  | { readonly kind: "uncertain"; readonly toolCallId: string; readonly failedWith: Json }
  /** An earlier execution of this code step made a call with other arguments that the code has not made again. */
  | { readonly kind: "left_over"; readonly toolCallId: string };

type EarlierCallRun = RunWith<"runId" | "store" | "calls" | "keeper">;

export const NO_EARLIER_CALL: EarlierCall = { kind: "none" };

/** An earlier success of an effect that is wanted once, or an earlier call that failed and may have happened anyway. */
export async function earlierCall(
  run: EarlierCallRun,
  identity: CallIdentity,
  occurrence: number,
): Promise<EarlierCall> {
  if (identity.dedupe === "effect") {
    const earlierSuccess = await succeededBefore(run, identity, occurrence);
    if (earlierSuccess !== null) return earlierSuccess;
  }
  const call = await run.calls.uncertain.find(identity.hash);
  if (call === null || call.receipt === null) return NO_EARLIER_CALL;
  return { kind: "uncertain", toolCallId: call.toolCallId, failedWith: call.receipt.output.value };
}

/** The last success before this occurrence: a call that failed or was never dispatched has no result to reuse. */
async function succeededBefore(
  run: EarlierCallRun,
  identity: CallIdentity,
  occurrence: number,
): Promise<EarlierCall | null> {
  for (let n = occurrence - 1; n >= 1; n--) {
    const call = await run.store.findToolCall(run.runId, identity.keyOf(n));
    if (call?.status === "succeeded" || call?.status === "deduplicated")
      return succeededCall(run, identity, call);
  }
  return null;
}

/** The whole result of a successful call. A duplicate names the first call, and has its result. */
export async function succeededCall(
  run: EarlierCallRun,
  { comparable }: CallIdentity,
  call: ToolCallRecord,
): Promise<EarlierCall> {
  const { receipt, tool } = call;
  if (receipt === null) return NO_EARLIER_CALL;
  const { output, blob, duplicateOf } = receipt;
  const toolCallId = duplicateOf ?? call.toolCallId;
  // The first call of a fork may have been deleted with the run that made it.
  const first = (duplicateOf === null ? null : await run.store.getToolCall(duplicateOf)) ?? call;
  const lacking = await lackingEvents(run, toolCallId, first);
  const request = await comparable(first.request);
  if (blob === null) return { kind: "succeeded", toolCallId, request, output, lacking };
  const value = await readBlobValue(run, blob, tool);
  return {
    kind: "succeeded",
    toolCallId,
    request,
    output: { type: output.type, value } as ToolOutput,
    lacking,
  };
}

/** Session events of the first call that the session lost in a rollback. */
async function lackingEvents(
  run: RunWith<"keeper" | "runId" | "store">,
  origin: string,
  { toolCallId, receipt }: ToolCallRecord,
): Promise<readonly SessionEvent[]> {
  const events = toolCallId === origin ? (receipt?.sessionEvents ?? []) : [];
  if (events.length === 0 || (await run.store.isApplied(run.runId, origin))) return [];
  await run.keeper.prepareReplay(origin);
  return events;
}

/** A call that has just ended, as an earlier call for the next one of its identity. `request`: of the call that ran, comparable. */
export function asEarlierCall(
  toolCallId: string,
  { status, output, uncertain, duplicateOf }: ToolOutcome,
  request: Json,
): EarlierCall {
  if (status === "succeeded" || status === "deduplicated")
    // Its session events are recorded by the first call.
    return { kind: "succeeded", toolCallId: duplicateOf ?? toolCallId, request, output, lacking: [] };
  return uncertain ? { kind: "uncertain", toolCallId, failedWith: output.value } : NO_EARLIER_CALL;
}
