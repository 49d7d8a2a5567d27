// A store that cannot be used: one sentence, and nothing is created or changed.

import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { runCommandLine } from "../../src/cli/program.ts";
import { CliProcess } from "./cli-process.ts";
import { forge } from "./forge.ts";
import { pawl, pawlJson, recordingContext } from "./recording-context.ts";
import { cliFolder, runSamples, SEARCHING } from "./sample-runs.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

describe("a command that needs a store", () => {
  it.each([
    ["ls"],
    ["show", "q-1"],
    ["tail", "q-1"],
    ["receipts", "q-1"],
    ["waits"],
    ["verify", "q-1"],
    ["gc"],
    ["approve", "q-1~1"],
    ["deny", "q-1~1", "--why", "x"],
    ["answer", "q-1~1", "x"],
    ["settle", "q-1/a#1.1", "--retry"],
    ["cancel", "q-1"],
    ["doctor"],
  ])("does not create a missing one: %s", async (...argv) => {
    const folder = cliFolder();
    const { exitCode, stderr } = await pawl(argv, folder);
    if (argv[0] === "doctor") expect(exitCode).toBe(0);
    else {
      expect([exitCode, stderr]).toEqual([
        1,
        `error: There is no database at ${folder.file} yet: start a run first (\`pawl run\`), or name another one with --store.\n`,
      ]);
    }
    expect(readdirSync(folder.cwd)).toEqual([]);
  });

  it.each([
    [
      "a text",
      (file: string) => writeFileSync(file, "Dear diary, ".repeat(500)),
      "store_unusable",
      "is not an intact SQLite database",
    ],
    [
      "a database of another program",
      (file: string) => forge(file, "CREATE TABLE songs (name TEXT)"),
      "store_unusable",
      "is a database of another program",
    ],
    ["a folder", (file: string) => mkdirSync(file), "store_unavailable", "cannot be opened"],
  ])("reports in one sentence that it found %s", async (_, make, code, message) => {
    const folder = cliFolder();
    mkdirSync(dirname(folder.file));
    make(folder.file);
    const { exitCode, stderr } = await pawl(["ls"], folder);
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^error: The [^\n]*: [^\n]*\.\n$/)]);
    expect(stderr).toContain(message);
    expect((await pawlJson(["ls"], folder)).document).toMatchObject({ error: { code } });
  });

  it("reports a database of a newer Pawl", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    forge(folder.file, "PRAGMA user_version = 999");
    const { exitCode, stderr } = await pawl(["ls"], folder);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("has schema 999")]);
  });

  it("treats an invalid address as wrong use", async () => {
    const { exitCode, stderr } = await pawl(["ls", "--store", "mysql://x"], cliFolder());
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("is not an address of a store")]);
  });

  it("reports a missing write permission", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const home = dirname(folder.file);
    for (const name of readdirSync(home)) chmodSync(join(home, name), 0o444);
    for (const place of [home, folder.cwd]) chmodSync(place, 0o555);
    // The superuser may write everywhere, so it becomes the user nobody first.
    const nobody = "data:text/javascript,if (process.getuid() === 0) process.setuid(65534)";
    const { exitCode, stderr } = await new CliProcess(folder.cwd, process.execPath, [
      "--import",
      nobody,
      main,
      "cancel",
      "q-1",
    ]).ended();
    for (const place of [home, folder.cwd]) chmodSync(place, 0o755);
    expect([exitCode, stderr]).toEqual([
      1,
      `error: The database ${folder.file} cannot be written to: make the file and its folder writable and try again.\n`,
    ]);
  });

  it("waits for a database that another process has locked, reports it, and gives up in one sentence", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const hold = `
      const database = new (require("node:sqlite").DatabaseSync)(${JSON.stringify(folder.file)});
      database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE runs SET updated_at = updated_at");
      console.error("locked");
      setInterval(() => undefined, 1_000);`;
    await new CliProcess(folder.cwd, process.execPath, ["-e", hold]).waitForStderr("locked");
    const { context, stdout, stderr } = recordingContext(folder);
    // It waits for ten seconds: they are over as soon as it has said that it waits.
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + (stderr() === "" ? 0 : 10_000));
    const exitCode = await runCommandLine(["ls"], context);
    expect([exitCode, stdout()]).toEqual([1, ""]);
    expect(stderr()).toBe(
      `Waiting for file:${folder.file}, which another process has locked.\n` +
        `error: The database ${folder.file} is locked by another process: nothing was written; try again when it is free.\n`,
    );
  });
});
