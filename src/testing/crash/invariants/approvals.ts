import { isJsonObject, type Json } from "../../../core/json.ts";
import { approvalNeedOf } from "../../../core/person.ts";
import { holdsMark } from "../../../core/secret/secret-mark.ts";
import { asksPermission } from "../../../core/wait.ts";
import { approvalNeed, approvalRules } from "../../../engine/definition/approval-rule.ts";
import { toolsOf } from "../../../engine/definition/known-tools.ts";
import type { WaitRecord } from "../../../store/store.ts";
import { checkEach, FINE, type Invariant, wrong } from "../invariant.ts";
import { fingerprintOf, type SeenCall } from "../witness.ts";
import { allLines } from "./observations.ts";

export const runsAsApproved: Invariant = {
  name: "runs-as-approved",
  promise:
    "A call that needs approval runs only after it was approved, and with the arguments that were shown.",
  judge: (evidence) => {
    const { pipeline, runner: { policy = {} } = {} } = evidence.scenario;
    const rules = approvalRules(policy.approve ?? []);
    const needing = new Set(
      toolsOf(pipeline, policy)
        .filter(
          ({ name, tool, classification }) =>
            tool.approval === true ||
            approvalNeed(rules, { ...tool, name, effect: classification.effect }) !== null,
        )
        .map(({ name }) => name),
    );
    const waits = evidence.again.accounts.flatMap((account) => account.waits).filter(isApproval);
    const entered = allLines(evidence).filter((line) => line.kind === "entered");
    const checked = entered.filter(
      ({ tool, toolCallId }) => needing.has(tool) || waits.some((wait) => wait.toolCallId === toolCallId),
    );
    return checkEach(checked, (line) => {
      const { tool, toolCallId, life } = line;
      const ofCall = waits.filter((wait) => wait.toolCallId === toolCallId);
      if (ofCall.some((wait) => isFor(wait, line))) return FINE;
      const isApproved = ofCall.some(isGiven);
      const why = isApproved ? "other arguments were approved" : "it was not approved";
      return wrong(`${tool} (${toolCallId}) was run by process ${life}, but ${why}`, tool);
    });
  },
};

function isApproval({ kind }: WaitRecord): boolean {
  return asksPermission(kind);
}

function isGiven({ answer, subject, people, answeredAt, dueAt }: WaitRecord): boolean {
  const isEnough = people.length >= approvalNeedOf(subject).people;
  // Nothing is approved by silence.
  if (answeredAt !== null && dueAt !== null && answeredAt >= dueAt) return false;
  return answer !== null && "approved" in answer && answer.approved && isEnough;
}

/** True if the approval covers exactly this call. Secrets, which are not shown, and non-JSON input cannot be compared. */
function isFor(wait: WaitRecord, { tool, key, fingerprint }: SeenCall): boolean {
  if (!isGiven(wait)) return false;
  const shown = wait.subject.arguments ?? null;
  if (holdsMark(shown)) return true;
  return [withoutKey(shown, key), null].some((payload) => fingerprintOf(tool, payload) === fingerprint);
}

function withoutKey(shown: Json, key: string): Json {
  if (!isJsonObject(shown)) return shown;
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== key));
}
