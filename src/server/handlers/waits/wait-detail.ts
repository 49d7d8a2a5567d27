import { needsMore, stillNeeded } from "../../../account/approvers.ts";
import { canonicalJson } from "../../../core/canonical-json.ts";
import type { AssistantPart } from "../../../core/message.ts";
import { type ApprovalProgress, approvalNeedOf, decideApproval, decisionOf } from "../../../core/person.ts";
import { type ParsedToolCallId, parseToolCallId } from "../../../core/step-path.ts";
import { asksPeople, asksPermission, parseWaitId, waitId } from "../../../core/wait.ts";
import type { RunRecord, StoreReader, WaitRecord } from "../../../store/store.ts";
import { waitDocument } from "../../documents/wait-documents.ts";
import { HttpProblem } from "../../http-problem.ts";
import type { Principal } from "../../principal.ts";
import { notFound } from "../../scope/run-scope.ts";
import { personOf } from "../acting-person.ts";

/** How far back an earlier call of the same tool is looked for. */
const TURNS_BACK = 200;

/** The wait of this id. */
export async function requireWait(store: Pick<StoreReader, "listWaits">, id: string): Promise<WaitRecord> {
  const parsed = parseWaitId(id);
  if (parsed === null) throw notFound("wait", id);
  const { runId, index } = parsed;
  const before = index === 1 ? {} : { after: { waitId: waitId(runId, index - 1) } };
  const [wait] = await store.listWaits(runId, { ...before, limit: 1 });
  if (wait?.waitId !== id) throw notFound("wait", id);
  return wait;
}

/** The wait of this id. If it is open, it says whether its run is what was written: only then is an answer accepted. */
export async function requireTrustedWait(
  store: Pick<StoreReader, "listWaits" | "listOpenWaits">,
  id: string,
): Promise<WaitRecord> {
  const wait = await requireWait(store, id);
  if (wait.status !== "open") return wait;
  const { runId, kind } = wait;
  const open = await store.listOpenWaits({ runId, kinds: [kind] });
  return open.find(({ waitId: each }) => each === id) ?? wait;
}

/** A wait with what a person needs to decide, and whether this principal may. */
export async function readWaitDetail(
  store: Pick<StoreReader, "listTurns" | "listToolCalls">,
  wait: WaitRecord,
  run: RunRecord,
  principal: Principal,
  now: number,
) {
  const call = wait.toolCallId === null ? null : parseToolCallId(wait.toolCallId);
  const shown = wait.subject.arguments ?? null;
  const whyNot = reasonNotToAnswer(wait, run, principal, now);
  return {
    ...waitDocument(wait, run.pipeline),
    arguments: shown,
    argumentsBytes: shown === null ? null : Buffer.byteLength(canonicalJson(shown)),
    previous: call === null ? null : await previousCall(store, call, wait),
    turn: call === null ? null : await askingTurn(store, call),
    stillNeeded: wait.status === "open" && needsMore(wait) ? stillNeeded(wait) : null,
    mayAnswer: whyNot === null,
    whyNot,
  };
}

/** Why this principal cannot be the one who answers; null if they can. The same decision is made when they do. */
function reasonNotToAnswer(
  wait: WaitRecord,
  run: RunRecord,
  principal: Principal,
  now: number,
): string | null {
  if (wait.status !== "open") return `It is ${wait.status}.`;
  if (!asksPeople(wait.kind)) return "It is not for people: the clock or a message answers it.";
  if (wait.distrusted !== undefined) return wait.distrusted;
  if (principal.role === "viewer") return "You may look at it, and not answer it: your role is viewer.";
  if (!asksPermission(wait.kind)) return null;
  const progress = approvalBy(wait, run, principal, now);
  return progress.kind === "refused" || progress.kind === "again"
    ? `You cannot approve it: ${progress.why}.`
    : null;
}

function approvalBy(wait: WaitRecord, run: RunRecord, principal: Principal, now: number): ApprovalProgress {
  const decision = decisionOf(personOf(principal), now);
  return decideApproval(approvalNeedOf(wait.subject), run.startedBy, wait.people, decision);
}

/** Refuses the approval of a person who may not be one of those that it takes. The store decides the same again. */
export function assertOtherPerson(wait: WaitRecord, run: RunRecord, principal: Principal, now: number): void {
  if (wait.status !== "open") return;
  const progress = approvalBy(wait, run, principal, now);
  if (progress.kind !== "refused") return;
  throw new HttpProblem(
    403,
    "another_person_needed",
    `Wait ${wait.waitId} is not approved: ${progress.why}.`,
  );
}

/** The last call of the same tool before this one, in the last turns of the same step. */
async function previousCall(
  store: Pick<StoreReader, "listToolCalls">,
  { runId, path, turnIndex, callIndex }: ParsedToolCallId,
  { subject, toolCallId }: WaitRecord,
) {
  // A call of code has no turn, and its place is behind those of all turns of its step.
  const first = turnIndex === 0 ? 0 : Math.max(1, turnIndex - TURNS_BACK);
  const calls = await store.listToolCalls(runId, {
    after: { stepPath: path, turnIndex: first, callIndex: 0 },
    limit: 1_000,
  });
  const earlier = calls.findLast(
    (call) =>
      call.stepPath === path &&
      call.tool === subject.tool &&
      call.toolCallId !== toolCallId &&
      (call.turnIndex < turnIndex || (call.turnIndex === turnIndex && call.callIndex < callIndex)),
  );
  return earlier === undefined ? null : { toolCallId: earlier.toolCallId, request: earlier.request };
}

/** What the model said when it asked for the call; null for a call of a code step. */
async function askingTurn(
  store: Pick<StoreReader, "listTurns">,
  { runId, path, turnIndex }: ParsedToolCallId,
) {
  if (turnIndex === 0) return null;
  const after = { stepPath: path, turnIndex: turnIndex - 1 };
  const [turn] = await store.listTurns(runId, { after, limit: 1 });
  if (turn?.stepPath !== path || turn.turnIndex !== turnIndex) return null;
  return { stepPath: path, turnIndex, text: turn.response.content.map(textOf).join("") };
}

function textOf(part: AssistantPart): string {
  return part.type === "text" && typeof part.text === "string" ? part.text : "";
}
