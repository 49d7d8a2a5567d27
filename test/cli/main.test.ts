// The program as it is started: a real process, real pipes and signals.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { CliProcess, type Ended } from "./cli-process.ts";
import { type CliFolder, cliFolder, MAILING, runSamples, SEARCHING } from "./sample-runs.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

function start({ cwd }: Pick<CliFolder, "cwd">, ...args: readonly string[]): CliProcess {
  return new CliProcess(cwd, process.execPath, [main, ...args]);
}

function shell({ cwd }: CliFolder, script: string): Promise<Ended> {
  return new CliProcess(cwd, "sh", [
    "-c",
    `pawl() { '${process.execPath}' '${main}' "$@"; }; ${script}`,
  ]).ended();
}

/** More than a pipe holds, so that a closed reader is noticed. */
const LONG = { toolCalls: [{ name: "search", input: { q: "x".repeat(500_000) } }] };

describe("pawl", () => {
  it("ends with the code of its command and writes no colours into a pipe", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING] });
    const { exitCode, stdout, stderr } = await start(folder, "show", "q-1").ended();
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^q-1 {2}waiting\n/);
    expect(stdout).not.toContain("\u001b");
    expect((await start(folder, "lss").ended()).exitCode).toBe(2);
    expect((await start(folder, "show", "nope").ended()).exitCode).toBe(1);
  });

  it("writes all of a long document", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [LONG] });
    const { exitCode, stdout } = await start(folder, "receipts", "q-1", "--json").ended();
    expect(exitCode).toBe(0);
    expect(stdout.length).toBeGreaterThan(500_000);
    expect(JSON.parse(stdout)).toMatchObject({ calls: [{ tool: "search" }] });
  });

  it("ends quietly, with its own exit code, when its reader closes the pipe", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [LONG] });
    const { stdout, stderr } = await shell(
      folder,
      "{ pawl receipts q-1 --json; echo code $? >&2; } | head -1",
    );
    expect([stdout, stderr]).toEqual(["{\n", "code 0\n"]);
  });

  it("stops following when its reader closes the pipe", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING, MAILING] });
    const followed = shell(
      folder,
      "{ pawl tail q-1 --follow; echo code $? >&2; } | { head -1; echo left >&2; }",
    );
    await folder.withStore((store) => store.approve("q-1~1"));
    await folder.withStore((store) => store.requestCancel("q-1"));
    const { stdout, stderr } = await followed;
    expect(stdout).toMatch(/^\S+ +run\.created .*\n$/);
    expect(stderr).toContain("code 0\n");
    expect(stderr).not.toContain("EPIPE");
  });

  it("ends with 130 on Ctrl-C", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING] });
    const followed = start(folder, "tail", "q-1", "--follow");
    await followed.waitForStderr("waiting for a person");
    followed.signal("SIGINT");
    expect((await followed.ended()).exitCode).toBe(130);
  });

  it("exits despite open handles of the configuration", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    writeFileSync(
      join(folder.cwd, "pawl.config.mjs"),
      "setInterval(() => undefined, 1_000); export default {};",
    );
    const { exitCode, stdout } = await start(folder, "ls").ended();
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("q-1")]);
  });

  it("starts the demo in a separate process, and returns its exit code", async () => {
    const { exitCode, stdout, stderr } = await start(cliFolder(), "demo", "--seed", "99999999999").ended();
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^error: --seed is "99999999999": give a whole number from 0 to \d+\.\n$/);
  });

  it("reports in one sentence that Node is too old, before it loads anything", async () => {
    const old = `data:text/javascript,${encodeURIComponent(
      `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "22.17.9" } });
       process.on("exit", () => console.log(process.moduleLoadList.some((name) => name.includes("sqlite"))));`,
    )}`;
    const { exitCode, stdout, stderr } = await new CliProcess(cliFolder().cwd, process.execPath, [
      "--import",
      old,
      main,
      "ls",
    ]).ended();
    expect([exitCode, stdout, stderr]).toEqual([
      1,
      "false\n",
      "error: Pawl needs Node 22.18 or newer and this is 22.17.9: install a newer one from https://nodejs.org and try again.\n",
    ]);
  });
});
