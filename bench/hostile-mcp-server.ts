// A server that lists more than anybody can use. Started with what it lists, and how much of it.

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
const list = JSON.stringify(tools[what]?.());

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line) as {
    id: number;
    method: string;
    params?: { protocolVersion: string };
  };
  const answer = (result: string) =>
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":${result}}\n`);
  if (method === "tools/list") answer(`{"tools":${list}}`);
  if (method === "initialize")
    answer(
      JSON.stringify({
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "hostile", version: "1" },
      }),
    );
}
