import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Attack, cancels, said } from "./attack.ts";
import { ACME, type Attacked, OTHER } from "./attacked-server.ts";

const LARGE = JSON.stringify({ action: "y".repeat(10_000_000) });

async function sends(server: Attacked, body: string | ReadableStream): Promise<string> {
  const headers = { ...(await server.bearer("operator")), "content-type": "application/json" };
  const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
  return said(server.request("/v1/bulk", init));
}

/** A body that begins, and ends when the attacker likes. */
function slowBody(): { readonly body: ReadableStream; readonly end: () => void } {
  let end = (): void => undefined;
  const body = new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode("{"));
      end = () => controller.close();
    },
  });
  return { body, end };
}

/** A dashboard, and beside its folder a file that is none of it. */
function dashboardBesideSecret(): string {
  const folder = join(mkdtempSync(join(tmpdir(), "pawl-")), "dashboard");
  mkdirSync(folder);
  writeFileSync(join(folder, "index.html"), "the page");
  writeFileSync(join(folder, "../secret.txt"), "the secret");
  return folder;
}

const file = (path: string): Attack => ({
  name: `${path} reads a file beside the dashboard`,
  options: { dashboard: dashboardBesideSecret() },
  attempt: async (server) => (await server.request(path, { headers: { accept: "text/html" } })).text(),
  refusal: "the page",
  without: ["listedFiles"],
  gain: "the secret",
});

const FORGED = 'event: waits\ndata: {"open":99}';

/** Whether a page is asked to begin again. */
async function beginsAgain(response: Response): Promise<string> {
  if (response.status !== 200) return said(response);
  const text = await readUntil(response, "event: reset");
  return text.includes("event: reset") ? "begun again" : "silence";
}

/** What a stream sends up to this text; what has not come within 300 ms does not come. */
async function readUntil(response: Response, end: string): Promise<string> {
  const reader = response.body?.getReader();
  const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), 300));
  let text = "";
  while (!text.includes(end)) {
    const piece = await Promise.race([reader?.read(), late]);
    if (piece?.value === undefined) break;
    text += new TextDecoder().decode(piece.value);
  }
  await reader?.cancel();
  return text;
}

/** What a request may send, and where it leads, whoever makes it. */
export const REQUEST_ATTACKS: readonly Attack[] = [
  {
    name: "a body of ten megabytes is read",
    attempt: (server) => sends(server, LARGE),
    refusal: "413 body_too_large",
    without: ["bodyLength", "bodyBytes"],
    gain: "422 invalid_request",
  },
  {
    name: "a body of ten megabytes without its length is read",
    attempt: (server) => sends(server, new Blob([LARGE]).stream()),
    refusal: "413 body_too_large",
    without: ["bodyBytes"],
    gain: "422 invalid_request",
  },
  {
    name: "a body that never ends holds a request",
    options: { bodyMs: 20 },
    attempt: (server) => {
      const held = new Promise<string>((resolve) => setTimeout(() => resolve("held"), 1_000));
      return Promise.race([sends(server, slowBody().body), held]);
    },
    refusal: "408 body_too_slow",
    without: ["bodyMs"],
    gain: "held",
  },
  {
    name: "slow bodies hold more requests than may be answered at a time",
    options: { maxRequests: 2 },
    attempt: async (server) => {
      const bodies = [slowBody(), slowBody()];
      const slow = bodies.map(({ body }) => sends(server, body));
      await new Promise((resolve) => setTimeout(resolve, 50));
      const third = await said(server.request("/healthz"));
      for (const { end } of bodies) end();
      await Promise.all(slow);
      return third;
    },
    refusal: "503 too_busy",
    without: ["slots"],
    gain: "200",
  },
  {
    name: "a server without TLS is bound to 0.0.0.0",
    attempt: (_, of) => binds(of, {}),
    refusal: "0.0.0.0 can be reached from other machines: put a proxy with TLS in front of it",
    without: ["binding"],
    gain: "it listens",
  },
  {
    name: "a server without a token is bound to 0.0.0.0",
    attempt: (_, of) => binds(of, { publicUrl: "https://pawl.example.com" }),
    refusal: "0.0.0.0 can be reached from other machines, and the store has no token",
    without: ["bindingToken"],
    gain: "it listens",
  },
  {
    name: "an encoded slash hides which run is acted on",
    attempt: async (server) =>
      cancels(server, await server.bearer("operator"), "/v1/runs/order-1%2Fother/cancel"),
    refusal: "404 run_not_found",
    without: ["pathSegments"],
    gain: "200, cancelled",
  },
  {
    name: "an encoded slash hides an operation from the rules of a proxy",
    attempt: async (server) =>
      said(server.request("/v1%2Ftokens", { headers: await server.bearer("admin") })),
    refusal: "404 no_dashboard",
    without: ["routedPath"],
    gain: "200",
  },
  file("/..%2Fsecret.txt"),
  file("/%2e%2e%2Fsecret.txt"),
  {
    name: "a cursor of another filter is a place in this one",
    attempt: async (server) => {
      const headers = await server.bearer("viewer");
      const first = await server.request("/v1/runs?limit=1", { headers });
      const { nextCursor } = (await first.json()) as { readonly nextCursor: string };
      return said(server.request(`/v1/runs?limit=1&status=waiting&cursor=${nextCursor}`, { headers }));
    },
    refusal: "400 cursor_of_another_list",
    without: ["cursor"],
    gain: "200",
  },
  {
    name: "a cursor of another scope is a place in this one",
    attempt: async (server) => {
      const [acme, other] = [
        await server.bearer("viewer", { scope: ACME }),
        await server.bearer("viewer", { scope: OTHER }),
      ];
      const first = await server.request("/v1/runs?limit=1", { headers: acme });
      const { nextCursor } = (await first.json()) as { readonly nextCursor: string };
      return said(server.request(`/v1/runs?limit=1&cursor=${nextCursor}`, { headers: other }));
    },
    refusal: "400 cursor_of_another_list",
    without: ["cursor"],
    gain: "200",
  },
  {
    name: "a Last-Event-ID of the future is waited for in silence, of a run",
    attempt: async (server) => {
      const headers = await server.bearer("viewer");
      const watched = await server.request("/v1/runs/order-1/watch?live=true", { headers });
      const text = await firstId(watched);
      const future = { ...headers, "last-event-id": text.replace(/^\d+/, "999999") };
      return said(server.request("/v1/runs/order-1/watch?live=true", { headers: future }));
    },
    refusal: "422 configuration",
    without: ["watchPlace"],
    gain: "200",
  },
  {
    name: "a Last-Event-ID of the future is waited for in silence, of all runs",
    attempt: async (server) => {
      const headers = { ...(await server.bearer("viewer")), "last-event-id": "9e9;9e9" };
      return beginsAgain(await server.request("/v1/stream", { headers }));
    },
    refusal: "begun again",
    without: ["livePlace"],
    gain: "silence",
  },
  {
    name: "a place in an address has an event of its own in it",
    attempt: async (server) => {
      const headers = await server.bearer("viewer");
      const place = `a\n\n${FORGED}\n\n`;
      const response = await server.request(`/v1/stream?cursor=${encodeURIComponent(place)}`, { headers });
      const text = await readUntil(response, "event: reset");
      return text.includes(FORGED) ? "the page believes it" : "it is not in the stream";
    },
    refusal: "it is not in the stream",
    without: ["livePlaceGiven", "eventId"],
    gain: "the page believes it",
  },
  {
    name: "a Last-Event-ID that is no place is the id of an event",
    attempt: async (server) => {
      const headers = { ...(await server.bearer("viewer")), "last-event-id": "garbage" };
      const text = await readUntil(await server.request("/v1/stream", { headers }), "event: reset");
      return text.includes("id: garbage") ? "it is" : "it is not";
    },
    refusal: "it is not",
    without: ["livePlaceGiven"],
    gain: "it is",
  },
];

/** The id of the first event of a stream that has one. */
async function firstId(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  let text = "";
  while (!/^id: .+\n/m.test(text)) {
    const piece = await reader?.read();
    if (piece?.done !== false) break;
    text += new TextDecoder().decode(piece.value);
  }
  await reader?.cancel();
  return /^id: (.+)\n/m.exec(text)?.[1] ?? "";
}

/** It listens on all addresses of this machine for a moment, and answers nobody in between. */
async function binds(
  { openStore, servePawl }: Parameters<Attack["attempt"]>[1],
  more: { readonly publicUrl?: string },
): Promise<string> {
  const store = await openStore(":memory:");
  try {
    const server = await servePawl({ store, host: "0.0.0.0", port: 0, dashboard: false, ...more });
    await server.close();
    return "it listens";
  } catch (error) {
    return (
      String(error)
        .replace(/^\w+: /, "")
        .split(/: make|, and give/)[0] ?? ""
    );
  } finally {
    await store.close({ graceMs: 0 });
  }
}
