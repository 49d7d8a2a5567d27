// Runs that wait for the clock or for a message, at a terminal and without one.

import { describe, expect, it } from "vitest";
import { runCommandLine } from "../../../src/cli/program.ts";
import { openStore } from "../../../src/index.ts";
import { CliFolder } from "../cli-process.ts";
import { pawl } from "../recording-context.ts";
import { Typist } from "../typist.ts";

const CONFIG = `
import { Step } from "<pawl>src/index.ts";
import { defineConfig } from "<pawl>src/engine/definition/config.ts";

export default defineConfig({
  pipelines: {
    naps: Step.sleep("naps", 1_500),
    sleeps: Step.sleep("sleeps", 86_400_000),
    paid: Step.receive("paid", { event: "payment.confirmed" }),
  },
});
`;

describe("a run that sleeps", () => {
  it("at a terminal: the command sleeps along, and the run ends", async () => {
    const folder = new CliFolder(CONFIG);
    const typist = new Typist(folder.path);
    const command = runCommandLine(["run", "naps", "--input", "Go", "--run-id", "w-1"], typist.context);
    await typist.sees("waiting until ");
    expect(await command).toBe(0);
    expect(typist.stdout()).toBe("Go\n");
  });

  it("at a terminal: an interrupted command leaves it waiting", async () => {
    const folder = new CliFolder(CONFIG);
    const typist = new Typist(folder.path);
    const command = runCommandLine(["run", "sleeps", "--input", "Go", "--run-id", "w-1"], typist.context);
    await typist.sees("waiting until ");
    typist.interrupt();
    expect(await command).toBe(3);
  });

  it("without a terminal: says until when, and how it continues", async () => {
    const folder = new CliFolder(CONFIG);
    const { stdout, exitCode } = await folder.pawl("run", "sleeps", "--input", "Go", "--run-id", "w-1");
    expect(exitCode).toBe(3);
    expect(stdout).toMatch(
      /^run w-1 is waiting\n\nw-1~1: until \d{4}-\d\d-\d\d \d\d:\d\d\n\nthen resume with: pawl resume w-1\n$/,
    );
    const waits = await pawl(["waits"], { cwd: folder.path });
    expect(waits.stdout).toMatch(/w-1~1 {2}time {2}.*\n +waits +until \d{4}-\d\d-\d\d \d\d:\d\d\n/);
    const show = await pawl(["show", "w-1"], { cwd: folder.path });
    expect(show.stdout).toMatch(/It waits until \d{4}-.*: resume it then, unless a worker does/);
  });
});

describe("a run that waits for a message", () => {
  it("at a terminal: continues when another process sends it", async () => {
    const folder = new CliFolder(CONFIG);
    const typist = new Typist(folder.path);
    const command = runCommandLine(["run", "paid", "--input", "Go", "--run-id", "w-1"], typist.context);
    await typist.sees("waiting for payment.confirmed");
    const store = await openStore(`file:${folder.path}/.pawl/pawl.db`);
    await store.sendMessage("w-1", { id: "m-1", event: "payment.confirmed", body: 7 });
    await store.close();
    expect(await command).toBe(0);
    expect(typist.stdout()).toMatch('"data": 7');
  });
});
