// `pawl run` and `pawl resume` as users start them: until the end, a failure, or a question.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CliFolder } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { WHOLE_LOG, WORKING_CONFIG } from "../working-config.ts";

/** The lines of a text that are commands to type. */
const commandsIn = (text: string) =>
  text.split("\n").flatMap((line) => /^(?: {2}|(?:then )?resume with: )(pawl .*)$/.exec(line)?.[1] ?? []);

describe("a run that succeeds", () => {
  it("prints its id and progress on stderr, and its output on stdout", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    const { exitCode, stdout, stderr } = await folder.pawl(
      "run",
      "worker",
      "--input",
      "Go",
      "--run-id",
      "r-1",
    );
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "All is done.\n" });
    expect(stderr.replaceAll(/\d+\.\d s$/gm, "0.0 s").split("\n")).toEqual([
      "› run r-1 starts",
      "› worker starts",
      '  ✓ act {"what":"one"}  0.0 s',
      '  ✓ act {"what":"two"}  0.0 s',
      "✓ worker  3 turns  0.0 s",
      "✓ run r-1 succeeded: 1 step, 3 model calls, 2 receipts, 45 tokens",
      "",
    ]);
    expect(folder.log).toEqual(WHOLE_LOG);

    const again = await folder.pawl("run", "worker", "--run-id", "r-1", "--json");
    expect(again).toMatchObject({ exitCode: 0, stderr: "" });
    expect(JSON.parse(again.stdout)).toMatchObject({
      runId: "r-1",
      status: "succeeded",
      output: "All is done.",
      resumed: true,
      usage: { modelCalls: 3, charged: { tokens: 45, microDollars: 0 } },
      waits: [],
    });
    expect(folder.log).toEqual(WHOLE_LOG);
  });

  it("takes a text, or the content of a file, parsed as JSON if it ends in .json", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("input.json", '{ "pages": [1, 2] }');
    folder.write("input.txt", "two\nlines\n");
    const outputs = [];
    for (const input of ['{"a":1}', "@input.json", "@input.txt"]) {
      const { document } = await pawlJson<{ output: unknown }>(["run", "echo", "--input", input], {
        cwd: folder.path,
      });
      outputs.push(document.output);
    }
    expect(outputs).toEqual(['{"a":1}', { pages: [1, 2] }, "two\nlines\n"]);
  });
});

describe("a run that fails", () => {
  it("prints what happened, what is kept, and the command that resumes it", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("broken");
    const failed = await folder.pawl("run", "fails", "--run-id", "f-1", "--store", "file:./other runs.db");
    expect(failed).toMatchObject({ exitCode: 1, stdout: "" });
    expect(failed.stderr.split("\n").slice(-4)).toEqual([
      "error: Step second failed: The press is broken.",
      "kept: 1 step",
      "resume with: pawl resume f-1 --store 'file:./other runs.db'",
      "",
    ]);

    // The same again for the same id, as one document.
    const again = await folder.pawl(
      "run",
      "fails",
      "--run-id",
      "f-1",
      "--store",
      "file:./other runs.db",
      "--json",
    );
    expect({ exitCode: again.exitCode, stderr: again.stderr }).toEqual({ exitCode: 1, stderr: "" });
    expect(JSON.parse(again.stdout)).toEqual({
      runId: "f-1",
      status: "failed",
      error: {
        code: "step_failed",
        message: expect.stringMatching(
          /^Run f-1 failed earlier .*: Step second failed: The press is broken\.$/,
        ),
        details: { step: "second" },
      },
      commands: ["pawl resume f-1 --store 'file:./other runs.db'"],
    });
    expect(folder.log).toEqual(["first", "second"]);

    const verbose = await pawl(["run", "fails", "--verbose"], { cwd: folder.path });
    expect(verbose.stderr).toMatch(/\ncaused by Error: The press is broken\.\n +at .*pawl\.config\.ts/);
    folder.remove("broken");
    folder.remove("log.txt");
    const [command = ""] = commandsIn(failed.stderr);
    expect(await folder.type(command)).toMatchObject({ exitCode: 0, stdout: '{\n  "printed": true\n}\n' });
    expect(folder.log).toEqual(["second"]);
  });
});

describe("a run that waits without a terminal", () => {
  it("prints the questions and the commands that answer them, which work when pasted", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    const asked = await folder.pawl("run", "asks", "--input", "Go", "--run-id", "w-1");
    expect(asked.exitCode).toBe(3);
    expect(asked.stdout.split("\n")).toEqual([
      "run w-1 is waiting for a person",
      "",
      "w-1~1: May mail run with these arguments?",
      '{"to":"ada@example.com"}',
      "  pawl approve w-1~1",
      "  pawl deny w-1~1 --why '…'",
      "",
      "then resume with: pawl resume w-1",
      "",
    ]);
    expect(folder.log).toEqual([]);

    const [approve = "", , resume = ""] = commandsIn(asked.stdout);
    expect((await folder.type(approve)).exitCode).toBe(0);
    const second = await folder.type(`${resume} --json`);
    expect(second.exitCode).toBe(3);
    expect(folder.log).toEqual(["mail to ada@example.com"]);
    expect(JSON.parse(second.stdout)).toMatchObject({
      status: "waiting",
      waits: [
        {
          waitId: "w-1~2",
          kind: "question",
          question: "Is it right?",
          commands: ["pawl answer w-1~2 yes", "pawl answer w-1~2 'not quite'"],
        },
      ],
    });
    expect((await folder.type("pawl answer w-1~2 'not quite'")).exitCode).toBe(0);
    expect(await folder.type(resume)).toMatchObject({ exitCode: 0, stdout: "not quite\n" });
    expect(folder.log).toEqual(["mail to ada@example.com"]);
  });
});

describe("wrong use", () => {
  it.each([
    [
      ["run", "worker"],
      "worker begins with an agent, which needs an input: add --input TEXT or --input @file.",
    ],
    [["run", "workr"], 'There is no pipeline "workr": did you mean worker?'],
    [["run", "printing"], 'There is no pipeline "printing" in CONFIG: it has worker, asks, fails, echo.'],
    [
      ["run", "worker", "--fresh", "--resume"],
      "--fresh starts a new run, and --resume names one: leave one of them out.",
    ],
    [
      ["run", "echo", "--input", "@nothing.txt"],
      '--input cannot read "nothing.txt" (ENOENT): check the name after the "@".',
    ],
    [["run", "echo", "--input", "@bad.json"], "--input @bad.json is not valid JSON: "],
    [
      ["run", "job.yaml"],
      "job.yaml does not say which pipeline it is for: add `pipeline:` with one of worker, asks, fails, echo.",
    ],
    [["resume", "r-1", "--budget", "maxStepz=3"], 'There is no budget "maxStepz": did you mean maxSteps?'],
    [
      ["resume", "r-1", "--budget", "maxSteps=none"],
      "--budget maxSteps=none has no limit above 0: write --budget maxSteps=300.",
    ],
  ])("%j is one sentence and code 2", async (args, message) => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("bad.json", "{");
    folder.write("job.yaml", "objective: Try\n");
    const { exitCode, stdout, stderr } = await pawl(args, { cwd: folder.path });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(`error: ${message.replace("CONFIG", join(folder.path, "pawl.config.ts"))}`);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  it("without a configuration reports that there is none", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.remove("pawl.config.ts");
    expect((await pawl(["run", "worker"], { cwd: folder.path })).stderr).toBe(
      'error: There is no pipeline "worker": there is no pawl.config.ts here or above; write one, name it with --config, or change to its folder.\n',
    );
  });
});
