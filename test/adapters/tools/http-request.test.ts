import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { httpRequest } from "../../../src/adapters/tools/index.ts";
import { secret } from "../../../src/index.ts";
import { asking, crashAt, jumpingClock, runnerOf, timedStore } from "../../engine/call/call-fixture.ts";
import { must } from "../../engine/run-fixture.ts";
import { closedPort } from "./mail-server.ts";
import { callTool, LOOPBACK, openService, temporaryFolder } from "./tool-fixture.ts";

const answer =
  (status: number, body = "", headers = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(status, headers).end(body);

const post = (url: string, more = {}) => ({ method: "POST", url: `${url}/orders`, body: '{"n":1}', ...more });

describe("http_request", () => {
  it("sends the request with the key of its call, and returns the response", async () => {
    const service = await openService(
      answer(201, '{"id":7}', { "content-type": "application/json", etag: '"x"' }),
    );
    const input = { ...post(service.url), headers: { "X-Note": "hello" } };
    const { result, call } = await callTool(httpRequest(), input, LOOPBACK);

    expect(result).toEqual({
      status: 201,
      headers: { "content-type": "application/json", etag: '"x"' },
      body: '{"id":7}',
    });
    expect([call.effect, call.recovery]).toEqual(["external", "opaque"]);
    const { method, path, body, headers } = must(service.seen[0]);
    expect([method, path, body]).toEqual(["POST", "/orders", '{"n":1}']);
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "idempotency-key": call.idempotencyKey,
      "x-note": "hello",
    });
  });

  it("uses the service's own key header, and no key that a model made up", async () => {
    const service = await openService(answer(204));
    const settings = { keyed: true, idempotencyHeader: "X-Request-Key" };
    const input = { ...post(service.url), headers: { "x-request-key": "mine" } };
    const { call } = await callTool(httpRequest(settings), input, LOOPBACK);
    expect(call.recovery).toBe("keyed");
    expect(service.seen[0]?.headers["x-request-key"]).toBe(call.idempotencyKey);
  });

  it("sends no key with a GET, and returns any response to it", async () => {
    const service = await openService(answer(404, "no such order"));
    const { result } = await callTool(httpRequest(), { method: "GET", url: service.url }, LOOPBACK);
    expect(result).toMatchObject({ status: 404, body: "no such order" });
    expect(service.seen[0]?.headers["idempotency-key"]).toBeUndefined();
  });

  it("follows no redirect, and returns its target", async () => {
    const service = await openService(answer(307, "", { location: "http://127.0.0.1:1/elsewhere" }));
    const { result } = await callTool(httpRequest(), post(service.url), LOOPBACK);
    expect(result).toMatchObject({ status: 307, headers: { location: "http://127.0.0.1:1/elsewhere" } });
    expect(service.seen).toHaveLength(1);
  });

  it("cuts a long body and leaves out one that is not text, and says so", async () => {
    const long = await openService(answer(200, "z".repeat(40_000)));
    const { result } = await callTool(httpRequest(), post(long.url), LOOPBACK);
    expect(result).toMatchObject({ note: "10000 more characters of the body were left out." });
    const picture = await openService(answer(200, "\u0000\u0001", { "content-type": "image/png" }));
    const { result: other } = await callTool(httpRequest(), post(picture.url), LOOPBACK);
    expect(other).toMatchObject({
      body: "",
      note: "The body is image/png, which is not text: it was left out.",
    });
  });

  it("stops reading an endless body", async () => {
    const service = await openService((response) => {
      const more = () => {
        while (!response.destroyed && response.write("e".repeat(65_536)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    });
    const { result } = await callTool(httpRequest(), post(service.url), LOOPBACK);
    expect((result as { note: string }).note).toMatch(/^Only the first 2000000 bytes were read\./);
  });

  it.each([
    ["a header of the connection", { headers: { Host: "other.example" } }],
    ["a body of a GET", { method: "GET" }],
    ["another scheme", { url: "file:///etc/hostname" }],
  ])("refuses %s", async (_what, more) => {
    const service = await openService(answer(200));
    const { calls } = await callTool(httpRequest(), { ...post(service.url), ...more }, LOOPBACK);
    expect(calls[0]?.receipt?.errorCode).toBe("invalid_input");
    expect(service.seen).toHaveLength(0);
  });

  it("connects only to the run's allowed domains", async () => {
    const service = await openService(answer(200));
    const { calls } = await callTool(httpRequest(), post(service.url));
    expect(calls[0]?.status).not.toBe("succeeded");
    expect(service.seen).toHaveLength(0);
  });
});

describe("credentials of http_request", () => {
  const TOKEN = "tok-5f0c9d1e77";

  it("are sent to their origin and nowhere else, and are hidden in responses", async () => {
    const echo = (response: ServerResponse, request: { headers: { authorization?: string | undefined } }) =>
      void response.end(`you sent ${request.headers.authorization ?? "nothing"}`);
    const known = await openService(echo);
    const other = await openService(echo);
    const tool = httpRequest({ credentials: { [known.url]: { Authorization: secret(`Bearer ${TOKEN}`) } } });

    const first = await callTool(tool, post(known.url), LOOPBACK);
    expect(known.seen[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    expect(first.result).toMatchObject({ body: "you sent [secret]" });
    const second = await callTool(tool, post(other.url), LOOPBACK);
    expect(second.result).toMatchObject({ body: "you sent nothing" });
  });

  it("are in no error", async () => {
    const service = await openService((response, { headers }) => {
      response.writeHead(422).end(`bad token ${headers.authorization?.split(" ")[1]}`);
    });
    const tool = httpRequest({ credentials: { [service.url]: { Authorization: `Bearer ${TOKEN}` } } });
    const { result } = await callTool(tool, post(service.url), LOOPBACK);
    expect(result).toBe(`${service.host} answered 422: bad token [secret].`);
  });
});

describe("a credential in a response that is cut", () => {
  // Long, so that a long response has few of them.
  const token = `tok-${"5f0c9d1e77".repeat(300)}`;
  const settings = (url: string) => ({ credentials: { [url]: { authorization: `Bearer ${token}` } } });
  const start = token.slice(0, 10);

  it.each([29_990, 28_000, 30_001 - token.length])(
    "after %i characters shows no beginning of it",
    async (padding) => {
      const service = await openService(answer(200, `${"z".repeat(padding)}${token}`));
      const request = { method: "GET", url: service.url };
      const { result } = await callTool(httpRequest(settings(service.url)), request, LOOPBACK);
      expect(JSON.stringify(result)).not.toContain(start);
    },
  );

  it("shows none if the response was not read to its end, either", async () => {
    const service = await openService(answer(200, `${token} `.repeat(700)));
    const request = { method: "GET", url: service.url };
    const { result } = await callTool(httpRequest(settings(service.url)), request, LOOPBACK);
    expect((result as { readonly note: string }).note).toContain("Only the first 2000000 bytes were read.");
    expect(JSON.stringify(result)).not.toContain(start);
  });

  it.each([280, 299, 1_990])("in an error after %i characters shows none", async (padding) => {
    const service = await openService(answer(400, `${"z".repeat(padding)}${token}`));
    const { result } = await callTool(httpRequest(settings(service.url)), post(service.url), LOOPBACK);
    expect(result).toContain("answered 400: z");
    expect(result).not.toContain(start);
  });
});

describe("a request that fails", () => {
  it.each([
    ["429", 429, {}],
    ["503 with Retry-After", 503, { "retry-after": "1" }],
  ])("with %s has not happened, and is retried", async (_what, status, headers) => {
    const service = await openService((response, _request, n) =>
      n === 1 ? answer(status, "", headers)(response) : answer(200, "done")(response),
    );
    const { call } = await callTool(httpRequest(), post(service.url), LOOPBACK);
    expect([call.status, call.attempt, service.seen.length]).toEqual(["succeeded", 2, 2]);
    expect(new Set(service.seen.map(({ headers: sent }) => sent["idempotency-key"])).size).toBe(1);
  });

  it("because nothing listens has not happened", async () => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    const { call, result } = await callTool(httpRequest(), post(url), LOOPBACK);
    expect([call.status, call.receipt?.uncertain, call.attempt > 1]).toEqual(["failed", false, true]);
    expect(result).toMatch(/^Nothing was sent to 127\.0\.0\.1:\d+: .*ECONNREFUSED/);
  });

  it("with another 4xx is not retried", async () => {
    const service = await openService(answer(422, "n has to be 2"));
    const { call, result } = await callTool(httpRequest(), post(service.url), LOOPBACK);
    expect([call.status, call.attempt, service.seen.length]).toEqual(["failed", 1, 1]);
    expect(result).toBe(`${service.host} answered 422: n has to be 2.`);
  });

  it.each([
    ["500", answer(500, "oops")],
    ["a plain 503", answer(503)],
    ["a connection that breaks", (response: ServerResponse) => void response.destroy()],
  ])("with %s may have happened: an opaque one is not retried", async (_what, fail) => {
    const service = await openService(fail);
    const { call } = await callTool(httpRequest(), post(service.url), LOOPBACK);
    expect([call.status, call.attempt, call.receipt?.uncertain]).toEqual(["failed", 1, true]);
    expect(service.seen).toHaveLength(1);
  });

  it.each([
    ["500", answer(500)],
    ["409, while the first is in progress", answer(409)],
    ["a connection that breaks", (response: ServerResponse) => void response.destroy()],
  ])("with %s is retried with the same key if the service supports keys", async (_what, fail) => {
    const service = await openService((response, _request, n) =>
      n === 1 ? fail(response) : answer(200, "done")(response),
    );
    const { call } = await callTool(httpRequest({ keyed: true }), post(service.url), LOOPBACK);
    expect([call.status, call.attempt]).toEqual(["succeeded", 2]);
    expect(service.seen.map(({ headers }) => headers["idempotency-key"])).toEqual([
      call.idempotencyKey,
      call.idempotencyKey,
    ]);
  });

  it("is retried in any case if it only reads", async () => {
    const service = await openService((response, _request, n) =>
      n === 1 ? void response.destroy() : n === 2 ? answer(500)(response) : answer(200, "done")(response),
    );
    const { call, result } = await callTool(httpRequest(), { method: "GET", url: service.url }, LOOPBACK);
    expect([call.status, call.attempt, service.seen.length]).toEqual(["succeeded", 3, 3]);
    expect(result).toMatchObject({ body: "done" });
  });

  it("has happened if the response arrived and its body broke off", async () => {
    const service = await openService((response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => response.destroy());
    });
    const { call, result } = await callTool(httpRequest(), post(service.url), LOOPBACK);
    expect(call.status).toBe("succeeded");
    expect((result as { note: string }).note).toMatch(/^The connection broke after \d+ bytes of the body\.$/);
  });
});

describe("a request in doubt", () => {
  it.each([
    [false, "waiting", 1],
    [true, "succeeded", 2],
  ] as const)(
    "with keyed %s leaves the run %s, and %i requests at the service",
    async (keyed, status, requests) => {
      const service = await openService(answer(200, "done"));
      const clock = jumpingClock();
      const store = await timedStore(clock);
      const workspaceRoot = temporaryFolder();
      const runner = (probe = {}) =>
        runnerOf(
          store,
          { http_request: httpRequest({ keyed }) },
          [asking(["http_request", post(service.url)])],
          {
            constraints: { allowedDomains: ["127.0.0.1:*"] },
            clock,
            workspaceRoot,
            ...probe,
          },
        ).runner;
      await runner({ probe: crashAt("tool:executed") })
        .run("Go", { runId: "r-1" })
        .catch(() => undefined);
      expect((await runner().resume("r-1")).status).toBe(status);
      expect(service.seen).toHaveLength(requests);
      expect(new Set(service.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    },
  );
});
