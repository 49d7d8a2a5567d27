// The commands for people's decisions: what is stored, what is printed, and how to resume.

import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Pipeline, Runner, Step, tool } from "../../../src/index.ts";
import { temporaryFolder } from "../../engine/job-fixture.ts";
import { startPawl } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import {
  type CliFolder,
  cliFolder,
  MAILING,
  runSamples,
  SEARCHING,
  SIGNING_IN,
  samplePipeline,
  TRANSFERRING,
} from "../sample-runs.ts";

function storedWait(folder: CliFolder, runId: string) {
  return folder.withStore(async (store) => (await store.listWaits(runId))[0]);
}

function storedCall(folder: CliFolder, toolCallId: string) {
  return folder.withStore((store) => store.getToolCall(toolCallId));
}

describe("waits", () => {
  it("show what is hidden from the decider, why, and what is known about it", async () => {
    const folder = cliFolder();
    const pay = tool({
      name: "pay",
      description: "Pays.",
      inputSchema: z.object({ account: z.string() }),
      effect: "external",
      approval: true,
      execute: () => "paid",
    });
    const step = Step.run("pay", (_input, ctx) => ctx.call(pay, { account: "DE-1234567" }));
    await folder.withStore((store) =>
      new Runner(step, { store, policy: { secretKeys: ["account"] } }).run("Go", { runId: "p-1" }),
    );
    const { stdout } = await pawl(["waits"], { ...folder, columns: 200 });
    expect(stdout).toMatch(/arguments +\{"account":"\[secret:[0-9a-f]{12},10-characters\]"\}/);
    expect(stdout).toMatch(
      /hidden +arguments\.account is hidden because .+: 10 characters, digest [0-9a-f]{12}\./,
    );
  });
});

describe("approve", () => {
  it("lets the call run, records who approved it, and shows how to resume", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING] });
    const { exitCode, stdout } = await pawl(["approve", "q-1~1", "--by", "ann"], folder);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^Approved q-1~1: send_email with \{"body":/);
    expect(stdout).toMatch(/Resume it:\n {2}pawl resume q-1\n$/);
    expect(await storedWait(folder, "q-1")).toMatchObject({
      status: "answered",
      answeredBy: "ann",
      answer: { approved: true },
    });
    const result = await folder.withStore((store) =>
      new Runner(samplePipeline("report", MAILING), { store }).resume("q-1"),
    );
    expect(result.output).toBe("DONE.");
  });

  it("uses the user's name by default, and accepts a run with one open wait", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "quantum-1": [MAILING] });
    const { document } = await pawlJson(["approve", "quan"], { ...folder, userName: "bob" });
    expect(document).toMatchObject({
      did: expect.stringContaining("Approved quantum-1~1"),
      run: { runId: "quantum-1", status: "queued" },
      waits: [],
      next: [{ commands: ["pawl resume quantum-1"] }],
    });
    expect(await storedWait(folder, "quantum-1")).toMatchObject({ answeredBy: "bob" });
  });

  it("records the operating system's user separately from the claimed name", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING] });
    await pawl(["approve", "q-1~1", "--by", "the boss"], { ...folder, userName: "bob" });
    expect(await storedWait(folder, "q-1")).toMatchObject({
      answeredBy: "the boss",
      people: [{ name: "the boss", authenticated: { name: "bob", by: "os", id: "id of bob" } }],
    });
  });

  it("names who else must approve if two people are required, and counts each once", async () => {
    const folder = cliFolder();
    const policy = { approve: [{ match: "send_email", people: 2 }] };
    await folder.withStore((store) =>
      new Runner(samplePipeline("report", MAILING), { store, policy }).run("Go", { runId: "q-1" }),
    );
    expect((await pawl(["waits"], folder)).stdout).toContain("It needs approval by 2 people.");
    const as = (userName: string, ...more: readonly string[]) =>
      pawl(["approve", "q-1~1", ...more], { ...folder, userName });
    const more = "It needs approval by 1 person more, not bob.";
    expect((await as("bob")).stdout.replaceAll(/\s+/g, " ")).toContain(more);
    expect((await pawl(["waits"], folder)).stdout.replaceAll(/\s+/g, " ")).toContain(more);
    const again = await as("bob", "--by", "ann");
    expect([again.exitCode, again.stderr]).toEqual([
      1,
      "error: Wait q-1~1 stays open: bob has approved it already, and it takes 2 people: ask another one.\n",
    ]);
    expect((await as("ann")).exitCode).toBe(0);
    expect(await storedWait(folder, "q-1")).toMatchObject({ status: "answered", answeredBy: "bob and ann" });
  });

  it("refuses a wait that is answered, of another kind, or missing", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING], "t-1": [TRANSFERRING] });
    await pawl(["approve", "q-1~1"], folder);
    const outcome = async (...argv: readonly string[]) => {
      const { exitCode, stderr } = await pawl(argv, folder);
      return [exitCode, stderr];
    };
    expect(await outcome("approve", "q-1~1")).toEqual([
      1,
      "error: Wait q-1~1 was already answered by tester: the answer stays as it is.\n",
    ]);
    expect(await outcome("approve", "t-1~1")).toEqual([
      2,
      "error: Wait t-1~1 is about a call in doubt: settle its call.\n",
    ]);
    expect(await outcome("approve", "q-1~7")).toEqual([
      1,
      "error: There is no wait q-1~7 in this store: `pawl waits` lists the open ones.\n",
    ]);
    expect(await outcome("approve", "q-1")).toEqual([
      1,
      "error: Run q-1 has no open wait: `pawl show q-1` shows its status.\n",
    ]);
  });

  it("of one of several questions lists the open ones", async () => {
    const folder = cliFolder();
    const twice = {
      toolCalls: [...(MAILING.toolCalls ?? []), { name: "send_email", input: { to: "b", body: "x" } }],
    };
    await runSamples(folder, { "q-1": [twice] });
    const which = await pawl(["approve", "q-1"], folder);
    expect([which.exitCode, which.stderr]).toEqual([
      2,
      "error: Run q-1 has more than one open wait: name one of q-1~1, q-1~2.\n",
    ]);
    const { stdout } = await pawl(["approve", "q-1~1"], folder);
    expect(stdout).toContain("Answer q-1~2 (approval), with one of these:\n  pawl approve q-1~2\n");
  });
});

describe("deny", () => {
  it("prevents the call, and stores the reason for the caller", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING] });
    const { exitCode, stdout } = await pawl(["deny", "q-1~1", "--why", "Not this one."], folder);
    expect([exitCode, stdout]).toEqual([
      0,
      "Denied q-1~1: the call will not run.\nResume it:\n  pawl resume q-1\n",
    ]);
    expect(await storedWait(folder, "q-1")).toMatchObject({
      answer: { approved: false, why: "Not this one." },
    });
  });

  it("needs a reason", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING] });
    const { exitCode, stderr } = await pawl(["deny", "q-1~1"], folder);
    expect([exitCode, stderr]).toEqual([
      2,
      "error: A denial needs a reason, which the model sees: add --why 'because …'.\n",
    ]);
    expect(await storedWait(folder, "q-1")).toMatchObject({ status: "open" });
  });
});

describe("answer", () => {
  it.each([
    [["007"], "007"],
    [['{"a":1}'], '{"a":1}'],
    [['{"a":1}', "--json-value"], { a: 1 }],
    [["true", "--json-value"], true],
  ])("%j is stored as %j: as text, or as JSON with --json-value", async (argv, value) => {
    const folder = cliFolder();
    await runSamples(folder, { "s-1": [SIGNING_IN] });
    const { exitCode } = await pawl(["answer", "s-1~1", ...argv], folder);
    expect(exitCode).toBe(0);
    expect(await storedWait(folder, "s-1")).toMatchObject({ answer: { as: "answered", value } });
  });

  it("with invalid JSON changes nothing", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "s-1": [SIGNING_IN] });
    const { exitCode, stderr } = await pawl(["answer", "s-1~1", "{oops", "--json-value"], folder);
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(/^error: The value of --json-value is not valid JSON: /),
    ]);
    expect(await storedWait(folder, "s-1")).toMatchObject({ status: "open" });
  });
});

describe("a question of a step", () => {
  it("is answered with one of its choices, which is the output of the step", async () => {
    const folder = cliFolder();
    const asking = Pipeline.of(
      "ask",
      Step.human("check", { question: "Send it?", choices: ["yes", "not now"] }),
    );
    await folder.withStore((store) => new Runner(asking, { store }).run("x", { runId: "ask-1" }));
    const { stdout } = await pawl(["waits"], folder);
    expect(stdout).toMatch(/question +Send it\?\n {2}choices +yes, not now\n/);
    expect(stdout).toContain("  pawl answer ask-1~1 yes\n  pawl answer ask-1~1 'not now'\n");
    await pawl(["answer", "ask-1~1", "not now"], folder);
    const { output } = await folder.withStore((store) => new Runner(asking, { store }).resume("ask-1"));
    expect(output).toBe("not now");
  });
});

describe("a budget that is used up", () => {
  const start = async (folder: CliFolder) => {
    const job = Pipeline.of(
      "job",
      Step.run("one", () => 1),
      Step.run("two", () => 2),
    );
    const spec = {
      objective: "Two steps",
      budgets: { maxSteps: 1 },
      escalation: { askHumanOnBudgetReached: true },
    };
    await folder.withStore((store) =>
      new Runner(job, { store, workspaceRoot: temporaryFolder() }).run("x", { runId: "job-1", spec }),
    );
    return job;
  };

  it("is raised by an answer", async () => {
    const folder = cliFolder();
    const job = await start(folder);
    expect((await pawl(["waits"], folder)).stdout).toContain("  pawl answer job-1~1 2\n  pawl deny job-1~1 ");
    const { exitCode } = await pawl(["answer", "job-1~1", "2"], folder);
    expect(exitCode).toBe(0);
    const { output } = await folder.withStore((store) =>
      new Runner(job, { store, workspaceRoot: temporaryFolder() }).resume("job-1"),
    );
    expect(output).toBe(2);
  });

  it("is not raised by an answer that is not a number", async () => {
    const folder = cliFolder();
    await start(folder);
    const { exitCode, stderr } = await pawl(["answer", "job-1~1", "lots"], folder);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("cannot be maxSteps")]);
    expect(await storedWait(folder, "job-1")).toMatchObject({ status: "open" });
  });

  it("stays as it is if a higher one is denied, and the run ends", async () => {
    const folder = cliFolder();
    const job = await start(folder);
    const { stdout } = await pawl(["deny", "job-1~1", "--why", "Enough."], folder);
    expect(stdout).toMatch(/^Denied job-1~1: the run ends when it is resumed\.\n/);
    const resumed = folder.withStore((store) =>
      new Runner(job, { store, workspaceRoot: temporaryFolder() }).resume("job-1"),
    );
    await expect(resumed).rejects.toMatchObject({ code: "budget_exceeded" });
  });
});

describe("settle", () => {
  it.each([
    [
      ["--succeeded", '{"id":7}'],
      { status: "succeeded", receipt: { output: { type: "json", value: { id: 7 } } } },
    ],
    [["--failed", "The bank says no."], { status: "failed", receipt: { source: "person" } }],
    [["--retry"], { status: "in_doubt", receipt: null }],
  ])("%j records the outcome of a call", async (argv, stored) => {
    const folder = cliFolder();
    await runSamples(folder, { "t-1": [TRANSFERRING] });
    const { exitCode, stdout } = await pawl(["settle", "t-1/research#1.1", ...argv], folder);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^Settled t-1\/research#1\.1: /);
    expect(stdout).toContain("  pawl resume t-1\n");
    expect(await storedCall(folder, "t-1/research#1.1")).toMatchObject(stored);
    expect(await storedWait(folder, "t-1")).toMatchObject({ status: "answered", answeredBy: "tester" });
  });

  it.each([["--succeeded", "7"], ["--failed", "The bank says no."], ["--retry"]])(
    "does not take %s from a second person after the first has let the call run again",
    async (...argv) => {
      const folder = cliFolder();
      await runSamples(folder, { "t-1": [TRANSFERRING] });
      await pawl(["settle", "t-1/research#1.1", "--retry", "--by", "ann"], folder);
      const { exitCode, stderr } = await pawl(["settle", "t-1/research#1.1", ...argv], folder);
      expect([exitCode, stderr]).toEqual([
        1,
        "error: Call t-1/research#1.1 was settled by ann, who let it run again: that stays as it is; resume run t-1, or cancel it.\n",
      ]);
      expect(await storedWait(folder, "t-1")).toMatchObject({ answeredBy: "ann", answer: { as: "retry" } });
    },
  );

  it("accepts one answer of several people in separate processes", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "t-1": [TRANSFERRING] });
    const settle = (...args: string[]) =>
      startPawl(folder.cwd, "settle", "t-1/research#1.1", ...args).ended();
    const results = await Promise.all([
      settle("--retry", "--by", "ann"),
      settle("--succeeded", "7", "--by", "bob"),
      settle("--failed", "No.", "--by", "cleo"),
    ]);
    const winners = ["ann", "bob", "cleo"].filter((_, i) => results[i]?.exitCode === 0);
    const waits = await folder.withStore((store) => store.listWaits("t-1"));
    expect(winners).toEqual(waits.map(({ answeredBy }) => answeredBy));
    expect(winners).toHaveLength(1);
  });

  it("accepts the id of the call's wait", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "transfer-1": [TRANSFERRING] });
    const { document } = await pawlJson(["settle", "trans~1", "--succeeded", "null"], folder);
    expect(document).toMatchObject({ did: "Settled transfer-1/research#1.1: it succeeded with null." });
  });

  it.each([
    [["q-1/research#1.1"], 2, "Give the outcome with one of --succeeded <json>, --retry and --failed <why>."],
    [["q-1/research#1.1", "--retry", "--failed", "x"], 2, "Give the outcome with one of"],
    [["q-1/research#1.1", "--succeeded", "yes"], 2, "The value of --succeeded is not valid JSON"],
    [["q-1/research#1.1", "--retry"], 1, "is succeeded and not in doubt"],
    [["q-1/research#9.9", "--retry"], 1, "q-1/research#9.9"],
    [["q-1", "--retry"], 1, "q-1 is not a tool call: `pawl receipts <run> --in-doubt` lists those"],
  ])("%j is refused with code %i", async (argv, code, message) => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const { exitCode, stderr } = await pawl(["settle", ...argv], folder);
    expect([exitCode, stderr]).toEqual([code, expect.stringContaining(message)]);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });
});

describe("a question that was changed in the database", () => {
  it("is shown as not intact, and accepts no answer", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING] });
    const database = new DatabaseSync(folder.file);
    database.exec(`UPDATE waits SET subject = json_set(subject, '$.arguments.to', 'eve@example.com')`);
    database.close();
    const { stdout } = await pawl(["waits", "q-1"], folder);
    expect(stdout).toContain("not intact");
    expect(stdout).not.toContain("pawl approve");
    const { document } = await pawlJson<{ waits: readonly object[] }>(["waits"], folder);
    expect(document.waits).toEqual([
      expect.objectContaining({
        distrusted: expect.stringContaining("question q-1~1"),
        answerWith: ["pawl verify q-1"],
      }),
    ]);
    const approved = await pawl(["approve", "q-1~1"], folder);
    expect(approved.exitCode).toBe(1);
    expect(approved.stderr).toContain("is not as it was written: question q-1~1");
    expect(await storedWait(folder, "q-1")).toMatchObject({ status: "open" });
  });
});
