import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { OPENING } from "../../mcp/opening.ts";
import { behavingServer } from "../../mcp/servers/behaving-server.ts";
import { handMadeServer } from "../../mcp/servers/hand-made-server.ts";
import { watchEventLoop } from "../../watch-event-loop.ts";
import type { Attack } from "../attack.ts";
import type { Target } from "../target.ts";

/** Three times the intended maximum. */
const TOO_LONG_MS = 300;

/** True if the process was blocked for too long, in CPU time: other processes may be busy on this machine. */
async function isBlocked(work: () => Promise<unknown>): Promise<boolean> {
  const { longestCpuMs } = await watchEventLoop(() => work().catch(() => undefined));
  return longestCpuMs > TOO_LONG_MS;
}

const signal = new AbortController().signal;
const network = { allowedDomains: [], allowPrivateAddresses: false };

async function openServer(target: Target, tools: readonly unknown[]) {
  const { mcp } = await target.library();
  const { url } = await handMadeServer((_, result) => result({ tools }));
  return mcp.mcpTools({ url }).open("web", { ...OPENING, signal, network });
}

/** The number of a server's tools that a run would offer to its model. */
async function offeredTools(target: Target, tools: readonly unknown[]): Promise<number> {
  try {
    const open = await openServer(target, tools);
    await open.close();
    return Object.keys(open.tools).length;
  } catch {
    return 0;
  }
}

/** True if the result of a tool blocks the process. */
async function blocksWith(target: Target, result: unknown): Promise<boolean> {
  const { pawl, testing } = await target.library();
  const look = pawl.tool({
    description: "Looks.",
    inputSchema: z.looseObject({}),
    effect: "read_only",
    execute: () => result,
  });
  const model = testing.scriptedModel(({ turn }) =>
    turn === 1 ? { toolCalls: [{ name: "look", input: {} }] } : { text: "Done." },
  );
  const store = await pawl.openStore(":memory:");
  const worker = pawl.agent({ name: "worker", model, tools: { look } });
  const secrets = ["k7-Zq4w9TtR2vLx8", "another-secret-8BnC5mD1s"].map((text) => pawl.secret(text));
  const runner = new pawl.Runner(worker, { store, policy: { secrets } });
  const hasStopped = await isBlocked(() => runner.run("Go"));
  await store.close({ graceMs: 0 });
  return hasStopped;
}

const object = { type: "object" };

/** True if the process is blocked by a server's behaviour in the only call of its tool. */
async function isBlockedByCall(target: Target, behaviour: string): Promise<boolean> {
  const { mcp } = await target.library();
  const open = await mcp.mcpTools(behavingServer(behaviour)).open("web", OPENING);
  const call = { signal, network, traceHeaders: {}, hide: (text: string) => text };
  const hasStopped = await isBlocked(async () => open.tools.web__act?.execute({} as never, call as never));
  await open.close();
  return hasStopped;
}

/** Distinct keys take the longest to read. */
const MANY_KEYS = "Array.from({ length: 400000 }, (_, i) => JSON.stringify(i.toString(36)) + ':1').join()";

export const TIME_ATTACKS: readonly Attack[] = [
  {
    threat: "a pattern in an MCP server's schema blocks the process",
    weakened: [
      {
        file: "adapters/net/foreign-schema.ts",
        right: "if (isQuickToCheck(schema, value)) return",
        wrong: "if (isQuickToCheck(schema, value) || true) return",
      },
    ],
    succeeds: async (target) => {
      const inputSchema = { type: "object", properties: { v: { type: "string", pattern: "^(a+)+$" } } };
      const open = await openServer(target, [{ name: "act", inputSchema }]);
      // Each letter doubles the time: 28 took half a minute.
      const hasStopped = await isBlocked(async () =>
        open.tools.web__act?.input.parse({ v: `${"a".repeat(25)}!` }),
      );
      await open.close();
      return hasStopped;
    },
  },
  {
    threat: "slow patterns of one MCP server delay the checks of all others",
    weakened: [
      {
        file: "adapters/net/off-thread.ts",
        right: "const { source = job, signal } = limits;",
        wrong: "const { signal } = limits; const source = job;",
      },
    ],
    succeeds: async (target) => {
      const tool = (pattern: string) => ({
        name: "act",
        inputSchema: { type: "object", properties: { v: { type: "string", pattern } } },
      });
      const evil = await openServer(target, [tool("^(a+)+$")]);
      const honest = await openServer(target, [tool("^a$")]);
      const check = async (open: typeof evil, v: string) => open.tools.web__act?.input.parse({ v });
      await check(honest, "a");
      let slow = 0;
      const checks = Array.from({ length: 6 }, () => check(evil, `${"a".repeat(40)}!`).then(() => slow++));
      await check(honest, "b");
      const before = slow;
      await Promise.all(checks);
      await Promise.all([evil.close(), honest.close()]);
      return before > 3;
    },
  },
  {
    threat: "an MCP server lists more tools than a model can handle",
    weakened: [
      {
        file: "adapters/mcp/mcp-link.ts",
        right: "if (tools.length > MOST_TOOLS)",
        wrong: "if (tools.length > MOST_TOOLS && false)",
      },
    ],
    succeeds: async (target) => {
      const many = Array.from({ length: 1_000 }, (_, i) => ({ name: `t${i}`, inputSchema: object }));
      return (await offeredTools(target, many)) > 200;
    },
  },
  {
    threat: "an MCP server describes a tool with a huge schema",
    weakened: [
      {
        file: "adapters/mcp/mcp.ts",
        right: "if (bytes <= LARGEST_SCHEMA && isSimple) return;",
        wrong: "if (isSimple) return;",
      },
    ],
    succeeds: async (target) => {
      const inputSchema = { ...object, description: "x".repeat(500_000) };
      return (await offeredTools(target, [{ name: "act", inputSchema }])) > 0;
    },
  },
  {
    threat: "an MCP server lists tools of very many small values, which take seconds to read",
    weakened: [
      {
        file: "adapters/mcp/mcp-message-limit.ts",
        right: ": this.#listed.values > MOST_LISTED_VALUES",
        wrong: ": this.#listed.values < 0",
      },
    ],
    succeeds: async (target) => {
      const properties = Object.fromEntries(Array.from({ length: 90_000 }, (_, i) => [i.toString(36), {}]));
      const tool = { name: "act", inputSchema: object, outputSchema: { ...object, properties } };
      return (await offeredTools(target, [tool])) > 0;
    },
  },
  {
    threat: "an MCP server's result of a million small values blocks the process",
    weakened: [
      {
        file: "adapters/mcp/mcp-message-limit.ts",
        right: "else if (values > MOST_VALUES)",
        wrong: "else if (values < 0)",
      },
    ],
    succeeds: (target) =>
      isBlockedByCall(
        target,
        `on.call = ({ raw }) => raw('{"content":[],"structuredContent":{' + ${MANY_KEYS} + "}}");`,
      ),
  },
  {
    threat: "an MCP server's unrequested notifications block the process",
    weakened: [
      {
        file: "adapters/mcp/mcp-message-limit.ts",
        right: "text.length <= LARGEST_UNREQUESTED ? text : null",
        wrong: "text",
      },
    ],
    succeeds: (target) =>
      isBlockedByCall(
        target,
        `on.call = ({ result }) => {
          write('{"jsonrpc":"2.0","method":"notifications/x","params":{' + ${MANY_KEYS} + "}}");
          result({ content: [] });
        };`,
      ),
  },
  {
    threat: "an MCP server sends requests without reading the answers, which fill the memory",
    weakened: [
      {
        file: "adapters/mcp/mcp-stdio.ts",
        right: "process.stdin.writableLength > MOST_UNREAD",
        wrong: "process.stdin.writableLength < 0",
      },
    ],
    succeeds: async (target) => {
      const { mcp } = await target.library();
      const source = mcp.mcpTools(
        behavingServer(`
          on.list = ({ result }) => { result({ tools: [ACT] }); process.stdin.pause(); setTimeout(ask, 10); };
          let asked = 0;
          const ask = () => {
            for (; asked < 2000; asked++)
              if (!process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id: asked + "x".repeat(10000), method: "ping" }) + "\\n"))
                return process.stdout.once("drain", ask);
            process.stdin.resume();
          };
          on.call = ({ result }) => result({ content: [] });
        `),
      );
      const open = await source.open("web", OPENING);
      const call = { signal, network, traceHeaders: {}, hide: (text: string) => text };
      // It answers once 20 MB of its requests were read, and not before.
      const isAnswered = await Promise.resolve(open.tools.web__act?.execute({} as never, call as never)).then(
        () => true,
        () => false,
      );
      await open.close();
      return isAnswered;
    },
  },
  {
    threat: "a text that a model renders as a PDF blocks the process",
    weakened: [
      {
        file: "adapters/tools/render-pdf.ts",
        right: "offThread(PDF_DOCUMENT, order, limitsOf(call))",
        wrong: 'import("./pdf-document.ts").then(({ pdfDocument }) => pdfDocument(order))',
      },
    ],
    succeeds: async (target) => {
      const { tools } = await target.library();
      const call = { signal, artifact: async () => ({ name: "a.pdf", size: 1, hash: "" }) };
      const input = { path: "a.pdf", markdown: "a".repeat(25_000) };
      const { execute } = tools.renderPdf;
      return isBlocked(async () => execute(input as never, call as never));
    },
  },
  {
    threat: "a model names one image by many spellings, which fills the memory",
    weakened: [
      {
        file: "adapters/tools/render-pdf.ts",
        right: "for (const name of new Set(inside.map(nameOf))) {",
        wrong: "for (const name of inside.map(nameOf)) {",
      },
    ],
    succeeds: async (target) => {
      const { tools } = await target.library();
      let reads = 0;
      const call = {
        signal,
        hide: (text: string) => text,
        realWorkspace: async () => "/nowhere",
        isStoreFile: async () => false,
        readArtifact: async () => {
          reads += 1;
          return new Uint8Array(1_000);
        },
      };
      const spelled = Array.from("abcdefgh").map((_, at, letters) =>
        letters.map((letter, i) => (i === at ? `%${letter.charCodeAt(0).toString(16)}` : letter)).join(""),
      );
      const markdown = spelled.map((name) => `![x](${name}.png)`).join("\n\n");
      const { execute } = tools.renderPdf;
      await Promise.resolve(execute({ path: "a.pdf", markdown } as never, call as never)).catch(() => null);
      if (reads === 0) throw new Error("No picture was read.");
      return reads > 1;
    },
  },
  {
    threat: "a model asks for thousands of calls in one answer",
    weakened: [
      {
        file: "core/turn/answer-limits.ts",
        right: "if (calls.length > MAX_CALLS)",
        wrong: "if (calls.length > MAX_CALLS && false)",
      },
    ],
    succeeds: async (target) => {
      const { pawl, testing } = await target.library();
      let ran = 0;
      const note = pawl.tool({
        description: "Notes it.",
        inputSchema: z.looseObject({}),
        effect: "read_only",
        execute: () => {
          ran += 1;
        },
      });
      const toolCalls = Array.from({ length: 1_000 }, (_, i) => ({ name: "note", input: { i } }));
      const model = testing.scriptedModel(({ turn }) => (turn === 1 ? { toolCalls } : { text: "Done." }));
      const store = await pawl.openStore(":memory:");
      const worker = pawl.agent({ name: "worker", model, tools: { note } });
      await new pawl.Runner(worker, { store, maxModelAttempts: 1 }).run("Go").catch(() => undefined);
      await store.close({ graceMs: 0 });
      return ran > 128;
    },
  },
  {
    threat: "a model names thousands of arguments like hidden ones",
    weakened: [
      {
        file: "core/secret/secret-mark.ts",
        right: "for (let n = next.get(key) ?? 2;",
        wrong: "for (let n = 2;",
      },
    ],
    succeeds: async (target) => {
      const { pawl, testing } = await target.library();
      const note = pawl.tool({
        description: "Notes it.",
        inputSchema: z.looseObject({}),
        effect: "read_only",
        execute: () => "noted",
      });
      const names = Array.from({ length: 6_000 }, (_, i) => `[secret:${i.toString(16).padStart(12, "0")}]`);
      const input = Object.fromEntries(names.map((name) => [name, 1]));
      const model = testing.scriptedModel(({ turn }) =>
        turn === 1 ? { toolCalls: [{ name: "note", input }] } : { text: "Done." },
      );
      const store = await pawl.openStore(":memory:");
      const worker = pawl.agent({ name: "worker", model, tools: { note } });
      const hasStopped = await isBlocked(() => new pawl.Runner(worker, { store }).run("Go"));
      await store.close({ graceMs: 0 });
      return hasStopped;
    },
  },
  {
    threat: "a service answers with a text that is slow to search with patterns",
    weakened: [
      {
        file: "adapters/net/readable-text.ts",
        right: "text.slice(0, MOST_READ)",
        wrong: "text",
      },
    ],
    succeeds: async (target) => {
      const { tools } = await target.library();
      const server = createServer((_, response) => response.writeHead(400).end("-eyJ".repeat(15_000)));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
      const { execute } = tools.notify({ url });
      const allowed = { allowedDomains: [], allowPrivateAddresses: true };
      const call = { signal, network: allowed, traceHeaders: {}, hide: (text: string) => text };
      const hasStopped = await isBlocked(async () => execute({ text: "Hello" } as never, call as never));
      server.close();
      return hasStopped;
    },
  },
  {
    threat: "a tool's result has hundreds of thousands of names",
    weakened: [
      {
        file: "engine/definition/tool-outcome.ts",
        right: "throw new TooManyValues();",
        wrong: "return;",
      },
    ],
    succeeds: async (target) => {
      const names = Array.from({ length: 300_000 }, (_, i) => [`k${i}`, i]);
      return blocksWith(target, Object.fromEntries(names));
    },
  },
  {
    threat: "a tool's result is megabytes of escape sequences",
    weakened: [
      {
        file: "engine/ports/perform-gradual-work.ts",
        right: "await setImmediate();",
        wrong: "void setImmediate;",
      },
    ],
    succeeds: async (target) => blocksWith(target, "İA%2525\\n".repeat(800_000)),
  },
];
