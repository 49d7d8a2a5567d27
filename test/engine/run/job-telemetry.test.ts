// The telemetry files of a job: written into its workspace at every end, and never the cause of a failure.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type RunnerOptions, type RunOptions, Step, type StepNode } from "../../../src/index.ts";
import { filesIn, jobRunner, jobSpec, temporaryFolder, warnings } from "../job-fixture.ts";
import { memoryStore } from "../run-fixture.ts";

const FILES = ["run.log", "trace.json", "transcript.md"];

/** A job of this step, and its files after it has ended in any way. */
async function ended(step: StepNode, options: RunOptions = {}, more: RunnerOptions = {}) {
  const store = await memoryStore();
  const root = temporaryFolder();
  const folder = join(root, "pawl-runs", "r-1");
  const runner = jobRunner(step, store, { workspaceRoot: root, ...more });
  const run = () => runner.run("Go", { runId: "r-1", spec: jobSpec(), ...options });
  const outcome = await run().then(
    ({ status }) => status,
    (error: Error) => error.message,
  );
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  return { store, runner, folder, outcome, read };
}

const aborted = (): AbortSignal => AbortSignal.abort();

describe("the telemetry of a job", () => {
  it.each<[string, StepNode, RunOptions]>([
    ["succeeded", Step.run("work", () => "done"), {}],
    ["failed", Step.run("work", () => Promise.reject(new Error("It broke."))), {}],
    ["waiting", Step.human("work", { question: "Continue?" }), {}],
    ["cancelled", Step.run("work", () => "done"), { signal: aborted() }],
    ["queued", Step.run("work", () => "done"), { release: aborted() }],
  ])("is written when it has %s, and shows that status", async (status, step, options) => {
    const { store, folder, read } = await ended(step, options);
    expect((await store.getRun("r-1"))?.status).toBe(status);
    expect(filesIn(folder)).toEqual(FILES);
    expect(JSON.parse(read("trace.json"))).toMatchObject({ traceEvents: expect.any(Array) });
    expect(read("transcript.md")).toContain("r-1");
    expect(read("transcript.md")).toContain(status);
    expect(read("run.log").trim().split("\n").at(-1)).toContain(status);
  });

  it("is written again at the next end", async () => {
    const { store, runner, read } = await ended(Step.human("check", { question: "Continue?" }));
    const before = read("run.log");
    await store.answer("r-1~1", "yes");
    await runner.resume("r-1");
    expect(read("run.log").startsWith(before.split("\n")[0] ?? "-")).toBe(true);
    expect(read("run.log").length).toBeGreaterThan(before.length);
    expect(read("transcript.md")).toContain("succeeded");
  });

  it("that cannot be written leads to a warning, and the job keeps its outcome", async () => {
    const { messages, onEvent } = warnings();
    const step = Step.run("work", (_input, ctx) => {
      mkdirSync(join(ctx.workspace, "trace.json", "in the way"), { recursive: true });
      return "done";
    });
    const { store, outcome } = await ended(step, {}, { onEvent });
    expect(outcome).toBe("succeeded");
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatch(/^The telemetry of the run could not be written: /);
    expect(await store.getRun("r-1")).toMatchObject({ status: "succeeded", output: "done" });
  });

  it("that cannot be written does not hide why the job failed", async () => {
    const { messages, onEvent } = warnings();
    const step = Step.run("work", (_input, ctx) => {
      mkdirSync(join(ctx.workspace, ".."), { recursive: true });
      writeFileSync(ctx.workspace, "a file in place of the folder");
      throw new Error("It broke.");
    });
    const { outcome } = await ended(step, {}, { onEvent });
    expect(outcome).toContain("It broke.");
    expect(messages).toHaveLength(1);
  });

  it("is written for a run without a contract if it has artifacts", async () => {
    const store = await memoryStore();
    const root = temporaryFolder();
    const step = Step.run("work", (_input, ctx) => ctx.artifact("report.md", "One"));
    await jobRunner(step, store, { workspaceRoot: root }).run("Go", { runId: "r-1" });
    expect(filesIn(join(root, "pawl-runs", "r-1"))).toEqual(["report.md", ...FILES]);
    await jobRunner(
      Step.run("none", () => 1),
      store,
      { workspaceRoot: root },
    ).run("Go", { runId: "r-2" });
    expect(existsSync(join(root, "pawl-runs", "r-2"))).toBe(false);
  });
});
