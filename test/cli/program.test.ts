// The frame of the command line: wrong use, errors and help.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { loadCommands } from "../../src/cli/commands.ts";
import { wantsColour } from "../../src/cli/context/cli-context.ts";
import { widthOf } from "../../src/cli/context/terminal-text.ts";
import { fakeClock } from "../../src/testing/index.ts";
import { pawl, pawlJson } from "./recording-context.ts";
import { cliFolder, failSample, MAILING, runSamples, SEARCHING, TRANSFERRING } from "./sample-runs.ts";

const commands = await loadCommands();

const ESCAPE = "\u001b[";

describe("a command line that is wrong ends with code 2 and one sentence:", () => {
  it.each([
    [["lss"], "error: unknown command 'lss' (did you mean ls?): see `pawl --help`."],
    [
      ["ls", "--stauts", "x"],
      "error: unknown option '--stauts' (did you mean --status?): see `pawl ls --help`.",
    ],
    [["ls", "--jsn"], "error: unknown option '--jsn' (did you mean --json?): see `pawl ls --help`."],
    [["show"], "error: missing required argument 'run': see `pawl show --help`."],
    [
      ["show", "a", "b"],
      "error: too many arguments for 'show'. Expected 1 argument but got 2: a, b: see `pawl show --help`.",
    ],
    [["ls", "--limit"], "error: option '--limit <n>' argument missing: see `pawl ls --help`."],
    [["ls", "--limit", "many"], 'error: --limit is "many": give a whole number of at least 1.'],
    [["ls", "--limit", "0"], 'error: --limit is "0": give a whole number of at least 1.'],
    [["ls", "--limit", "-1"], 'error: --limit is "-1": give a whole number of at least 1.'],
    [
      ["ls", "--status", "done"],
      "error: option '--status <status>' argument 'done' is invalid. Allowed choices are queued, running, interrupted, waiting, succeeded, failed, cancelled, moved: see `pawl ls --help`.",
    ],
    [
      ["policy", "explian", "x"],
      "error: unknown command 'explian' (did you mean explain?): see `pawl policy --help`.",
    ],
  ])("%j", async (argv, message) => {
    const folder = cliFolder();
    await folder.withStore(async () => undefined);
    const { exitCode, stdout, stderr } = await pawl(argv, folder);
    expect([exitCode, stdout, stderr]).toEqual([2, "", `${message}\n`]);
  });

  it("as one JSON document with --json", async () => {
    const { exitCode, document } = await pawlJson(["ls", "--stauts", "x"]);
    expect(exitCode).toBe(2);
    expect(document).toEqual({
      error: {
        code: "wrong_use",
        message: "unknown option '--stauts' (did you mean --status?): see `pawl ls --help`.",
        details: { reason: "commander.unknownOption" },
      },
    });
  });

  it("words after -- are not flags", async () => {
    const { stdout, stderr } = await pawl(["show", "--", "--json"], cliFolder());
    expect(stdout).toBe("");
    expect(stderr).toContain("error: There is no database at");
  });
});

describe("help", () => {
  it("lists every command and shows an example", async () => {
    const { exitCode, stdout } = await pawl(["--help"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("Example:\n  pawl run ");
    for (const { name } of commands) expect(stdout).toMatch(new RegExp(`^  ${name.split(" ")[0]}\\b`, "m"));
  });

  it("is printed without a command", async () => {
    expect(await pawl([])).toEqual(await pawl(["--help"]));
  });

  it.each(commands.map((command) => [command.name, command] as const))(
    "of %s shows an example, and the options of all commands",
    async (name, command) => {
      const { exitCode, stdout, stderr } = await pawl([...name.split(" "), "--help"]);
      expect([exitCode, stderr]).toEqual([0, ""]);
      expect(stdout).toContain(`Example:\n  ${command.example}`);
      expect(command.example).toMatch(new RegExp(`^pawl ${name}( |$)`));
      for (const option of ["--json", "--store <url>", "--config <file>", "--verbose", "--no-color"])
        expect(stdout).toContain(option);
    },
  );

  it("of a group lists its commands", async () => {
    const { stdout } = await pawl(["policy"]);
    expect(stdout).toMatch(/explain[^\n]*<tool>[\s\S]*audit/);
  });

  it("prints the version", async () => {
    expect((await pawl(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("an error", () => {
  it("of Pawl is one sentence; its stack is shown only with --verbose", async () => {
    const folder = cliFolder();
    const short = await pawl(["ls"], folder);
    expect(short.exitCode).toBe(1);
    expect(short.stderr).toBe(
      `error: There is no database at ${folder.file} yet: start a run first (\`pawl run\`), or name another one with --store.\n`,
    );
    const long = await pawl(["ls", "--verbose"], folder);
    expect(long.stderr).toMatch(/^error: .*\n[\s\S]*\n {4,}at /);
  });

  it("that is unexpected says so, and how to see where it comes from", async () => {
    const folder = cliFolder();
    await folder.withStore(async () => undefined);
    const context = { ...folder, env: new Proxy({}, { get: () => boom() }) };
    const { exitCode, stderr } = await pawl(["ls"], context);
    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      "error: the cable is loose. This error was not expected: run the command again with --verbose to see where it comes from.\n",
    );
  });

  it("is a JSON document with its code and details with --json", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const { exitCode, document } = await pawlJson<{ error: object }>(["show", "nope"], folder);
    expect(exitCode).toBe(1);
    expect(document.error).toMatchObject({ code: "run_not_found", details: { runId: "nope" } });
  });

  it("in the configuration is wrong use: nothing was started", async () => {
    const folder = cliFolder();
    writeFileSync(join(folder.cwd, "pawl.config.ts"), "export default { pipelins: {} };");
    const { exitCode, stderr } = await pawl(["run", "report"], folder);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^error: pawl\.config\.ts: .*pipelins/);
  });
});

describe("where the store is", () => {
  const storeOf = async (argv: readonly string[], options: Parameters<typeof pawl>[1]) =>
    /no database at (\S+) yet/.exec((await pawl(argv, options)).stderr)?.[1];

  it("comes from the flag, else the environment, else the configuration", async () => {
    const folder = cliFolder();
    const { cwd } = folder;
    expect(await storeOf(["ls"], { cwd })).toBe(join(cwd, ".pawl/pawl.db"));
    writeFileSync(join(cwd, "pawl.config.ts"), 'export default { store: "file:./configured.db" };');
    expect(await storeOf(["ls"], { cwd })).toBe(join(cwd, "configured.db"));
    const env = { PAWL_STORE: "file:./named.db" };
    expect(await storeOf(["ls"], { cwd, env })).toBe(join(cwd, "named.db"));
    expect(await storeOf(["ls", "--store", "file:./flag.db"], { cwd, env })).toBe(join(cwd, "flag.db"));
    expect(await storeOf(["--store", "file:./flag.db", "ls"], { cwd })).toBe(join(cwd, "flag.db"));
  });

  it("needs no working configuration if it is named", async () => {
    const folder = cliFolder();
    writeFileSync(join(folder.cwd, "pawl.config.ts"), "throw new Error('broken');");
    expect(await storeOf(["ls", "--store", "file:./flag.db"], folder)).toBe(join(folder.cwd, "flag.db"));
  });
});

describe("colours", () => {
  it("are for terminals, unless they are turned off", () => {
    expect(wantsColour({ isTerminal: true }, {})).toBe(true);
    expect(wantsColour({ isTerminal: true }, { NO_COLOR: "" })).toBe(true);
    expect(wantsColour({ isTerminal: true }, { NO_COLOR: "1" })).toBe(false);
    expect(wantsColour({ isTerminal: true }, { TERM: "dumb" })).toBe(false);
    expect(wantsColour({ isTerminal: false }, {})).toBe(false);
  });

  it("are used on request, and not with --no-color", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING] });
    const coloured = { ...folder, useColour: true };
    expect((await pawl(["ls"], coloured)).stdout).toContain(ESCAPE);
    expect((await pawl(["ls", "--no-color"], coloured)).stdout).not.toContain(ESCAPE);
    expect((await pawl(["show", "nope"], coloured)).stderr).toContain(ESCAPE);
    expect((await pawl(["show", "nope", "--no-color"], coloured)).stderr).not.toContain(ESCAPE);
  });

  it("change no letter of the text", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING, MAILING] });
    const still = { ...folder, isTerminal: true, clock: fakeClock(Date.now() + 60_000) };
    for (const argv of [["ls"], ["show", "q-1"], ["waits"], ["receipts", "q-1"], ["doctor"]]) {
      const { stdout: plain } = await pawl(argv, still);
      const { stdout: coloured } = await pawl(argv, { ...still, useColour: true });
      expect(coloured).toContain(ESCAPE);
      expect(stripVTControlCharacters(coloured)).toBe(plain);
    }
  });
});

describe("on a terminal of 40 columns", () => {
  it("no command writes a longer line, whatever the data", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING, MAILING], "t-1": [TRANSFERRING] });
    await failSample(folder, "bad-1");
    const narrow = { ...folder, columns: 40, isTerminal: true };
    for (const argv of [
      ["ls"],
      ["show", "q-1"],
      ["show", "t-1"],
      ["show", "bad-1"],
      ["tail", "q-1"],
      ["receipts", "q-1"],
      ["receipts", "t-1", "--in-doubt"],
      ["waits"],
      ["verify", "q-1"],
      ["gc", "--dry-run"],
      ["doctor"],
      ["policy", "explain", "send_email"],
      ["policy", "audit"],
      ["cancel", "q-1"],
      ["show", "nope"],
      ["lss"],
    ]) {
      const { stdout, stderr } = await pawl(argv, narrow);
      const lines = `${stdout}${stderr}`.split("\n");
      expect(lines.length).toBeGreaterThan(1);
      // Ids are never broken; nothing here has one that is too long.
      expect(lines.filter((line) => widthOf(line) > 40).map((line) => [argv, line])).toEqual([]);
      expect(`${stdout}${stderr}`.replaceAll("\n", "")).not.toMatch(/\p{Cc}|\u202e/u);
    }
  });
});

function boom(): never {
  throw new Error("the cable is loose.");
}
