import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** What a program says in a process of its own, in which the API of OpenTelemetry is not installed. */
async function saidWithout(program: string): Promise<string> {
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

it("says what to install where OpenTelemetry is missing, and everything else does without it", async () => {
  const said = await saidWithout(`
    const { openStore, Runner, Step } = await import("./src/index.ts");
    const store = await openStore(":memory:");
    console.log((await new Runner(Step.run("a", () => 1), { store }).run("Go")).status);
    await store.close();
    await import("./src/adapters/otel/otel.ts").catch((error) => console.log(error.code, error.message));
  `);
  expect(said).toMatch(/^succeeded\nconfiguration pawl\/otel needs .*npm install @opentelemetry\/api@1/);
});
