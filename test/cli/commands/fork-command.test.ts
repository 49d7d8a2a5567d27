// `pawl fork`: a new run from a turn of another, its output, and that it does not repeat those turns.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CliFolder } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";

/** Five turns with one effect each, and one more effect in the next step; each is a line in log.txt. */
const CONFIG = `
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "<pawl>node_modules/zod/index.js";
import { Pipeline, Step, agent, tool } from "<pawl>src/index.ts";
import { defineConfig } from "<pawl>src/engine/definition/config.ts";
import { scriptedModel } from "<pawl>src/testing/scripted-model.ts";

const MODEL = "first-model";
const here = import.meta.dirname;
const log = (line: string) => appendFileSync(join(here, "log.txt"), line + "\\n");

const write = tool({
  name: "write",
  description: "Write a letter.",
  inputSchema: z.object({ to: z.string() }),
  effect: "external",
  execute: async ({ to }) => {
    log("write to " + to);
    while (existsSync(join(here, "hold-" + to))) await sleep(2);
    return "written to " + to;
  },
});
const names = ["ada", "ben", "cleo", "dora", "eve"];
const model = scriptedModel(
  ({ turn }) => {
    log(MODEL + " " + turn);
    const to = names[turn - 1];
    return to === undefined ? { text: "All are written." } : { toolCalls: [{ name: "write", input: { to } }] };
  },
  { modelId: MODEL },
);
const writer = agent({ name: "writer", model, instructions: "Write.", tools: { write } });
const letters = Pipeline.of(
  "letters",
  Step.granular("letters", writer),
  Step.run("post", (_input, ctx) => ctx.call(write, { to: "the post" })),
);
export default defineConfig({ pipelines: { letters } });
`;

const START = ["run", "letters", "--input", "Go", "--run-id", "q-1"] as const;

async function parent(): Promise<CliFolder> {
  const folder = new CliFolder(CONFIG);
  expect((await pawl(START, { cwd: folder.path })).exitCode).toBe(0);
  return folder;
}

/** A run that is inside its tool in turn 2. */
async function heldAtBen() {
  const folder = new CliFolder(CONFIG);
  folder.write("hold-ben");
  const command = folder.start(...START);
  await folder.logged("write to ben");
  return { folder, command };
}

describe("fork", () => {
  it("creates a run with the receipts of the first turns, which another model continues", async () => {
    const folder = await parent();
    const before = folder.log;
    const { exitCode, stdout, stderr } = await pawl(["fork", "q-1", "--at-turn", "3", "--run-id", "q-2"], {
      cwd: folder.path,
      columns: 80,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const lines = stdout.split("\n");
    expect(lines.slice(0, 4)).toEqual([
      "Run q-2 is a fork of q-1 at turn 3: it has the receipts up to there, and has not",
      "started.",
      "After that turn q-1 had 3 external effects, which the fork may repeat:",
      expect.stringMatching(/^call\s+tool/i),
    ]);
    expect(lines.slice(4, 7).map((line) => line.split(/\s+/).slice(0, 2))).toEqual([
      ["letters#4.1", "write"],
      ["letters#5.1", "write"],
      ["post#0.1", "write"],
    ]);
    expect(lines.slice(7)).toEqual(["Start it:", "  pawl resume q-2", ""]);
    expect(folder.log).toEqual(before);

    const config = readFileSync(join(folder.path, "pawl.config.ts"), "utf8");
    folder.write(
      "pawl.config.ts",
      config.replace('"first-model"', '"second-model"').replace('"dora"', '"dan"'),
    );
    const dry = await folder.pawl("resume", "q-2", "--dry-run");
    expect(dry).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("is asked for turn 4") });
    expect((await folder.pawl("resume", "q-2")).exitCode).toBe(0);
    expect(folder.log.slice(before.length)).toEqual([
      "second-model 4",
      "write to dan",
      "second-model 5",
      "write to eve",
      "second-model 6",
      "write to the post",
    ]);
    // Both are complete runs.
    for (const runId of ["q-1", "q-2"])
      expect(await pawl(["verify", runId], { cwd: folder.path })).toMatchObject({ exitCode: 0 });
  });

  it("prints one document with --json, and generates an id if none is given", async () => {
    const folder = await parent();
    const { exitCode, document } = await pawlJson<{ readonly run: { readonly runId: string } }>(
      ["fork", "q-1", "--at-turn", "5", "--step", "letters"],
      { cwd: folder.path },
    );
    const { runId } = document.run;
    expect({ exitCode, document }).toMatchObject({
      exitCode: 0,
      document: {
        run: { runId, status: "queued", forkedFrom: { runId: "q-1", stepPath: "letters", turnIndex: 5 } },
        parent: "q-1",
        atTurn: 5,
        laterEffects: [{ toolCallId: "q-1/post#0.1", receipt: { status: "succeeded" } }],
        next: [{ commands: [`pawl resume ${runId}`] }],
      },
    });
    expect(await pawl(["resume", runId], { cwd: folder.path })).toMatchObject({ exitCode: 0 });
    expect(folder.log.filter((line) => line === "write to eve")).toHaveLength(1);
  });

  it("fits a terminal of 40 columns", async () => {
    const folder = await parent();
    const { stdout } = await pawl(["fork", "q-1", "--at-turn", "3", "--run-id", "q-2"], {
      cwd: folder.path,
      columns: 40,
      isTerminal: true,
    });
    expect(stdout.split("\n").filter((line) => line.length > 40)).toEqual([]);
    for (const id of ["letters#4.1", "letters#5.1", "post#0.1"]) expect(stdout).toContain(`${id} `);
  });

  it("reports that the first run had no later external effects", async () => {
    const { folder, command } = await heldAtBen();
    command.signal("SIGINT");
    await command.waitForStderr("Ctrl-C again stops now");
    folder.remove("hold-ben");
    await command.ended();
    const { stdout } = await pawl(["fork", "q-1", "--at-turn", "2", "--run-id", "q-2"], { cwd: folder.path });
    expect(stdout).toContain("After that turn q-1 had no external effects.\n");
  });
});

describe("fork is refused", () => {
  it.each([
    [["fork", "q-1"], 2, "The turn to fork at is missing: add --at-turn <n>."],
    [["fork", "q-1", "--at-turn", "0"], 2, '--at-turn is "0": give a whole number of at least 1.'],
    [["fork", "q-1", "--at-turn", "two"], 2, '--at-turn is "two": give a whole number of at least 1.'],
    [
      ["fork", "q-1", "--at-turn", "7"],
      2,
      "Run q-1 cannot be forked at turn 7: committed turns: letters has 6.",
    ],
    [
      ["fork", "q-1", "--at-turn", "1", "--step", "post"],
      2,
      "Run q-1 cannot be forked at turn 1 of step post: committed turns: letters has 6.",
    ],
    [["fork", "q-9", "--at-turn", "1"], 1, /^There is no run q-9/],
    [["fork", "q-1", "--at-turn", "1", "--run-id", "q-1"], 2, /^Run q-1 already exists/],
    [["fork", "q-1", "--at-turn", "1", "--run-id", "../q"], 2, /cannot be a run id/],
  ])("for %j", async (argv, exitCode, message) => {
    const folder = await parent();
    const refused = await pawl(argv, { cwd: folder.path });
    expect({ ...refused, stderr: refused.stderr.replace(/^error: /, "").trimEnd() }).toEqual({
      exitCode,
      stdout: "",
      stderr: typeof message === "string" ? message : expect.stringMatching(message),
    });
    const { document } = await pawlJson<{ readonly runs: readonly object[] }>(["ls"], { cwd: folder.path });
    expect(document.runs).toHaveLength(1);
  });

  it("while a worker holds the first run; and a call that its death left in doubt is listed", async () => {
    const { folder, command } = await heldAtBen();
    const busy = await pawl(["fork", "q-1", "--at-turn", "1"], { cwd: folder.path });
    expect(busy).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("q-1 is being worked on by") });

    command.signal("SIGKILL");
    await command.ended();
    const open = await pawl(["fork", "q-1", "--at-turn", "2"], { cwd: folder.path });
    expect(open).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("letters has 1") });

    const { document } = await pawlJson(["fork", "q-1", "--at-turn", "1"], { cwd: folder.path });
    expect(document).toMatchObject({
      laterEffects: [{ toolCallId: "q-1/letters#2.1", status: "in_doubt", receipt: null }],
    });
    const { stdout } = await pawl(["fork", "q-1", "--at-turn", "1"], { cwd: folder.path });
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(
      "After that turn q-1 had, or may have had, 1 external effect, which the fork may repeat:",
    );
  });
});
