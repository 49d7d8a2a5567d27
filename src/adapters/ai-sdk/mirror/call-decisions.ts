import { AlreadySettledError, ConfigurationError } from "../../../core/errors.ts";
import { parseToolCallId } from "../../../core/step-path.ts";
import { asksPermission } from "../../../core/wait.ts";
import type { Store, WaitRecord } from "../../../store/store.ts";
import { type AgentCall, personOf } from "./agent-call.ts";
import type { GivenDecision } from "./given-messages.ts";
import { isSameJson } from "./history-check.ts";
import { isForUser } from "./mirrored-tools.ts";

type Decided = { readonly decision: GivenDecision; readonly wait: WaitRecord; readonly turnIndex: number };

/**
 * Records what a person has decided about calls of a run, each once: the same decision again changes nothing. All of them
 * are checked before the first one is recorded. Returns the calls, and the turn that they belong to.
 */
export async function recordDecisions(
  store: Store,
  runId: string,
  decisions: readonly GivenDecision[],
  by: AgentCall["by"],
): Promise<{ readonly toolCallIds: readonly string[]; readonly turnIndex: number }> {
  const waits = await store.listWaits(runId);
  const decided: Decided[] = [];
  for (const decision of decisions) decided.push(await checked(store, runId, waits, decision));
  const toolCallIds = decided.map(({ decision }) => decision.toolCallId);
  assertAllDecided(waits, toolCallIds);
  for (const each of decided) await record(store, each, by);
  return { toolCallIds, turnIndex: Math.max(...decided.map(({ turnIndex }) => turnIndex)) };
}

async function checked(
  store: Store,
  runId: string,
  waits: readonly WaitRecord[],
  decision: GivenDecision,
): Promise<Decided> {
  const { toolCallId } = decision;
  const place = parseToolCallId(toolCallId);
  const call = place?.runId === runId ? await store.getToolCall(toolCallId) : null;
  if (place === null || call === null) throw refused(decision, `run ${runId} has no such call`);
  if (call.tool !== decision.toolName || !isSameJson(decision.input, call.request))
    throw refused(decision, "its arguments are not those that the person was shown");
  const wait = waits.findLast((each) => each.toolCallId === toolCallId && asksPermission(each.kind));
  if (wait === undefined || wait.status === "withdrawn") throw refused(decision, "it waits for no decision");
  if (!isForUser(wait))
    throw refused(
      decision,
      `the user may not decide it, since its tool does not have approver: "user"; an operator can (pawl approve ${wait.waitId})`,
    );
  assertNotOtherwise(decision, wait);
  return { decision, wait, turnIndex: place.turnIndex };
}

function assertNotOtherwise(decision: GivenDecision, { answer }: WaitRecord): void {
  if (answer === null || ("approved" in answer && answer.approved === decision.approved)) return;
  throw refused(decision, "it was decided otherwise before");
}

/** The SDK continues after the calls that it has a decision for, and the run only after all of them. */
function assertAllDecided(waits: readonly WaitRecord[], toolCallIds: readonly string[]): void {
  const open = waits.find(
    (wait) =>
      wait.status === "open" &&
      asksPermission(wait.kind) &&
      isForUser(wait) &&
      !toolCallIds.includes(wait.toolCallId ?? ""),
  );
  if (open === undefined) return;
  throw new ConfigurationError(
    `The user has not decided about call ${open.toolCallId ?? open.waitId}: send the decisions about all calls that wait in one request.`,
  );
}

async function record(store: Store, { decision, wait }: Decided, by: AgentCall["by"]): Promise<void> {
  if (wait.status === "answered") return;
  const { waitId } = wait;
  const { approved, reason } = decision;
  try {
    if (approved) await store.approve(waitId, personOf(by));
    else await store.deny(waitId, reason ?? "The user did not allow it.", personOf(by));
  } catch (error) {
    if (!AlreadySettledError.isInstance(error)) throw error;
    // The same request may have come twice at once.
    const now = (await store.listWaits(wait.runId)).find((each) => each.waitId === waitId);
    if (now === undefined) throw error;
    assertNotOtherwise(decision, now);
  }
}

function refused({ toolCallId, approved }: GivenDecision, why: string): ConfigurationError {
  return new ConfigurationError(
    `The ${approved ? "approval" : "denial"} of call ${toolCallId} was refused: ${why}.`,
    { toolCallId },
  );
}
