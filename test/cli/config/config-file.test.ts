// The configuration file: found, loaded without a build, and its errors reported in one sentence.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resolveStore } from "../../../src/cli/config/config-file.ts";

const source = fileURLToPath(new URL("../../../src/", import.meta.url));
const root = mkdtempSync(join(tmpdir(), "pawl-config-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

type Files = { readonly [name: string]: string };
type End = { readonly message?: string; readonly path?: string; readonly [key: string]: unknown };
type Order = { readonly cwd: string; readonly file?: string };

function write(folder: string, files: Files): string {
  const place = join(root, folder);
  mkdirSync(place, { recursive: true });
  for (const [name, text] of Object.entries({ "package.json": '{ "type": "module" }', ...files })) {
    mkdirSync(dirname(join(place, name)), { recursive: true });
    writeFileSync(join(place, name), text);
  }
  return place;
}

function load(orders: readonly Order[]): readonly End[] {
  const child = fileURLToPath(new URL("./children/load-configs.ts", import.meta.url));
  const { stdout, stderr, status } = spawnSync(process.execPath, [child, JSON.stringify(orders)], {
    encoding: "utf8",
  });
  // Node's warning about a CommonJS package cannot be suppressed.
  const printed = stderr.replace(
    /^\(node:\d+\) Warning: Failed to load the ES module.*\n\(Use `node --trace.*\n/gm,
    "",
  );
  expect({ printed, status }).toEqual({ printed: "", status: 0 });
  return JSON.parse(stdout) as readonly End[];
}

const IMPORTS = `import { Pipeline, Step, agent } from ${JSON.stringify(`${source}index.ts`)};
import { defineConfig } from ${JSON.stringify(`${source}engine/definition/config.ts`)};
const a = Step.run("a", () => 1);
`;
const config = (text: string): Files => ({
  "pawl.config.ts": `${IMPORTS}export default defineConfig(${text});\n`,
});

const MISTAKES: readonly (readonly [string, Files, string])[] = [
  [
    "an enum",
    { "pawl.config.ts": "enum Colour { Red }\nexport default {};\n" },
    "pawl.config.ts:1: TypeScript enum is not supported: Node only strips types, so write it in plain JavaScript (an object for an enum, fields for parameter properties), or build the file to pawl.config.js first.",
  ],
  [
    "a parameter property",
    { "pawl.config.ts": "export default {};\nclass A { constructor(private x: number) {} }\n" },
    "pawl.config.ts:2: TypeScript parameter property is not supported: Node only strips types, so write it in plain JavaScript (an object for an enum, fields for parameter properties), or build the file to pawl.config.js first.",
  ],
  [
    "broken TypeScript",
    { "pawl.config.ts": "export default {\n  store: ,\n};\n" },
    "pawl.config.ts:2: it cannot be read as TypeScript: Expression expected.",
  ],
  [
    "broken JavaScript",
    { "pawl.config.mjs": "export default {\n  store: ,\n};\n" },
    "pawl.config.mjs:2: it cannot be read as JavaScript: Unexpected token ','.",
  ],
  [
    "code that throws",
    { "pawl.config.ts": 'function key() {\n  throw new TypeError("No key.");\n}\nkey();\n' },
    "pawl.config.ts:2: it throws TypeError: No key.",
  ],
  [
    "a file it imports that throws",
    {
      "pawl.config.ts": 'import "./inner.ts";\nexport default {};\n',
      "inner.ts": '\nthrow new Error("Not today.");\n',
    },
    "pawl.config.ts (inner.ts:2): it throws Error: Not today.",
  ],
  ["a thrown text", { "pawl.config.ts": 'throw "no";\n' }, 'pawl.config.ts: it throws "no".'],
  [
    "a package that is not installed",
    { "pawl.config.ts": 'import "not-there";\nexport default {};\n' },
    "pawl.config.ts: it needs the package not-there, which is not installed: npm install not-there.",
  ],
  [
    "a file that is not there",
    { "pawl.config.ts": 'import "./tools.js";\nexport default {};\n' },
    "pawl.config.ts: it imports <root>/a-file-that-is-not-there/tools.js, which does not exist: import files with their extension, such as .ts.",
  ],
  [
    "a name that is not exported",
    { "pawl.config.ts": 'import { nothing } from "node:fs";\nexport default { nothing };\n' },
    "pawl.config.ts:1: The requested module 'node:fs' does not provide an export named 'nothing'.",
  ],
  [
    "a CommonJS package",
    { "package.json": '{ "type": "commonjs" }', "pawl.config.ts": "export default {};\n" },
    'pawl.config.ts:1: its package.json says "type": "commonjs", and the file is an ES module: rename it to pawl.config.mts (or .mjs).',
  ],
  [
    "no default export",
    { "pawl.config.ts": "export const config = {};\n" },
    "pawl.config.ts: it exports config and has no default export: write `export default defineConfig({ … })`.",
  ],
  [
    "no export at all",
    { "pawl.config.ts": "const config = {};\nvoid config;\nexport {};\n" },
    "pawl.config.ts: it exports nothing: write `export default defineConfig({ … })`.",
  ],
  [
    "a function for an object",
    { "pawl.config.ts": "export default () => ({});\n" },
    "pawl.config.ts: The configuration is a function: give an object, `defineConfig({ pipelines: { … } })`.",
  ],
  [
    "a promise for an object",
    { "pawl.config.ts": "export default Promise.resolve({});\n" },
    "pawl.config.ts: The configuration is a promise: give an object, `defineConfig({ pipelines: { … } })`.",
  ],
  [
    "null for an object",
    { "pawl.config.ts": "export default null;\n" },
    "pawl.config.ts: The configuration is null: give an object, `defineConfig({ pipelines: { … } })`.",
  ],
  [
    "a misspelt name",
    config("{ pipeline: { a } }"),
    'pawl.config.ts:4: A configuration has no "pipeline": did you mean pipelines?',
  ],
  [
    "a name similar to no other",
    config('{ colour: "red" }'),
    'pawl.config.ts:4: A configuration has no "colour": correct its name, or leave it out.',
  ],
  [
    "a store that is not a string",
    config("{ store: { file: 1 } }"),
    'pawl.config.ts:4: store is an object: give a text such as "file:./pawl.db".',
  ],
  [
    "an empty store",
    config('{ store: " " }'),
    'pawl.config.ts:4: store is " ": give a text such as "file:./pawl.db".',
  ],
  [
    "a list of pipelines",
    config("{ pipelines: [a] }"),
    "pawl.config.ts:4: pipelines is a list: give an object with pipelines by name, `{ report }`.",
  ],
  [
    "a pipeline that is a string",
    config('{ pipelines: { report: "report" } }'),
    "pawl.config.ts:4: pipelines.report is a string, neither an agent nor a step: make it with agent({ … }), Step or Pipeline.of(…).",
  ],
  [
    "a pipeline that is a function",
    config("{ pipelines: { report: () => a } }"),
    "pawl.config.ts:4: pipelines.report is a function, neither an agent nor a step: make it with agent({ … }), Step or Pipeline.of(…).",
  ],
  [
    "a pipeline that is undefined",
    config("{ pipelines: { report: undefined } }"),
    "pawl.config.ts:4: pipelines.report is undefined, neither an agent nor a step: make it with agent({ … }), Step or Pipeline.of(…).",
  ],
  [
    "a pipeline whose steps are not steps",
    config('{ pipelines: { report: { kind: "pipeline", name: "r", children: [1] } } }'),
    "pawl.config.ts:4: pipelines.report is an object, neither an agent nor a step: make it with agent({ … }), Step or Pipeline.of(…).",
  ],
  [
    "two pipelines of one name",
    config("{ pipelines: { first: Pipeline.of('p', a), second: Pipeline.of('p', a) } }"),
    'pawl.config.ts:4: pipelines.first and pipelines.second both have the name "p", and a run is resumed by its name: rename one of them.',
  ],
  [
    "a key that is the name of another",
    config("{ pipelines: { first: Pipeline.of('second', a), second: Pipeline.of('p', a) } }"),
    'pawl.config.ts:4: pipelines.first and pipelines.second both have the name "second", and a run is resumed by its name: rename one of them.',
  ],
  [
    "a policy that does not exist",
    config("{ policy: { readonlyAllowlist: [] } }"),
    'pawl.config.ts:4: The runner\'s policy has no "readonlyAllowlist": did you mean readOnlyAllowlist?',
  ],
  [
    "a class that does not exist",
    config('{ policy: { approve: ["dangerous"] } }'),
    'pawl.config.ts:4: policy.approve has "dangerous": use external, memory, local, read_only, or { match: "refund_*", people: 2 }.',
  ],
  [
    "an invalid domain",
    config('{ constraints: { allowedDomains: ["https://example.com/x"] } }'),
    'pawl.config.ts:4: constraints.allowedDomains contains "https://example.com/x", which is no host: write "example.com", "*.example.com", "example.com:8443" or, where its address is private, "example.com!private".',
  ],
  [
    "a misspelt budget",
    config("{ budgets: { maxStepz: 3 } }"),
    "pawl.config.ts:4: budgets.maxStepz: is no field of budgets: did you mean maxSteps?",
  ],
  [
    "a budget that is not a number",
    config('{ budgets: { maxSteps: "many" } }'),
    'pawl.config.ts:4: budgets.maxSteps: must be a whole number from 1 to 1000000, or null for no limit, not the text "many".',
  ],
  [
    "prices without a plan",
    config("{ pricing: { models: {} } }"),
    'pawl.config.ts:4: pricing is no pricing plan: give one with an id and models, `{ id: "2026-11", models: { "gpt-5.2": { inputPerMillion: 1_750_000, outputPerMillion: 14_000_000 } } }`.',
  ],
  [
    "a price in fractions",
    config('{ pricing: { id: "p", models: { m: { inputPerMillion: 2.5, outputPerMillion: 1 } } } }'),
    'pawl.config.ts:4: The price inputPerMillion of m in pricing plan "p" is 2.5: give whole micro-dollars per million tokens ($2.50 is 2500000).',
  ],
  [
    "a stop condition that is not a function",
    config("{ stopConditions: { done: true } }"),
    "pawl.config.ts:4: stopConditions.done is a boolean: give a function of the run, `({ calls }) => calls.some(…)`.",
  ],
  [
    "a model by its name alone",
    config('{ models: { fast: "gpt-5.2" } }'),
    'pawl.config.ts:4: models.fast is a string, not a model: give an AI SDK model, `openai("gpt-5.2")`.',
  ],
  [
    "models in a list",
    config("{ models: [] }"),
    'pawl.config.ts:4: models is a list: give an object with models by name, `{ "openai/gpt-5.2": openai("gpt-5.2") }`.',
  ],
  [
    "a tool that is a function",
    config("{ tools: { search: () => 1 } }"),
    "pawl.config.ts:4: tools.search is a function, not a tool: make it with tool({ … }).",
  ],
  [
    "a tool that no blueprint can name",
    config('{ tools: { "my/tool": {} } }'),
    'pawl.config.ts:4: tools has "my/tool", which no blueprint can name: use letters, digits, "_" or "-", beginning with a letter.',
  ],
  [
    "an empty workspace root",
    config("{ jobs: { comands: [] } }"),
    'pawl.config.ts:4: jobs has no "comands": did you mean commands?',
  ],
  [
    "a list instead of the limits of job files",
    config("{ jobs: [] }"),
    "pawl.config.ts:4: jobs is not an object: give one with commands, environment, domains, workspaceRoot, models, servers.",
  ],
  [
    "a program that is not a string",
    config('{ jobs: { commands: ["npx", " "] } }'),
    'pawl.config.ts:4: jobs.commands cannot be used: write it like ["npx -y @modelcontextprotocol/server-filesystem"].',
  ],
  [
    "a variable with a sign before it",
    config('{ jobs: { environment: ["$TOKEN"] } }'),
    'pawl.config.ts:4: jobs.environment cannot be used: write it like ["NOTES_TOKEN", "SMTP_*"].',
  ],
  [
    "a server without a scheme",
    config('{ jobs: { servers: ["tools.example.com"] } }'),
    'pawl.config.ts:4: jobs.servers cannot be used: write it like ["https://tools.example.com/mcp"].',
  ],
  [
    "no folder for workspaces",
    config('{ workspaceRoot: "" }'),
    'pawl.config.ts:4: workspaceRoot is "": give a text such as "./work".',
  ],
  [
    "an agent that is wrong",
    config('{ pipelines: { a: agent({ name: "x/y", model: {} }) } }'),
    'pawl.config.ts:4: Agent x/y has a model that is not a language model (an object): give it an AI SDK model, openai("gpt-5.2"), or an object with provider, modelId and respond.',
  ],
];

describe("a configuration file that cannot be used", () => {
  let ends: readonly End[] = [];
  beforeAll(() => {
    ends = load(MISTAKES.map(([what, files]) => ({ cwd: write(what.replaceAll(" ", "-"), files) })));
  });

  it.each(MISTAKES.map(([what, , message], index) => [what, message, index] as const))(
    "has %s",
    (_, message, index) => {
      expect(ends[index]).toEqual({
        name: "ConfigurationError",
        message: message.replace("<root>", root),
      });
    },
  );
});

describe("the file that is named", () => {
  const neither = (file: string, extension: string) =>
    `${file}: a configuration is a TypeScript or JavaScript module, and "${extension}" is neither: call it pawl.config.ts.`;

  it("must exist, be a file, and be a module", () => {
    const cwd = write("named", { "folder/x.txt": "", "other.json": "{}", "other.yaml": "store: x\n" });
    const files = ["nowhere.ts", "folder", "other.json", "other.yaml"];
    expect(load(files.map((file) => ({ cwd, file }))).map(({ message }) => message)).toEqual([
      "There is no configuration file at nowhere.ts: check --config.",
      "folder is not a file: give --config the file itself, such as folder/pawl.config.ts.",
      neither("other.json", ".json"),
      neither("other.yaml", ".yaml"),
    ]);
  });
});

describe("the file that is found", () => {
  it("is the nearest one, here or above, TypeScript before JavaScript, without warnings from Node", () => {
    const outer = write("outer", {
      "package.json": "{}",
      "pawl.config.ts": 'const store: string = "file:./outer.db";\nexport default { store };\n',
      "pawl.config.js": 'export default { store: "file:./wrong.db" };\n',
      "below/readme.txt": "",
      "inner/pawl.config.mts": "export default { budgets: { max_steps: 5 } };\n",
      "inner/deep/readme.txt": "",
      "scripts/pawl.config.js": 'module.exports = { store: "file:./scripts.db" };\n',
    });
    const [here, below, deep, scripts] = load([
      { cwd: outer },
      { cwd: join(outer, "below") },
      { cwd: join(outer, "inner/deep") },
      { cwd: join(outer, "scripts") },
    ]);
    expect(here).toMatchObject({ path: join(outer, "pawl.config.ts"), store: "file:./outer.db" });
    expect(below).toEqual(here);
    expect(deep).toMatchObject({
      path: join(outer, "inner/pawl.config.mts"),
      budgets: { maxSteps: 5, maxTokens: null },
    });
    expect(scripts).toMatchObject({ store: "file:./scripts.db" });
  });

  it("is optional", () => {
    expect(load([{ cwd: write("nothing", {}) }])).toEqual([
      { path: null, keys: [], store: null, budgets: null },
    ]);
  });
});

describe("the store", () => {
  const context = { cwd: "/here", env: {} };
  const configured = { path: "/project/pawl.config.ts", config: { store: "file:./runs.db" } };

  it("comes from the flag, the environment, the configuration, or the default", () => {
    const env = { PAWL_STORE: "file:./env.db" };
    expect(resolveStore({ ...context, env }, configured, "file:./flag.db")).toBe("file:/here/flag.db");
    expect(resolveStore({ ...context, env }, configured)).toBe("file:/here/env.db");
    expect(resolveStore({ ...context, env: { PAWL_STORE: "" } }, configured)).toBe("file:/project/runs.db");
    expect(resolveStore(context, { path: null, config: {} })).toBe("file:/here/.pawl/pawl.db");
  });

  it("is beside the configuration by default, so that every folder below finds the same runs", () => {
    expect(resolveStore({ cwd: "/project/below", env: {} }, { ...configured, config: {} })).toBe(
      "file:/project/.pawl/pawl.db",
    );
  });

  it("stays as it is unless it is a relative file", () => {
    for (const url of [":memory:", "file:/absolute.db", "file:///absolute.db", "postgres://host/runs"])
      expect(resolveStore(context, configured, url)).toBe(url);
  });
});
