// The stored events of a run, and new ones as they arrive.

import { describe, expect, it } from "vitest";
import { runCommandLine } from "../../../src/cli/program.ts";
import { Runner } from "../../../src/index.ts";
import { pawl, pawlJson, recordingContext } from "../recording-context.ts";
import { cliFolder, MAILING, runSamples, SEARCHING, samplePipeline } from "../sample-runs.ts";

describe("tail", () => {
  it("prints the events of a run, with the names of its tools", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const { stdout } = await pawl(["tail", "q-1"], folder);
    expect(stdout).toMatch(/^\d\d:\d\d:\d\d {2}run\.created +pipeline=report /);
    expect(stdout).toMatch(/turn\.journaled +research turn 1 .* search\n/);
    expect(stdout).toMatch(/run\.succeeded\n$/);
    // Digests are for pawl verify.
    expect(stdout).not.toMatch(/[\w-]{43}/);
  });

  it("prints one document with --json", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const { document } = await pawlJson<{ events: readonly { type: string; seq: number }[] }>(
      ["tail", "q-1"],
      folder,
    );
    expect(document.events[0]).toMatchObject({ seq: 1, type: "run.created" });
    expect(document.events.at(-1)?.type).toBe("run.succeeded");
  });

  it("follows a run in progress until it ends, with one document per line with --json", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING, MAILING] });
    const { context, stdout } = recordingContext(folder);
    const followed = runCommandLine(["tail", "q-1", "--follow", "--json"], context);
    await until(() => stdout().includes("run.waiting"));
    await folder.withStore(async (store) => {
      await store.approve("q-1~1");
      await new Runner(samplePipeline("report", SEARCHING, MAILING), { store }).resume("q-1");
    });
    expect(await followed).toBe(0);
    const events = stdout()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { seq: number; type: string });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(-1)?.type).toBe("run.succeeded");
  });

  it("reports on stderr that the run is waiting, and exits with 130 on Ctrl-C", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING] });
    const { context, stdout, stderr, interrupt } = recordingContext(folder);
    const followed = runCommandLine(["tail", "q-1", "-f"], context);
    await until(() => stderr() !== "");
    interrupt();
    expect(await followed).toBe(130);
    expect(stderr()).toBe("Run q-1 is waiting for a person:\n  pawl waits q-1\n");
    expect(stdout()).toMatch(/run\.waiting .*\n$/);
  });

  it("exits with 0 when its reader has closed the stream", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING] });
    const { context, stdout, closeStdout } = recordingContext(folder);
    const followed = runCommandLine(["tail", "q-1", "--follow"], context);
    await until(() => stdout().includes("run.waiting"));
    closeStdout();
    expect(await followed).toBe(0);
  });
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}
