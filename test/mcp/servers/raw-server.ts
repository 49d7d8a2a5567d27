// A server that implements the protocol by hand, line by line, so that it can do what no library would. It records the
// messages that it gets. Its argument is a `RawOrder` as JSON.

import { appendFileSync, closeSync, existsSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

export type RawOrder = {
  /** The record: a line for each incoming message. */
  readonly log: string;
  readonly start?:
    | "ends"
    | "is silent"
    | "ends the first time"
    | "ends after the first time"
    | "heeds nothing";
  readonly tools: { readonly [name: string]: RawTool };
};

export type RawTool = {
  readonly does:
    | "echoes"
    | "returns its environment"
    | "returns its secret"
    | "fails with its secret"
    | "refuses with its secret"
    | "writes its secret"
    | "ends with its secret"
    | "ends"
    | "ends the first time"
    | "hangs"
    | "writes invalid lines"
    | "sends too much"
    | "closes its output"
    | "refuses"
    | "says no such method"
    | "answers rubbish"
    | "changes its tools"
    | "errs";
  readonly description?: string;
  readonly inputSchema?: unknown;
  readonly annotations?: unknown;
};

type Request = {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly arguments?: unknown };
};

const order = JSON.parse(process.argv[2] ?? "") as RawOrder;
const SECRET = process.env.RAW_SECRET ?? "";
let suffix = "";

appendFileSync(order.log, `${JSON.stringify({ method: "(started)", pid: process.pid })}\n`);
if (order.start === "ends") end("It cannot start like this.", 7);
if (order.start === "ends the first time" && isFirst("start")) end("It is not ready yet.", 8);
if (order.start === "ends after the first time" && !isFirst("start")) end("It was for once only.", 9);
if (order.start === "heeds nothing") {
  process.on("SIGTERM", () => undefined);
  setInterval(() => undefined, 1_000);
}
createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line) as Request;
  appendFileSync(order.log, `${line}\n`);
  if (request.id !== undefined && order.start !== "is silent") answer(request.id, request);
});

function answer(id: number, { method, params }: Request): void {
  if (method === "initialize") {
    const serverInfo = { name: "raw", version: "1" };
    return result(id, {
      protocolVersion: "2025-06-18",
      capabilities: { tools: { listChanged: true } },
      serverInfo,
    });
  }
  if (method === "tools/list") return result(id, { tools: Object.keys(order.tools).map(listed) });
  const tool = order.tools[params?.name ?? ""];
  if (tool === undefined) return error(id, -32_602, "Unknown tool");
  act(id, tool, params?.arguments);
}

function listed(name: string): unknown {
  const {
    description = `Does ${name}.`,
    inputSchema = { type: "object" },
    annotations,
  } = order.tools[name] ?? {};
  return { name, description: description + suffix, inputSchema, annotations };
}

function act(id: number, { does }: RawTool, args: unknown): void {
  switch (does) {
    case "echoes":
      return text(id, JSON.stringify(args));
    case "returns its environment":
      return text(
        id,
        Object.keys(process.env)
          .filter((name) => /^PAWL_|^PATH$/.test(name))
          .sort()
          .join(),
      );
    case "returns its secret": {
      const image = { type: "image", data: "aGk=", mimeType: "image/png" };
      const leak = { type: "text", text: `It is ${SECRET}` };
      return result(id, { content: [leak, image], structuredContent: { secret: SECRET } });
    }
    case "fails with its secret":
      return result(id, { isError: true, content: [{ type: "text", text: `${SECRET} is wrong.` }] });
    case "refuses with its secret":
      return error(id, -32_000, `${SECRET} is wrong.`);
    case "writes its secret":
      process.stdout.write(`${"-".repeat(95)}${SECRET}\n`);
      return text(id, "written");
    case "ends with its secret":
      return end(`Error: ${"-".repeat(285)}${SECRET}`, 5);
    case "ends":
      return end("Error: the disk is full\n    at write (disk.js:1:1)\n\nNode.js v24.0.0", 3);
    case "ends the first time":
      return isFirst("call") ? end("Error: out of luck", 4) : text(id, "at last");
    case "hangs":
      return;
    case "writes invalid lines":
      process.stdout.write("Listening…\n{ broken\n\n[1]\n");
      return text(id, "in spite of that");
    case "sends too much":
      return text(id, "x".repeat(11 * 1024 * 1024));
    case "closes its output":
      return closeSync(1);
    case "refuses":
      return error(id, -32_602, "No such colour");
    case "says no such method":
      return error(id, -32_601, "Method not found");
    case "answers rubbish":
      return result(id, { content: "not a list" });
    case "changes its tools":
      suffix = " In another way.";
      send({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
      return text(id, "changed");
    case "errs":
      return result(id, { isError: true, content: [{ type: "text", text: "There is no such page." }] });
  }
}

function text(id: number, content: string): void {
  result(id, { content: [{ type: "text", text: content }] });
}

function result(id: number, value: unknown): void {
  send({ jsonrpc: "2.0", id, result: value });
}

function error(id: number, code: number, message: string): void {
  send({ jsonrpc: "2.0", id, error: { code, message } });
}

function send(message: unknown): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function end(words: string, code: number): never {
  process.stderr.write(`${words}\n`);
  process.exit(code);
}

function isFirst(what: string): boolean {
  const file = `${order.log}.${what}`;
  if (existsSync(file)) return false;
  writeFileSync(file, "");
  return true;
}
