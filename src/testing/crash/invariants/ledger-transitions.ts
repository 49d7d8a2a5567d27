import type { ReceiptStatus } from "../../../core/call/tool-call-decision.ts";
import type { Json, JsonObject } from "../../../core/json.ts";
import { toolCallId } from "../../../core/step-path.ts";
import type { EventRecord, ToolCallRecord } from "../../../store/store.ts";
import type { RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import { allObservations, copiedCalls, listIn, type Observation, objectOf } from "./observations.ts";

export const ledgerTransitions: Invariant = {
  name: "ledger-transitions",
  promise:
    "A tool call changes its status only as the state machine allows, and the event log records each change.",
  judge: (evidence) => {
    const calls = allObservations(evidence).flatMap((observation) => {
      const log = callLogs(observation.account);
      return observation.account.calls.map((call) => ({
        observation,
        call,
        logged: log.get(call.toolCallId) ?? [],
      }));
    });
    return checkEach(calls, ({ observation, call, logged }) => judgeTransitions(observation, call, logged));
  },
};

/** The change of one call that an event records. */
type CallChange =
  | { readonly kind: "asked" }
  | { readonly kind: "opened"; readonly as: "prepared" | "running" }
  | { readonly kind: "copied" }
  | { readonly kind: "started" }
  /** An attempt has ended, and another may follow. */
  | { readonly kind: "tried"; readonly attempt: number }
  | { readonly kind: "doubted"; readonly attempt: number }
  /** A worker stopped, or was found dead, while the call was running. */
  | { readonly kind: "left"; readonly attempt: number }
  /** Null if the event has only the number of the call. */
  | { readonly kind: "settled"; readonly status: ReceiptStatus | null };

type LoggedChange = CallChange & { readonly seq: number };

/** The logged changes of each call, by its id. */
function callLogs(account: RunAccount): ReadonlyMap<string, readonly LoggedChange[]> {
  const log = new Map<string, LoggedChange[]>();
  for (const id of copiedCalls(account)) log.set(id, [{ kind: "copied", seq: 0 }]);
  for (const event of account.events) {
    if (event.type === "turn.dropped") removeDropped(log, account.run.runId, objectOf(event.data));
    for (const [id, change] of changesIn(account.run.runId, event)) {
      const known = log.get(id);
      if (known === undefined) log.set(id, [{ ...change, seq: event.seq }]);
      else known.push({ ...change, seq: event.seq });
    }
  }
  return log;
}

/** The response was dropped before any of its calls was sent: the calls of the next response are new ones. */
function removeDropped(
  log: Map<string, LoggedChange[]>,
  runId: string,
  { step, turn, calls }: JsonObject,
): void {
  for (let i = 1; i <= Number(calls); i++) log.delete(toolCallId(runId, pathOf(step), Number(turn), i));
}

function pathOf(step: Json | undefined): string {
  return typeof step === "string" ? step : "";
}

function changesIn(runId: string, { type, data }: EventRecord): readonly (readonly [string, CallChange])[] {
  const facts = objectOf(data);
  const leftAs = (list: "inDoubt" | "notSent", kind: "left" | "tried") =>
    listIn(data, list).map((found) => {
      const { step, turn, call, attempt } = objectOf(found);
      const id = toolCallId(runId, pathOf(step), Number(turn), Number(call));
      return [id, { kind, attempt: Number(attempt) }] as const;
    });
  // A call that was certainly never sent has used an attempt, and is not in doubt.
  const left = [...leftAs("inDoubt", "left"), ...leftAs("notSent", "tried"), ...settledByOthers(runId, data)];
  const { step: path } = facts;
  if (typeof path !== "string") return left;
  const turn = Number(type === "lineage.begun" ? facts.openTurn : facts.turn);
  const idOf = (index: Json | undefined) => toolCallId(runId, path, turn, Number(index));
  return [...left, ...changesOf(type, facts, idOf)];
}

/** The calls that the clock or a message settled. */
function settledByOthers(runId: string, data: Json): readonly (readonly [string, CallChange])[] {
  const facts = [...listIn(data, "waits"), ...listIn(data, "received")].map(objectOf);
  return facts.flatMap(({ step, turn, call, status }) =>
    typeof step === "string"
      ? [
          [
            toolCallId(runId, step, Number(turn), Number(call)),
            { kind: "settled", status: status as ReceiptStatus },
          ] as const,
        ]
      : [],
  );
}

function changesOf(
  type: string,
  facts: JsonObject,
  idOf: (index: Json | undefined) => string,
): readonly (readonly [string, CallChange])[] {
  const settled = listIn(facts, "receipts").map(
    (index) => [idOf(index), { kind: "settled", status: null }] as const,
  );
  const [attempt, call] = [Number(facts.attempt), idOf(facts.call)];
  switch (type) {
    case "turn.journaled":
    case "turn.committed":
      return [
        ...listIn(facts, "calls").map((index) => [idOf(index), { kind: "asked" }] as const),
        ...settled,
      ];
    case "lineage.begun":
      return settled;
    case "calls.prepared":
      return listIn(facts, "calls").map(
        (index) => [idOf(index), { kind: "opened", as: "prepared" }] as const,
      );
    case "calls.started": {
      // A call of a code step begins with its own event.
      const change: CallChange = facts.new === true ? { kind: "opened", as: "running" } : { kind: "started" };
      return listIn(facts, "calls").map((index) => [idOf(index), change] as const);
    }
    case "call.tried":
      return [[call, { kind: "tried", attempt }]];
    case "call.in_doubt":
      return [[call, { kind: "doubted", attempt }]];
    case "call.receipt":
    case "wait.answered":
      return facts.status === undefined
        ? []
        : [[call, { kind: "settled", status: facts.status as ReceiptStatus }]];
    default:
      return [];
  }
}

/** `ended`: the store has it as running, but its last attempt has ended without a receipt. */
type LoggedStatus = ToolCallRecord["status"] | "ended";

function judgeTransitions(
  { account, when }: Observation,
  call: ToolCallRecord,
  logged: readonly LoggedChange[],
): readonly Problem[] {
  const { toolCallId: id, tool } = call;
  const about = (what: string) => wrong(`${tool} (${id}) in ${account.run.runId} ${when}: ${what}`, tool);
  const [first, ...rest] = logged;
  if (first === undefined) return about("the event log does not record its start");
  const begun = firstStatus(call, first, rest);
  if (begun === null)
    return about(`it was dispatched ${call.attempt} times, but the event log records another number`);
  let { status, attempt } = begun;
  for (const change of rest) {
    const next = statusAfter(status, attempt, change, call);
    if (next === null)
      return about(
        `it was ${status} and then ${changeName(change)} (event ${change.seq}), which is not a valid transition`,
      );
    status = next;
    if (change.kind === "started") attempt += 1;
  }
  const stored = status === "ended" ? "running" : status;
  return stored === call.status
    ? FINE
    : about(`by the event log it is ${stored}, but the store has it as ${call.status}`);
}

/** A journal does not record which of its calls start at once: that follows from the number of attempts. */
function firstStatus(
  call: ToolCallRecord,
  first: LoggedChange,
  rest: readonly LoggedChange[],
): { status: LoggedStatus; attempt: number } | null {
  const starts = rest.filter(({ kind }) => kind === "started").length;
  if (first.kind === "copied") return { status: call.status, attempt: call.attempt };
  const attempt = call.attempt - starts;
  if (attempt !== 0 && attempt !== 1) return null;
  const status = attempt === 1 ? "running" : "prepared";
  if (first.kind === "opened") return first.as === status ? { status, attempt } : null;
  return first.kind === "asked" ? { status, attempt } : null;
}

/** The state machine; null for an invalid transition. */
function statusAfter(
  status: LoggedStatus,
  attempt: number,
  change: CallChange,
  call: ToolCallRecord,
): LoggedStatus | null {
  const isInProgress = status === "running" || status === "ended";
  switch (change.kind) {
    case "started":
      return status === "prepared" || status === "in_doubt" || status === "ended" ? "running" : null;
    case "tried":
      return status === "running" && change.attempt === attempt ? "ended" : null;
    case "doubted":
      return status === "running" && change.attempt === attempt ? "in_doubt" : null;
    case "left":
      return isInProgress && change.attempt === attempt ? "in_doubt" : null;
    case "settled": {
      const to = change.status ?? call.receipt?.status ?? null;
      if (to === null || to !== call.receipt?.status) return null;
      if (to === "succeeded" || to === "failed") return isInProgress || status === "in_doubt" ? to : null;
      return status === "prepared" ? to : null;
    }
    case "asked":
    case "opened":
    case "copied":
      return null;
  }
}

function changeName(change: CallChange): string {
  return change.kind === "settled" ? (change.status ?? "settled") : change.kind;
}
