// The command line of the packed package, in a project with a configuration in TypeScript and a job file.

import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packedProject, toolsFirst } from "./packed-project.ts";

const CONFIG = `
import { agent, defineConfig, Pipeline, Step } from "pawl";
import { scriptedModel } from "pawl/testing";
const writer = agent({ name: "writer", model: scriptedModel([{ text: "Pawls stop wheels." }]) });
export default defineConfig({ pipelines: { report: Pipeline.of("report", Step.granular("write", writer)) } });
`;
const JOB = "objective: Write about pawls\npipeline: report\nbudgets:\n  max_steps: 5\n";

let project: string;

beforeAll(async () => {
  project = await packedProject({ packages: ["ai"] });
  writeFileSync(join(project, "pawl.config.ts"), CONFIG);
  writeFileSync(join(project, "job.yaml"), JOB);
}, 120_000);

afterAll(() => rmSync(project, { recursive: true, force: true }));

function pawl(...words: string[]) {
  const env = { ...toolsFirst, PAWL_STORE: undefined, NODE_COMPILE_CACHE: undefined };
  const program = join(project, "node_modules/.bin/pawl");
  const { stdout, stderr, status } = spawnSync(program, words, { cwd: project, encoding: "utf8", env });
  return { stdout, stderr, status };
}

describe("the command line of the package", () => {
  it("runs a job file, and shows the run", () => {
    expect(pawl("run", "job.yaml", "--run-id", "r-1")).toMatchObject({
      stdout: expect.stringContaining("Pawls stop wheels."),
      status: 0,
    });
    expect(pawl("show", "r-1").stdout).toContain("succeeded");
    expect(pawl("ls").stdout).toMatch(/^r-1 +succeeded +report/m);
    expect(pawl("verify", "r-1").status).toBe(0);
  });

  it("names the line of a mistake in a job file", () => {
    writeFileSync(join(project, "bad.yaml"), JOB.replace("pipeline", "pipelin"));
    expect(pawl("run", "bad.yaml").stderr).toContain("bad.yaml:2:1  pipelin: ");
  });

  it("finds the demo, which names the packages that it needs", () => {
    expect(pawl("demo").stderr).toContain("npm install");
  });

  it("suggests a command for a misspelled one, and prints its own version", () => {
    expect(pawl("shwo", "r-1").stderr).toContain("did you mean show?");
    expect(pawl("--version").stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(pawl("--store", "file:./.pawl/pawl.db", "ls").stdout).toContain("r-1");
  });
});
