import { counted } from "../cli/screen/format.ts";
import { isJsonObject } from "../core/json.ts";
import type { CrashPoint } from "../engine/ports/crash-points.ts";
import type { Effect } from "./answer-hold.ts";
import type { Death, Life } from "./killed-job.ts";
import type { ToldEvent } from "./worker-order.ts";

// What happened, in words. Pure: the same processes give the same story.

/** As much of a process as there is to tell of. */
type Told = Pick<Life, "messages">;

/** Where the process stood, told after it is dead. */
const PLACES: Readonly<Record<CrashPoint, string>> = {
  "run:created": "the run was stored, nothing was done yet",
  "step:begun": "the phase had begun, nothing was done yet",
  "turn:before-open": "the turn was about to be opened",
  "turn:opened": "tokens were reserved, the model was not asked yet",
  "model:before-request": "the model was about to be asked",
  "model:noted": "it was noted that the model is asked, and it was not asked yet",
  "model:answered": "the model had answered, nothing of it was stored yet",
  "turn:before-journal": "the model had answered, which was about to be stored",
  "turn:journaled": "the model's answer was stored, none of its calls had run yet",
  "tool:before-start": "a call was about to be marked as running",
  "tool:started": "a call was marked as running and not sent yet",
  "tool:before-execute": "a call was marked as running and about to be sent",
  "tool:noted": "it was noted that a call is sent, and it was not sent yet",
  "tool:executed": "a call had come back, its receipt was not stored yet",
  "tool:before-try-end": "a call had failed, which was not stored yet",
  "tool:try-ended": "a call had failed and was about to be tried again",
  "tool:before-reconcile": "a call was about to be looked up",
  "tool:reconciled": "a call was looked up, what was found was not stored yet",
  "tool:before-receipt": "a call had come back, its receipt was about to be stored",
  "tool:receipt-stored": "a receipt was stored, nothing after it was",
  "turn:before-commit": "the turn was about to be committed",
  "turn:committed": "the turn was committed, nothing after it had begun",
  "lineage:before-begin": "a new history was about to begin",
  "lineage:begun": "a new history had begun",
  "loop:decided": "it was decided whether to go on",
  "step:before-finish": "all was done, the phase was about to be marked as finished",
  "step:finished": "the phase was marked as finished, the next had not begun",
  "run:before-finish": "all was done, the run was about to be marked as succeeded",
  "run:finished": "the run was marked as succeeded",
  "run:before-wait": "a person was about to be asked",
  "run:waiting": "a person was asked",
};

const OUTSIDE: Readonly<Record<Effect, (what: string) => string>> = {
  page: (path) => `inside the web site: ${path} was read, the answer had not left yet`,
  upload: (name) => `inside the upload service: ${name} was stored, the answer had not left yet`,
  mail: () => "inside the mail server: the mail was accepted, the answer had not left yet",
  notification: () => "inside the notification service: it was shown, the answer had not left yet",
};

/** Where a process was killed. */
export function whereKilled(death: Death): string {
  switch (death.kind) {
    case "point":
      return death.turn > 0 ? `in turn ${death.turn}: ${PLACES[death.point]}` : PLACES[death.point];
    case "outside":
      return OUTSIDE[death.effect](death.what);
    case "time":
      return "at some moment";
  }
}

/** The calls that had begun and not ended, as people call them. */
export function underWay({ messages }: Told): readonly string[] {
  const open = new Map<string, string>();
  for (const event of eventsOf(messages)) {
    if (event.type === "tool.started") open.set(event.toolCallId, nameOf(event));
    else if (event.type === "tool.finished") open.delete(event.toolCallId);
  }
  return [...open.values()];
}

/** What the next process made of it, in the phase in which the one before it was killed. */
export function whatNext(before: readonly Told[], phase: string, next: Told): readonly string[] {
  const events = eventsOf(next.messages);
  if (events.some((event) => event.type === "step.skipped" && event.step === phase))
    return [`finds ${phase} finished and does not enter it again`];
  const end = events.findIndex((event) => event.type === "step.finished" && event.step === phase);
  const own = end === -1 ? events : events.slice(0, end);
  const told = [
    ...turnsOf(before, phase, next, own),
    ...own.flatMap((event) => (event.type === "tool.reconciled" ? [lookUpOf(event.tool, event.status)] : [])),
    ...triesOf(before, own),
  ];
  return told.length > 0 ? told : [nothingToDo(before, phase)];
}

/** Where nothing was asked, sent or looked up again. */
function nothingToDo(before: readonly Told[], phase: string): string {
  const messages = before.flatMap((life) => life.messages);
  if (messages.some((message) => message.kind === "asked" && message.phase === phase))
    return "finds every turn committed; the model is not asked again";
  if (eventsOf(messages).some((event) => isReceiptOf(event, phase)))
    return "finds the receipts and sends nothing again";
  if (phase === "render" && messages.some((message) => message.kind === "entered" && message.phase === phase))
    return "renders again, to the same bytes: each file is kept once";
  return "begins the phase; nothing of it had gone out";
}

function turnsOf(before: readonly Told[], phase: string, next: Told, own: readonly ToldEvent[]): string[] {
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
  const goesOn =
    replayed.length + again.length === 0 && first?.type === "turn.started" && first.turn > 1
      ? [`goes on with turn ${first.turn}; what is committed is not done again`]
      : [];
  return [...replayed, ...again, ...goesOn];
}

function lookUpOf(tool: string, status: string): string {
  if (status === "done") return `looks ${tool} up (reconcile): it is there, so nothing is sent`;
  if (status === "absent") return `looks ${tool} up (reconcile): it is not there, so it is sent`;
  return `looks ${tool} up (reconcile): nobody can tell`;
}

/** Calls that the ledger had as running and that are run now, and beside them those whose receipts were there. */
function triesOf(before: readonly Told[], own: readonly ToldEvent[]): string[] {
  const sent = new Set(before.flatMap(({ messages }) => startsIn(eventsOf(messages))).map(callOf));
  const tried = startsIn(own).filter((start) => start.attempt > 1 && !wasReconciled(own, start.toolCallId));
  const again = tried.filter((start) => sent.has(callOf(start))).map(nameOf);
  const first = tried.filter((start) => !sent.has(callOf(start))).map(nameOf);
  const receipts = receiptsUsed(before, own);
  return [
    ...(again.length > 0 ? [againOf(again)] : []),
    ...(first.length > 0 ? [`runs ${first.join(", ")}, which had not gone out`] : []),
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

type ToolStart = Extract<ToldEvent, { type: "tool.started" }>;

function startsIn(events: readonly ToldEvent[]): ToolStart[] {
  return events.filter((event) => event.type === "tool.started");
}

function callOf({ toolCallId }: ToolStart): string {
  return toolCallId;
}

function wasReconciled(events: readonly ToldEvent[], toolCallId: string): boolean {
  return events.some((event) => event.type === "tool.reconciled" && event.toolCallId === toolCallId);
}

/** How many calls of the turn or step that is gone on with had come to their end before. */
function receiptsUsed(before: readonly Told[], own: readonly ToldEvent[]): number {
  const again = startsIn(own).find(({ attempt }) => attempt > 1);
  if (again === undefined) return 0;
  const turn = again.toolCallId.replace(/\.\d+$/, ".");
  const started = new Set(startsIn(own).map(callOf));
  const ended = before
    .flatMap(({ messages }) => eventsOf(messages))
    .flatMap((event) => (event.type === "tool.finished" ? [event.toolCallId] : []));
  return new Set(ended.filter((id) => id.startsWith(turn) && !started.has(id))).size;
}

function isReceiptOf(event: ToldEvent, phase: string): boolean {
  return event.type === "tool.finished" && event.toolCallId.includes(`/${phase}#`);
}

function eventsOf(messages: Life["messages"]): readonly ToldEvent[] {
  return messages.flatMap((message) => (message.kind === "event" ? [message.event] : []));
}

/** A call as people know it: the tool, and what it is about. */
function nameOf({ tool, input }: ToolStart): string {
  const about = isJsonObject(input) ? (input.url ?? input.name) : null;
  if (typeof about !== "string") return tool;
  return `${tool} ${URL.parse(about)?.pathname ?? about}`;
}
