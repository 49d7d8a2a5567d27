// Job files on the command line: their RunSpec is stored with the run and enforced.

import { cpSync, existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { CliFolder } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { WORKING_CONFIG } from "../working-config.ts";

type Outcome = { readonly runId: string; readonly status: string; readonly output: unknown };

async function specOf({ path }: CliFolder, runId: string) {
  const store = await openStore(`file:${join(path, ".pawl/pawl.db")}`);
  try {
    return (await store.getRun(runId))?.spec ?? null;
  } finally {
    await store.close();
  }
}

describe("a job", () => {
  it("provides its input, or else its objective; --input takes precedence for a new run", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("with.yaml", "objective: Say it\npipeline: echo\ninput: { pages: [1, 2] }\n");
    folder.write("without.json", '{ "objective": "Say it", "pipeline": "echo" }');
    const run = (...args: readonly string[]) => pawlJson<Outcome>(["run", ...args], { cwd: folder.path });
    expect((await run("with.yaml")).document.output).toEqual({ pages: [1, 2] });
    expect((await run("without.json")).document.output).toBe("Say it");
    expect((await run("./with.yaml", "--input", "Hello")).document.output).toBe("Hello");
  });

  it("names its pipeline by its key in the configuration, and the run by the pipeline's own name", async () => {
    const folder = new CliFolder(WORKING_CONFIG.replace("fails, echo }", "printing: fails }"));
    folder.write("broken");
    folder.write("job.yaml", "objective: Print\npipeline: printing\n");
    const { exitCode } = await pawl(["run", "job.yaml", "--run-id", "p-1"], { cwd: folder.path });
    expect(exitCode).toBe(1);
    folder.remove("broken");
    expect((await pawl(["resume", "p-1"], { cwd: folder.path })).exitCode).toBe(0);
  });

  it("that has changed is refused for an existing run, with the difference", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("broken");
    folder.write("job.yaml", "objective: Print\npipeline: fails\nbudgets: { max_steps: 5 }\n");
    await pawl(["run", "job.yaml", "--run-id", "p-1"], { cwd: folder.path });
    folder.write("job.yaml", "objective: Print\npipeline: fails\nbudgets: { max_steps: 7 }\n");
    for (const args of [["--run-id", "p-1"], ["--resume"]]) {
      const { exitCode, stderr } = await pawl(["run", "job.yaml", ...args], { cwd: folder.path });
      expect(exitCode).toBe(2);
      expect(stderr).toBe(
        "error: Run p-1 was started with another RunSpec, which does not change: budgets.maxSteps was 5 and is 7. Restore it, or use another run id.\n",
      );
    }
  });

  it("is resumed by --resume, and no other job of the same pipeline", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("broken");
    folder.write("one.yaml", "objective: Print one\npipeline: fails\n");
    folder.write("two.yaml", "objective: Print two\npipeline: fails\n");
    folder.write("three.yaml", "objective: Print three\npipeline: fails\n");
    await pawl(["run", "one.yaml", "--run-id", "one"], { cwd: folder.path });
    await pawl(["run", "two.yaml", "--run-id", "two"], { cwd: folder.path });
    folder.remove("broken");
    const { stderr } = await pawl(["run", "one.yaml", "--resume"], { cwd: folder.path });
    expect(stderr).toContain(
      "resuming run one, which failed just now\n› run one resumes\n· first is already done",
    );
    expect((await pawl(["run", "three.yaml", "--resume"], { cwd: folder.path })).stderr).toContain(
      "No run of this job was interrupted, failed or is waiting",
    );
  });

  it("whose budget is used up fails with the command that raises it", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("job.yaml", "objective: Work\npipeline: worker\nbudgets: { max_tool_calls: 1 }\n");
    const { exitCode, document } = await pawlJson<{ commands: readonly string[] }>(
      ["run", "job.yaml", "--run-id", "b-1"],
      { cwd: folder.path },
    );
    expect({ exitCode, document }).toMatchObject({
      exitCode: 1,
      document: {
        status: "failed",
        error: { code: "budget_exceeded", details: { budget: "maxToolCalls", limit: 1, used: 2 } },
        commands: ["pawl resume b-1 --budget maxToolCalls=2"],
      },
    });
    const raised = await pawl(["resume", "b-1", "--budget", "max_tool_calls=2"], { cwd: folder.path });
    expect(raised).toMatchObject({ exitCode: 0, stdout: "All is done.\n" });
    expect(folder.log.filter((line) => line.endsWith("ends"))).toEqual(["one ends", "two ends"]);
  });
});

describe("the budgets of the configuration", () => {
  const config = WORKING_CONFIG.replace(
    "defineConfig({",
    "defineConfig({ budgets: { maxSteps: 9, maxTokens: 500 },",
  );

  it("hold for a run without a job, and where a job sets none", async () => {
    const folder = new CliFolder(config);
    folder.write("job.yaml", "objective: Say it\npipeline: echo\nbudgets: { maxSteps: 3 }\n");
    await pawl(["run", "echo", "--input", "Hello", "--run-id", "plain"], { cwd: folder.path });
    await pawl(["run", "job.yaml", "--run-id", "job"], { cwd: folder.path });
    expect(await specOf(folder, "plain")).toMatchObject({
      objective: "Hello",
      pipeline: "echo",
      budgets: { maxSteps: 9, maxTokens: 500, maxToolCalls: null },
    });
    expect(await specOf(folder, "job")).toMatchObject({ budgets: { maxSteps: 3, maxTokens: 500 } });
  });

  it("hold for a run that is enqueued", async () => {
    const folder = new CliFolder(config);
    await pawl(["enqueue", "echo", "--input", "Hello", "--run-id", "plain"], { cwd: folder.path });
    expect(await specOf(folder, "plain")).toMatchObject({ objective: "Hello", budgets: { maxSteps: 9 } });
  });

  it("of a resumed run are those it was started with", async () => {
    const folder = new CliFolder(config);
    folder.write("broken");
    await pawl(["run", "fails", "--run-id", "f-1"], { cwd: folder.path });
    folder.remove("broken");
    folder.write(
      "pawl.config.ts",
      readFileSync(join(folder.path, "pawl.config.ts"), "utf8").replace("maxSteps: 9", "maxSteps: 8"),
    );
    // A separate process: a changed module is read once per process.
    const again = await folder.pawl("run", "fails", "--run-id", "f-1");
    expect(again.exitCode).toBe(1);
    expect(again.stderr).toMatch(
      /^error: Run f-1 failed earlier .*: Step second failed: The press is broken\.\n/m,
    );
    expect(await folder.pawl("run", "fails", "--resume", "--run-id", "f-1")).toMatchObject({ exitCode: 0 });
    expect(await specOf(folder, "f-1")).toMatchObject({ budgets: { maxSteps: 9 } });
  });
});

describe("the example", () => {
  it("writes and posts its letter once, and reports it", async () => {
    const repository = fileURLToPath(new URL("../../../", import.meta.url));
    const folder = new CliFolder("");
    for (const name of ["src", "node_modules"]) symlinkSync(join(repository, name), join(folder.path, name));
    for (const name of ["job.yaml", "notes", "pawl.config.ts"])
      cpSync(join(repository, "examples/job", name), join(folder.path, "examples/job", name), {
        recursive: true,
      });
    const cwd = join(folder.path, "examples/job");
    const { exitCode, stdout, stderr } = await folder.type(
      "cd examples/job && pawl run job.yaml --run-id letter-1",
    );
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '{\n  "posted": true\n}\n' });
    expect(stderr).toContain(
      "✓ run letter-1 succeeded: 3 steps, 2 model calls, 3 receipts, 1 artifact, 30 tokens\n",
    );
    expect(readFileSync(join(cwd, "pawl-runs/letter-1/letter.md"), "utf8")).toContain(
      "The ratchet of the tower clock",
    );
    expect(readFileSync(join(cwd, "outbox.log"), "utf8").trimEnd().split("\n")).toHaveLength(1);
    expect(existsSync(join(cwd, ".pawl/pawl.db"))).toBe(true);
  });
});
