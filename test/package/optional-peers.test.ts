// The published package, in a project without any of its optional peer dependencies.

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly exports: {
    readonly [path: string]: string | { readonly default: string; readonly types: string };
  };
  readonly dependencies: { readonly [name: string]: string };
  readonly peerDependencies: { readonly [name: string]: string };
  readonly peerDependenciesMeta: { readonly [name: string]: { readonly optional: boolean } };
};
const project = mkdtempSync(join(tmpdir(), "pawl-package-"));
const optional = Object.keys(manifest.peerDependencies).filter(
  (name) => manifest.peerDependenciesMeta[name]?.optional,
);

beforeAll(() => {
  const installed = join(project, "node_modules/pawl");
  mkdirSync(installed, { recursive: true });
  execFileSync(process.execPath, [join(root, "scripts/build.ts"), join(installed, "dist")], {
    cwd: root,
    stdio: "pipe",
    env: { ...process.env, PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH ?? ""}` },
  });
  cpSync(join(root, "package.json"), join(installed, "package.json"));
  const needed = Object.keys(manifest.peerDependencies).filter((name) => !optional.includes(name));
  for (const name of [...Object.keys(manifest.dependencies), ...needed]) {
    const link = join(project, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, "node_modules", name), link);
  }
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
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
    ).toMatch(/"ai".*npm install ai@7/);
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
