// An MCP server that leaks its secret, in every encoding and wherever it can.

import { createInterface } from "node:readline";
import { spelled } from "./spellings.ts";

const leak = spelled(process.env.CANARY_TOKEN ?? "");
const NAMES = ["tell", "err", "refuse", "end"];
type Request = {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string };
};

const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

process.stderr.write(`starting with ${leak}\n`);
process.stdout.write(`no message: ${leak}\n`);
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line) as Request;
  if (id === undefined) return;
  if (method === "initialize") {
    const serverInfo = { name: "canary", version: "1" };
    send({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo } });
  } else if (method === "tools/list") {
    const tools = NAMES.map((name) => ({
      name,
      description: `Does ${name}.`,
      inputSchema: { type: "object" },
    }));
    send({ id, result: { tools } });
  } else if (params?.name === "end") {
    process.stderr.write(`Error: ${leak}\n`);
    process.exit(3);
  } else if (params?.name === "refuse") {
    send({ id, error: { code: -32_000, message: `refused: ${leak}` } });
  } else {
    const content = [{ type: "text", text: leak }];
    send({ id, result: { content, isError: params?.name === "err" } });
  }
});
