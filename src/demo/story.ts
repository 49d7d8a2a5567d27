import { counted } from "../cli/screen/format.ts";
import { isJsonObject } from "../core/json.ts";
import type { CrashPoint } from "../engine/ports/crash-points.ts";
import type { DemoEffect } from "./answer-hold.ts";
import type { Death, ProcessLife } from "./killed-job.ts";
import type { ReportedEvent } from "./worker-order.ts";

// The story of the demo in words. Pure: the same processes produce the same story.

/** What a process reported. */
type ProcessLog = Pick<ProcessLife, "messages">;

/** What had happened at the crash point where the process was killed. */
const POINT_TEXTS: Readonly<Record<CrashPoint, string>> = {
  "run:created": "the run was stored, nothing was done yet",
  "step:begun": "the phase had started, nothing was done yet",
  "turn:before-open": "the turn was about to be opened",
  "turn:opened": "tokens were reserved, the model was not asked yet",
  "model:before-request": "the model was about to be asked",
  "model:noted": "the request to the model was noted, but not sent yet",
  "model:answered": "the model had answered, nothing was stored yet",
  "turn:before-journal": "the model had answered, and the answer was about to be stored",
  "turn:journaled": "the model's answer was stored, none of its calls had run yet",
  "tool:before-start": "a call was about to be marked as running",
  "tool:started": "a call was marked as running, but not sent yet",
  "tool:before-execute": "a call was marked as running and about to be sent",
  "tool:noted": "a call was noted, but not sent yet",
  "tool:executed": "a call had returned, its receipt was not stored yet",
  "tool:before-try-end": "a call had failed, the failure was not stored yet",
  "tool:try-ended": "a call had failed and was about to be retried",
  "tool:before-reconcile": "a call was about to be looked up",
  "tool:reconciled": "a call was looked up, the result was not stored yet",
  "tool:before-receipt": "a call had returned, its receipt was about to be stored",
  "tool:receipt-stored": "a receipt was stored, nothing after it was",
  "turn:before-commit": "the turn was about to be committed",
  "turn:committed": "the turn was committed, nothing after it had started",
  "exchange:before-end": "an exchange was about to end without an answer",
  "exchange:ended": "an exchange had ended without an answer",
  "compaction:before-open": "a summary was about to be reserved for",
  "compaction:opened": "a summary was reserved for",
  "compaction:before-commit": "a summary was about to replace the history",
  "compaction:committed": "a summary had replaced the history",
  "lineage:before-begin": "a new lineage was about to start",
  "lineage:begun": "a new lineage had started",
  "loop:decided": "the loop had decided whether to continue",
  "step:before-finish": "all was done, the phase was about to be marked as finished",
  "step:finished": "the phase was marked as finished, the next had not started",
  "run:before-finish": "all was done, the run was about to be marked as succeeded",
  "run:finished": "the run was marked as succeeded",
  "run:before-wait": "a person was about to be asked",
  "run:waiting": "a person was asked",
};

const OUTSIDE: Readonly<Record<DemoEffect, (what: string) => string>> = {
  page: (path) => `inside the web site: ${path} was read, the answer had not left yet`,
  upload: (name) => `inside the upload service: ${name} was stored, the answer had not left yet`,
  mail: () => "inside the mail server: the mail was accepted, the answer had not left yet",
  notification: () => "inside the notification service: it was shown, the answer had not left yet",
};

/** Where a process was killed. */
export function whereKilled(death: Death): string {
  switch (death.kind) {
    case "point":
      return death.turn > 0 ? `in turn ${death.turn}: ${POINT_TEXTS[death.point]}` : POINT_TEXTS[death.point];
    case "outside":
      return OUTSIDE[death.effect](death.what);
    case "time":
      return "at an arbitrary moment";
  }
}

/** The tool calls that had started but not ended, by readable names. */
export function callsInProgress({ messages }: ProcessLog): readonly string[] {
  const open = new Map<string, string>();
  for (const event of eventsOf(messages)) {
    if (event.type === "tool.started") open.set(event.toolCallId, nameOf(event));
    else if (event.type === "tool.finished") open.delete(event.toolCallId);
  }
  return [...open.values()];
}

/** How the next process continued the phase in which the one before it was killed. */
export function recoverySteps(
  before: readonly ProcessLog[],
  phase: string,
  next: ProcessLog,
): readonly string[] {
  const events = eventsOf(next.messages);
  if (events.some((event) => event.type === "step.skipped" && event.step === phase))
    return [`finds ${phase} finished and does not enter it again`];
  const end = events.findIndex((event) => event.type === "step.finished" && event.step === phase);
  const own = end === -1 ? events : events.slice(0, end);
  const lines = [
    ...turnsOf(before, phase, next, own),
    ...own.flatMap((event) => (event.type === "tool.reconciled" ? [lookUpOf(event.tool, event.status)] : [])),
    ...attemptsOf(before, own),
  ];
  return lines.length > 0 ? lines : [nothingToDo(before, phase)];
}

/** Where nothing was asked, sent or looked up again. */
function nothingToDo(before: readonly ProcessLog[], phase: string): string {
  const messages = before.flatMap((life) => life.messages);
  if (messages.some((message) => message.kind === "asked" && message.phase === phase))
    return "finds every turn committed; the model is not asked again";
  if (eventsOf(messages).some((event) => isReceiptOf(event, phase)))
    return "finds the receipts and sends nothing again";
  if (phase === "render" && messages.some((message) => message.kind === "entered" && message.phase === phase))
    return "renders again, to the same bytes: each file is stored once";
  return "starts the phase; nothing of it had been sent";
}

function turnsOf(
  before: readonly ProcessLog[],
  phase: string,
  next: ProcessLog,
  own: readonly ReportedEvent[],
): string[] {
  const replayed = own.flatMap((event) =>
    event.type === "turn.started" && event.step === phase && event.replayed
      ? [`takes the answer to turn ${event.turn} from the journal; the model is not asked again`]
      : [],
  );
  const askedBefore = before
    .flatMap(({ messages }) => messages)
    .filter((message) => message.kind === "asked");
  const again = next.messages.flatMap((message) =>
    message.kind === "asked" &&
    message.phase === phase &&
    askedBefore.some((each) => each.phase === phase && each.turn === message.turn)
      ? [`asks the model for turn ${message.turn} again, since its answer was lost`]
      : [],
  );
  const first = own.find((event) => event.type === "turn.started" && event.step === phase);
  const continued =
    replayed.length + again.length === 0 && first?.type === "turn.started" && first.turn > 1
      ? [`continues with turn ${first.turn}; committed turns are not repeated`]
      : [];
  return [...replayed, ...again, ...continued];
}

function lookUpOf(tool: string, status: string): string {
  if (status === "done") return `looks ${tool} up (reconcile): it is there, so nothing is sent`;
  if (status === "absent") return `looks ${tool} up (reconcile): it is not there, so it is sent`;
  return `looks ${tool} up (reconcile): the outcome is unknown`;
}

/** Calls that were running in the ledger and run again now, and the receipts that are reused beside them. */
function attemptsOf(before: readonly ProcessLog[], own: readonly ReportedEvent[]): string[] {
  const sent = new Set(before.flatMap(({ messages }) => startsIn(eventsOf(messages))).map(callOf));
  const tried = startsIn(own).filter((start) => start.attempt > 1 && !wasReconciled(own, start.toolCallId));
  const again = tried.filter((start) => sent.has(callOf(start))).map(nameOf);
  const first = tried.filter((start) => !sent.has(callOf(start))).map(nameOf);
  const receipts = receiptsUsed(before, own);
  return [
    ...(again.length > 0 ? [againOf(again)] : []),
    ...(first.length > 0 ? [`runs ${first.join(", ")}, which had not been sent`] : []),
    ...(tried.length > 0 && receipts > 0
      ? [`uses ${counted(receipts, "receipt")} of the process before it`]
      : []),
  ];
}

function againOf(names: readonly string[]): string {
  const isKeyed = names.some((name) => /^(upload|send)_/.test(name));
  return isKeyed
    ? `sends ${names.join(", ")} again with the same key (keyed)`
    : `runs ${names.join(", ")} again, which is harmless (repeat)`;
}

type ToolStart = Extract<ReportedEvent, { type: "tool.started" }>;

function startsIn(events: readonly ReportedEvent[]): ToolStart[] {
  return events.filter((event) => event.type === "tool.started");
}

function callOf({ toolCallId }: ToolStart): string {
  return toolCallId;
}

function wasReconciled(events: readonly ReportedEvent[], toolCallId: string): boolean {
  return events.some((event) => event.type === "tool.reconciled" && event.toolCallId === toolCallId);
}

/** How many calls of the resumed turn or step had already ended. */
function receiptsUsed(before: readonly ProcessLog[], own: readonly ReportedEvent[]): number {
  const again = startsIn(own).find(({ attempt }) => attempt > 1);
  if (again === undefined) return 0;
  const turn = again.toolCallId.replace(/\.\d+$/, ".");
  const started = new Set(startsIn(own).map(callOf));
  const ended = before
    .flatMap(({ messages }) => eventsOf(messages))
    .flatMap((event) => (event.type === "tool.finished" ? [event.toolCallId] : []));
  return new Set(ended.filter((id) => id.startsWith(turn) && !started.has(id))).size;
}

function isReceiptOf(event: ReportedEvent, phase: string): boolean {
  return event.type === "tool.finished" && event.toolCallId.includes(`/${phase}#`);
}

function eventsOf(messages: ProcessLife["messages"]): readonly ReportedEvent[] {
  return messages.flatMap((message) => (message.kind === "event" ? [message.event] : []));
}

/** A readable name of a call: the tool and its subject. */
function nameOf({ tool, input }: ToolStart): string {
  const about = isJsonObject(input) ? (input.url ?? input.name) : null;
  if (typeof about !== "string") return tool;
  return `${tool} ${URL.parse(about)?.pathname ?? about}`;
}
