import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Calls the adapter in a separate process, in which the package `ai` is resolved by `resolution`. */
async function failureWith(resolution: string): Promise<string> {
  const script = `
    import { registerHooks } from "node:module";
    registerHooks({ resolve: (name, context, next) => (name === "ai" ? ${resolution} : next(name, context)) });
    const { aiSdkModel } = await import("./src/adapters/ai-sdk/ai-sdk.ts");
    const signal = new AbortController().signal;
    const settings = { maxOutputTokens: 1 };
    const request = { instructions: "", messages: [], tools: [], outputSchema: null, settings, signal };
    await aiSdkModel("some/model").respond(request).catch((error) => console.log(error.code, error.message));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: root,
  });
  return stdout.trim();
}

it("says what to install if the AI SDK is missing, and only when it is needed", async () => {
  const missing = `(() => { throw Object.assign(new Error("Cannot find package 'ai'"), { code: "ERR_MODULE_NOT_FOUND" }) })()`;
  expect(await failureWith(missing)).toMatch(/^configuration .*npm install ai@7/);
});

it("refuses an older AI SDK, which would silently ignore the instructions", async () => {
  const older = `{ url: "data:text/javascript,export const stepCountIs = () => {}", shortCircuit: true }`;
  expect(await failureWith(older)).toMatch(/^configuration .*version 7/);
});
