// The output of `pawl ls` and `pawl show`, and their documents with --json.

import { describe, expect, it } from "vitest";
import { Pipeline, Runner, Step } from "../../../src/index.ts";
import { forge } from "../forge.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import {
  cliFolder,
  failSample,
  HOSTILE_BODY,
  MAILING,
  runSamples,
  SEARCHING,
  samplePipeline,
} from "../sample-runs.ts";

describe("ls", () => {
  type Document = {
    runs: readonly { runId: string; status: string; createdAt: string; isInterrupted: boolean }[];
  };

  it("lists runs, newest first, by status, pipeline and number", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "done-1": [SEARCHING], "q-1": [MAILING] });
    await failSample(folder, "bad-1");
    const ids = async (...argv: readonly string[]) =>
      (await pawlJson<Document>(["ls", ...argv], folder)).document.runs.map(({ runId }) => runId);
    expect(await ids()).toEqual(["bad-1", "q-1", "done-1"]);
    expect(await ids("--status", "waiting")).toEqual(["q-1"]);
    expect(await ids("--pipeline", "report")).toEqual(["q-1", "done-1"]);
    expect(await ids("--limit", "1")).toEqual(["bad-1"]);
    const { stdout } = await pawl(["ls"], folder);
    expect(stdout).toMatch(
      /^run +status +waits for +pipeline .*\nbad-1 +failed +broken .*\nq-1 +waiting +a person +report .*\ndone-1 +succeeded +report /,
    );
  });

  it("prints times in ISO 8601, and nothing that may be large", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const { document } = await pawlJson<Document>(["ls"], folder);
    for (const large of ["spec", "output", "context", "inputHash"])
      expect(document.runs[0]).not.toHaveProperty(large);
    expect(document.runs[0]).toMatchObject({
      runId: "q-1",
      isInterrupted: false,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      leaseUntil: null,
    });
  });

  it("reports an empty list, and what to do", async () => {
    const folder = cliFolder();
    await folder.withStore(async () => undefined);
    expect((await pawl(["ls"], folder)).stdout).toBe(
      "There are no runs yet: `pawl run <pipeline>` starts one.\n",
    );
    expect((await pawl(["ls", "--status", "failed"], folder)).stdout).toContain("No run matches");
    expect((await pawlJson(["ls"], folder)).document).toEqual({ runs: [], next: null });
  });

  it("reports that there may be more", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "a-1": [SEARCHING], "a-2": [SEARCHING] });
    expect((await pawl(["ls", "--limit", "1"], folder)).stdout).toContain("The newest 1; there may be more");
    expect((await pawl(["ls", "--limit", "3"], folder)).stdout).not.toContain("there may be more");
  });
});

describe("show", () => {
  it("shows what a waiting run did, used and asks, and how to resume it", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING, MAILING] });
    const { exitCode, stdout } = await pawl(["show", "q-1"], { ...folder, columns: 120 });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^q-1 {2}waiting\n/);
    for (const line of [
      / {2}input +Quantum\n/,
      / {2}work +1 turn, 2 tool calls\n/,
      / {2}usage +30 tokens \(20 in, 10 out\) in 2 model calls\n/,
      / {2}research +blocked .*1 +2\n/,
      / {2}research#1\.1 +search +succeeded +read_only +repeat +1 .*pawls/,
      / {2}research#2\.1 +send_email +prepared +external +opaque +0 /,
      / {2}q-1~1 +approval +open .*May send_email run with these arguments\?/,
      /Answer q-1~1 \(approval\), with one of these:\n {2}pawl approve q-1~1\n {2}pawl deny q-1~1 --why '…'\nThen resume it:\n {2}pawl resume q-1\n$/,
    ])
      expect(stdout).toMatch(line);
  });

  it("cuts nothing in a pipe, and every column to the width of a terminal", async () => {
    const folder = cliFolder();
    const query = "pawls and ratchets ".repeat(30).trim();
    const searching = { toolCalls: [{ name: "search", input: { q: query } }] };
    await folder.withStore((store) =>
      new Runner(samplePipeline("report", searching), { store }).run(query, { runId: "q-1" }),
    );
    const piped = (await pawl(["show", "q-1"], { ...folder, columns: 80 })).stdout;
    expect(piped).toContain(`q: ${query}  found: ${query}\n`);
    expect(piped).toContain(`input     ${query}\n`);
    expect(piped).toContain(`output    DONE.\n`);
    expect(piped).not.toContain("…");
    const shown = (await pawl(["show", "q-1"], { ...folder, columns: 80, isTerminal: true })).stdout;
    expect(shown).toContain("…");
    expect(shown.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it("has everything in its document", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING, MAILING] });
    const { document } = await pawlJson(["show", "q-1"], folder);
    expect(document).toMatchObject({
      run: { runId: "q-1", status: "waiting", pipeline: "report", charged: { tokens: 30 } },
      input: "Quantum",
      usage: { modelCalls: 2, inputTokens: 20 },
      used: { toolCalls: 2 },
      steps: [{ path: "research", status: "blocked" }],
      turns: [
        { turnIndex: 1, committed: true, calls: ["q-1/research#1.1"] },
        { turnIndex: 2, committed: false, calls: ["q-1/research#2.1"] },
      ],
      calls: [
        { tool: "search", status: "succeeded", receipt: { status: "succeeded" } },
        { tool: "send_email", status: "prepared", request: { body: HOSTILE_BODY }, receipt: null },
      ],
      waits: [{ waitId: "q-1~1", kind: "approval", status: "open" }],
      artifacts: [],
      attempts: [{ epoch: 1, endStatus: "waiting" }],
      next: [
        { commands: ["pawl approve q-1~1", "pawl deny q-1~1 --why '…'"] },
        { commands: ["pawl resume q-1"] },
      ],
    });
  });

  it("shows the objective, the budgets and the artifacts of a job", async () => {
    const folder = cliFolder();
    const job = Pipeline.of(
      "job",
      Step.run("write", async (_input, ctx) => {
        await ctx.artifact("report.txt", "hello");
        return "written";
      }),
      Step.human("check", { question: "Is it good?" }),
    );
    const spec = {
      objective: "Write a report",
      budgets: { maxSteps: 5, maxToolCalls: 7, maxTokens: 900, maxWallclockMinutes: 60 },
    };
    await folder.withStore(async (store) => {
      await new Runner(job, { store, workspaceRoot: folder.cwd }).run("x", { runId: "job-1", spec });
    });
    const { stdout } = await pawl(["show", "job-1"], { ...folder, columns: 160 });
    expect(stdout).toMatch(/ {2}objective +Write a report\n/);
    expect(stdout).toMatch(
      / {2}budgets +0 of 900 tokens, 2 of 5 steps, 1 of 7 tool calls, until .* left\)\n/,
    );
    expect(stdout).toMatch(/Artifacts\n.*\n {2}report\.txt +5 B +write +2cf24dba5fb0a30e/);
    const { document } = await pawlJson(["show", "job-1"], folder);
    expect(document).toMatchObject({
      run: { spec: { objective: "Write a report" }, budgets: { maxSteps: 5 } },
      artifacts: [{ name: "report.txt", size: 5, stepPath: "write" }],
    });
  });

  it("shows the artifact that is the result of a job", async () => {
    const folder = cliFolder();
    const job = Step.run("write", async (_input, ctx) => void (await ctx.artifact("report.txt", "hello")));
    const spec = { objective: "Write a report", artifacts: { finalOutput: "report.txt" } };
    await folder.withStore(async (store) => {
      await new Runner(job, { store, workspaceRoot: folder.cwd }).run("x", { runId: "job-1", spec });
    });
    expect((await pawl(["show", "job-1"], folder)).stdout).toMatch(/ {2}result +report\.txt\n/);
    const { document } = await pawlJson(["show", "job-1"], folder);
    const hash = expect.stringMatching(/^2cf24dba5fb0a30e/) as string;
    expect(document).toMatchObject({ run: { finalArtifact: { name: "report.txt", hash } } });
  });

  it("shows the output of a succeeded run, and no next step", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const { stdout } = await pawl(["show", "q-1"], folder);
    expect(stdout).toMatch(/ {2}output +DONE\.\n/);
    expect(stdout).not.toContain("pawl ");
    expect((await pawlJson(["show", "q-1"], folder)).document).toMatchObject({ next: [] });
  });

  it("shows an attempt that was followed by another as cut off", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING] });
    await folder.withStore((store) => new Runner(samplePipeline("report", MAILING), { store }).resume("q-1"));
    forge(folder.file, "UPDATE attempts SET ended_at = NULL, end_status = NULL WHERE epoch = 1");
    const { stdout } = await pawl(["show", "q-1"], { ...folder, columns: 120 });
    expect(stdout).toMatch(/Attempts\n.*\n +1 .* cut off .*\n +2 .* waiting /);
  });

  it("shows the error of a failed run", async () => {
    const folder = cliFolder();
    await failSample(folder, "bad-1");
    const { stdout } = await pawl(["show", "bad-1"], folder);
    expect(stdout).toMatch(/ {2}error +step_failed: Step boom failed: It is broken\.\n/);
    expect(stdout).toContain("Resume it:\n  pawl resume bad-1\n");
  });

  it("shows a run whose worker died as interrupted", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    forge(folder.file, "UPDATE runs SET status = 'running', owner = 'vm/1/gone', lease_until = 0");
    expect((await pawl(["show", "q-1"], folder)).stdout).toMatch(
      /^q-1 {2}interrupted\n[\s\S]*pawl resume q-1\n$/,
    );
    expect((await pawl(["ls"], folder)).stdout).toMatch(/q-1 +interrupted/);
    const doctor = await pawl(["doctor"], folder);
    expect(doctor.stdout).toMatch(
      /^warn +leases +1 run interrupted by a dead worker\n +→ resume with pawl resume q-1$/m,
    );
  });

  it("lists the last of many calls, and how to see the others", async () => {
    const folder = cliFolder();
    const many = Array.from({ length: 25 }, (_, i) => ({ name: "search", input: { q: `n${i}` } }));
    await runSamples(folder, { "q-1": [{ toolCalls: many }] });
    const { stdout } = await pawl(["show", "q-1"], folder);
    expect(stdout).toContain("  … 5 before these: pawl receipts q-1 has them all\n");
    expect(stdout).toContain("research#1.25");
    expect(stdout).not.toContain("research#1.5 ");
  });

  it("finds a run by a unique prefix of its id", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "alpha-1": [SEARCHING], "alpha-2": [SEARCHING], "beta-1": [SEARCHING] });
    expect((await pawl(["show", "beta"], folder)).stdout).toMatch(/^beta-1 {2}/);
    const both = await pawlJson<{ error: object }>(["show", "alpha"], folder);
    expect(both).toMatchObject({
      exitCode: 2,
      document: { error: { code: "wrong_use", details: { candidates: ["alpha-2", "alpha-1"] } } },
    });
    const short = await pawl(["show", "be"], folder);
    expect([short.exitCode, short.stderr]).toEqual([
      1,
      "error: There is no run be in this store (a prefix needs at least 4 characters): `pawl ls` lists the runs, and --store names another store.\n",
    ]);
  });
});
