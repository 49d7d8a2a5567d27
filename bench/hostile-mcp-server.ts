// A server that lists or answers too much. Its arguments are the kind and the amount.

import { createInterface } from "node:readline";

const [, , what = "", count = "0"] = process.argv;
const many = Number(count);

const properties = (n: number) =>
  Object.fromEntries(
    Array.from({ length: n }, (_, i) => [`property_${i}`, { type: "string", description: "x".repeat(40) }]),
  );
const tools: { readonly [what: string]: () => unknown } = {
  tools: () =>
    Array.from({ length: many }, (_, i) => ({
      name: `t${i}`,
      inputSchema: { type: "object", properties: properties(1) },
    })),
  allowed: () =>
    Array.from({ length: many }, (_, i) => ({
      name: `t${i}`,
      inputSchema: { type: "object", properties: properties(55) },
    })),
  schema: () => [{ name: "t", inputSchema: { type: "object", properties: properties(many) } }],
  description: () => [{ name: "t", description: "d".repeat(many), inputSchema: { type: "object" } }],
};
const results: { readonly [what: string]: () => unknown } = {
  keys: () => ({
    structuredContent: Object.fromEntries(Array.from({ length: many }, (_, i) => [`k${i}`, i])),
  }),
  parts: () => ({ content: Array.from({ length: many }, () => ({ type: "text", text: "" })) }),
  text: () => ({ content: [{ type: "text", text: "a".repeat(many) }] }),
  escapes: () => ({ content: [{ type: "text", text: "\\n".repeat(many / 2) }] }),
  marks: () => {
    const marks = Array.from({ length: many }, (_, i) => [`[secret:${i.toString(16).padStart(12, "0")}]`, 1]);
    return { structuredContent: Object.fromEntries(marks) };
  },
};
const list = JSON.stringify(tools[what]?.() ?? [{ name: "t", inputSchema: { type: "object" } }]);
const result = JSON.stringify({ content: [], ...(results[what]?.() as object | undefined) });

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line) as {
    id: number;
    method: string;
    params?: { protocolVersion: string };
  };
  const answer = (result: string) =>
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":${result}}\n`);
  if (method === "tools/list") answer(`{"tools":${list}}`);
  if (method === "tools/call") answer(result);
  if (method === "initialize")
    answer(
      JSON.stringify({
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "hostile", version: "1" },
      }),
    );
}
