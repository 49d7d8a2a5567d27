// A job in one file on the command line: models, tools, variables, folders, and resuming without the file.

import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { CliFolder } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { resultsIn, startProvider } from "./blueprint-provider.ts";

const fileServer = fileURLToPath(
  new URL("../../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", import.meta.url),
);

function folderWith(files: { readonly [name: string]: string }, config: string | null = null): CliFolder {
  const folder = new CliFolder(config ?? "");
  if (config === null) folder.remove("pawl.config.ts");
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder.path, name)), { recursive: true });
    writeFileSync(join(folder.path, name), text);
  }
  return folder;
}

/** What job files may access in the folder of a test. */
const allowing = (jobs: object) => `export default { jobs: ${JSON.stringify(jobs)} };\n`;

const CONFIG = `
import { z } from "<pawl>node_modules/zod/index.js";
import { defineConfig, tool } from "<pawl>src/index.ts";
import { scriptedModel } from "<pawl>src/testing/index.ts";

const shout = tool({
  description: "Shout.",
  inputSchema: z.object({ text: z.string() }),
  effect: "read_only",
  execute: ({ text }) => text.toUpperCase(),
});
const plain = { description: "Whisper.", inputSchema: z.object({ text: z.string() }), execute: async ({ text }) => text.toLowerCase() };
const model = scriptedModel([
  { toolCalls: [{ name: "shout", input: { text: "hey" } }, { name: "get_whisper", input: { text: "HO" } }] },
  { text: "Done." },
]);
export default defineConfig({ models: { house: model }, tools: { shout, get_whisper: plain } });
`;

const ASKING = `
objective: Ask
pipeline:
  name: asking
  steps:
    - { name: first, ask: "First?" }
    - { name: second, ask: "Second?" }
`;

describe("a job that is one file", () => {
  it("uses the models and tools of the configuration by their names", async () => {
    const job = `objective: Say\npipeline:\n  name: say\n  agents: { w: { model: house, tools: [shout, get_whisper] } }\n  steps:\n    - { name: a, agent: w }\n    - { name: b, tool: shout, with: { text: "{{ previous }}" } }\n`;
    const folder = folderWith({ "job.yaml": job }, CONFIG);
    const { exitCode, document } = await pawlJson<{ output: unknown }>(
      ["run", "job.yaml", "--run-id", "s-1"],
      {
        cwd: folder.path,
      },
    );
    expect({ exitCode, output: document.output }).toEqual({ exitCode: 0, output: "DONE." });
    type Receipts = { readonly calls: readonly { readonly tool: string; readonly status: string }[] };
    const { document: receipts } = await pawlJson<Receipts>(["receipts", "s-1"], { cwd: folder.path });
    expect(receipts.calls.map(({ tool, status }) => `${tool} ${status}`)).toEqual([
      "shout succeeded",
      "get_whisper succeeded",
      "shout succeeded",
    ]);
    folder.remove("job.yaml");
    const forked = await pawl(["fork", "s-1", "--at-turn", "1", "--run-id", "s-2"], { cwd: folder.path });
    expect(forked.exitCode).toBe(0);
    expect((await pawl(["resume", "s-2"], { cwd: folder.path })).stdout).toBe("DONE.\n");
  });

  it("uses the built-in tools without a configuration", async () => {
    const job = `objective: Keep it\npipeline:\n  name: keep\n  steps:\n    - { name: write, tool: write_file, with: { path: a.txt, text: "Hello {{ input }}" } }\n    - { name: read, tool: read_file, with: { path: a.txt } }\n`;
    const folder = folderWith({ "job.yaml": job });
    const { exitCode, stdout } = await pawl(["run", "job.yaml", "--input", "world"], { cwd: folder.path });
    expect(exitCode).toBe(0);
    expect(stdout).toContain("Hello world");
  });

  it("names every unavailable model with its remedy, before anything starts", async () => {
    const agents = "{ a: { model: opnai/gpt-5.2 }, b: { model: mistral/large }, c: { model: gpt } }";
    const steps = "[{ name: a, agent: a }, { name: b, agent: b }, { name: c, agent: c }]";
    const folder = folderWith({
      "job.yaml": `objective: x\npipeline: { name: p, agents: ${agents}, steps: ${steps} }\n`,
    });
    const { exitCode, stderr } = await pawl(["run", "job.yaml"], { cwd: folder.path });
    expect(exitCode).toBe(2);
    expect(stderr).toBe(
      'error: There is no provider "opnai" for model opnai/gpt-5.2: did you mean openai/gpt-5.2? Model mistral/large needs the package @ai-sdk/mistral, which is installed neither beside pawl.config.ts nor beside Pawl: run `npm install ai@7 @ai-sdk/mistral` there. There is no model "gpt": write provider/model, such as openai/gpt-5.2, or define it with its address (base_url) under `models` of the pipeline, or in `models` of pawl.config.ts.\n',
    );
  });

  it("loads a provider's package from beside the configuration, not from beside a job", async () => {
    const made = `export const mistral = (modelId) => ({ specificationVersion: "v4", provider: "of the test", modelId, supportedUrls: {}, doGenerate: async () => ({ content: [{ type: "text", text: "I am " + modelId }], finishReason: { unified: "stop" }, usage: { inputTokens: {}, outputTokens: {} }, warnings: [] }) });`;
    const files = {
      "node_modules/@ai-sdk/mistral/package.json":
        '{ "type": "module", "exports": { "import": "./x.js", "default": "./x.js" } }',
      "node_modules/@ai-sdk/mistral/x.js": made,
      "job.yaml": `objective: x\npipeline: { name: p, agents: { a: { model: mistral/large } }, steps: [{ name: a, agent: a }] }\n`,
    };
    const { exitCode: refused, stderr } = await pawl(["run", "job.yaml"], { cwd: folderWith(files).path });
    expect({ refused, stderr }).toEqual({
      refused: 2,
      stderr: expect.stringContaining("neither beside pawl.config.ts nor beside Pawl"),
    });
    const folder = folderWith(files, "export default {};\n");
    const { exitCode, document } = await pawlJson<{ output: unknown }>(["run", "job.yaml"], {
      cwd: folder.path,
    });
    expect({ exitCode, output: document.output }).toEqual({ exitCode: 0, output: "I am large" });
  });

  it("with an argument that its tool does not know is refused before a person is asked", async () => {
    const folder = folderWith({
      "job.yaml": `objective: Keep it\npipeline:\n  name: keep\n  steps:\n    - { name: sure, ask: "Sure?" }\n    - { name: write, tool: write_file, with: { path: a.txt, content: "{{ previous }}" } }\n`,
    });
    const { exitCode, stderr } = await pawl(["run", "job.yaml", "--run-id", "k-1"], { cwd: folder.path });
    expect(exitCode).toBe(2);
    expect(stderr).toContain("job.yaml has 2 mistakes:");
    expect(stderr).toContain("job.yaml:6:40  pipeline.steps[1].with: has no text, and write_file needs it.");
    expect(stderr).toContain(
      "pipeline.steps[1].with.content: is no argument of write_file: it takes path, text.",
    );
    expect((await pawl(["ls"], { cwd: folder.path })).stdout).not.toContain("k-1");
  });

  it("names every variable that is not set, and no value, before anything starts", async () => {
    const folder = folderWith(
      {
        "job.yaml": `objective: x\npipeline:\n  name: p\n  mcp_servers: { s: { command: x, args: ["\${ONE}", "\${TWO}"], env: { A: "\${THREE}" } } }\n  tools: { notify: { url: "\${ONE}" } }\n  steps: [{ name: a, tool: s/x }, { name: b, tool: notify, with: { text: x } }]\n`,
      },
      allowing({ commands: ["x"], environment: ["*"] }),
    );
    const env = { TWO: "value-of-two", THREE: "" };
    const { exitCode, stderr } = await pawl(["run", "job.yaml", "--trust"], { cwd: folder.path, env });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr:
        "error: Environment variables that pipeline p needs are not set: ONE (mcp_servers.s), THREE (mcp_servers.s), ONE (tools.notify). Nothing was started; set them and try again.\n",
    });
  });

  it("resumes without the file, and is refused with the difference if the file has changed", async () => {
    const folder = folderWith({ "job.yaml": ASKING });
    const { path: cwd } = folder;
    expect((await pawl(["run", "job.yaml", "--run-id", "a-1"], { cwd })).exitCode).toBe(3);
    folder.write("job.yaml", ASKING.replace("Second?", "Third?"));
    const changed = await pawl(["run", "job.yaml", "--run-id", "a-1"], { cwd });
    expect(changed).toMatchObject({
      exitCode: 2,
      stderr:
        'error: Run a-1 was started with another RunSpec, which does not change: pipeline.steps[1].ask was "Second?" and is "Third?". Restore it, or use another run id.\n',
    });
    folder.remove("job.yaml");
    for (const answer of ["one", "two"]) {
      expect((await pawl(["answer", "a-1", answer], { cwd })).exitCode).toBe(0);
      const forecast = await pawl(["resume", "a-1", "--dry-run"], { cwd });
      expect(forecast.exitCode).toBe(0);
      const { exitCode, stdout } = await pawl(["resume", "a-1"], { cwd });
      expect(exitCode).toBe(answer === "one" ? 3 : 0);
      if (exitCode === 3) expect(stdout).toContain("Second?");
    }
    expect((await pawl(["show", "a-1"], { cwd })).stdout).toContain("asking");
    expect((await pawl(["policy", "audit"], { cwd })).exitCode).toBe(0);
  });

  it("resolves folders from its own, stores them relative to the project, and stores no values of variables", async () => {
    const job = `
objective: Look
pipeline:
  name: look
  mcp_servers:
    files: { command: "${process.execPath}", args: ["${fileServer}", .], cwd: data, env: { KEY: "\${FILES_KEY}" } }
    beside: { command: "${process.execPath}", args: ["${fileServer}", "\${FILES_KEY}"] }
  steps:
    - { name: read, tool: files/read_text_file, with: { path: note.txt } }
    - { name: stop, ask: "Go on?" }
    - { name: list, tool: beside/list_directory, with: { path: "." } }
`;
    const folder = folderWith(
      { "jobs/data/note.txt": "the note", "jobs/job.yaml": job, "folder-of-the-key/x.txt": "" },
      allowing({
        commands: [
          { command: [process.execPath, fileServer, "."], cwd: "jobs/data" },
          [process.execPath, fileServer],
        ],
        environment: ["FILES_KEY", "KEY"],
      }),
    );
    const options = { cwd: folder.path, env: { FILES_KEY: "folder-of-the-key" } };
    const begun = await pawl(["run", "jobs/job.yaml", "--run-id", "l-1", "--trust"], options);
    expect({ exitCode: begun.exitCode, stderr: begun.stderr }).toMatchObject({ exitCode: 3 });
    const store = await openStore(`file:${join(folder.path, ".pawl/pawl.db")}`);
    const record = await store.getRun("l-1");
    await store.close();
    expect(record?.spec?.pipeline).toMatchObject({
      mcpServers: { files: { cwd: "jobs/data", env: { KEY: "${FILES_KEY}" } }, beside: { cwd: null } },
    });
    expect(JSON.stringify(record)).not.toContain("folder-of-the-key");
    folder.remove("jobs/job.yaml");
    await pawl(["answer", "l-1", "yes"], options);
    const ended = await pawl(["resume", "l-1"], options);
    expect({ exitCode: ended.exitCode, stderr: ended.stderr }).toMatchObject({ exitCode: 0 });
    expect(ended.stdout).toContain("x.txt");
  });
});

describe("a name of a secret", () => {
  const CONFIGURED = `import { defineConfig } from "<pawl>src/index.ts";\nexport default defineConfig({ policy: { secretKeys: ["token"] }, jobs: { commands: ["x"], environment: ["TOKEN"] } });\n`;
  const job = (value: string) =>
    `objective: x\npipeline:\n  name: p\n  mcp_servers: { s: { command: x, env: { TOKEN: "${value}" } } }\n  steps: [{ name: a, ask: "Well?" }, { name: b, tool: s/x, when: { step: a, equals: go } }]\n`;

  it("may have a variable in a job, but not a value", async () => {
    const folder = folderWith({ "fine.yaml": job("${TOKEN}"), "secret.yaml": job("t-123456") }, CONFIGURED);
    const options = { cwd: folder.path, env: { TOKEN: "t-123456" } };
    expect((await pawl(["run", "fine.yaml", "--trust"], options)).exitCode).toBe(3);
    const refused = await pawl(["run", "secret.yaml", "--trust"], options);
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain("The RunSpec of the run holds a value under one of policy.secretKeys");
  });
});

describe("what a server sends back", () => {
  it("contains no values of variables, in results or errors", async () => {
    const folder = folderWith(
      {
        "secret-words/a.txt": "",
        "job.yaml": `
objective: Look
pipeline:
  name: look
  mcp_servers: { files: { command: "${process.execPath}", args: ["${fileServer}", "./\${SECRET}"] } }
  steps:
    - { name: list, tool: files/list_allowed_directories }
    - { name: read, tool: files/read_text_file, with: { path: nothing.txt } }
`,
      },
      allowing({
        commands: [
          { command: [process.execPath, fileServer, "."], cwd: "jobs/data" },
          [process.execPath, fileServer],
        ],
        environment: ["SECRET"],
      }),
    );
    const env = { SECRET: "secret-words" };
    const { exitCode, stderr } = await pawl(["run", "job.yaml", "--run-id", "l-1", "--trust"], {
      cwd: folder.path,
      env,
    });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/\[secret:[0-9a-f]{12}\]\/nothing\.txt/);
    const store = await openStore(`file:${join(folder.path, ".pawl/pawl.db")}`);
    const steps = await store.listSteps("l-1");
    const events = await store.listEvents("l-1", {});
    await store.close();
    expect(JSON.stringify(steps[0]?.output)).toMatch(/\[secret:[0-9a-f]{12}\]/);
    expect(JSON.stringify([steps, events]) + stderr).not.toContain("secret-words");
  });
});

describe("the example", () => {
  it("writes a digest of its notes, asks, and saves it", async () => {
    const provider = await startProvider((asked) => {
      const results = resultsIn(asked);
      if (results.length === 0) return { call: "notes__list_directory", input: { path: "." } };
      if (results.length === 1) return { call: "notes__read_text_file", input: { path: "gearing.txt" } };
      return JSON.stringify({
        title: "This week",
        text: results[1]?.includes("pawl held") ? "It held." : "?",
      });
    });
    const repository = fileURLToPath(new URL("../../../", import.meta.url));
    const folder = folderWith({});
    cpSync(join(repository, "examples/blueprint"), join(folder.path, "examples/blueprint"), {
      recursive: true,
    });
    for (const name of ["src", "node_modules"]) symlinkSync(join(repository, name), join(folder.path, name));
    const cwd = join(folder.path, "examples/blueprint");
    const begun = await pawl(["run", "job.yaml", "--run-id", "d-1", "--trust"], { cwd });
    expect({ exitCode: begun.exitCode, stderr: begun.stderr }).toMatchObject({ exitCode: 3 });
    expect(begun.stdout).toContain("It held.");
    await pawl(["answer", "d-1", "keep"], { cwd });
    expect((await pawl(["run", "job.yaml", "--resume", "--trust"], { cwd })).exitCode).toBe(0);
    expect(readFileSync(join(cwd, "notes/digest.md"), "utf8")).toBe("# This week\n\nIt held.\n");
    expect(provider.asked).toHaveLength(3);
  });
});
