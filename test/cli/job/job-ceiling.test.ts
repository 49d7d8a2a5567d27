// The access that a job file may ask for: what the operator lists, and no more.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { assertWithinCeiling } from "../../../src/cli/job/job-limits.ts";
import { allowedProgram } from "../../../src/cli/job/job-programs.ts";
import { parseRunSpec } from "../../../src/core/job/run-spec.ts";
import type { PawlConfig } from "../../../src/engine/definition/config.ts";
import type { JobCeiling } from "../../../src/engine/definition/job-ceiling.ts";
import { CliFolder } from "../cli-process.ts";
import { pawl } from "../recording-context.ts";

function projectWith(...files: readonly string[]): string {
  const root = mkdtempSync(join(tmpdir(), "pawl-ceiling-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const file of ["project/pawl.config.ts", ...files]) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), "");
  }
  return join(root, "project");
}

/** The error for a job that asks for too much, or null, with the given environment variables. */
async function ceilingError(
  job: object,
  jobs: JobCeiling | undefined,
  { project = projectWith(), env = {}, ...config }: PawlConfig & { project?: string; env?: object } = {},
): Promise<string | null> {
  const parsed = parseRunSpec({ objective: "x", ...job });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const loaded = {
    path: join(project, "pawl.config.ts"),
    config: jobs === undefined ? config : { ...config, jobs },
  };
  try {
    await assertWithinCeiling({ cwd: project, env: { ...env } }, loaded, parsed.spec);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

const server = (given: object) => ({
  pipeline: { name: "p", mcp_servers: { s: given }, steps: [{ name: "a", tool: "s/x" }] },
});
const tool = (name: string, settings: object) => ({
  pipeline: { name: "p", tools: { [name]: settings }, steps: [{ name: "a", tool: name, with: {} }] },
});
const domains = (...allowed_domains: readonly string[]) => ({ constraints: { allowed_domains } });
const FROM = "a@example.com";
const workspace = (workspace_dir: string) => ({ artifacts: { workspace_dir } });

describe("a program of a job file", () => {
  const NPX = "npx -y @scope/server";
  it.for([
    [server({ command: "npx", args: ["-y", "@scope/server"] }), [NPX], true],
    [server({ command: "npx", args: ["-y", "@scope/server", "./notes"] }), [NPX], true],
    [server({ command: "npx", args: ["-y", "@scope/server"] }), [["npx", "-y", "@scope/server"]], true],
    [server({ command: "npx", args: ["-y", "@scope/other"] }), [NPX], false],
    [server({ command: "npx", args: ["-y"] }), [NPX], false],
    [server({ command: "./npx", args: ["-y", "@scope/server"] }), [NPX], false],
    [server({ command: "${PROGRAM}", args: ["-y", "@scope/server"] }), [NPX], true],
    [server({ command: "node", args: ["${FOLDER}/../server.mjs"] }), ["node ./server.mjs"], false],
    [server({ command: "node", args: ["./jobs/../server.mjs"] }), ["node ./server.mjs"], false],
    [server({ command: "npx", args: ["-y", "@scope/server"], cwd: "jobs" }), [NPX], false],
    [server({ command: "npx", args: ["-y", "@scope/server"], cwd: "jobs/.." }), [NPX], true],
    [server({ command: "npx", args: ["-y", "@scope/server"] }), [{ command: NPX, cwd: "jobs" }], true],
    [
      server({ command: "npx", args: ["-y", "@scope/server"], cwd: "jobs" }),
      [{ command: NPX, cwd: "jobs" }],
      true,
    ],
    [
      server({ command: "npx", args: ["-y", "@scope/server"], cwd: "." }),
      [{ command: NPX, cwd: "jobs" }],
      false,
    ],
    [server({ command: "node", args: ["./server.mjs"] }), ["node ./server.mjs"], true],
    [server({ command: "node", args: ["./server.mjs"], cwd: "jobs" }), ["node ./server.mjs"], false],
    [server({ command: "node", args: ["../server.mjs"], cwd: "jobs" }), ["node ./server.mjs"], false],
    [server({ command: "node", args: ["server.mjs"], cwd: ".." }), ["node server.mjs"], false],
    [server({ command: "bin/tool", cwd: "jobs" }), ["bin/tool"], false],
    [server({ command: "bin/tool" }), ["bin/tool"], true],
    [server({ command: "sh", args: ["-c", "id"] }), undefined, false],
    [server({ command: "sh", args: ["-c", "id"] }), [], false],
  ] as const)("%j is listed by %j: %s", async ([job, commands, isListed]) => {
    const project = projectWith("project/server.mjs", "project/jobs/server.mjs", "server.mjs");
    const jobs = { environment: ["PROGRAM", "FOLDER"], ...(commands === undefined ? {} : { commands }) };
    const env = { PROGRAM: "npx", FOLDER: "jobs/data" };
    expect((await ceilingError(job, jobs, { project, env })) === null).toBe(isListed);
  });

  it("starts with the operator's command in the operator's folder, whatever the job writes", async () => {
    const project = projectWith("project/jobs/x");
    symlinkSync(join(project, "jobs"), join(project, "link"));
    const program = { command: "bin/tool", args: ["${A}", "$${B}"], env: { C: "${A}" }, cwd: "link" };
    const ceiling = { commands: [{ command: "bin/tool", cwd: "jobs" }] };
    expect(await allowedProgram(ceiling, project, program, { A: "a", B: "b" })).toEqual({
      ok: true,
      program: {
        command: join(project, "jobs/bin/tool"),
        args: ["a", "${B}"],
        env: { C: "a" },
        cwd: join(project, "jobs"),
      },
    });
  });

  it("that would start in another folder is refused with the allowed folder", async () => {
    const project = projectWith();
    const message = await ceilingError(
      server({ command: "x", cwd: "jobs" }),
      { commands: ["x"] },
      { project },
    );
    expect(message).toContain(
      `starts "x", which jobs.commands allows only in ${project}, not in jobs (leave cwd out of the job, or set cwd in the entry)`,
    );
  });
});

describe("a variable of a job file", () => {
  it("is listed by its name or by a pattern, whether it is read or set", async () => {
    const job = server({ url: "https://example.com/mcp", headers: { A: "Bearer ${NOTES_TOKEN}" } });
    expect(await ceilingError(job, undefined)).toContain(
      "mcp_servers.s reads NOTES_TOKEN, which jobs.environment does not list",
    );
    for (const entry of ["NOTES_TOKEN", "NOTES_*", "*"])
      expect(await ceilingError(job, { environment: [entry] })).toBeNull();
    for (const entry of ["NOTES", "notes_token", "NOTES_TOKENS"])
      expect(await ceilingError(job, { environment: [entry] })).not.toBeNull();
    const setting = server({ command: "x", env: { NODE_OPTIONS: "--import=./x.mjs" } });
    expect(await ceilingError(setting, { commands: ["x"] })).toContain("mcp_servers.s sets NODE_OPTIONS");
    expect(await ceilingError(tool("notify", { url: "https://example.com/${A}" }), {})).toContain(
      "tools.notify reads A",
    );
  });
});

describe("a host of a job file", () => {
  it.for([
    [domains("example.com", "*.example.org"), undefined, true],
    [domains("127.0.0.1:8080"), undefined, false],
    [domains("localhost"), undefined, false],
    [domains("[::1]:80"), undefined, false],
    [domains("*.internal"), undefined, false],
    [domains("127.0.0.1:8080"), ["127.0.0.1:8080"], true],
    [domains("127.0.0.1:8081"), ["127.0.0.1:8080"], false],
    [domains("api.example.com"), ["*.example.com"], true],
    [domains("*.example.com"), ["api.example.com"], false],
    [domains("example.com"), [], false],
    [server({ url: "http://localhost:3000/mcp" }), undefined, false],
    [server({ url: "https://example.com/mcp" }), undefined, true],
    [server({ url: "https://example.com/mcp" }), ["other.example"], false],
    [server({ url: "https://example.com/mcp" }), ["example.com"], true],
    [tool("notify", { url: "http://2130706433/hook" }), undefined, false],
    [tool("notify", { url: "https://example.com/hook" }), undefined, true],
    [tool("send_mail", { url: "smtp://127.1", from: "a@example.com" }), undefined, false],
    [tool("send_mail", { host: "::1", from: "a@example.com" }), undefined, false],
    [tool("send_mail", { url: "smtps://mail.example.com", from: "a@example.com" }), undefined, true],
    [
      tool("send_mail", { url: "smtp://mail.example.com:587", from: "a@example.com" }),
      ["mail.example.com"],
      true,
    ],
    [tool("send_mail", { host: "mail.example.com", port: 6379, from: FROM }), ["mail.example.com"], false],
    [tool("send_mail", { host: "mail.example.com", port: 6379, from: FROM }), ["mail.example.com:*"], true],
    [tool("send_mail", { host: "mail.example.com", from: FROM }), ["mail.example.com:587"], true],
    [tool("send_mail", { host: "mail.example.com", from: FROM, private: true }), undefined, false],
    [tool("send_mail", { host: "mail.example.com", from: FROM, private: true }), ["mail.example.com"], false],
    [
      tool("send_mail", { host: "mail.example.com", from: FROM, private: true }),
      ["mail.example.com!private"],
      true,
    ],
    [server({ url: "https://example.com/mcp", private: true }), undefined, false],
    [server({ url: "https://example.com/mcp", private: true }), ["example.com"], false],
    [server({ url: "https://example.com:8443/mcp", private: true }), ["example.com!private"], false],
    [server({ url: "https://example.com/mcp", private: true }), ["example.com!private"], true],
    [server({ url: "http://localhost:3000/mcp", private: true }), ["localhost:3000"], true],
    [tool("http_request", { credentials: { "http://10.0.0.1": { A: "b" } } }), undefined, false],
  ] as const)("%j is within %j: %s", async ([job, allowed, isWithin]) => {
    expect((await ceilingError(job, allowed === undefined ? {} : { domains: allowed })) === null).toBe(
      isWithin,
    );
  });

  it("that a listed variable holds is the operator's own, and one that it is only part of is not", async () => {
    const jobs = { environment: ["HOOK"] };
    const env = { HOOK: "http://localhost:3000" };
    expect(await ceilingError(tool("notify", { url: "${HOOK}" }), jobs, { env })).toBeNull();
    expect(await ceilingError(tool("notify", { url: "${HOOK}/x" }), jobs, { env })).toContain(
      "is not a public host",
    );
  });

  it("that the job marks as private must be allowed by the operator, even if the operator set its address", async () => {
    const job = server({ url: "${HOOK}", private: true });
    const config = { env: { HOOK: "https://example.com/mcp" } };
    const jobs = { environment: ["HOOK"] };
    expect(await ceilingError(job, jobs, config)).toContain(
      "mcp_servers.s is private: true, and jobs.domains does not list ${HOOK}!private, nor jobs.servers its address",
    );
    expect(await ceilingError(job, { ...jobs, servers: ["https://example.com/"] }, config)).toBeNull();
    expect(await ceilingError(job, { ...jobs, servers: ["https://other.example/"] }, config)).not.toBeNull();
    expect(await ceilingError(job, jobs, { ...config, policy: { allowPrivateAddresses: true } })).toBeNull();
  });

  it("may be private if every tool may reach private addresses", async () => {
    expect(
      await ceilingError(domains("127.0.0.1"), {}, { policy: { allowPrivateAddresses: true } }),
    ).toBeNull();
  });

  it("of an MCP server is limited by jobs.servers if set", async () => {
    const jobs = { servers: ["http://127.0.0.1:3000/mcp"] };
    for (const [url, isListed] of [
      ["http://127.0.0.1:3000/mcp", true],
      ["http://127.0.0.1:3000/mcp/notes", true],
      ["http://127.0.0.1:3000/mcp/../admin", false],
      ["http://127.0.0.1:3000/mcpx", false],
      ["http://127.0.0.1:3001/mcp", false],
      ["https://example.com/mcp", false],
    ] as const)
      expect([url, (await ceilingError(server({ url }), jobs)) === null]).toEqual([url, isListed]);
  });
});

describe("a model of a job file", () => {
  it("is defined by the configuration, or listed if there is a list", async () => {
    const job = (model: string) => ({
      pipeline: { name: "p", agents: { a: { model } }, steps: [{ name: "a", agent: "a" }] },
    });
    const models = { house: { provider: "x", modelId: "y" } };
    expect(await ceilingError(job("openai/gpt-5.2"), {})).toBeNull();
    expect(await ceilingError(job("openai/gpt-5.2"), { models: ["openai/*"] })).toBeNull();
    expect(await ceilingError(job("anthropic/x"), { models: ["openai/*"] })).toContain(
      "jobs.models does not list",
    );
    expect(await ceilingError(job("house"), { models: [] }, { models })).toBeNull();
  });
});

describe("the workspace of a job file", () => {
  it.for([
    ["runs/<run_id>", {}, true],
    ["taken", {}, true],
    ["empty", {}, true],
    [".", {}, false],
    ["src", {}, false],
    ["../out", {}, false],
    ["/tmp/out", {}, false],
    ["link/out", {}, false],
    ["dangling/out", {}, false],
    ["dangling", {}, false],
    [".git/hooks-of-mine", {}, false],
    ["node_modules/@ai-sdk/mine", {}, false],
    ["NODE_MODULES/x", {}, false],
    ["src", { workspaceRoot: "." }, true],
    ["../out", { workspaceRoot: ".." }, false],
    ["runs/<run_id>/../../empty", {}, false],
    ["link/../empty", { workspaceRoot: "." }, false],
    ["runs/<run_id>", { workspaceRoot: "work" }, false],
    ["work/<run_id>", { workspaceRoot: "work" }, true],
  ] as const)("%s with %j is allowed: %s", async ([place, jobs, isAllowed]) => {
    const project = projectWith("project/src/a.ts", "project/taken/.pawl-run", "project/taken/report.md");
    mkdirSync(join(project, "empty"));
    symlinkSync(dirname(project), join(project, "link"));
    symlinkSync(join(dirname(project), "nothing"), join(project, "dangling"));
    expect((await ceilingError(workspace(place), jobs, { project })) === null).toBe(isAllowed);
  });

  it("must not contain .., which is another folder than it looks after a symlink", async () => {
    const message = await ceilingError(workspace("../out"), { workspaceRoot: ".." });
    expect(message).toContain('artifacts.workspace_dir is "../out", which must not contain "..".');
  });

  it("is where the operator allows it; the default folder is named once", async () => {
    const project = projectWith();
    const jobs = { workspaceRoot: ".." };
    expect(await ceilingError(workspace(join(dirname(project), "out")), jobs, { project })).toBeNull();
    expect(await ceilingError(workspace("/out"), {}, { project })).toContain(
      `which is outside of ${project} (`,
    );
  });

  it("is relative to the folder of runs", async () => {
    expect(await ceilingError(workspace("<run_id>"), {}, { workspaceRoot: "../runs" })).toBeNull();
    expect(await ceilingError(workspace("/runs/<run_id>"), {}, { workspaceRoot: "../runs" })).toContain(
      "is outside of",
    );
  });
});

describe("a run of a job file", () => {
  const CONFIG = `import { Pipeline, Step } from "<pawl>src/index.ts";
import jobs from "./jobs.mjs";
const p = Pipeline.of("p", Step.human("a", { question: "Well?" }));
export default { pipelines: { p }, jobs };
`;
  const FETCHING =
    "objective: x\npipeline: { name: f, steps: [{ name: a, tool: fetch_page, with: { url: 'https://other.example/' } }] }\n";

  function folderWith(jobs: JobCeiling, job: string): CliFolder {
    const folder = new CliFolder(CONFIG);
    folder.write("job.yaml", job);
    allow(folder, jobs);
    return folder;
  }

  function allow(folder: CliFolder, jobs: JobCeiling): void {
    folder.write("jobs.mjs", `export default ${JSON.stringify(jobs)};\n`);
  }

  it("is limited to what job files may access when it is resumed, however it is named", async () => {
    const folder = folderWith({}, "objective: Ask\npipeline: p\nartifacts: { workspace_dir: out }\n");
    expect((await folder.pawl("run", "job.yaml", "--run-id", "r-1", "--trust")).exitCode).toBe(3);
    allow(folder, { workspaceRoot: "elsewhere" });
    await folder.pawl("answer", "r-1", "yes");
    for (const command of [
      ["resume", "r-1"],
      ["run", "p", "--run-id", "r-1"],
      ["run", "p", "--resume"],
    ]) {
      const { exitCode, stderr } = await folder.pawl(...command);
      expect({ command, exitCode, stderr }).toEqual({
        command,
        exitCode: 2,
        stderr: expect.stringContaining('artifacts.workspace_dir is "out", which is outside of'),
      });
    }
    allow(folder, {});
    expect((await folder.pawl("resume", "r-1")).exitCode).toBe(0);
  });

  it.for([[["example.com"]], [[]]] as const)(
    "reaches only the hosts %j if the job names none",
    async ([hosts]) => {
      const folder = folderWith({ domains: hosts }, FETCHING);
      const { exitCode, stderr } = await pawl(["run", "job.yaml", "--trust"], { cwd: folder.path });
      expect(exitCode).toBe(1);
      expect(stderr).toContain("other.example is not in allowedDomains");
    },
  );
});
