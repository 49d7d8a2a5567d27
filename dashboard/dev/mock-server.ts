// A server with made-up data, for writing pages: `node dashboard/dev/mock-server.ts`, then `npm run dashboard:dev`, or the
// built files at its own address. It is no part of the package, and nothing is tested against it.

import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { mockHead } from "./mock-heads.ts";
import { houseAnswer } from "./mock-house-answers.ts";
import { mockWaits } from "./mock-waits.ts";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
const TYPES: { readonly [extension: string]: string } = {
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".html": "text/html; charset=utf-8",
};
const dist = join(import.meta.dirname, "../dist");
const now = Date.now();
const heads = Array.from({ length: Number(process.env.MOCK_RUNS ?? 240) }, (_, number) =>
  mockHead(number, now),
);
const waits = [...mockWaits(now)];
const role = process.env.MOCK_ROLE ?? "admin";
const asOf = (): string => new Date().toISOString();

const me = {
  name: "ana",
  role,
  scope: { pipelines: null, labels: null },
  source: "session",
  instance: "pawl.db",
  hidesContent: false,
  expiresAt: null,
};

function counts() {
  const byStatus = Object.fromEntries(
    ["queued", "running", "interrupted", "waiting", "succeeded", "failed", "cancelled", "moved"].map(
      (status) => [status, heads.filter((head) => head.status === status).length],
    ),
  );
  return {
    counts: byStatus,
    total: heads.length,
    needsPerson: heads.filter(needsPerson).length,
    isCapped: false,
  };
}

const needsPerson = (head: (typeof heads)[number]): boolean =>
  head.openWaits > 0 || head.status === "interrupted" || head.callsInDoubt > 0;

function listRuns(query: URLSearchParams) {
  const some = (name: string): readonly string[] => query.getAll(name).flatMap((each) => each.split(","));
  const q = query.get("q") ?? "";
  const found = heads.filter(
    (head) =>
      (!query.has("status") || some("status").includes(head.status)) &&
      (!query.has("pipeline") || some("pipeline").includes(head.pipeline)) &&
      (!query.has("needs") || needsPerson(head)) &&
      (!query.has("since") || head.createdAt >= (query.get("since") ?? "")) &&
      (q === "" || head.runId.startsWith(q) || (head.objective ?? "").includes(q)),
  );
  const from = Number(query.get("cursor") ?? 0);
  const limit = Number(query.get("limit") ?? 50);
  const items = found.slice(from, from + limit);
  return { items, nextCursor: from + limit < found.length ? String(from + limit) : null, asOf: asOf() };
}

function stream(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  const send = (event: string, data: unknown): void => {
    response.write(`id: ${Date.now()}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  send("hello", { version: "0.1.0", instance: "pawl.db", asOf: asOf() });
  send("counts", counts());
  send("waits", { open: waits.filter(({ status }) => status === "open").length });
  if (process.env.MOCK_STILL === "1") return;
  let beat = 0;
  const timer = setInterval(() => {
    beat += 1;
    const at = heads.findIndex(({ status }) => status === "running");
    const head = heads[at];
    if (head === undefined) return;
    const charged = { tokens: head.charged.tokens + 100, microDollars: head.charged.microDollars + 1_700 };
    heads[at] = { ...head, eventSeq: head.eventSeq + 1, updatedAt: asOf(), charged };
    send("head", heads[at]);
    if (beat % 8 === 0) {
      heads.unshift({ ...mockHead(6, Date.now()), runId: `new-${beat}`, eventSeq: 1 });
      send("head", heads[0]);
      send("counts", counts());
    }
  }, 1_500);
  response.on("close", () => clearInterval(timer));
}

function answerWait(id: string, act: string, body: unknown) {
  const at = waits.findIndex(({ waitId }) => waitId === id);
  const wait = waits[at];
  if (wait === undefined) return problem(404, "wait_not_found", `There is no wait ${id}.`);
  if (wait.status !== "open") {
    return problem(409, "already_settled", `bo answered ${id} 8 seconds ago: approved. Nothing was changed.`);
  }
  waits[at] = {
    ...wait,
    status: "answered",
    answeredAt: asOf(),
    answeredBy: "ana",
    answer:
      act === "approve"
        ? { approved: true }
        : act === "answer"
          ? { as: "answered", ...(body as object) }
          : { approved: false, ...(body as object) },
  };
  return { status: 200, body: waits[at] };
}

function problem(status: number, code: string, detail: string) {
  return {
    status,
    body: {
      type: `urn:pawl:problem:${code}`,
      title: code,
      status,
      detail,
      code,
      instance: "/v1/requests/r-8f31",
      recoverable: false,
    },
  };
}

type Answered = { readonly status: number; readonly body: unknown };

function answer(method: string, url: URL, body: unknown): Answered {
  const [, , room = "", id = "", act = ""] = url.pathname.split("/").map(decodeURIComponent);
  const ok = (document: unknown): Answered => ({ status: 200, body: document });
  switch (`${method} ${room}`) {
    case "GET me":
    case "POST session":
      return role === "none" ? problem(401, "unauthorized", "You are not signed in.") : ok(me);
    case "DELETE session":
      return { status: 204, body: undefined };
    case "GET runs":
      if (id === "counts") return ok(counts());
      return id === ""
        ? ok(listRuns(url.searchParams))
        : problem(404, "run_not_found", `There is no run ${id}.`);
    case "GET pipelines":
      return ok({
        items: ["report", "triage", "support-desk", "nightly-import"].map((name) => ({
          name,
          isKnown: true,
          isConversation: false,
        })),
      });
    case "GET errors":
      return ok({
        items: [
          {
            pipeline: "report",
            code: "budget_exceeded",
            step: "crawl",
            count: 23,
            firstAt: new Date(now - 4e8).toISOString(),
            lastAt: new Date(now - 3e6).toISOString(),
            newestRunId: "q-479",
          },
          {
            pipeline: "support-desk",
            code: "tool_failed",
            step: null,
            count: 4,
            firstAt: new Date(now - 9e7).toISOString(),
            lastAt: new Date(now - 5e7).toISOString(),
            newestRunId: "q-470",
          },
        ],
        asOf: asOf(),
      });
    case "GET waits": {
      if (id !== "") {
        const wait = waits.find(({ waitId }) => waitId === id);
        return wait === undefined ? problem(404, "wait_not_found", `There is no wait ${id}.`) : ok(wait);
      }
      const status = url.searchParams.get("status") ?? "open";
      return ok({ items: waits.filter((wait) => wait.status === status), nextCursor: null, asOf: asOf() });
    }
    case "POST waits":
      return answerWait(id, act, body);
    case "POST calls": {
      const wait = waits.find(({ toolCallId }) => toolCallId === id);
      return wait === undefined
        ? problem(404, "call_not_found", `There is no call ${id}.`)
        : answerWait(wait.waitId, act, body);
    }
    case "POST bulk": {
      const { runIds, isDryRun } = body as { runIds: readonly string[]; isDryRun?: boolean };
      return ok({
        results: runIds.map((runId, at) =>
          at % 4 === 3
            ? { runId, outcome: null, problem: { code: "run_busy", detail: `A worker holds ${runId}.` } }
            : {
                runId,
                outcome: isDryRun === true ? "cancelled" : at % 2 === 0 ? "cancelled" : "requested",
                callsRunning: at % 2,
                problem: null,
              },
        ),
      });
    }
    default:
      return problem(404, "not_found", `There is nothing at ${url.pathname}.`);
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const piece of request) text += String(piece);
  return text === "" ? undefined : JSON.parse(text);
}

function sendFile(response: ServerResponse, pathname: string): void {
  const name = pathname.startsWith("/assets/") ? pathname : "/index.html";
  response.writeHead(200, { "content-type": TYPES[extname(name)] ?? "", "content-security-policy": POLICY });
  response.end(readFileSync(join(dist, name)));
}

const server = createServer((request, response) => {
  void (async () => {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (!url.pathname.startsWith("/v1/")) return sendFile(response, url.pathname);
    if (url.pathname === "/v1/stream") return stream(response);
    const method = request.method ?? "GET";
    const given = await bodyOf(request);
    const { status, body } = houseAnswer(method, url, heads) ?? answer(method, url, given);
    response.writeHead(status, {
      "content-type": status < 400 ? "application/json" : "application/problem+json",
    });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  })();
});
server.listen(Number(process.env.PORT ?? 4747), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${process.env.PORT ?? 4747}`);
});
