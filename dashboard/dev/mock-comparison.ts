// Two made-up runs, a fork and its parent, for looking at the page that compares them.

import type { Answer } from "../src/api/client.ts";

const shown = (text: string) => ({ text, characters: text.length });
const call = (
  runId: string,
  turn: number,
  index: number,
  tool: string,
  request: { [name: string]: string },
) => ({
  kind: "call" as const,
  call: {
    toolCallId: `${runId}/research#${turn}.${index}`,
    namespace: "",
    tool,
    effect: "external",
    recovery: "reconcile",
    status: "succeeded",
    attempt: 1,
    request: { kind: "whole" as const, value: request },
    result: null,
  },
});

const TEXTS: readonly (readonly [string, string])[] = [
  ["I will look at the site of the museum first.", "I will look at the site of the museum first."],
  ["The site has opening hours and prices.", "The site has opening hours and prices."],
  ["I have all I need to write the draft.", "I have all I need to write the draft."],
  [
    "The museum opens at ten and closes at six. Tickets cost 14 euros, and children enter free. I will send the report to the curator now.",
    "The museum opens at ten and closes at five on Mondays. Tickets cost 16 euros, and children under twelve enter free. Before I send the report I check the prices again.",
  ],
  ["The report was sent to the curator.", "The prices are right. I send the report to the curator."],
  ["Done.", ""],
];

function turnAt(a: string, b: string, at: number): Answer<"compareRuns">["turns"][number] {
  const turn = at + 1;
  const [textA = "", textB = ""] = TEXTS[at] ?? [];
  const side = (runId: string, text: string) => ({
    parts: [
      { kind: "text" as const, text: shown(text) },
      ...(at === 3
        ? [
            call(runId, turn, 1, "fetch_page", { url: "https://museum.example/prices" }),
            call(runId, turn, 2, "send_email", {
              to: "anna@museum.example",
              subject: "Report",
              body:
                runId === a
                  ? "Dear Anna,\nthe report is attached.\nBest regards"
                  : "Dear Anna,\nthe corrected report is attached.\nKind regards",
            }),
            ...(runId === b ? [call(runId, turn, 3, "create_ticket", { title: "Prices differ" })] : []),
          ]
        : []),
    ],
    committed: true,
    charged: { tokens: 4_100, microDollars: 31_000 },
    tookMs: 4_200 + at * 700,
  });
  const id = (runId: string, index: number): string => `${runId}/research#${turn}.${index}`;
  return {
    stepPath: "research",
    turnIndex: turn,
    isSame: textA === textB,
    a: side(a, textA),
    b: textB === "" ? null : side(b, textB),
    calls:
      at === 3
        ? [
            { match: "same", tool: "fetch_page", a: id(a, 1), b: id(b, 1) },
            { match: "only_a", tool: "send_email", a: id(a, 2), b: null },
            { match: "only_b", tool: "send_email", a: null, b: id(b, 2) },
            { match: "only_b", tool: "create_ticket", a: null, b: id(b, 3) },
          ]
        : [],
    spent: {
      a: { tokens: 4_100, microDollars: 31_000 },
      b: textB === "" ? null : { tokens: 3_800, microDollars: 27_400 + at * 900 },
    },
  };
}

export function mockComparison(query: URLSearchParams): Answer<"compareRuns"> {
  const [a, b] = [query.get("a") ?? "", query.get("b") ?? ""];
  const isOther = b.startsWith("museum");
  const from = Number(query.get("cursor") ?? 0);
  const limit = Number(query.get("limit") ?? 20);
  const turns = isOther ? [] : TEXTS.map((_, at) => turnAt(a, b, at));
  return {
    a,
    b,
    hasSameInput: !isOther,
    samePrefix: isOther ? 0 : 3,
    differsAfter: isOther ? null : "3",
    turns: turns.slice(from, from + limit),
    nextCursor: from + limit < turns.length ? String(from + limit) : null,
    setup: isOther
      ? []
      : [
          { step: "research", path: "model.id", a: "claude-sonnet-4-5", b: "claude-opus-4-5" },
          { step: "research", path: "settings.temperature", a: null, b: 0.2 },
          {
            step: "research",
            path: "prompt.template",
            a: "Write a report about {{site}}. Be brief.",
            b: "Write a report about {{site}}. Be brief, and check every number twice.",
          },
        ],
    output: {
      isSame: false,
      changes: [
        { path: "price", a: 14, b: 16 },
        {
          path: "summary",
          a: "Opens at ten, closes at six, every day.",
          b: "Opens at ten, closes at five on Mondays.",
        },
      ],
    },
    spent: { a: { tokens: 31_000, microDollars: 186_000 }, b: { tokens: 24_500, microDollars: 142_800 } },
    tookMs: { a: 48_000, b: 41_300 },
  };
}
