// One attack a row. Each is refused by the server as it is, and succeeds on a copy that leaves out the one check that stops it.

import { describe, expect, it } from "vitest";
import { SessionCookies } from "../../../src/server/access/session-cookie.ts";
import { REQUEST_CHECKS, type RequestChecks } from "../../../src/server/http/request-checks.ts";
import { bearer, json, ORIGIN, type TestServer, type TestServerOptions, testServer } from "../test-server.ts";

type Attack = {
  readonly name: string;
  /** True if the attacker got what they wanted. */
  readonly succeeds: (server: TestServer) => Promise<boolean>;
  /** The check that is left out in the weakened copy. */
  readonly without: Partial<RequestChecks>;
  readonly options?: TestServerOptions;
};

const allow = () => undefined;
const own = { "sec-fetch-site": "same-origin" };

/** Acts that were done, whatever was answered. */
let acts: string[] = [];

const handlers: TestServerOptions["handlers"] = {
  stopRun: async ({ params }) => {
    acts.push(params.runId);
    return { status: 200, body: { stopped: true } };
  },
  sendMessage: async ({ params, body }) => {
    acts.push(params.runId);
    return {
      status: 202,
      body: { messageId: "m", runId: params.runId, duplicate: false, status: body.text ?? "", reason: null },
    };
  },
  listTokens: async () => {
    acts.push("listTokens");
    return { status: 200, body: { items: [] } };
  },
};

async function acted(request: Promise<Response>): Promise<boolean> {
  const before = acts.length;
  await request;
  return acts.length > before;
}

const foreignPost = (more: Record<string, string>) => async (server: TestServer) => {
  const cookie = await server.cookie("operator");
  return acted(server.request("/v1/runs/q/stop", { method: "POST", headers: { cookie, ...more } }));
};

const ATTACKS: readonly Attack[] = [
  {
    name: "a rebound name reads",
    without: { host: allow },
    succeeds: async (server) =>
      (await server.request("/healthz", { headers: { host: "evil.example" } })).status === 200,
  },
  {
    name: "a rebound name with the right port reads",
    without: { host: allow },
    succeeds: async (server) =>
      (await server.request("/healthz", { headers: { host: "evil.example:4747" } })).status === 200,
  },
  {
    name: "a name of this machine with the port of another program reads",
    without: { host: allow },
    succeeds: async (server) =>
      (await server.request("/healthz", { headers: { host: "localhost:3000" } })).status === 200,
  },
  {
    name: "a rebound name opens a stream",
    without: { host: allow },
    options: { handlers: { stream: async () => new Response("data: 1\n\n") } },
    succeeds: async (server) => {
      const headers = { host: "evil.example", ...bearer(await server.token("viewer")) };
      return (await server.request("/v1/stream", { headers })).status === 200;
    },
  },
  {
    name: "a page of another site posts",
    without: { source: allow },
    succeeds: foreignPost({ "sec-fetch-site": "cross-site", origin: "https://evil.example" }),
  },
  {
    name: "a page on another port of this machine posts",
    without: { source: allow },
    succeeds: foreignPost({ "sec-fetch-site": "same-site", origin: "http://127.0.0.1:3000" }),
  },
  {
    name: "an old browser on another site posts, without Sec-Fetch-Site",
    without: { source: allow },
    succeeds: foreignPost({ origin: "https://evil.example" }),
  },
  {
    name: "a page without an origin of its own posts",
    without: { source: allow },
    succeeds: foreignPost({ origin: "null" }),
  },
  {
    name: "a request with a cookie, and neither Sec-Fetch-Site nor Origin, acts",
    without: { source: allow },
    succeeds: foreignPost({}),
  },
  {
    name: "a request with a cookie and basic authentication passes for one with a token",
    without: { source: allow },
    succeeds: foreignPost({ authorization: "Basic YTpi", origin: "https://evil.example" }),
  },
  {
    name: "a page of another site makes a browser read with its cookie",
    without: { source: allow },
    succeeds: async (server) => {
      const headers = { cookie: await server.cookie("viewer"), "sec-fetch-site": "cross-site" };
      return (await server.request("/v1/me", { headers })).status === 200;
    },
  },
  {
    name: "a page of another site signs the browser in as somebody else",
    without: { source: allow },
    succeeds: async (server) => {
      const token = await server.token("viewer");
      const login = json({ token }, { "sec-fetch-site": "cross-site" });
      return (await server.request("/v1/session", login)).headers.has("set-cookie");
    },
  },
  {
    name: "a token in a query is accepted",
    without: { secretInQuery: allow },
    succeeds: async (server) => notAboutSecrets(await server.request("/healthz?access_token=abc")),
  },
  {
    name: "a token under another name in a query is accepted",
    without: { secretInQuery: allow },
    succeeds: async (server) =>
      notAboutSecrets(await server.request(`/healthz?key=${await server.token("viewer")}`)),
  },
  {
    name: "a viewer acts",
    without: { role: allow },
    succeeds: async (server) => {
      const headers = bearer(await server.token("viewer"));
      return acted(server.request("/v1/runs/q/stop", { method: "POST", headers }));
    },
  },
  {
    name: "an operator administers",
    without: { role: allow },
    succeeds: async (server) => {
      const headers = bearer(await server.token("operator"));
      return acted(server.request("/v1/tokens", { headers }));
    },
  },
  {
    name: "nobody acts",
    without: { role: allow },
    succeeds: (server) => acted(server.request("/v1/tokens")),
  },
  {
    name: "an admin acts on a server that is read-only",
    without: { role: allow },
    options: { isReadOnly: true },
    succeeds: async (server) => {
      const headers = bearer(await server.token("admin"));
      return acted(server.request("/v1/runs/q/stop", { method: "POST", headers }));
    },
  },
  {
    name: "a body of ten megabytes is read",
    without: { bodyBytes: 100 * 2 ** 20 },
    succeeds: async (server) => {
      const headers = bearer(await server.token("operator"));
      return acted(
        server.request("/v1/runs/q/messages", json({ text: "x", data: "y".repeat(10_000_000) }, headers)),
      );
    },
  },
  {
    name: "a body of ten megabytes without its length is read",
    without: { bodyBytes: 100 * 2 ** 20 },
    succeeds: async (server) => {
      const headers = { ...bearer(await server.token("operator")), "content-type": "application/json" };
      const text = JSON.stringify({ text: "x", data: "y".repeat(10_000_000) });
      const body = new Blob([text]).stream();
      const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
      return acted(server.request("/v1/runs/q/messages", init));
    },
  },
  {
    name: "a body that never ends holds a request",
    without: { bodyMs: 60_000 },
    options: { checks: { ...REQUEST_CHECKS, bodyMs: 20 } },
    succeeds: async (server) => {
      const headers = { ...bearer(await server.token("operator")), "content-type": "application/json" };
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
      });
      const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
      const answered = server.request("/v1/runs/q/messages", init).then(({ status }) => status === 408);
      const held = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 500));
      return !(await Promise.race([answered, held]));
    },
  },
];

describe("an attack", () => {
  it.each(ATTACKS)("is refused: $name", async ({ succeeds, options = {} }) => {
    acts = [];
    const server = testServer({ ...options, handlers: { ...handlers, ...options.handlers } });
    expect(await succeeds(server)).toBe(false);
    expect(acts).toEqual([]);
  });

  it.each(ATTACKS)("would succeed without its check: $name", async ({ succeeds, without, options = {} }) => {
    const checks = { ...REQUEST_CHECKS, ...options.checks, ...without };
    const server = testServer({ ...options, checks, handlers: { ...handlers, ...options.handlers } });
    expect(await succeeds(server)).toBe(true);
  });
});

describe("a request that is none", () => {
  it("passes: the page itself, a program with a token, and a first sign-in", async () => {
    acts = [];
    const server = testServer({ handlers });
    const cookie = await server.cookie("operator");
    const post = { method: "POST" };
    await server.request("/v1/runs/a/stop", { ...post, headers: { cookie, ...own } });
    await server.request("/v1/runs/b/stop", { ...post, headers: { cookie, origin: ORIGIN } });
    const token = bearer(await server.token("operator"));
    await server.request("/v1/runs/c/stop", {
      ...post,
      headers: { ...token, origin: "https://other.example" },
    });
    expect(acts).toEqual(["a", "b", "c"]);
  });
});

describe("what a form can send", () => {
  it.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])(
    "as %s is refused, even where a page could send it",
    async (type) => {
      acts = [];
      const server = testServer({ handlers, checks: { ...REQUEST_CHECKS, source: allow } });
      const headers = { cookie: await server.cookie("operator"), "content-type": type };
      const init = { method: "POST", headers, body: JSON.stringify({ text: "x" }) };
      expect((await server.request("/v1/runs/q/messages", init)).status).toBe(415);
      expect((await server.request("/v1/runs/q/stop", { ...init, body: "a=b" })).status).toBe(415);
      expect(acts).toEqual([]);
      const asJson = { ...init, headers: { ...headers, "content-type": "application/json" } };
      expect((await server.request("/v1/runs/q/messages", asJson)).status).toBe(202);
    },
  );
});

describe("the cookie of another server on this machine", () => {
  it("is nobody here, whatever its name; with this store's key it would be somebody", async () => {
    const other = testServer({ storeId: "f".repeat(32) });
    const server = testServer({ store: other.store });
    const theirs = await other.cookie("admin");
    const renamed = theirs.replace(/^pawl_[^=]+/, "pawl_0123456789ab");
    const ask = async (cookie: string) =>
      (await server.request("/v1/me", { headers: { cookie, ...own } })).status;
    expect([await ask(theirs), await ask(renamed)]).toEqual([401, 401]);
    expect(await ask(await server.cookie("admin"))).toBe(200);
  });

  it("is not believed if its claim was changed", () => {
    const cookies = new SessionCookies({ key: Buffer.alloc(32), storeId: "a".repeat(32), isSecure: false });
    const [name = "", value = ""] = (
      cookies.set({ accessId: "acc_1", expiresAt: 10 }, 0).split(";")[0] ?? ""
    ).split("=");
    const claim = Buffer.from(JSON.stringify({ accessId: "acc_2", expiresAt: 10 })).toString("base64url");
    const forged = `${name}=${claim}.${value.split(".")[1] ?? ""}`;
    expect(cookies.read(new Request(ORIGIN, { headers: { cookie: forged } }), 0)).toBeNull();
  });
});

describe("an id in a path", () => {
  it.each([
    ["%2e%2e", 404],
    ["..%2F..%2Fetc%2Fpasswd", 200],
    ["a%2Fb", 200],
    ["%252e%252e", 200],
  ])("that is %s stays one id, or no path at all", async (id, status) => {
    acts = [];
    const server = testServer({ handlers });
    const headers = bearer(await server.token("operator"));
    const response = await server.request(`/v1/runs/${id}/stop`, { method: "POST", headers });
    expect(response.status).toBe(status);
    expect(acts).toEqual(status === 200 ? [decodeURIComponent(id)] : []);
  });
});

async function notAboutSecrets(response: Response): Promise<boolean> {
  return ((await response.json()) as { readonly code?: string }).code !== "secret_in_query";
}
