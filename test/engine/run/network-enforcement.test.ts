// `policy.network: "enforce"`: a tool with its own requests reaches the run's allowedDomains and nothing else.

import { once } from "node:events";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent, getGlobalDispatcher, request, setGlobalDispatcher, fetch as undiciFetch } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  agent,
  ConfigurationError,
  NotApplied,
  Runner,
  type RunnerOptions,
  Step,
  tool,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { asking, runnerOf } from "../call/call-fixture.ts";
import { memoryStore, toolResults } from "../run-fixture.ts";

/** A reference taken before any run, as in a library that is loaded early. */
const keptFetch = globalThis.fetch;

type Site = { readonly host: string; readonly url: string; readonly seen: string[] };

/** Answers with its path, or redirects to the target in `/to/…`. */
async function site(): Promise<Site> {
  const seen: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    seen.push(url);
    const to = /^\/to\/(.+)$/.exec(url)?.[1];
    if (to === undefined) response.end(`page ${url}`);
    else response.writeHead(302, { location: decodeURIComponent(to) }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { host, url: `http://${host}`, seen };
}

/** Restores the process-wide dispatcher after the test. */
function keepDispatcher(): void {
  const before = getGlobalDispatcher();
  onTestFinished(() => setGlobalDispatcher(before));
}

type Visit = (url: string) => Promise<string>;

const byFetch: Visit = async (url) => (await fetch(url)).text();

const WAYS: readonly (readonly [name: string, Visit])[] = [
  ["fetch", byFetch],
  ["a fetch reference taken earlier", async (url) => (await keptFetch(url)).text()],
  ["undici's fetch", async (url) => (await undiciFetch(url)).text()],
  ["undici's request", async (url) => (await request(url)).body.text()],
  [
    "a method of the dispatcher",
    async (url) => {
      const { origin, pathname: path } = new URL(url);
      const { body } = await getGlobalDispatcher().request({ origin, path, method: "GET" });
      return body.text();
    },
  ],
];

function visitor(visit: Visit, effect: "external" | "read_only" = "external") {
  return tool({
    name: "visit",
    description: "Visit a page.",
    inputSchema: z.object({ url: z.string() }),
    effect,
    execute: ({ url }) => visit(url),
  });
}

const enforcing = (...allowedDomains: string[]): RunnerOptions => ({
  policy: { network: "enforce" },
  constraints: { allowedDomains },
});

/** The result of each visit as the model gets it, and the stored calls. */
async function visiting(visit: Visit, urls: readonly string[], options: RunnerOptions) {
  const store = await memoryStore();
  const turns = urls.map((url) => asking(["visit", { url }]));
  const { runner, prompts } = runnerOf(store, { visit: visitor(visit) }, turns, options);
  await runner.run("Go", { runId: "r-1" });
  const seen = toolResults(prompts.at(-1)) as readonly { readonly value: unknown }[];
  return { results: seen.map(({ value }) => value), calls: await store.listToolCalls("r-1") };
}

const refused = ({ url, host }: Site, path = "/") =>
  `Refused to request ${url}${path}: The host ${host} is not in allowedDomains, which has other ports of this host: add ${host} there if it may be reached.`;

describe("a tool that makes its own requests", () => {
  it.each(WAYS)("reaches only allowed hosts by %s", async (_, visit) => {
    const [allowed, other] = [await site(), await site()];
    const urls = [`${allowed.url}/a`, `${other.url}/b`];
    const { results, calls } = await visiting(visit, urls, enforcing(allowed.host));
    expect(results).toEqual(["page /a", refused(other, "/b")]);
    expect([allowed.seen, other.seen]).toEqual([["/a"], []]);
    // A second attempt would be refused as well, so there is none.
    expect(calls.map(({ status, attempt }) => [status, attempt])).toEqual([
      ["succeeded", 1],
      ["failed", 1],
    ]);
  });

  it("gets a failed fetch with the refusal as its cause", async () => {
    const [allowed, other] = [await site(), await site()];
    let error: unknown;
    await visiting(
      async (url) => {
        error = await fetch(url).catch((thrown: unknown) => thrown);
        throw new NotApplied("Only the tool knows that nothing else happened.");
      },
      [other.url],
      { ...enforcing(allowed.host), maxRetriesPerToolCall: 0 },
    );
    expect(error).toMatchObject({
      name: "TypeError",
      message: "fetch failed",
      cause: { code: "network_refused", details: { url: `${other.url}/` } },
    });
  });

  it("cannot be redirected to another host", async () => {
    const [allowed, other] = [await site(), await site()];
    const url = `${allowed.url}/to/${encodeURIComponent(`${other.url}/c`)}`;
    const { results } = await visiting(byFetch, [url], enforcing(allowed.host));
    expect(results).toEqual([refused(other, "/c")]);
    expect(other.seen).toEqual([]);
  });

  it("is bound by its own run's list, whatever runs in parallel", async () => {
    const sites = [await site(), await site()];
    const both = sites.map(({ url }) => `${url}/x`);
    const ends = await Promise.all(sites.map(({ host }) => visiting(byFetch, both, enforcing(host))));
    const [first, second] = sites as [Site, Site];
    expect(ends.map(({ results }) => results)).toEqual([
      ["page /x", refused(second, "/x")],
      [refused(first, "/x"), "page /x"],
    ]);
  });

  it.each<[string, (host: string) => RunnerOptions]>([
    ["without policy.network", (host) => ({ constraints: { allowedDomains: [host] } })],
    ["without a list", () => enforcing()],
  ])("is not bound %s", async (_, options) => {
    const [allowed, other] = [await site(), await site()];
    const { results } = await visiting(byFetch, [`${other.url}/d`], options(allowed.host));
    expect(results).toEqual(["page /d"]);
  });

  it("is not bound with its own agent or socket", async () => {
    const [allowed, other] = [await site(), await site()];
    const agent = new Agent();
    onTestFinished(() => agent.close());
    const byAgent = async (url: string) => (await undiciFetch(url, { dispatcher: agent })).text();
    const byHttp = (url: string) =>
      new Promise<string>((resolve) => get(url, (response) => resolve(String(response.statusCode))));
    expect((await visiting(byAgent, [`${other.url}/e`], enforcing(allowed.host))).results).toEqual([
      "page /e",
    ]);
    expect((await visiting(byHttp, [`${other.url}/f`], enforcing(allowed.host))).results).toEqual(["200"]);
  });
});

describe("code that is no tool", () => {
  it("is not bound: the model, and the code of a step", async () => {
    const [allowed, other] = [await site(), await site()];
    const model = scriptedModel([asking(["visit", { url: allowed.url }]), { text: "End." }]);
    const asked: typeof model = {
      ...model,
      doGenerate: async (options) => {
        await fetch(`${other.url}/model`);
        return model.doGenerate(options);
      },
    };
    const visit = visitor(byFetch);
    const step = Step.run("code", async () => (await fetch(`${other.url}/code`)).text());
    const store = await memoryStore();
    await new Runner(agent({ name: "a", model: asked, tools: { visit } }), {
      store,
      ...enforcing(allowed.host),
    }).run("Go");
    await new Runner(step, { store, ...enforcing(allowed.host) }).run("Go");
    expect(other.seen).toEqual(["/model", "/model", "/code"]);
  });
});

describe("a dispatcher set by the program", () => {
  it("sends the requests, whenever it was set", async () => {
    keepDispatcher();
    const [allowed, other] = [await site(), await site()];
    const sent: string[] = [];
    class Counting extends Agent {
      override dispatch(...args: Parameters<Agent["dispatch"]>): boolean {
        sent.push(String(args[0].path));
        return super.dispatch(...args);
      }
    }
    for (const path of ["/1", "/2"]) {
      setGlobalDispatcher(new Counting());
      const urls = [`${allowed.url}${path}`, `${other.url}${path}`];
      const { results } = await visiting(byFetch, urls, enforcing(allowed.host));
      expect(results).toEqual([`page ${path}`, refused(other, path)]);
    }
    expect(sent).toEqual(["/1", "/2"]);
    await (await fetch(`${other.url}/3`)).text();
    expect(sent.at(-1)).toBe("/3");
  });
});

it("rejects an unknown value of policy.network", async () => {
  const store = await memoryStore();
  const options = { store, policy: { network: "enforced" } } as unknown as RunnerOptions;
  const step = Step.run("code", () => "done");
  expect(() => new Runner(step, options)).toThrow(ConfigurationError);
  expect(() => new Runner(step, options)).toThrow(
    'policy.network is "enforced": use "enforce", or leave it out.',
  );
});
