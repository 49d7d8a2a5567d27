// Whose folder a workspace is: of one run, so that no file of another passes as its own.

import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { artifactKept, ConfigurationError, Pipeline, Step, StepFailedError } from "../../src/index.ts";
import { acting, actTool } from "./call-fixture.ts";
import { filesIn, jobRunner, jobSpec, temporaryFolder } from "./job-fixture.ts";
import { failureAs, memoryStore, scriptedAgent } from "./run-fixture.ts";

/** A job that has to leave a report in one folder, whichever run it is. */
async function reporting() {
  const store = await memoryStore();
  const root = temporaryFolder();
  const state = { makes: true, broken: false };
  const step = Step.run("report", async (about: string, ctx) => {
    if (state.makes) await ctx.artifact("report.md", `About ${about}`);
    if (state.broken) throw new Error("The press is broken.");
    return about;
  });
  const pipeline = Pipeline.stoppingWhen(Pipeline.of("p", step), { made: artifactKept("report.md") });
  const runner = jobRunner(pipeline, store, { workspaceRoot: root });
  const spec = (workspaceDir = "out") =>
    jobSpec({ stopConditions: ["made"], artifacts: { workspaceDir, expectedOutputs: ["report.md"] } });
  const report = (...folder: string[]) => readFileSync(join(root, ...folder, "report.md"), "utf8");
  return { store, root, runner, spec, state, report };
}

describe("a second run in the workspace of another", () => {
  it("is refused before there is one, and the first is named; its files stay what they are", async () => {
    const { store, root, runner, spec, state, report } = await reporting();
    await runner.run("Ada", { runId: "r-1", spec: spec() });
    state.makes = false;
    const error = await failureAs(ConfigurationError, runner.run("Bob", { runId: "r-2", spec: spec() }));
    expect(error.message).toContain(`${join(root, "out")} is the workspace of run r-1`);
    expect(error.message).toContain("<run_id>");
    expect(await store.getRun("r-2")).toBeNull();
    expect(report("out")).toBe("About Ada");
  });

  it("begins once that folder is gone, or has one of its own where the contract says so", async () => {
    const { root, runner, spec, report } = await reporting();
    await runner.run("Ada", { runId: "r-1", spec: spec() });
    rmSync(join(root, "out"), { recursive: true });
    await runner.run("Bob", { runId: "r-2", spec: spec() });
    expect(report("out")).toBe("About Bob");
    for (const runId of ["r-3", "r-4"]) await runner.run(runId, { runId, spec: spec("all/<run_id>") });
    expect([report("all", "r-3"), report("all", "r-4")]).toEqual(["About r-3", "About r-4"]);
  });

  it("keeps nothing there as a file where the first has made it meanwhile", async () => {
    const { store, root, runner, spec, state, report } = await reporting();
    state.broken = true;
    await failureAs(StepFailedError, runner.run("Bob", { runId: "r-2", spec: spec() }));
    rmSync(join(root, "out"), { recursive: true });
    state.broken = false;
    await runner.run("Ada", { runId: "r-1", spec: spec() });
    await runner.resume("r-2").catch(() => undefined);
    expect(report("out")).toBe("About Ada");
    expect(Buffer.from((await store.readArtifact("r-2", "report.md")) ?? []).toString()).toBe("About Bob");
  });
});

describe("the same run", () => {
  it("goes on in its workspace, named again or resumed", async () => {
    const { runner, spec, state, report } = await reporting();
    state.broken = true;
    await failureAs(StepFailedError, runner.run("Ada", { runId: "r-1", spec: spec() }));
    await failureAs(StepFailedError, runner.resume("r-1"));
    state.broken = false;
    expect((await runner.resume("r-1")).status).toBe("succeeded");
    expect((await runner.run("Ada", { runId: "r-1", spec: spec() })).output).toBe("Ada");
    expect(report("out")).toBe("About Ada");
  });
});

describe("a fork", () => {
  it.each([
    ["out", "out", "out/fork-r-2"],
    ["all/<run_id>", "all/r-1", "all/r-2"],
    [null, "pawl-runs/r-1", "pawl-runs/r-2"],
  ])("has a folder of its own, where the contract says %s", async (workspaceDir, first, second) => {
    const store = await memoryStore();
    const root = temporaryFolder();
    const { act } = actTool((_n, call, what) => call.artifact(`${what}.md`, call.runId).then(() => what));
    const { agent } = scriptedAgent([acting("a"), acting("b"), { text: "End." }], { tools: { act } });
    const runner = jobRunner(agent, store, { workspaceRoot: root });
    const spec = jobSpec(workspaceDir === null ? {} : { artifacts: { workspaceDir } });
    await runner.run("Go", { runId: "r-1", spec });
    await runner.fork("r-1", { atTurn: 1, runId: "r-2" });
    expect((await runner.resume("r-2")).status).toBe("succeeded");
    const contents = (folder: string) =>
      ["a.md", "b.md"].map((name) => readFileSync(join(root, folder, name), "utf8"));
    expect(contents(first)).toEqual(["r-1", "r-1"]);
    expect(contents(second)).toEqual(["r-1", "r-2"]);
    expect(filesIn(join(root, second))).toContain("transcript.md");
    expect(existsSync(join(root, "fork-r-2"))).toBe(false);
  });
});
