import { describe, expect, it } from "vitest";
import { RunNotFoundError, StoreUnavailableError } from "../../../src/core/errors.ts";
import { bearer, json, testServer } from "../test-server.ts";

describe("a request", () => {
  it("gets the document of its operation, with the ids of its path decoded", async () => {
    const seen: unknown[] = [];
    const server = testServer({
      handlers: {
        stopRun: async ({ params }) => {
          seen.push(params);
          return { status: 200, body: { stopped: true } };
        },
      },
    });
    const headers = bearer(await server.token("operator"));
    const id = "q-1/research#2~1 ü%";
    const response = await server.request(`/v1/runs/${encodeURIComponent(id)}/stop`, {
      method: "POST",
      headers,
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ stopped: true });
    expect(seen).toEqual([{ runId: id }]);
  });

  it.each([
    ["a cut escape", "/v1/runs/%E0%A4/stop"],
    ["half an escape", "/v1/runs/%2/stop"],
    ["a NUL", "/v1/runs/a%00b/stop"],
  ])("with %s in its path is refused", async (_, path) => {
    const server = testServer();
    const headers = bearer(await server.token("operator"));
    const response = await server.request(path, { method: "POST", headers });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "bad_path" });
  });

  it("with a query that does not fit is refused, and the problem points to each fault", async () => {
    const server = testServer();
    const headers = bearer(await server.token("viewer"));
    const response = await server.request("/v1/runs?limit=0&status=odd&colour=red", { headers });
    expect(response.status).toBe(400);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    const problem = (await response.json()) as { errors: { pointer: string }[]; title: string };
    expect(problem).toMatchObject({
      type: "urn:pawl:problem:invalid_request",
      status: 400,
      recoverable: false,
    });
    expect(problem.errors.map(({ pointer }) => pointer).sort()).toEqual([
      "/query",
      "/query/limit",
      "/query/status/0",
    ]);
  });

  it("with a body that does not fit is refused with 422, and one without a body counts as an empty one", async () => {
    const server = testServer({ handlers: { resumeRun: async () => ({ status: 202, body: RESUMED }) } });
    const headers = bearer(await server.token("operator"));
    const wrong = await server.request("/v1/runs/q/resume", json({ from: "nowhere", "a/b": 1 }, headers));
    expect(wrong.status).toBe(422);
    const { errors } = (await wrong.json()) as { errors: { pointer: string }[] };
    expect(errors.map(({ pointer }) => pointer).sort()).toEqual(["/body", "/body/from"]);
    expect((await server.request("/v1/runs/q/resume", { method: "POST", headers })).status).toBe(202);
  });

  it("without something that it needs is refused with a sentence that names it", async () => {
    const server = testServer();
    const headers = bearer(await server.token("operator"));
    const response = await server.request("/v1/runs", json({ pipeline: "report", input: {} }, headers));
    expect(await response.json()).toMatchObject({
      status: 400,
      detail:
        "The request does not fit at headers/idempotency-key: it is missing; /openapi.json describes what it takes.",
    });
  });

  it.each([
    ["/v1/runs?limit=1&limit=2", "query/limit: it is given 2 times: give it once;"],
    ["/v1/runs?q=a&q=b", "query/q: it is given 2 times: give it once;"],
    ["/v1/runs?limit=x", "query/limit: it is not a number;"],
    ["/v1/runs?limit=0", "query/limit: it is less than 1;"],
    ["/v1/runs?limit=1000", "query/limit: it is more than 200;"],
    ["/v1/runs?toolError=", "query/toolError: it is empty;"],
    [`/v1/runs?q=${"x".repeat(201)}`, "query/q: it is more than 200 characters;"],
  ])("that does not fit is refused in plain words: %s", async (path, detail) => {
    const server = testServer();
    const response = await server.request(path, { headers: bearer(await server.token("viewer")) });
    expect(await response.json()).toMatchObject({
      status: 400,
      detail: expect.stringContaining(`The request does not fit at ${detail}`),
    });
  });

  it("may give a list as repeated names", async () => {
    const server = testServer();
    const headers = bearer(await server.token("viewer"));
    const response = await server.request("/v1/runs?status=failed&status=waiting", { headers });
    expect(response.status).toBe(501);
  });

  it("with a body that is not UTF-8 is refused, and so is another charset", async () => {
    const server = testServer();
    const own = bearer(await server.token("operator"));
    const post = (body: string | Uint8Array<ArrayBuffer>, type: string) =>
      server.request("/v1/runs/q/messages", {
        method: "POST",
        headers: { ...own, "content-type": type },
        body,
      });
    const latin = new Uint8Array(Buffer.from('{"text":"caf\u00e9"}', "latin1"));
    const refused = await post(latin, "application/json");
    expect(await refused.json()).toMatchObject({ status: 400, code: "bad_json" });
    for (const type of ["application/json; charset=latin1", 'application/json;charset="iso-8859-1"'])
      expect(await (await post(latin, type)).json()).toMatchObject({ status: 415, code: "not_json_type" });
    for (const type of ["application/json; charset=utf-8", 'application/json;Charset="UTF-8"'])
      expect((await post('{"text":"café"}', type)).status).toBe(501);
  });

  it("with a broken body is refused, and so is one that is nested too deep", async () => {
    const server = testServer();
    const headers = { ...bearer(await server.token("operator")), "content-type": "application/json" };
    const post = (body: string) => server.request("/v1/runs/q/resume", { method: "POST", headers, body });
    expect(await (await post("{")).json()).toMatchObject({ status: 400, code: "bad_json" });
    const deep = `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`;
    expect(await (await post(deep)).json()).toMatchObject({ status: 422, code: "too_deep" });
  });

  it("by another method is told which ones there are", async () => {
    const server = testServer();
    const response = await server.request("/v1/runs/q", { method: "DELETE" });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("PUT, GET, HEAD");
    expect((await server.request("/v1/nowhere")).status).toBe(404);
    expect((await server.request("/v1/runs//timeline")).status).toBe(404);
  });

  it("for the headers alone has none of the body, and leaves the stream behind it", async () => {
    let isLeft = false;
    const body = () => new ReadableStream({ cancel: () => void (isLeft = true) });
    const server = testServer({
      handlers: {
        stream: async () => new Response(body(), { headers: { "content-type": "text/event-stream" } }),
      },
    });
    const headers = bearer(await server.token("viewer"));
    const response = await server.request("/v1/stream", { method: "HEAD", headers });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(await response.text()).toBe("");
    expect(isLeft).toBe(true);
  });

  it("that names the version it has gets no second copy of it", async () => {
    const server = testServer({
      handlers: {
        stopRun: async () => ({ status: 200, body: { stopped: true } }),
        countRuns: async () => COUNTS,
      },
    });
    const headers = bearer(await server.token("viewer"));
    const first = await server.request("/v1/runs/counts", { headers });
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toBe('"7"');
    const again = await server.request("/v1/runs/counts", {
      headers: { ...headers, "if-none-match": `W/${etag}` },
    });
    expect(again.status).toBe(304);
    expect(await again.text()).toBe("");
    const other = await server.request("/v1/runs/counts", {
      headers: { ...headers, "if-none-match": '"6"' },
    });
    expect(other.status).toBe(200);
  });

  it("that fails inside is answered without the inner text, which is reported with the id of the request", async () => {
    const server = testServer({
      handlers: {
        countRuns: async () => {
          throw new Error("password=hunter2");
        },
      },
    });
    const headers = bearer(await server.token("viewer"));
    const response = await server.request("/v1/runs/counts", { headers });
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(text).not.toContain("hunter2");
    expect(text).toContain(response.headers.get("x-request-id") ?? "no id");
    expect(server.reported).toEqual([new Error("password=hunter2")]);
  });

  it("gets the errors of Pawl as problems", async () => {
    const thrown: Error[] = [
      new RunNotFoundError("There is no run q.", { runId: "q" }),
      new StoreUnavailableError("The database is locked.", { reason: "locked" }),
    ];
    const server = testServer({
      handlers: { countRuns: () => Promise.reject(thrown.shift() ?? new Error()) },
    });
    const headers = bearer(await server.token("viewer"));
    const missing = await server.request("/v1/runs/counts", { headers });
    expect(await missing.json()).toMatchObject({
      type: "urn:pawl:problem:run_not_found",
      title: "There is no such run.",
      status: 404,
      detail: "There is no run q.",
      recoverable: false,
      details: { runId: "q" },
    });
    const busy = await server.request("/v1/runs/counts", { headers });
    expect(await busy.json()).toMatchObject({ status: 503, recoverable: true });
    expect(busy.headers.get("retry-after")).toBe("1");
  });

  it("whose answer is not what its route promises fails while answers are checked", async () => {
    const wrong = { status: 200, body: { stopped: "yes" } } as unknown as Response;
    const server = testServer({ handlers: { stopRun: async () => wrong } });
    const headers = bearer(await server.token("operator"));
    const response = await server.request("/v1/runs/q/stop", { method: "POST", headers });
    expect(response.status).toBe(500);
    expect(String(server.reported[0])).toContain("does not fit its schema at stopped");
  });

  it("is refused with 503 while too many others are being answered", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const server = testServer({
      maxRequests: 1,
      handlers: { countRuns: () => promise.then(() => COUNTS) },
    });
    const headers = bearer(await server.token("viewer"));
    const first = server.request("/v1/runs/counts", { headers });
    const second = await server.request("/healthz");
    expect(second.status).toBe(503);
    expect(await second.json()).toMatchObject({ code: "too_busy", recoverable: true });
    resolve();
    expect((await first).status).toBe(200);
    expect((await server.request("/healthz")).status).toBe(200);
  });
});

describe("every answer", () => {
  it.each(["/healthz", "/v1/runs", "/v1/nowhere", "/"])(
    "of %s has the headers that protect it",
    async (path) => {
      const response = await testServer().request(path);
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("referrer-policy")).toBe("no-referrer");
      expect(response.headers.get("cross-origin-opener-policy")).toBe("same-origin");
      expect(response.headers.get("cross-origin-resource-policy")).toBe("same-origin");
      expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(response.headers.get("x-request-id")).toMatch(/^req_/);
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
    },
  );

  it("may be read by pages of the origins that were allowed, and by no others", async () => {
    const server = testServer({ allowOrigins: ["https://desk.example"] });
    const ask = (origin: string) =>
      server.request("/v1/runs", {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "GET",
          "access-control-request-headers": "authorization",
        },
      });
    const allowed = await ask("https://desk.example");
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get("access-control-allow-origin")).toBe("https://desk.example");
    expect(allowed.headers.get("access-control-allow-credentials")).toBeNull();
    expect((await ask("https://evil.example")).headers.get("access-control-allow-origin")).toBeNull();
  });
});

const RESUMED = { runId: "q", outcome: "requested" as const, hasWorker: false };
const COUNTS = {
  status: 200 as const,
  body: {
    counts: {
      queued: 0,
      running: 0,
      interrupted: 0,
      waiting: 0,
      succeeded: 0,
      failed: 0,
      cancelled: 0,
      moved: 0,
    },
    total: 0,
    needsPerson: 0,
    isCapped: false,
  },
  headers: { etag: '"7"' },
};
