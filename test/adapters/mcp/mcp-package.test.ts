import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

it("says what to install if the MCP client is missing, and only when it is needed", async () => {
  const script = `
    import { registerHooks } from "node:module";
    const missing = () => { throw Object.assign(new Error("Cannot find it"), { code: "ERR_MODULE_NOT_FOUND" }) };
    const isMcp = (name) => name.startsWith("@modelcontextprotocol/");
    registerHooks({ resolve: (name, context, next) => (isMcp(name) ? missing() : next(name, context)) });
    const { mcpTools } = await import("./src/adapters/mcp/mcp.ts");
    const source = mcpTools({ command: "node" });
    const nothing = () => undefined;
    const opening = { signal: new AbortController().signal, warn: nothing, learnSecrets: nothing, hide: (text) => text, hideTexts: (value) => value };
    await source.open("files", opening).catch((error) => console.log(error.code, error.message));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: root,
  });
  expect(stdout.trim()).toBe(
    'configuration mcpTools needs the package "@modelcontextprotocol/client", which could not be loaded: run `npm install @modelcontextprotocol/client@2` beside pawl.',
  );
});
