import { type Attack, cancels, said } from "./attack.ts";
import { post } from "./attacked-server.ts";

const FOREIGN = "https://evil.example";

/** A page that somebody else has made asks with the cookie of the person who has it open. */
const foreignPage = (name: string, headers: Record<string, string>): Attack => ({
  name,
  attempt: async (server) => cancels(server, { ...(await server.cookie("operator")), ...headers }),
  refusal: "403 foreign_page",
  without: ["source"],
  gain: "200, cancelled",
});

const host = (name: string, asked: string, without: "host" | "port"): Attack => ({
  name,
  attempt: (server) => said(server.request("/healthz", { headers: { host: asked } })),
  refusal: "421 unknown_host",
  without: [without],
  gain: "200",
});

/** What a form can send: each of them without a question to the server. */
const form = (type: string): Attack => ({
  name: `a form of another site posts as ${type}`,
  attempt: async (server) => {
    const headers = {
      ...(await server.cookie("operator")),
      "sec-fetch-site": "cross-site",
      "content-type": type,
    };
    return said(server.request("/v1/bulk", { method: "POST", headers, body: BULK }));
  },
  refusal: "403 foreign_page",
  without: ["source", "jsonType"],
  gain: "200",
});

const BULK = JSON.stringify({ action: "cancel", runIds: ["order-1"] });
/** Where a request comes from: another name, another site, another address. */
export const ORIGIN_ATTACKS: readonly Attack[] = [
  host("a rebound name reads", "evil.example", "host"),
  host("a rebound name with the right port reads", "evil.example:4747", "host"),
  host("a name of this machine with the port of another program reads", "localhost:3000", "port"),
  {
    name: "a rebound name opens a stream",
    attempt: async (server) => {
      const headers = { host: "evil.example", ...(await server.bearer("viewer")) };
      return said(server.request("/v1/stream", { headers }));
    },
    refusal: "421 unknown_host",
    without: ["host"],
    gain: "200",
  },
  foreignPage("a page of another site posts", { "sec-fetch-site": "cross-site", origin: FOREIGN }),
  foreignPage("a page on another port of this machine posts", {
    "sec-fetch-site": "same-site",
    origin: "http://127.0.0.1:3000",
  }),
  foreignPage("an old browser on another site posts, without Sec-Fetch-Site", { origin: FOREIGN }),
  foreignPage("a page without an origin of its own posts", { origin: "null" }),
  foreignPage("a request with a cookie, and neither Sec-Fetch-Site nor Origin, acts", {}),
  foreignPage("a cookie beside basic authentication passes for a token", {
    authorization: "Basic YTpi",
    origin: FOREIGN,
  }),
  form("text/plain"),
  form("application/x-www-form-urlencoded"),
  form("multipart/form-data; boundary=x"),
  {
    name: "a form is read as JSON, where nothing says that its page is another site's",
    attempt: async (server) => {
      const headers = { ...(await server.bearer("operator")), "content-type": "text/plain" };
      return said(server.request("/v1/bulk", { method: "POST", headers, body: BULK }));
    },
    refusal: "415 not_json_type",
    without: ["jsonType"],
    gain: "200",
  },
  {
    name: "a page of another site makes a browser read with its cookie",
    attempt: async (server) => {
      const headers = { ...(await server.cookie("viewer")), "sec-fetch-site": "cross-site" };
      return said(server.request("/v1/runs", { headers }));
    },
    refusal: "403 foreign_page",
    without: ["source"],
    gain: "200",
  },
  {
    name: "a page of another site signs the browser in as somebody else",
    attempt: async (server) => {
      const { secret: token } = await server.grant("viewer");
      return said(server.request("/v1/session", post({ token }, { "sec-fetch-site": "cross-site" })));
    },
    refusal: "403 foreign_page",
    without: ["source"],
    gain: "200",
  },
  {
    name: "a token beside the sign-in lets a page of another site sign the browser in",
    attempt: async (server) => {
      const { secret: token } = await server.grant("viewer");
      const headers = { "sec-fetch-site": "cross-site", authorization: `Bearer ${token}` };
      return said(server.request("/v1/session", post({ token }, headers)));
    },
    refusal: "403 foreign_page",
    without: ["sourceOfToken"],
    gain: "200",
  },
  {
    name: "a bearer token of no worth hides that the host knows the person by their cookie",
    options: { authenticate: () => ({ name: "bo", id: "u-7", role: "operator" }) },
    attempt: (server) =>
      cancels(server, { cookie: "sid=bo", origin: FOREIGN, authorization: "Bearer nothing" }),
    refusal: "403 foreign_page",
    without: ["sourceOfToken"],
    gain: "200, cancelled",
  },
  {
    name: "a page of another site is allowed to send a token",
    attempt: async (server) => {
      const headers = { origin: FOREIGN, "access-control-request-method": "POST" };
      const { headers: answered } = await server.request("/v1/bulk", { method: "OPTIONS", headers });
      return answered.get("access-control-allow-origin") ?? "nothing is allowed";
    },
    refusal: "nothing is allowed",
    without: ["preflight"],
    gain: FOREIGN,
  },
  {
    name: "a token in a query is accepted",
    attempt: async (server) => {
      const { secret } = await server.grant("viewer");
      return said(server.request(`/healthz?access_token=${secret}`));
    },
    refusal: "400 secret_in_query",
    without: ["secretInQuery"],
    gain: "400 invalid_request",
  },
  {
    name: "a token under another name in a query is accepted",
    attempt: async (server) => {
      const [headers, { secret }] = [await server.bearer("viewer"), await server.grant("viewer")];
      return said(server.request(`/v1/runs?q=${secret}`, { headers }));
    },
    refusal: "400 secret_in_query",
    without: ["secretInQuery"],
    gain: "200",
  },
];
