import type { ServerResponse } from "node:http";
import type { RunHead } from "../src/api/documents.ts";
import * as run from "./mock-run.ts";
import { mockTranscript } from "./mock-transcript.ts";

type Answered = { readonly status: number; readonly body: unknown };

const zero = Date.now() - 1_100_000;

/** What the made-up server says about one run; null for what it does not know. */
export function answerOfRun(
  method: string,
  { pathname, searchParams: query }: URL,
  heads: readonly RunHead[],
): Answered | null {
  const [, , room = "", id = "", part = ""] = pathname.split("/").map(decodeURIComponent);
  if (room === "calls") {
    const call = run.mockCallDetail(zero, id);
    return call === undefined || method === "POST" ? null : { status: 200, body: call };
  }
  if (room === "workers") return { status: 200, body: { items: [], asOf: new Date().toISOString() } };
  const head = heads.find(({ runId }) => runId === id);
  if (room !== "runs" || head === undefined) return null;
  const document = documentOf(`${method} ${part}`, head, query);
  return document === undefined ? null : { status: 200, body: document };
}

function documentOf(what: string, head: RunHead, query: URLSearchParams): unknown {
  const { runId } = head;
  const page = { nextCursor: null, asOf: new Date().toISOString() };
  switch (what) {
    case "GET ":
      return run.mockRun(head);
    case "GET timeline":
      return run.mockTimeline(zero);
    case "GET transcript":
      return mockTranscript(zero, query);
    case "GET calls":
      return {
        items: run
          .mockCalls(zero)
          .filter(
            ({ status, tool }) =>
              (query.get("status") ?? status) === status && (query.get("tool") ?? tool) === tool,
          ),
        ...page,
      };
    case "GET model-calls":
      return run.mockModelCalls(zero);
    case "GET events":
      return run.mockEvents(zero, Number(query.get("after") ?? 0), Number(query.get("limit") ?? 200));
    case "GET steps":
      return { items: [], ...page };
    case "POST verify":
      return {
        runId,
        events: 318,
        receipts: 41,
        blobs: 3,
        problems:
          process.env.MOCK_TAMPERED === "1"
            ? [{ row: "events 214", what: "Its hash is not that of its facts." }]
            : [],
        verifiedAt: new Date().toISOString(),
      };
    case "POST forecast":
      return {
        runId,
        status: head.status,
        eventSeq: 318,
        refusal: null,
        skipped: ["plan", "crawl[1]", "crawl[2]", "crawl[3]", "crawl[4]", "crawl[5]", "crawl[6]"],
        next: { step: "report", phase: "main", isBegun: true },
        turn: { index: 14, response: "replayed", mayCost: { tokens: 4_000, microDollars: 31_000 } },
        calls: [{ toolCallId: "x", tool: "send_email", action: "look_up" }],
        waits: [],
        later: ["review"],
      };
    case "POST resume":
      return { runId, outcome: "requested", hasWorker: false };
    case "POST cancel":
      return { runId, outcome: "cancelled" };
    case "POST fork":
      return {
        runId: `${runId}.fork`,
        laterEffects: run
          .mockCalls(zero)
          .filter(({ effect }) => effect === "external")
          .map(({ toolCallId, tool, request, status }) => ({ toolCallId, tool, request, status })),
      };
    default:
      return undefined;
  }
}

const WORDS =
  "I compare the two price lists line by line, and write down what has changed since last year. ".split(" ");

/** An answer that is being written, one word at a time. */
export function watchOfRun(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  let at = 0;
  const timer = setInterval(() => {
    const part = {
      type: "part",
      step: "report",
      turn: 15,
      attempt: 1,
      part: 0,
      kind: "text",
      delta: `${WORDS[at] ?? ""} `,
    };
    if (at < WORDS.length) response.write(`event: part\ndata: ${JSON.stringify(part)}\n\n`);
    at += 1;
  }, 120);
  response.on("close", () => clearInterval(timer));
}
