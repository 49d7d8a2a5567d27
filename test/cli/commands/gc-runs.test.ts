import { describe, expect, it } from "vitest";
import { pawl, pawlJson } from "../recording-context.ts";
import { type CliFolder, cliFolder, failSample, MAILING, runSamples, SEARCHING } from "../sample-runs.ts";

async function sampleFolder(): Promise<CliFolder> {
  const folder = cliFolder();
  await runSamples(folder, { "q-1": [SEARCHING], "q-2": [SEARCHING], "w-1": [MAILING] });
  await failSample(folder, "f-1");
  return folder;
}

const ids = (folder: CliFolder) =>
  folder.withStore(async (store) => (await store.listRuns()).map(({ runId }) => runId).sort());

describe("gc --runs", () => {
  it("deletes ended runs only, by age and status, and leaves tombstones", async () => {
    const folder = await sampleFolder();
    const gc = async (...argv: readonly string[]) =>
      (await pawlJson(["gc", "--runs", ...argv], folder)).document;
    expect(await gc("--older-than", "45m")).toMatchObject({ runs: 0 });
    expect(await gc("--older-than", "0m", "--dry-run")).toMatchObject({ dryRun: true, runs: 3 });
    expect(await ids(folder)).toEqual(["f-1", "q-1", "q-2", "w-1"]);
    expect(await gc("--older-than", "0m", "--status", "failed")).toMatchObject({ runs: 1, kept: 0 });
    expect(await gc("--older-than", "0d", "--limit", "1", "--why", "tidy", "--by", "Ann")).toMatchObject({
      runs: 1,
    });
    const { stdout, stderr } = await pawl(["gc", "--runs", "--older-than", "0h"], {
      ...folder,
      columns: 200,
    });
    expect([stdout, stderr]).toEqual([
      expect.stringMatching(/^Deleted 1 run, which cost .*A tombstone of each is kept/),
      "",
    ]);
    expect(await ids(folder)).toEqual(["w-1"]);
    const stones = await folder.withStore((store) => store.listTombstones());
    expect(stones.find(({ why }) => why === "tidy")?.deletedBy).toBe("Ann");
  });

  it("tells a deleted run from one that never was", async () => {
    const folder = await sampleFolder();
    await pawl(["gc", "--runs", "--older-than", "0m", "--why", "tidy", "--by", "Ann"], folder);
    for (const command of [
      ...["verify", "show", "receipts", "tail", "waits", "cancel", "approve"].map((each) => [each, "q-1"]),
      ["answer", "q-1~1", "yes"],
      ["deny", "q-1~1", "--why", "no"],
      ["settle", "q-1/research#1.1", "--retry"],
      ["send", "q-1", "--event", "paid"],
      ["export", "q-1", "--to", "out"],
    ]) {
      const deleted = await pawl(command, { ...folder, columns: 300 });
      expect([command[0], deleted.exitCode, deleted.stderr]).toEqual([
        command[0],
        1,
        expect.stringMatching(/Run q-1 was deleted at \S+ by Ann \(tidy\)\. It had succeeded/),
      ]);
    }
    expect((await pawl(["verify", "q-7"], folder)).stderr).toContain("There is no run q-7");
  });

  it.each([
    [["--runs"], "say how old they must be"],
    [["--runs", "--older-than", "soon"], "such as 30d, 12h or 45m"],
    [["--runs", "--older-than", "1d", "--max-bytes", "1"], "leave one of them out"],
    [["--status", "failed"], "give --runs as well"],
    [["--runs", "--older-than", "900d", "--why", " "], "--why is blank"],
    [["--runs", "--older-than", "900d", "--by", ""], "--by is blank"],
  ])("refuses %j", async (argv, said) => {
    const { exitCode, stderr } = await pawl(["gc", ...argv], { ...(await sampleFolder()), columns: 300 });
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(said)]);
  });
});
