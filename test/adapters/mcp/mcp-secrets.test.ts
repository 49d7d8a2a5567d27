import { describe, expect, it } from "vitest";
import { mcpTools } from "../../../src/adapters/mcp/mcp.ts";
import { secretsOf } from "../../../src/adapters/mcp/mcp-secrets.ts";
import { type McpServer, shownServer } from "../../../src/adapters/mcp/mcp-server.ts";
import type { Json } from "../../../src/index.ts";
import { call, failureOf, HIDDEN, opened, rawServer } from "../../mcp/mcp-fixture.ts";
import { handMadeServer } from "../../mcp/servers/hand-made-server.ts";
import { httpServer } from "../../mcp/servers/http-server.ts";

const SECRET = "s3cr3t-pass";

const SERVERS: readonly (readonly [McpServer, string])[] = [
  [
    {
      command: "npx",
      args: ["-y", "@modelcontextprotocol/server-postgres", `postgres://app:${SECRET}@db/app`],
    },
    "npx @modelcontextprotocol/server-postgres",
  ],
  [
    {
      command: "npx",
      args: ["mcp-remote", "https://x.example", "--header", `Authorization: Bearer ${SECRET}`],
    },
    "npx mcp-remote",
  ],
  [{ command: "npx", args: ["mcp-remote@latest", `--header=X-Api-Key:${SECRET}`] }, "npx mcp-remote@latest"],
  [{ command: "docker", args: ["run", "-i", "-e", `SERVICE=${SECRET}`, "image"] }, "docker run"],
  [{ command: "/opt/bin/python3", args: ["-m", "mcp_server", "--pat", SECRET] }, "python3 mcp_server"],
  [{ command: "node", args: ["--api-key", SECRET, "./server.js"] }, "node ./server.js"],
  [{ command: "serve", args: ["--credentials", SECRET] }, "serve"],
  [{ command: "serve", args: [`--token=${SECRET}`], env: {} }, "serve"],
  [{ command: "serve", env: { ACCOUNT: SECRET } }, "serve"],
  [
    { url: "https://mcp.example.com/mcp", headers: { "x-account": `Custom ${SECRET}` } },
    "https://mcp.example.com",
  ],
  [{ url: `https://mcp.example.com/mcp?key=${SECRET}` }, "https://mcp.example.com"],
  [{ url: `https://mcp.example.com/s/${SECRET}-0123456789/mcp` }, "https://mcp.example.com"],
];

it.each(SERVERS)("The secrets of a server are known, and not shown: %j", (server, shown) => {
  expect(shownServer(server)).toBe(shown);
  expect(secretsOf(server).some((text) => text.startsWith(SECRET))).toBe(true);
});

it("The location of a server is not a secret: its results are full of it", () => {
  const env = { FOLDER: "/notes-of-ann/all", SERVICE: "https://tickets.example.com", LEVEL: "debug" };
  const args = ["-y", "@modelcontextprotocol/server-filesystem", "/notes-of-ann/all"];
  expect(secretsOf({ command: "npx", args, env })).toEqual([]);
});

it.each([
  [{ url: "https://x.org/mcp", headers: { "X-Pin": "482913" } }, "482913"],
  [{ url: "https://x.org/mcp", headers: { "X-Number": "482913" } }, "482913"],
  [{ url: "https://x.org/mcp", headers: { authorization: "Bearer abc123" } }, "abc123"],
  [{ url: "https://x.org/mcp", headers: { authorization: `Basic ${btoa("ann:hunter")}` } }, "hunter"],
  [{ command: "serve", env: { DB_PASSWORD: "hunter" } }, "hunter"],
] as const)("A short secret is known by its name, its scheme or its digits: %j", (server, text) => {
  expect(secretsOf(server)).toContain(text);
});

it("Short words in settings are not secrets", () => {
  expect(secretsOf({ command: "serve", env: { LEVEL: "debug", PORT: "8080" } })).toEqual([]);
  expect(secretsOf({ url: "https://x.org/mcp", headers: { accept: "json", "x-note": "on off" } })).toEqual(
    [],
  );
});

describe("a server that leaks its secrets in its list of tools", () => {
  const object = { type: "object" } as const;
  const listing = async (...tools: object[]) => {
    const { url } = await handMadeServer((_, result) => result({ tools }));
    return opened(mcpTools({ url, headers: { authorization: `Bearer ${SECRET}` } }), "web");
  };

  it("leaks them neither in descriptions, before they are cut, nor in schemas", async () => {
    const inputSchema = { ...object, properties: { a: { enum: [SECRET] }, password: { type: "string" } } };
    const description = `${"x".repeat(15_995)}${SECRET}`;
    const { tools } = await listing({ name: "act", description, inputSchema });
    expect(tools.web__act?.description).toMatch(/^x{15995}\[secr \[\d+ more/);
    expect(tools.web__act?.input.jsonSchema()).toMatchObject({
      properties: { a: { enum: ["[secret]"] }, password: { type: "string" } },
    });
  });

  it("is refused if a name contains one, and no part of the name is shown", async () => {
    for (const name of [`x_${SECRET}`, `${SECRET}_${"y".repeat(300)}`]) {
      const { message } = await failureOf(
        listing({ name: "act", inputSchema: object }, { name, inputSchema: object }),
      );
      expect(message).toMatch(
        /lists a tool (?:whose name contains one of its secrets|with a name of \d+ characters)/,
      );
      expect(message).not.toContain(SECRET.slice(0, 5));
    }
  });
});

describe("a server that leaks its secrets in its answers", () => {
  const given = (tools: Parameters<typeof rawServer>[0]) =>
    opened(mcpTools({ ...rawServer(tools).server, env: { RAW_SECRET: SECRET } }));

  it("leaks them neither in results nor in what the model sees of them", async () => {
    const open = await given({ act: { does: "returns its secret" } });
    const result = await call(open, "raw__act");
    expect(open.secrets.hide(result as Json)).toEqual({ secret: HIDDEN });
    const shown = open.tools.raw__act?.present?.({ result } as never);
    expect(open.secrets.hide(shown as unknown as Json)).toMatchObject({
      value: [{ text: `It is ${HIDDEN}` }, { mediaType: "image/png" }],
    });
  });

  it("leaks them in no error or warning, not even in part where they are cut", async () => {
    const open = await given({
      errs: { does: "fails with its secret" },
      refuses: { does: "refuses with its secret" },
      writes: { does: "writes its secret" },
      ends: { does: "ends with its secret" },
    });
    const errors = [
      await failureOf(call(open, "raw__errs")),
      await failureOf(call(open, "raw__refuses")),
      await call(open, "raw__writes").then(() => failureOf(call(open, "raw__ends"))),
    ];
    expect(errors.map(({ message }) => message)).toEqual([
      `${HIDDEN} is wrong.`,
      expect.stringContaining(`${HIDDEN} is wrong.`),
      expect.stringContaining("[secret"),
    ]);
    const all = [...errors.flatMap(everythingOf), ...open.warnings].join("\n");
    expect(open.warnings).toHaveLength(1);
    expect(all).not.toContain(SECRET.slice(0, 5));
  });

  it("leaks nothing if it cannot be opened", async () => {
    const server = await httpServer("stateless");
    server.interfere(({ headers }, response) => {
      response.writeHead(403).end(`${headers.authorization} may not.`);
      return true;
    });
    const headers = { authorization: `Bearer ${SECRET}` };
    const refused = await failureOf(opened(mcpTools({ url: server.url, headers }), "web"));
    expect(server.requests.length).toBeGreaterThan(0);
    expect(everythingOf(refused).join("\n")).not.toContain(SECRET);
  });

  it("leaks nothing if it refuses a call", async () => {
    const server = await httpServer("stateless");
    const open = await opened(
      mcpTools({ url: server.url, headers: { authorization: `Bearer ${SECRET}` } }),
      "web",
    );
    server.interfere(({ headers }, response) => {
      response.writeHead(422).end(`The token ${headers.authorization?.split(" ")[1]} may not.`);
      return true;
    });
    const error = await failureOf(call(open, "web__get_weather", { city: "Paris" }));
    expect(error.message).toContain(`The token ${HIDDEN} may not.`);
    expect(everythingOf(error).join("\n")).not.toContain(SECRET);
  });
});

/** Everything that can be printed of an error and its causes. */
function everythingOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  return [error.message, error.stack ?? "", ...everythingOf(error.cause)];
}
