import { type Draft, type Falsification, one } from "../invariants-evidence.ts";

const HOUR_MS = 3_600_000;

/** The sleep of the run, at the end. */
function sleepOf({ account }: Draft) {
  return one(account.waits, ({ kind }) => kind === "time");
}

function receivedOf({ account }: Draft) {
  return one(account.messages, ({ status }) => status === "taken");
}

/** Falsified evidence of runs that wait for the clock and for messages: the scenario `agent-waits`. */
export const FALSIFIED_WAITS: readonly Falsification[] = [
  [
    "never-early",
    "a sleep ended an hour early",
    (draft) => void (sleepOf(draft).answeredAt = Number(sleepOf(draft).dueAt) - HOUR_MS),
    /errands#1\.1 slept until 2026-01-01T00:00:0\d\.\d+Z, but its time was 2026-01-01T01:00:0/,
  ],
  [
    "never-early",
    "a sleep has a receipt and no wait",
    ({ account }) => void account.waits.splice(0),
    /errands#1\.1 ended as succeeded, but never slept/,
  ],
  [
    "due-computed-once",
    "a sleep has two times",
    ({ again }) => {
      const { waits } = one(again.accounts);
      const wait = one(waits, ({ kind }) => kind === "time");
      waits.push({
        ...wait,
        waitId: "explored-1~9",
        dueAt: Number(wait.dueAt) + HOUR_MS,
        status: "withdrawn",
      });
    },
    /errands#1\.1 \(attempt \d\) was to wait until 2026-01-01T01:.*, and until 2026-01-01T02:/,
  ],
  [
    "one-answer-a-wait",
    "an answer has changed since a crash",
    ({ moments, account }) => {
      const later = one(account.waits);
      one(moments).push({ ...account, waits: [{ ...later, answeredBy: "somebody else" }] });
    },
    /Wait explored-1~1 was answered at stop 1, but at the end its answer is another one/,
  ],
  [
    "one-answer-a-wait",
    "an event answers a wait that is answered",
    ({ again }) => {
      const { events } = one(again.accounts);
      events.push({ ...one(events, ({ type }) => type === "run.woken"), seq: 99 });
    },
    /Wait explored-1~1 was answered 2 times/,
  ],
  [
    "messages-taken-once",
    "a message was received and is not marked",
    (draft) =>
      void Object.assign(receivedOf(draft), { status: "returned", reason: "succeeded", toolCallId: null }),
    /errands#1\.2 received a message, and 0 are marked as taken by it/,
  ],
  [
    "messages-taken-once",
    "a call has taken two messages",
    (draft) => void draft.account.messages.push({ ...receivedOf(draft), id: "m-9" }),
    /errands#1\.2 has taken more than one message, m-1 among them/,
  ],
  [
    "messages-taken-once",
    "a call has received something else",
    (draft) => void (receivedOf(draft).body = { amount: 8 }),
    /Message m-1 was taken by .*errands#1\.2, whose result is another one/,
  ],
  [
    "messages-taken-once",
    "a taken message has no call",
    (draft) => void (receivedOf(draft).toolCallId = null),
    /Message m-1 is taken, and its call is none/,
  ],
  [
    "accepted-or-returned",
    "a message still waits",
    (draft) => void (receivedOf(draft).status = "waiting"),
    /Message m-1 still waits for explored-1, which has ended/,
  ],
  [
    "accepted-or-returned",
    "a message was returned without a reason",
    (draft) => void (receivedOf(draft).status = "returned"),
    /Message m-1 was returned without a reason/,
  ],
  [
    "wakes-when-due",
    "a sleep is open after its time",
    (draft) => void (sleepOf(draft).status = "open"),
    /Wait explored-1~1 is still open at 2026-.*, but its time was 2026-01-01T01:/,
  ],
];
