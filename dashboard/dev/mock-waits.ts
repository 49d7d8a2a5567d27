import type { Wait, WaitDetail } from "../src/api/documents.ts";

const iso = (ms: number): string => new Date(ms).toISOString();

type Given = Pick<Wait, "waitId" | "runId" | "kind" | "question"> &
  Partial<WaitDetail> & { readonly ageMs: number };

const ARGUMENTS = {
  to: "anna@museum.example",
  subject: "Report \u202efdp.exe",
  body: "Dear Anna,\n\nthe report about the new site of the museum is attached.\nIt covers opening hours, prices and the two exhibitions of spring.\n\nBest regards",
  attachments: ["report.pdf"],
};

function made({ ageMs, ...given }: Given, now: number): WaitDetail {
  return {
    pipeline: "report",
    status: "open",
    subject: null,
    tool: null,
    toolCallId: null,
    argumentsHash: null,
    choices: [],
    createdAt: iso(now - ageMs),
    answeredAt: null,
    answeredBy: null,
    people: [],
    peopleNeeded: 1,
    notStarter: false,
    answer: null,
    dueAt: null,
    onDue: null,
    escalatedAt: null,
    distrusted: null,
    arguments: null,
    argumentsBytes: null,
    previous: null,
    turn: null,
    stillNeeded: null,
    mayAnswer: true,
    whyNot: null,
    ...given,
  };
}

/** One wait of each kind, and two that were answered. */
export function mockWaits(now: number): readonly WaitDetail[] {
  const call = { tool: "create_ticket", toolCallId: "q-477/triage#3.1" };
  return [
    made(
      {
        waitId: "q-480~2",
        runId: "q-480",
        kind: "approval",
        question: "May send_email run?",
        ageMs: 130_000,
        tool: "send_email",
        toolCallId: "q-480/report#9.1",
        argumentsHash: "3f9c1d7e5a0b4c2d8e6f7a9b0c1d2e3f3f9c1d7e5a0b4c2d8e6f7a9b0c1d2e3f",
        arguments: ARGUMENTS,
        argumentsBytes: 412,
        peopleNeeded: 2,
        people: [{ name: "bo", at: now - 60_000, authenticated: { name: "bo", by: "pawl" } }],
        stillNeeded: "One more person, who did not start the run.",
        notStarter: true,
        previous: {
          toolCallId: "q-480/report#4.1",
          request: {
            ...ARGUMENTS,
            subject: "Draft report",
            body: ARGUMENTS.body.replace("new site", "site"),
          },
        },
        turn: {
          stepPath: "report",
          turnIndex: 9,
          text: "The report is complete. I will now send it to the curator, as the task asks.",
        },
      },
      now,
    ),
    made(
      {
        waitId: "q-477~1",
        runId: "q-477",
        kind: "in_doubt",
        question: "Did create_ticket happen?",
        ageMs: 3_700_000,
        arguments: { title: "Parcel 4711 is lost" },
        argumentsBytes: 31,
        ...call,
      },
      now,
    ),
    made(
      {
        waitId: "q-470~1",
        runId: "q-470",
        kind: "budget",
        question: "The run has used 20 of 20 tool calls. May it use more?",
        ageMs: 11_000_000,
        subject: { budget: "maxToolCalls", limit: 20, used: 20 },
      },
      now,
    ),
    made(
      {
        waitId: "q-469~1",
        runId: "q-469",
        kind: "question",
        question: "Which Berlin is meant?",
        ageMs: 18_500_000,
        choices: ["Berlin, Germany", "Berlin, Connecticut", "Berlin, Ohio"],
      },
      now,
    ),
    made(
      {
        waitId: "q-460~1",
        runId: "q-460",
        kind: "question",
        question: "What should the headline of the report be?",
        ageMs: 28_500_000,
      },
      now,
    ),
    made(
      {
        waitId: "q-420~1",
        runId: "q-420",
        kind: "approval",
        question: "May send_email run?",
        tool: "send_email",
        ageMs: 9_000_000,
        status: "answered",
        answeredAt: iso(now - 8_000_000),
        answeredBy: "ana",
        answer: { approved: true },
      },
      now,
    ),
    made(
      {
        waitId: "q-419~1",
        runId: "q-419",
        kind: "question",
        question: "Which museum?",
        ageMs: 9_900_000,
        status: "answered",
        answeredAt: iso(now - 9_000_000),
        answeredBy: "bo",
        answer: { as: "answered", value: "The one in Delft" },
      },
      now,
    ),
  ];
}
