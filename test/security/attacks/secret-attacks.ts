import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { onTestFinished } from "vitest";
import { handMadeServer } from "../../mcp/servers/hand-made-server.ts";
import type { Patch } from "../../patched-sources.ts";
import type { Attack } from "../attack.ts";
import type { Target } from "../target.ts";
import { echo, type Library, runOf } from "./stored-run.ts";

const CREDENTIAL = "k7-Zq4%w&9TtR2vLx8BnC5mD1s";

/** A service that answers with a text made from the credential that it got. */
async function service(
  answer: (credential: string) => string,
  status = 200,
  type = "text/plain",
): Promise<string> {
  const server = createServer((request, response) => {
    response.writeHead(status, { "content-type": type });
    response.end(answer(request.headers["x-key"]?.toString() ?? ""));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What the model sees of the answer to a request with the credential. */
async function askedWith(
  library: Library,
  answer: (credential: string) => string,
  credential = CREDENTIAL,
): Promise<string> {
  const url = await service(answer);
  const http_request = library.tools.httpRequest({ credentials: { [url]: { "x-key": credential } } });
  const calls = [{ name: "http_request", input: { method: "GET", url } }];
  const { prompts } = await runOf(library, { http_request } as never, calls, { allowPrivateAddresses: true });
  return prompts[1] ?? "";
}

/** What the model sees of a page. */
async function pageOf(library: Library, page: string, type: string, from: number): Promise<string> {
  const url = await service(() => page, 200, type);
  const policy = {
    allowPrivateAddresses: true,
    secretKeys: ["password"],
    secrets: [library.pawl.secret(CREDENTIAL)],
  };
  const calls = [{ name: "fetch_page", input: { url, from } }];
  const { prompts } = await runOf(library, { fetch_page: library.tools.fetchPage } as never, calls, policy);
  return prompts[1] ?? "";
}

const object = { type: "object" };
/** A credential that may be part of a tool's name. */
const PLAIN_CREDENTIAL = "k7-Zq4w9TtR2vLx8BnC5mD1s";

/** True if the model sees the key of a server that lists this tool. */
async function leaksKey(target: Target, tool: object): Promise<boolean> {
  const { pawl, mcp, testing } = await target.library();
  const { url } = await handMadeServer((_, result) => result({ tools: [tool] }));
  const offered: string[] = [];
  const model = testing.scriptedModel(({ options }) => {
    offered.push(JSON.stringify(options.tools));
    return { text: "Done." };
  });
  const store = await pawl.openStore(":memory:");
  onTestFinished(() => store.close());
  const headers = { "x-key": CREDENTIAL, "x-other-key": PLAIN_CREDENTIAL };
  const worker = pawl.agent({ name: "worker", model, tools: { web: mcp.mcpTools({ url, headers }) } });
  await new pawl.Runner(worker, { store }).run("Go").catch(() => undefined);
  return offered.some((text) => text.includes(CREDENTIAL) || text.includes(PLAIN_CREDENTIAL));
}

/** Without the guard against foreign texts that name secrets. */
const LEARNS_FROM_ALL: readonly [Patch, ...Patch[]] = [
  {
    file: "engine/definition/run-secrets.ts",
    right: "return performGradualWork(redacting(value, this.#hiding) as GradualWork<T>);",
    wrong:
      "this.learn(namedSecrets(value, this.#names)); return performGradualWork(redacting(value, this.#hiding) as GradualWork<T>);",
  },
  {
    file: "engine/definition/run-secrets.ts",
    right: "  redact,\n  redacting,",
    wrong: "  namedSecrets,\n  redact,\n  redacting,",
  },
];

const SPELLINGS: readonly ((text: string) => string)[] = [
  (text) => text.toUpperCase(),
  (text) => Buffer.from(text).toString("hex").toUpperCase(),
  (text) => Buffer.from(text, "utf16le").toString("base64"),
  (text) => text.replaceAll(/./g, (each) => `&#x${each.charCodeAt(0).toString(16)};`),
  (text) => text.replaceAll(/./g, (each) => `\\u00${each.charCodeAt(0).toString(16)}`),
  (text) => encodeURIComponent(encodeURIComponent(text)),
];

export const SECRET_ATTACKS: readonly Attack[] = [
  {
    threat: "a model labels the recipient of a mail as a password, and the ledger does not show who got it",
    weakened: LEARNS_FROM_ALL,
    succeeds: async (target) => {
      const library = await target.library();
      const tools = { note: echo(library, "note"), post: echo(library, "post") };
      const { requests } = await runOf(library, tools, [
        { name: "note", input: { password: "exfil@attacker.test" } },
        { name: "post", input: { to: "exfil@attacker.test" } },
      ]);
      return requests.length === 2 && !requests[1]?.includes("exfil@attacker.test");
    },
  },
  {
    threat: "a page labels a word as a password, and later results are shown without it",
    weakened: LEARNS_FROM_ALL,
    succeeds: async (target) => {
      const library = await target.library();
      const tools = {
        visit: echo(library, "visit", { password: "attacker.test" }),
        look: echo(library, "look", "see attacker.test"),
      };
      const calls = [
        { name: "visit", input: {} },
        { name: "look", input: {} },
      ];
      const { results } = await runOf(library, tools, calls);
      return results.length === 2 && !results[1]?.includes("see attacker.test");
    },
  },
  {
    threat: "a service pads its answer so that the cut goes through a credential, and its beginning leaks",
    weakened: [
      {
        file: "adapters/tools/http-request.ts",
        right: "await call.hideLong(decoded(bytes, charset), { end: !isWhole })",
        wrong: "decoded(bytes, charset)",
      },
    ],
    succeeds: async (target) => {
      const padding = "z".repeat(30_000 - CREDENTIAL.length + 1);
      const shown = await askedWith(await target.library(), (credential) => `${padding}${credential}`);
      return shown.includes(CREDENTIAL.slice(0, 8));
    },
  },
  {
    threat: "a service encodes a credential in hex, entities, escapes or capitals, and it is stored that way",
    weakened: [
      {
        file: "core/secret/secret-search.ts",
        right: "const MAX_DECODINGS = 3;",
        wrong: "const MAX_DECODINGS = 0;",
      },
    ],
    succeeds: async (target) => {
      const all = (credential: string) => SPELLINGS.map((spell) => spell(credential)).join("\n");
      const shown = await askedWith(await target.library(), all);
      const asJson = (text: string) => JSON.stringify(text).slice(1, -1);
      return shown !== "" && SPELLINGS.some((spell) => shown.includes(asJson(spell(CREDENTIAL))));
    },
  },
  {
    threat: "an MCP server puts its key into the description of a tool",
    weakened: [
      {
        file: "adapters/mcp/mcp.ts",
        right: 'hideTexts(listed.description ?? listed.title ?? "")',
        wrong: 'listed.description ?? listed.title ?? ""',
      },
    ],
    succeeds: async (target) =>
      leaksKey(target, { name: "act", description: `Uses ${CREDENTIAL}.`, inputSchema: object }),
  },
  {
    threat: "an MCP server puts its key into the schema of a tool",
    weakened: [
      {
        file: "adapters/mcp/mcp.ts",
        right: 'hideTexts(listed.inputSchema as JsonObject) as ShownTool["inputSchema"]',
        wrong: "listed.inputSchema",
      },
    ],
    succeeds: async (target) =>
      leaksKey(target, {
        name: "act",
        inputSchema: { ...object, properties: { a: { enum: [CREDENTIAL] } } },
      }),
  },
  {
    threat: "an MCP server puts its key into the name of a tool",
    weakened: [
      {
        file: "adapters/mcp/mcp.ts",
        right: "if ([...listed.keys()].every((name) => hide(name) === name)) return;",
        wrong: "if (hide(serverName) !== null) return;",
      },
    ],
    succeeds: async (target) => leaksKey(target, { name: `act_${PLAIN_CREDENTIAL}`, inputSchema: object }),
  },
  {
    threat: "an error that leaves the run has a credential in a field that a library added",
    weakened: [
      {
        file: "engine/definition/redact-error.ts",
        right: "for (const key of Reflect.ownKeys(each)) {",
        wrong: 'for (const key of ["message", "stack", "cause"]) {',
      },
    ],
    succeeds: async (target) => {
      const { pawl } = await target.library();
      const step = pawl.Step.run("code", () => {
        const cause = Object.assign(new Error("Refused."), { data: { sent: CREDENTIAL } });
        throw new Error("It failed.", { cause });
      });
      const store = await pawl.openStore(":memory:");
      onTestFinished(() => store.close());
      const policy = { secrets: [pawl.secret(CREDENTIAL)] };
      const error: unknown = await new pawl.Runner(step, { store, policy })
        .run("Go")
        .catch((thrown) => thrown);
      return inspect(error, { depth: 10 }).includes(CREDENTIAL);
    },
  },
  {
    threat: "a page pads its title so that the cut goes through a credential",
    weakened: [
      {
        file: "adapters/tools/fetch-page.ts",
        right: "call.hide(title, { end: title.length >= MOST_TITLE_READ })",
        wrong: "title",
      },
    ],
    succeeds: async (target) => {
      const title = `${"z".repeat(300 - 10)}${CREDENTIAL}`;
      const shown = await pageOf(await target.library(), `<title>${title}</title>`, "text/html", 0);
      return shown.includes(CREDENTIAL.slice(0, 8));
    },
  },
  {
    threat: "a model reads a page from the middle of a mark on, and gets a part of a digest",
    weakened: [
      {
        file: "adapters/net/response-text.ts",
        right: "markAround(text, from)?.start ?? from",
        wrong: "from",
      },
    ],
    succeeds: async (target) => {
      const shown = await pageOf(await target.library(), 'ab {"password":"1234"}', "text/plain", 24);
      return /[0-9a-f]{3,12},4-characters/.test(shown);
    },
  },
  {
    threat: "a service repeats a short secret of a tool",
    weakened: [
      {
        file: "adapters/net/hiding-secrets.ts",
        right: 'filter((text) => text.trim() !== "")',
        wrong: "filter((text) => text.length >= LEAST_LENGTH)",
      },
    ],
    succeeds: async (target) => {
      const shown = await askedWith(await target.library(), (pin) => `you sent ${pin}`, "482913");
      return shown.includes("482913");
    },
  },
  {
    threat: "a tool returns a credential as a number",
    weakened: [
      {
        file: "core/secret/secret-search.ts",
        right: "this.findsNumbers = [...this.#anyCase, ...this.#exact].some(",
        wrong: "this.findsNumbers = ([] as Needle[]).some(",
      },
    ],
    succeeds: async (target) => {
      const library = await target.library();
      const tools = { look: echo(library, "look", { pin: 4929871234567 }) };
      const policy = { secrets: [library.pawl.secret("4929871234567")] };
      const { results } = await runOf(library, tools, [{ name: "look", input: {} }], policy);
      return results.some((result) => result?.includes("4929871234567"));
    },
  },
];
