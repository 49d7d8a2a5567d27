// Receipts, waits, verify, gc and export: the records of a run.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Pipeline, Runner, Step } from "../../../src/index.ts";
import { forge } from "../forge.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { cliFolder, MAILING, runSamples, SEARCHING, TRANSFERRING } from "../sample-runs.ts";

describe("receipts", () => {
  it("lists the calls of a run, by tool, or those in doubt with the commands that settle them", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "t-1": [SEARCHING, TRANSFERRING] });
    type Document = { calls: readonly { toolCallId: string; status: string }[] };
    const ids = async (...argv: readonly string[]) =>
      (await pawlJson<Document>(["receipts", "t-1", ...argv], folder)).document.calls.map(
        ({ toolCallId, status }) => `${toolCallId} ${status}`,
      );
    expect(await ids()).toEqual(["t-1/research#1.1 succeeded", "t-1/research#2.1 in_doubt"]);
    expect(await ids("--tool", "search")).toEqual(["t-1/research#1.1 succeeded"]);
    expect(await ids("--in-doubt")).toEqual(["t-1/research#2.1 in_doubt"]);
    const { stdout } = await pawl(["receipts", "t-1", "--in-doubt"], folder);
    expect(stdout).toContain("  pawl settle t-1/research#2.1 --retry\n");
    expect((await pawl(["receipts", "t-1", "--tool", "x"], folder)).stdout).toBe(
      "None of the 2 tool calls of run t-1 matches.\n",
    );
  });
});

describe("waits", () => {
  it("shows the question, the exact arguments, and the commands that answer it", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING], "t-1": [TRANSFERRING] });
    const { stdout } = await pawl(["waits"], { ...folder, columns: 120 });
    expect(stdout).toMatch(/^q-1~1 {2}approval {2}/);
    expect(stdout).toContain('{"body":"Hello \\u001b[31mred');
    expect(stdout).toContain("  pawl approve q-1~1\n  pawl deny q-1~1 --why '…'\n");
    expect(stdout).toMatch(
      /\nt-1~1 {2}in_doubt {2}[\s\S]* {2}pawl settle t-1\/research#1\.1 --succeeded '\{…\}'\n/,
    );
    const { document } = await pawlJson<{ waits: readonly object[] }>(["waits", "t-1"], folder);
    expect(document.waits).toMatchObject([{ waitId: "t-1~1", kind: "in_doubt" }]);
  });

  it("repeats the --store it was given in its commands", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING] });
    const { stdout } = await pawl(["waits", "--store", `file:${folder.file}`]);
    expect(stdout).toContain(`pawl approve q-1~1 --store file:${folder.file}\n`);
  });

  it("reports that nothing is waiting", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    expect((await pawl(["waits"], folder)).stdout).toBe("Nothing is waiting for a person.\n");
  });
});

describe("verify", () => {
  it("reports an intact run, and rows that were changed", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const intact = await pawl(["verify", "q-1"], folder);
    expect([intact.exitCode, intact.stdout]).toEqual([
      0,
      expect.stringMatching(/^Run q-1 is intact: \d+ events, 1 receipt and 0 blobs\.\n$/),
    ]);
    forge(folder.file, "UPDATE events SET data = '{}' WHERE seq = 3");
    const changed = await pawl(["verify", "q-1"], folder);
    expect(changed.exitCode).toBe(1);
    expect(changed.stdout).toMatch(/^Run q-1 is not intact: 3 problems in/);
    expect(changed.stdout).toContain("event 3");
    const { exitCode, document } = await pawlJson(["verify", "q-1"], folder);
    expect([exitCode, document]).toMatchObject([
      1,
      {
        problems: [
          { row: "event 3" },
          { row: "turns of step research" },
          { row: "fingerprint of step research~0" },
        ],
      },
    ]);
    expect((await pawl(["doctor"], folder)).stdout).toMatch(/^fail +integrity +run q-1 is not intact$/m);
  });
});

describe("gc", () => {
  it("reports what would be deleted, and deletes it without --dry-run", async () => {
    const folder = cliFolder();
    const big = Step.run("write", async (_input, ctx) => {
      await ctx.artifact("big.bin", new Uint8Array(2_000));
      return null;
    });
    await folder.withStore(async (store) => {
      await new Runner(Pipeline.of("job", big), { store, workspaceRoot: folder.cwd }).run("x", {
        runId: "j-1",
      });
    });
    const gc = async (...argv: readonly string[]) => (await pawlJson(["gc", ...argv], folder)).document;
    expect(await gc("--dry-run")).toMatchObject({ dryRun: true, olderThanDays: 30, blobs: 0 });
    expect(await gc("--dry-run", "--max-bytes", "0")).toMatchObject({ blobs: 1, bytes: 2_000 });
    expect((await pawl(["gc", "--max-bytes", "0"], { ...folder, columns: 120 })).stdout).toBe(
      "Deleted 1 blob (2.0 kB) of ended runs; their history and receipts are kept.\n",
    );
    expect(await gc("--dry-run", "--max-bytes", "0")).toMatchObject({ blobs: 0 });
  });
});

describe("export", () => {
  it("writes the records of a run into a folder, and lists the files", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const { exitCode, document } = await pawlJson(["export", "q-1", "--to", "out"], folder);
    const path = (name: string) => join(folder.cwd, "out", name);
    expect([exitCode, document]).toMatchObject([
      0,
      {
        runId: "q-1",
        folder: join(folder.cwd, "out"),
        files: ["trace.json", "transcript.md", "run.log", "receipts.json"].map((name) => ({
          path: path(name),
        })),
        missing: [],
      },
    ]);
    expect(readFileSync(path("transcript.md"), "utf8")).toContain("q-1");
    const { stdout } = await pawl(["export", "q-1", "--to", "out"], { ...folder, columns: 200 });
    expect(stdout).toMatch(/^Wrote 4 files of run q-1 to .*out\.\nfile +size\ntrace\.json +[\d.]+ kB\n/);
  });

  it("names an artifact whose content was deleted", async () => {
    const folder = cliFolder();
    const write = Step.run("write", async (_input, ctx) => {
      await ctx.artifact("report.txt", "hello");
      return null;
    });
    await folder.withStore(async (store) => {
      await new Runner(Pipeline.of("job", write), { store, workspaceRoot: folder.cwd }).run("x", {
        runId: "j-1",
      });
    });
    await pawl(["gc", "--max-bytes", "0"], folder);
    const { document } = await pawlJson(["export", "j-1", "--to", "out"], folder);
    expect(document).toMatchObject({ missing: [join(folder.cwd, "out/artifacts/report.txt")] });
  });

  it("requires a folder", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const { exitCode, stderr } = await pawl(["export", "q-1"], folder);
    expect([exitCode, stderr]).toEqual([2, "error: The target folder is missing: add --to <dir>.\n"]);
  });
});
