// A server whose behaviour is a string of JavaScript, so that a test can have it send what no library would.

const PROLOGUE = `
import { createInterface } from "node:readline";
const write = (text) => process.stdout.write(text + "\\n");
const send = (message) => write(JSON.stringify({ jsonrpc: "2.0", ...message }));
const changed = () => send({ method: "notifications/tools/list_changed" });
const on = { greeted: () => {}, list: ({ result }) => result({ tools: [ACT] }), call: () => {} };
const ACT = { name: "act", inputSchema: { type: "object" } };
const input = createInterface({ input: process.stdin });
input.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) return;
  const result = (value) => send({ id, result: value });
  const raw = (json) => write('{"jsonrpc":"2.0","id":' + id + ',"result":' + json + "}");
  const error = (message) => send({ id, error: { code: -32603, message } });
  if (method === "tools/list") return on.list({ id, result, raw, error });
  if (method === "tools/call") return on.call({ id, result, raw, error });
  result({ protocolVersion: params.protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo: { name: "b", version: "1" } });
  on.greeted();
});
`;

/** The behaviour sets `on.greeted`, `on.list` and `on.call`; it can use `send`, `write`, `changed` and `ACT`, a tool. */
export function behavingServer(behaviour: string) {
  return { command: process.execPath, args: ["--input-type=module", "--eval", PROLOGUE + behaviour] };
}
