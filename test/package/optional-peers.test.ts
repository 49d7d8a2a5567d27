// The published package, in a project without any of its optional peer dependencies.

import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { manifest, optionalPeers as optional, packedProject } from "./packed-project.ts";

let project: string;

beforeAll(async () => {
  project = await packedProject();
}, 120_000);

afterAll(() => rmSync(project, { recursive: true, force: true }));

/** Runs a module in the project, and returns its output and its error. */
function inProject(code: string): { readonly printed: string; readonly problem: string } {
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    cwd: project,
    encoding: "utf8",
  });
  return { printed: stdout, problem: stderr };
}

/** The message of the error that the code throws. */
function refusal(code: string): string {
  const { printed, problem } = inProject(
    `const attempt = async () => { ${code} };
     await attempt().then(() => console.log("It worked."), (error) => console.log(error.name + ": " + error.message));`,
  );
  expect(problem).toBe("");
  return printed.trim();
}

describe("the package as it is published", () => {
  const lint = async () =>
    (await publint({ pkgDir: join(project, "node_modules/pawl"), pack: false })).messages;

  test("has no problem that publint knows of", async () => {
    expect(await lint()).toEqual([]);
  });

  test("would be refused with an entry that is not there", async () => {
    const file = join(project, "node_modules/pawl/package.json");
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace("./dist/testing/index.js", "./dist/testing/gone.js"));
    expect((await lint()).map(({ code }) => code)).toContain("FILE_DOES_NOT_EXIST");
    writeFileSync(file, text);
  });
});

describe("without its optional peer dependencies", () => {
  test("none of them can be imported", () => {
    expect(optional).toEqual(
      expect.arrayContaining(["ai", "@modelcontextprotocol/client", "@opentelemetry/api"]),
    );
    const found = inProject(
      `for (const name of ${JSON.stringify(optional)}) await import(name).then(() => console.log(name), () => undefined);`,
    );
    expect(found).toEqual({ printed: "", problem: "" });
  });

  test("every entry but pawl/otel can be imported", () => {
    const entries = Object.keys(manifest.exports).filter(
      (path) => !path.endsWith(".json") && path !== "./otel",
    );
    const code = entries.map((path) => `await import("pawl${path.slice(1)}");`).join("\n");
    expect(inProject(`${code} console.log("imported");`)).toEqual({ printed: "imported\n", problem: "" });
    expect(entries).toEqual(expect.arrayContaining([".", "./mcp", "./tools", "./testing", "./prices"]));
  });

  test("a run that needs none of them works", () => {
    const code = `
      import { Runner, Step, openStore } from "pawl";
      const store = await openStore(":memory:");
      const { output } = await new Runner(Step.run("add", (n) => n + 1), { store }).run(41);
      console.log(output);`;
    expect(inProject(code)).toEqual({ printed: "42\n", problem: "" });
  });

  test("a feature that needs one says which, and how to install it", () => {
    expect(
      refusal(`
        const { agent, Runner, openStore } = await import("pawl");
        const model = { specificationVersion: "v4", provider: "x", modelId: "y", supportedUrls: {}, doGenerate() {}, doStream() {} };
        await new Runner(agent({ name: "a", model }), { store: await openStore(":memory:") }).run("Go");`),
    ).toBe(
      'ConfigurationError: Models and tools of the AI SDK need the package "ai", which could not be loaded: run `npm install ai@7` beside pawl.',
    );
    expect(
      refusal(`
        const { agent, Runner, openStore } = await import("pawl");
        const { mcpTools } = await import("pawl/mcp");
        const model = { provider: "x", modelId: "y", respond() {} };
        const tools = { files: mcpTools({ command: "node" }) };
        await new Runner(agent({ name: "a", model, tools }), { store: await openStore(":memory:") }).run("Go");`),
    ).toMatch(/@modelcontextprotocol\/client.*npm install @modelcontextprotocol\/client/);
    expect(refusal(`await import("pawl/otel");`)).toMatch(
      /@opentelemetry\/api.*npm install @opentelemetry\/api/,
    );
  });

  test("a missing AI SDK is found before a run is created, and printed without a chain of causes", () => {
    const { printed, problem } = inProject(`
      import { agent, Runner, openStore } from "pawl";
      const model = { specificationVersion: "v4", provider: "x", modelId: "y", supportedUrls: {}, doGenerate() {}, doStream() {} };
      const store = await openStore(":memory:");
      const error = await new Runner(agent({ name: "a", model }), { store }).run("Go").catch((error) => error);
      console.log((await store.listRuns()).length);
      throw error;`);
    expect(printed).toBe("0\n");
    expect(problem).toContain("npm install ai@7");
    expect(problem).not.toContain("[cause]");
    expect(problem.split("\n").length).toBeLessThan(25);
  });

  test("`pawl doctor` says what to install", () => {
    const main = join(project, "node_modules/pawl/dist/cli/main.js");
    const doctor = (...flags: readonly string[]) => {
      const { stdout } = spawnSync(process.execPath, [main, "doctor", "--json", ...flags], {
        cwd: project,
        encoding: "utf8",
      });
      const { checks } = JSON.parse(stdout) as { checks: readonly Record<string, unknown>[] };
      return checks.find(({ name }) => name === "packages");
    };
    const config = (pipeline: string) =>
      writeFileSync(
        join(project, "pawl.config.ts"),
        `import { agent, defineConfig, Step } from "pawl";
         const model = { specificationVersion: "v4", provider: "x", modelId: "y", supportedUrls: {}, doGenerate() {}, doStream() {} };
         export default defineConfig({ pipelines: { one: ${pipeline} } });`,
      );
    const missing = expect.stringContaining("run `npm install ai@7` beside pawl") as string;
    config('agent({ name: "a", model })');
    expect(doctor()).toMatchObject({ status: "warn", what: missing });
    expect(doctor("--load-config")).toMatchObject({ status: "fail", what: missing });
    config('Step.run("add", (n) => n + 1)');
    expect(doctor("--load-config")).toMatchObject({ status: "ok" });
    rmSync(join(project, "pawl.config.ts"));
  });

  test("the command line prints its version and its help", () => {
    const main = join(project, "node_modules/pawl/dist/cli/main.js");
    const { stdout, stderr, status } = spawnSync(process.execPath, [main, "--help"], {
      cwd: project,
      encoding: "utf8",
    });
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    expect(stdout).toContain("pawl");
  });
});

describe("without zod", () => {
  test.each([["--help"], ["doctor"], ["run", "job"]])("`pawl %s` says what to install", async (...words) => {
    const bare = await packedProject();
    try {
      rmSync(join(bare, "node_modules/zod"));
      const main = join(bare, "node_modules/pawl/dist/cli/main.js");
      const { stderr, status } = spawnSync(process.execPath, [main, ...words], {
        cwd: bare,
        encoding: "utf8",
      });
      expect({ stderr, status }).toEqual({
        stderr:
          'error: Pawl needs the package "zod", which is not installed: run `npm install zod@4` beside pawl.\n',
        status: 2,
      });
    } finally {
      rmSync(bare, { recursive: true, force: true });
    }
  });
});
