import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { OPENING } from "../../mcp/opening.ts";
import { handMadeServer, sendForEver } from "../../mcp/servers/hand-made-server.ts";
import { resolveEveryNameToLocalhost } from "../../resolve-to-localhost.ts";
import type { Attack } from "../attack.ts";
import type { Target } from "../target.ts";

type Site = {
  readonly port: number;
  readonly requests: readonly string[];
  readonly headers: IncomingHttpHeaders[];
};

/** A service on this machine that no agent should reach. */
async function internalService(location?: string, status = 302): Promise<Site> {
  const requests: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    headers.push(request.headers);
    if (location === undefined) response.end("internal");
    else response.writeHead(status, { location }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, requests, headers };
}

const signal = new AbortController().signal;

/** Fetches as a tool of a run with this policy, and ignores the outcome. */
async function fetching(
  target: Target,
  url: string,
  network: { readonly allowedDomains: readonly string[]; readonly allowPrivateAddresses: boolean },
  headers: { readonly [name: string]: string } = {},
): Promise<string> {
  const { pawl } = await target.library();
  try {
    const response = await pawl.guardedFetch({ signal, network })(url, { headers });
    return await response.text();
  } catch (error) {
    return String(error);
  }
}

const only = (...allowedDomains: string[]) => ({ allowedDomains, allowPrivateAddresses: false });

/** Opens an HTTP server as a run does, and ignores the outcome. */
async function opening(target: Target, url: string): Promise<void> {
  const { mcp } = await target.library();
  try {
    const open = await mcp.mcpTools({ url }).open("web", { ...OPENING, signal, network: only() });
    await open.close();
  } catch {
    // Only what was sent counts.
  }
}

const FAR_TOO_MUCH = 40 * 1024 * 1024;

/** True if far too much of the answer to a list of tools is read. */
async function takesFarTooMuch(target: Target, list: (response: ServerResponse) => void): Promise<boolean> {
  let sent = 0;
  const { promise: enough, resolve } = Promise.withResolvers<void>();
  const { url } = await handMadeServer((response) => {
    list(response);
    const watch = setInterval(() => {
      sent = Math.max(sent, response.socket?.bytesWritten ?? 0);
      if (sent < FAR_TOO_MUCH) return;
      response.destroy();
      resolve();
    }, 5);
    response.on("close", () => clearInterval(watch));
  });
  await Promise.race([opening(target, url), enough]);
  return sent >= FAR_TOO_MUCH;
}

const SPELLINGS = [
  "169.254.169.254",
  "2852039166",
  "[::ffff:169.254.169.254]",
  "[64:ff9b::a9fe:a9fe]",
  "[2002:a9fe:a9fe::1]",
  "[fd00:ec2::254]",
  "[fd20:ce::254]",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "169.254.42.42",
  "[fd00:42::42]",
  "[fd00:c1::a9fe:a9fe]",
  "[fd00:a9fe:a9fe::1]",
  "[64:ff9b:1:a9fe:a9:fe00::]",
  "[fe80::5efe:a9fe:a9fe]",
  "[2001:0:0:0:0:0:5601:5601]",
  "metadata.google.internal",
];

export const NETWORK_ATTACKS: readonly Attack[] = [
  {
    threat: "a model fetches a page of the internal network",
    weakened: [
      {
        file: "core/network-policy.ts",
        right: "if (bits.length === 32) return !SPECIAL_IPV4.some((prefix) => bits.startsWith(prefix));",
        wrong: "if (bits.length === 32) return true;",
      },
    ],
    succeeds: async (target) => {
      const { port, requests } = await internalService();
      await fetching(target, `http://127.0.0.1:${port}/admin`, only());
      return requests.length > 0;
    },
  },
  {
    threat: "the owner of an allowed name points it at the internal network",
    weakened: [
      {
        file: "core/network-policy.ts",
        right: "mayBePrivate: isMarked || (!wildcard && isPrivateName(target.host)),",
        wrong: "mayBePrivate: !wildcard,",
      },
    ],
    succeeds: async (target) => {
      resolveEveryNameToLocalhost();
      const { port, requests } = await internalService();
      await fetching(target, `http://museum.example:${port}/admin`, only(`museum.example:${port}`));
      return requests.length > 0;
    },
  },
  {
    threat: "another service of an allowed host is reached on its port",
    weakened: [
      {
        file: "core/network-policy.ts",
        right: "return entry.port === null ? isUsualPort(port) : entry.port === port;",
        wrong: "return entry.port === null || entry.port === port;",
      },
    ],
    succeeds: async (target) => {
      const { port, requests } = await internalService();
      await fetching(target, `http://127.0.0.1:${port}/admin`, only("127.0.0.1"));
      return requests.length > 0;
    },
  },
  {
    threat:
      "the credentials of a cloud machine are read through some spelling of the metadata address, with private addresses allowed",
    weakened: [
      {
        file: "core/network-policy.ts",
        right: "if (bits === null) return METADATA_NAMES.has(host);",
        wrong: "if (bits !== undefined) return false;",
      },
    ],
    succeeds: async (target) => {
      const { pawl, testing } = await target.library();
      const visited: string[] = [];
      // It does not connect: being called is enough.
      const visit = pawl.tool({
        description: "Visits a page.",
        inputSchema: z.object({ url: z.string() }),
        effect: "read_only",
        urls: ({ url }) => [url],
        execute: ({ url }) => void visited.push(url),
      });
      const toolCalls = SPELLINGS.map((host) => ({ name: "visit", input: { url: `http://${host}/` } }));
      const model = testing.scriptedModel([{ toolCalls }, { text: "Done." }]);
      const store = await pawl.openStore(":memory:");
      const worker = pawl.agent({ name: "worker", model, tools: { visit } });
      await new pawl.Runner(worker, { store, policy: { allowPrivateAddresses: true } }).run("Go");
      await store.close({ graceMs: 0 });
      return visited.length > 0;
    },
  },
  {
    threat: "the owner of an MCP server's name points it at the internal network",
    weakened: [
      {
        file: "adapters/net/host-network.ts",
        right: 'isPrivate ? "!private" : ""',
        wrong: '"!private"',
      },
    ],
    succeeds: async (target) => {
      resolveEveryNameToLocalhost();
      const { port, methods } = await handMadeServer((_, result) => result({ tools: [] }));
      await opening(target, `http://mcp.museum.example:${port}/mcp`);
      return methods.length > 0;
    },
  },
  {
    threat: "an MCP server over HTTP sends an endless message",
    weakened: [
      {
        file: "adapters/mcp/mcp-http.ts",
        right: "readAtMost(response, limit.largest + 1)",
        wrong: "readAtMost(response, Number.MAX_SAFE_INTEGER)",
      },
    ],
    succeeds: (target) =>
      takesFarTooMuch(target, (response) => sendForEver(response, '{"jsonrpc":"2.0","id":1,')),
  },
  {
    threat: "an MCP server over HTTP sends an endless error, labelled as a stream",
    weakened: [
      {
        file: "adapters/mcp/mcp-http.ts",
        right: 'if (!response.ok) return "page";',
        wrong: 'if (!response.ok) return "stream";',
      },
    ],
    succeeds: (target) =>
      takesFarTooMuch(target, (response) => {
        // A status that is not retried.
        response.writeHead(403, { "content-type": "text/event-stream" });
        sendForEver(response, "", `data: ${"x".repeat(1_000)}\n\n`);
      }),
  },
  {
    threat: "a redirect to another origin sends a credential there",
    weakened: [
      {
        file: "adapters/net/guarded-fetch.ts",
        right: "dropHeaders(headers, (name) => !SAFE_ELSEWHERE.test(name));",
        wrong: "dropHeaders(headers, (name) => /authorization|cookie|api-?key|token|secret/.test(name));",
      },
    ],
    succeeds: async (target) => {
      const thief = await internalService();
      const { port } = await internalService(`http://127.0.0.1:${thief.port}/`);
      await fetching(target, `http://127.0.0.1:${port}/`, only("127.0.0.1:*"), { "x-auth": "s-123" });
      return thief.headers.some((headers) => headers["x-auth"] === "s-123");
    },
  },
  {
    threat: "a redirect to another origin sends the body of a request there",
    weakened: [
      {
        file: "adapters/net/guarded-fetch.ts",
        right: "if (isElsewhere && hop.body !== null)",
        wrong: "if (isElsewhere && hop.body === undefined)",
      },
    ],
    succeeds: async (target) => {
      const { pawl } = await target.library();
      const thief = await internalService();
      const { port } = await internalService(`http://127.0.0.1:${thief.port}/`, 307);
      const send = pawl.guardedFetch({ signal, network: only("127.0.0.1:*") });
      await send(`http://127.0.0.1:${port}/`, { method: "POST", body: "password=s-123" }).catch(() => null);
      return thief.headers.some((headers) => headers["content-length"] === "14");
    },
  },
];
