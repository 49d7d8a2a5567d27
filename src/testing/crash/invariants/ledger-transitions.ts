import type { ReceiptStatus } from "../../../core/call/tool-call-decision.ts";
import type { Json, JsonObject } from "../../../core/json.ts";
import { toolCallId } from "../../../core/step-path.ts";
import type { EventRecord, ToolCallRecord } from "../../../store/store.ts";
import type { RunAccount } from "../evidence.ts";
import { FINE, type Invariant, lookAt, type Problem, wrong } from "../invariant.ts";
import { copiedCalls, everySight, listIn, objectOf, type Sight } from "./places.ts";

export const ledgerTransitions: Invariant = {
  name: "ledger-transitions",
  promise:
    "A tool call goes from one status to the next only as the state machine allows, and the log tells of each.",
  judge: (evidence) => {
    const calls = everySight(evidence).flatMap((sight) => {
      const told = toldOfCalls(sight.account);
      return sight.account.calls.map((call) => ({ sight, call, told: told.get(call.toolCallId) ?? [] }));
    });
    return lookAt(calls, ({ sight, call, told }) => judgeCourse(sight, call, told));
  },
};

/** What an event says happened to one call. */
type Step =
  | { readonly kind: "asked" }
  | { readonly kind: "opened"; readonly as: "prepared" | "running" }
  | { readonly kind: "copied" }
  | { readonly kind: "started" }
  /** A try has ended, and another may follow. */
  | { readonly kind: "tried"; readonly attempt: number }
  | { readonly kind: "doubted"; readonly attempt: number }
  /** A worker stopped, or was found dead, with the call under way. */
  | { readonly kind: "left"; readonly attempt: number }
  /** Null: the event carries its digest alone. */
  | { readonly kind: "settled"; readonly status: ReceiptStatus | null };

type Told = Step & { readonly seq: number };

function toldOfCalls(account: RunAccount): ReadonlyMap<string, readonly Told[]> {
  const told = new Map<string, Told[]>();
  for (const id of copiedCalls(account)) told.set(id, [{ kind: "copied", seq: 0 }]);
  for (const event of account.events) {
    if (event.type === "turn.dropped") forget(told, account.run.runId, objectOf(event.data));
    for (const [id, step] of stepsIn(account.run.runId, event)) {
      const known = told.get(id);
      if (known === undefined) told.set(id, [{ ...step, seq: event.seq }]);
      else known.push({ ...step, seq: event.seq });
    }
  }
  return told;
}

/** Its response was given up before any call had gone out: whatever is asked for in its place is something new. */
function forget(told: Map<string, Told[]>, runId: string, { step, turn, calls }: JsonObject): void {
  for (let i = 1; i <= Number(calls); i++) told.delete(toolCallId(runId, pathOf(step), Number(turn), i));
}

function pathOf(step: Json | undefined): string {
  return typeof step === "string" ? step : "";
}

function stepsIn(runId: string, { type, data }: EventRecord): readonly (readonly [string, Step])[] {
  const facts = objectOf(data);
  const leftAs = (list: "inDoubt" | "notSent", kind: "left" | "tried") =>
    listIn(data, list).map((found) => {
      const { step, turn, call, attempt } = objectOf(found);
      const id = toolCallId(runId, pathOf(step), Number(turn), Number(call));
      return [id, { kind, attempt: Number(attempt) }] as const;
    });
  // What was certainly never sent has had its try, and is in no doubt.
  const left = [...leftAs("inDoubt", "left"), ...leftAs("notSent", "tried")];
  const { step: path } = facts;
  if (typeof path !== "string") return left;
  const turn = Number(type === "lineage.begun" ? facts.openTurn : facts.turn);
  const idOf = (index: Json | undefined) => toolCallId(runId, path, turn, Number(index));
  return [...left, ...stepsOf(type, facts, idOf)];
}

function stepsOf(
  type: string,
  facts: JsonObject,
  idOf: (index: Json | undefined) => string,
): readonly (readonly [string, Step])[] {
  const settled = listIn(facts, "receipts").map((receipt) => {
    const [index] = Array.isArray(receipt) ? (receipt as readonly Json[]) : [];
    return [idOf(index), { kind: "settled", status: null }] as const;
  });
  const [attempt, call] = [Number(facts.attempt), idOf(facts.call)];
  switch (type) {
    case "turn.journaled":
    case "turn.committed":
      return [...listIn(facts, "calls").map((_, i) => [idOf(i + 1), { kind: "asked" }] as const), ...settled];
    case "lineage.begun":
      return settled;
    case "calls.prepared":
      return listIn(facts, "calls").map(
        (index) => [idOf(index), { kind: "opened", as: "prepared" }] as const,
      );
    case "calls.started": {
      // A call of a code step begins with its own event, which has its digest.
      const step: Step = facts.digest === undefined ? { kind: "started" } : { kind: "opened", as: "running" };
      return listIn(facts, "calls").map((index) => [idOf(index), step] as const);
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

/** `ended`: it is running for the store, and its last try is over without a receipt. */
type Status = ToolCallRecord["status"] | "ended";

function judgeCourse(
  { account, when }: Sight,
  call: ToolCallRecord,
  told: readonly Told[],
): readonly Problem[] {
  const { toolCallId: id, tool } = call;
  const about = (what: string) => wrong(`${tool} (${id}) in ${account.run.runId} ${when}: ${what}`, tool);
  const [first, ...rest] = told;
  if (first === undefined) return about("the log does not tell where it came from");
  const begun = beginning(call, first, rest);
  if (begun === null) return about(`it was dispatched ${call.attempt} times, and the log tells of others`);
  let { status, attempt } = begun;
  for (const step of rest) {
    const next = after(status, attempt, step, call);
    if (next === null)
      return about(
        `it was ${status} and then ${named(step)} (event ${step.seq}), which is no way that a call goes`,
      );
    status = next;
    if (step.kind === "started") attempt += 1;
  }
  const stored = status === "ended" ? "running" : status;
  return stored === call.status
    ? FINE
    : about(`the log leaves it ${stored}, and the store has it as ${call.status}`);
}

/** How a call began. A journal does not say which of its calls go out at once: the number of tries does. */
function beginning(
  call: ToolCallRecord,
  first: Told,
  rest: readonly Told[],
): { status: Status; attempt: number } | null {
  const starts = rest.filter(({ kind }) => kind === "started").length;
  if (first.kind === "copied") return { status: call.status, attempt: call.attempt };
  const attempt = call.attempt - starts;
  if (attempt !== 0 && attempt !== 1) return null;
  const status = attempt === 1 ? "running" : "prepared";
  if (first.kind === "opened") return first.as === status ? { status, attempt } : null;
  return first.kind === "asked" ? { status, attempt } : null;
}

/** The state machine; null where it has no such way. */
function after(status: Status, attempt: number, step: Step, call: ToolCallRecord): Status | null {
  const isUnderWay = status === "running" || status === "ended";
  switch (step.kind) {
    case "started":
      return status === "prepared" || status === "in_doubt" || status === "ended" ? "running" : null;
    case "tried":
      return status === "running" && step.attempt === attempt ? "ended" : null;
    case "doubted":
      return status === "running" && step.attempt === attempt ? "in_doubt" : null;
    case "left":
      return isUnderWay && step.attempt === attempt ? "in_doubt" : null;
    case "settled": {
      const to = step.status ?? call.receipt?.status ?? null;
      if (to === null || to !== call.receipt?.status) return null;
      if (to === "succeeded" || to === "failed") return isUnderWay || status === "in_doubt" ? to : null;
      return status === "prepared" ? to : null;
    }
    case "asked":
    case "opened":
    case "copied":
      return null;
  }
}

function named(step: Step): string {
  return step.kind === "settled" ? (step.status ?? "settled") : step.kind;
}
