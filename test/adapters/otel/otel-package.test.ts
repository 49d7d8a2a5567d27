import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The output of a program in a separate process, in which the OpenTelemetry API is not installed. */
async function outputWithout(program: string): Promise<string> {
  const script = `
    import { registerHooks } from "node:module";
    const missing = () => { throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" }); };
    const resolve = (name, context, next) => (name.startsWith("@opentelemetry/") ? missing() : next(name, context));
    registerHooks({ resolve });
    ${program}
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: root,
  });
  return stdout.trim();
}

it("says what to install if OpenTelemetry is missing, and everything else works without it", async () => {
  const output = await outputWithout(`
    const { openStore, Runner, Step } = await import("./src/index.ts");
    const store = await openStore(":memory:");
    console.log((await new Runner(Step.run("a", () => 1), { store }).run("Go")).status);
    await store.close();
    await import("./src/adapters/otel/otel.ts").catch((error) => console.log(error.code, error.message));
  `);
  expect(output).toMatch(/^succeeded\nconfiguration pawl\/otel needs .*npm install @opentelemetry\/api@1/);
});
