import type { JsonObject } from "../../../core/json.ts";
import type { EventRecord } from "../../../store/store.ts";
import type { RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import { objectOf } from "./observations.ts";

/** A request to resume a run, with the events before it, and those up to what takes its place. */
type AskedResume = {
  readonly account: RunAccount;
  readonly facts: JsonObject;
  readonly before: readonly EventRecord[];
  readonly since: readonly EventRecord[];
};

export const resumedAsRequested: Invariant = {
  name: "resumed-as-requested",
  promise: "A resume that a person has requested is done as asked for: it is never lost, and never repeated.",
  judge: ({ again }) => checkEach(again.accounts.flatMap(askedResumes), judgeResume),
};

function askedResumes(account: RunAccount): readonly AskedResume[] {
  const { events } = account;
  return events.flatMap((event, i) => {
    if (event.type !== "run.resume_requested") return [];
    const rest = events.slice(i + 1);
    const end = rest.findIndex(isInstead);
    const since = end === -1 ? rest : rest.slice(0, end);
    return [{ account, facts: objectOf(event.data), before: events.slice(0, i), since }];
  });
}

/** Another request, a cancel, or a resume with options of its own. */
function isInstead({ type, data }: EventRecord): boolean {
  if (type === "run.claimed") return objectOf(data).replacesRequest === true;
  return type === "run.resume_requested" || type === "run.cancelled";
}

function judgeResume(asked: AskedResume): readonly Problem[] {
  const { account, since } = asked;
  const { runId, resumeRequest, status } = account.run;
  // Something else came before any worker.
  if (!since.some(({ type }) => type === "run.claimed"))
    return status === "queued" ? wrong(`No worker has resumed ${runId}`) : FINE;
  if (resumeRequest !== null && status !== "queued" && status !== "waiting" && status !== "running")
    return wrong(`${runId} is ${status}, and is still to be resumed`);
  return [...judgeLimits(asked), ...judgeMilestone(asked), ...judgeRedone(asked), ...judgeAccepted(asked)];
}

/** The limits are changed by one claim: each later one would undo what a person has changed meanwhile. */
function judgeLimits({ account: { run }, facts, since }: AskedResume): readonly Problem[] {
  if (facts.budgets === undefined) return FINE;
  const raising = since.filter(
    ({ type, data }) => type === "run.claimed" && objectOf(data).budgets !== undefined,
  );
  return raising.length === 1
    ? FINE
    : wrong(`The budgets of ${run.runId} were to be raised once, and were raised ${raising.length} times`);
}

function judgeMilestone({ account: { run }, facts, before, since }: AskedResume): readonly Problem[] {
  const lineages = since.filter(({ type }) => type === "lineage.begun").length;
  const wanted = facts.from === "turn" || openStep(before) === null ? 0 : 1;
  if (lineages > wanted)
    return wrong(`${run.runId} was rolled back ${lineages} times for one request, and not ${wanted} times`);
  if (wanted === 0) return FINE;
  const done = since.findIndex(({ type }) => type === "lineage.begun" || PROGRESS.includes(type));
  const elsewhere = since
    .slice(0, done === -1 ? since.length : done)
    .some(({ type, data }) => type === "run.claimed" && objectOf(data).resumedFrom !== "milestone");
  if (!elsewhere && (done === -1 || since[done]?.type === "lineage.begun")) return FINE;
  return wrong(`${run.runId} was to be rolled back, and continued where it was`);
}

function judgeRedone({ account: { run }, facts, before, since }: AskedResume): readonly Problem[] {
  const drops = since.filter(({ type }) => type === "turn.dropped").length;
  const wanted = facts.redoTurn === true && facts.from === "turn" && isTurnOpen(before) ? 1 : 0;
  if (drops > wanted)
    return wrong(`${run.runId} dropped ${drops} responses for one request, and not ${wanted}`);
  const first = since.find(({ type }) => type === "turn.dropped" || PROGRESS.includes(type));
  return wanted === 0 || first === undefined || first.type === "turn.dropped"
    ? FINE
    : wrong(`A response of ${run.runId} was to be dropped, and was used`);
}

function judgeAccepted({ account: { run }, facts, since }: AskedResume): readonly Problem[] {
  const isAccepted = ({ type, data }: EventRecord) =>
    type === "divergence.accepted" && objectOf(data).why === facts.acceptDivergence;
  const accepted = since.filter(isAccepted);
  if (accepted.length > 1)
    return wrong(`A change of ${run.runId} was accepted ${accepted.length} times for one request`);
  const unseen = accepted.find(({ data }) => objectOf(data).changesHash !== facts.changesHash);
  if (typeof facts.changesHash === "string" && unseen !== undefined)
    return wrong(`A change of ${run.runId} was accepted that the person had not seen`);
  const wait = since.findIndex(({ type }) => type === "run.waiting");
  return wait === -1 || !since.slice(wait).some(isAccepted)
    ? FINE
    : wrong(`A change of ${run.runId} was accepted after a wait, which ended the request for it`);
}

/** Events by which a step continues where it is. */
const PROGRESS: readonly string[] = ["turn.opened", "turn.journaled", "turn.committed"];

/** The step of an agent that has begun its turns and is not finished; null if there is none. */
function openStep(before: readonly EventRecord[]): string | null {
  const last = before.findLast(({ type }) => type === "turn.opened" || type === "turn.committed");
  const step = last === undefined ? null : objectOf(last.data).step;
  if (typeof step !== "string") return null;
  const isFinished = before.some(
    ({ type, data }) => type === "step.finished" && objectOf(data).step === step,
  );
  return isFinished ? null : step;
}

/** True if the last response was journaled and neither committed nor dropped. */
function isTurnOpen(before: readonly EventRecord[]): boolean {
  const ends = ["turn.journaled", "turn.committed", "turn.dropped", "lineage.begun"];
  return before.findLast(({ type }) => ends.includes(type))?.type === "turn.journaled";
}
