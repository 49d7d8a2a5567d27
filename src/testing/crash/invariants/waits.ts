import { canonicalJson } from "../../../core/canonical-json.ts";
import { isJsonObject, type Json } from "../../../core/json.ts";
import { waitId } from "../../../core/wait.ts";
import { sleepTool } from "../../../engine/definition/waiting/wait-tools.ts";
import type { EventRecord, MessageRecord, ToolCallRecord, WaitRecord } from "../../../store/store.ts";
import type { RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import { judgeTakenText } from "./exchanges.ts";
import { earlierAndLater } from "./observations.ts";

export const neverEarly: Invariant = {
  name: "never-early",
  promise: "No sleep ends before its time, and none is left out.",
  judge: ({ accounts }) =>
    checkEach(
      accounts.flatMap((account) => sleepsOf(account).map((call) => ({ call, account }))),
      ({ call, account }) => judgeSleep(call, waitsAbout(account, call)),
    ),
};

/** The sleeps that have ended. */
function sleepsOf({ calls, waits }: RunAccount): readonly ToolCallRecord[] {
  const waiting = new Set(waits.flatMap(({ kind, toolCallId }) => (kind === "time" ? [toolCallId] : [])));
  const isSleep = ({ tool, toolCallId }: ToolCallRecord) =>
    tool === sleepTool.name || waiting.has(toolCallId);
  return calls.filter(
    (call) => isSleep(call) && call.receipt !== null && call.receipt.status !== "cancelled",
  );
}

function waitsAbout({ waits }: RunAccount, call: ToolCallRecord): readonly WaitRecord[] {
  return waits.filter(({ kind, toolCallId }) => kind === "time" && toolCallId === call.toolCallId);
}

function judgeSleep({ toolCallId, tool, receipt }: ToolCallRecord, waits: readonly WaitRecord[]) {
  // A call with arguments that do not fit fails without a wait.
  if (receipt === null || receipt.status === "failed") return FINE;
  const wait = waits.find(({ status }) => status === "answered");
  if (wait?.dueAt === undefined || wait.dueAt === null)
    return wrong(`${toolCallId} ended as ${receipt.status}, but never slept`, tool);
  const ends = [receipt.at, wait.answeredAt ?? 0];
  return ends.some((at) => at < (wait.dueAt ?? 0))
    ? wrong(
        `${toolCallId} slept until ${timeText(Math.min(...ends))}, but its time was ${timeText(wait.dueAt)}`,
        tool,
      )
    : FINE;
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}

export const dueComputedOnce: Invariant = {
  name: "due-computed-once",
  promise: "The time of a wait is computed once, however often its run is resumed.",
  judge: ({ again }) =>
    checkEach(
      again.accounts.flatMap(({ waits }) => [
        ...Map.groupBy(
          waits.filter(
            ({ kind, toolCallId }) => (kind === "time" || kind === "message") && toolCallId !== null,
          ),
          ({ toolCallId, attempt }) => `${toolCallId} (attempt ${attempt})`,
        ),
      ]),
      ([call, waits]) => {
        const times = new Set(waits.map(({ dueAt }) => (dueAt === null ? "never" : timeText(dueAt))));
        return times.size === 1
          ? FINE
          : wrong(`${call} was to wait until ${[...times].join(", and until ")}`);
      },
    ),
};

export const oneAnswerAWait: Invariant = {
  name: "one-answer-a-wait",
  promise: "A wait has one answer, which never changes.",
  judge: (evidence) => {
    const kept = checkEach(
      earlierAndLater(evidence).flatMap(({ account, later, when, laterWhen }) =>
        answered(account).map((wait) => ({
          wait,
          later: later?.waits.find(({ waitId: id }) => id === wait.waitId),
          when,
          laterWhen,
        })),
      ),
      ({ wait, later, when, laterWhen }) =>
        later !== undefined && answerText(later) === answerText(wait)
          ? FINE
          : wrong(`Wait ${wait.waitId} was answered ${when}, but ${laterWhen} its answer is another one`),
    );
    const once = checkEach(
      evidence.again.accounts.flatMap((account) => answered(account).map((wait) => ({ wait, account }))),
      ({ wait, account: { run, events } }) => {
        const times = events
          .flatMap(answersIn)
          .filter((index) => waitId(run.runId, index) === wait.waitId).length;
        return times <= 1 ? FINE : wrong(`Wait ${wait.waitId} was answered ${times} times`);
      },
    );
    return { looked: kept.looked + once.looked, problems: [...kept.problems, ...once.problems] };
  },
};

function answered({ waits }: RunAccount): readonly WaitRecord[] {
  return waits.filter(({ status }) => status === "answered");
}

function answerText({ status, answer, answeredAt, answeredBy }: WaitRecord): string {
  return JSON.stringify([status, answer, answeredAt, answeredBy]);
}

/** The numbers of the waits that an event answered. */
function answersIn({ type, data }: EventRecord): readonly number[] {
  if (!isJsonObject(data)) return [];
  if (type === "wait.answered") return numbers([data]);
  if (type === "run.woken" || type === "exchange.stop_requested")
    return numbers(listOf(data.waits).filter(isAnswer));
  return numbers(listOf(data.received));
}

function isAnswer(fact: Json): boolean {
  return isJsonObject(fact) && fact.did !== "reminded" && fact.did !== "escalated";
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

function numbers(facts: readonly Json[]): readonly number[] {
  return facts.flatMap((fact) => (isJsonObject(fact) && typeof fact.wait === "number" ? [fact.wait] : []));
}

export const messagesTakenOnce: Invariant = {
  name: "messages-taken-once",
  promise:
    "A message is taken by one call or one turn, whose result or model has it; a call that waits takes one.",
  judge: ({ accounts, witness }) => {
    const taken = checkEach(
      accounts.flatMap((account) => account.messages.map((message) => ({ message, account }))),
      ({ message, account }) =>
        message.event === null
          ? judgeTakenText(message, account, witness)
          : judgeTaken(message, account.messages, account.calls),
    );
    const texts = checkEach(
      accounts.flatMap(({ messages }) => messages.filter(({ event }) => event === null)),
      ({ id, status, takenBy }) =>
        (status === "taken") === (takenBy !== null)
          ? FINE
          : wrong(`Text ${id} is ${status}, and its turn is ${takenBy?.turn ?? "none"}`),
    );
    const received = checkEach(
      accounts.flatMap((account) => receivedWaits(account).map((wait) => ({ wait, account }))),
      ({ wait: { toolCallId }, account: { messages } }) => {
        const count = messages.filter((message) => message.toolCallId === toolCallId).length;
        return count === 1
          ? FINE
          : wrong(`${toolCallId} received a message, and ${count} are marked as taken by it`);
      },
    );
    return {
      looked: taken.looked + received.looked,
      problems: [...taken.problems, ...texts.problems, ...received.problems],
    };
  },
};

function judgeTaken(
  { id, status, toolCallId, event, body }: MessageRecord,
  messages: readonly MessageRecord[],
  calls: readonly ToolCallRecord[],
): readonly Problem[] {
  if ((status === "taken") !== (toolCallId !== null))
    return wrong(`Message ${id} is ${status}, and its call is ${toolCallId ?? "none"}`);
  if (toolCallId === null) return FINE;
  if (messages.filter((other) => other.toolCallId === toolCallId).length > 1)
    return wrong(`${toolCallId} has taken more than one message, ${id} among them`);
  const value = calls.find((call) => call.toolCallId === toolCallId)?.receipt?.output.value;
  const isSame =
    isJsonObject(value) && value.event === event && canonicalJson(value.data ?? null) === canonicalJson(body);
  return isSame ? FINE : wrong(`Message ${id} was taken by ${toolCallId}, whose result is another one`);
}

/** The waits that a message answered. */
function receivedWaits({ waits }: RunAccount): readonly WaitRecord[] {
  return waits.filter(({ kind, answer }) => {
    if (kind !== "message" || answer === null || !("as" in answer) || answer.as !== "answered") return false;
    return isJsonObject(answer.value) && answer.value.event !== undefined;
  });
}

export const acceptedOrReturned: Invariant = {
  name: "accepted-or-returned",
  promise: "A run that has ended has taken each of its messages, or returned it with a reason.",
  judge: ({ accounts }) =>
    checkEach(
      accounts.flatMap(({ run, messages }) => (isEnded(run.status) ? messages : [])),
      ({ id, runId, status, reason }) => {
        if (status === "waiting") return wrong(`Message ${id} still waits for ${runId}, which has ended`);
        return status === "returned" && reason === null
          ? wrong(`Message ${id} was returned without a reason`)
          : FINE;
      },
    ),
};

function isEnded(status: string): boolean {
  return status === "succeeded" || status === "failed" || status === "cancelled";
}

export const wakesWhenDue: Invariant = {
  name: "wakes-when-due",
  promise: "Nothing waits for a time that has passed.",
  judge: ({ accounts, endedAt }) =>
    checkEach(
      accounts.flatMap((account) =>
        account.waits.flatMap(({ dueAt, ...wait }) => (dueAt === null ? [] : [{ ...wait, dueAt, account }])),
      ),
      ({ waitId: id, status, dueAt, account: { run, events } }) => {
        const now = endedAt ?? Math.max(...events.map(({ at }) => at));
        return status === "open" && dueAt <= now && run.status !== "running"
          ? wrong(`Wait ${id} is still open at ${timeText(now)}, but its time was ${timeText(dueAt)}`)
          : FINE;
      },
    ),
};
