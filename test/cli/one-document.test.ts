// `pawl … --json` prints one document on stdout, whatever the code of the configuration does.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CliFolder } from "./cli-process.ts";
import { pawlJson } from "./recording-context.ts";
import { WORKING_CONFIG } from "./working-config.ts";

/** A configuration, a tool and a step that write to stdout in every way, and a promise that is not awaited. */
const LOUD_CONFIG = `
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "<pawl>node_modules/zod/index.js";
import { Pipeline, Step, agent, tool } from "<pawl>src/index.ts";
import { defineConfig } from "<pawl>src/engine/definition/config.ts";
import { scriptedModel } from "<pawl>src/testing/scripted-model.ts";

const here = import.meta.dirname;
console.log("the configuration speaks");

const act = tool({
  description: "Act.",
  inputSchema: z.object({}),
  effect: "external",
  recovery: "keyed",
  execute: () => {
    console.log("the tool speaks");
    process.stdout.write("the tool writes\\n");
    return "done";
  },
});
const worker = agent({
  name: "worker",
  model: scriptedModel([{ toolCalls: [{ name: "act", input: {} }] }, { text: "All is done." }]),
  instructions: "Work.",
  tools: { act },
});
const loud = Pipeline.of("loud", Step.granular("work", worker), Step.run("end", (answer: string) => {
  console.info("the step speaks");
  return answer;
}));
const forgetful = Pipeline.of(
  "forgetful",
  Step.run("first", () => { appendFileSync(join(here, "log.txt"), "first\\n"); return 1; }),
  Step.run("second", async (_input: unknown, ctx) => {
    if (existsSync(join(here, "forget"))) {
      void Promise.reject(new Error("The press is gone."));
      await sleep(60_000, undefined, { signal: ctx.signal });
    }
    return "printed";
  }),
);
export default defineConfig({ pipelines: { loud, forgetful } });
`;

const SPOKEN = ["the configuration speaks", "the tool speaks", "the tool writes", "the step speaks"];

describe("stdout with --json", () => {
  it("has one document; other writes go to stderr", async () => {
    const folder = new CliFolder(LOUD_CONFIG);
    const { exitCode, stdout, stderr } = await folder.pawl(
      "run",
      "loud",
      "--input",
      "Go",
      "--run-id",
      "r-1",
      "--json",
    );
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ runId: "r-1", status: "succeeded", output: "All is done." });
    for (const line of SPOKEN) expect(stderr).toContain(`${line}\n`);
  });

  it("has the other writes without --json", async () => {
    const folder = new CliFolder(LOUD_CONFIG);
    const { exitCode, stdout } = await folder.pawl("run", "loud", "--input", "Go");
    expect(exitCode).toBe(0);
    expect(stdout.split("\n")).toEqual([...SPOKEN, "All is done.", ""]);
  });
});

describe("code of the configuration that fails in a promise that is not awaited", () => {
  it("ends the command with one error and code 1, and the run can be resumed", async () => {
    const folder = new CliFolder(LOUD_CONFIG);
    folder.write("forget");
    const failed = await folder.pawl("run", "forgetful", "--run-id", "f-1", "--json");
    expect(failed.exitCode).toBe(1);
    expect(JSON.parse(failed.stdout)).toMatchObject({
      error: {
        message: expect.stringContaining("An error was thrown outside of the command: The press is gone."),
      },
    });
    const again = await folder.pawl("resume", "f-1");
    expect([again.exitCode, again.stderr]).toEqual([
      1,
      expect.stringMatching(/^error: An error was thrown outside of the command: The press is gone\./m),
    ]);
    expect(again.stderr).not.toMatch(/^ +at /m);

    folder.remove("forget");
    const resumed = await folder.pawl("resume", "f-1", "--json");
    expect(resumed.exitCode).toBe(0);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ status: "succeeded", output: "printed" });
    expect(folder.log).toEqual(["first"]);
  });
});

describe("a job file with mistakes", () => {
  it.each([
    ["no YAML at all", "objective: [\n"],
    ["a field that there is not", "objective: Try\npipeline: loud\nbudgetz: {}\n"],
    ["no objective", "pipeline: loud\n"],
  ])("is wrong use: code 2, one document, and no run: %s", async (_what, text) => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("job.yaml", text);
    const { exitCode, document } = await pawlJson(["run", "job.yaml"], { cwd: folder.path });
    expect(exitCode).toBe(2);
    expect(document).toMatchObject({ error: { message: expect.stringContaining("job.yaml") } });
    expect(existsSync(join(folder.path, ".pawl"))).toBe(false);
  });
});
