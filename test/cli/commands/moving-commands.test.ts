import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openStore, Runner } from "../../../src/index.ts";
import { startPawl } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { type CliFolder, cliFolder, MAILING, runSamples, SEARCHING, samplePipeline } from "../sample-runs.ts";

/** A folder with a run that waits for an approval, and another store, empty. */
async function twoStores(): Promise<CliFolder & { readonly other: string }> {
  const folder = cliFolder();
  await runSamples(folder, { "q-1": [SEARCHING, MAILING] });
  const other = join(folder.cwd, "other.db");
  await pawl(["migrate", "--store", other], folder);
  return { ...folder, other };
}

/** Without the line ends that depend on the width. */
const oneLine = (text: string) => text.replaceAll(/\s+/g, " ");

it("a run moves to another store, is answered and resumed there, and only read where it was", async () => {
  const folder = await twoStores();
  const { other } = folder;
  const moved = await pawl(["export", "q-1", "--bundle", "q.bundle", "--to", "other.db"], folder);
  expect([moved.exitCode, moved.stderr]).toEqual([0, ""]);
  expect(oneLine(moved.stdout)).toMatch(
    /^Run q-1 was moved to the store [0-9a-f]{32}: .* verified.* pawl import q\.bundle --store other\.db $/,
  );
  const arrived = await pawl(["import", "q.bundle", "--store", other], folder);
  expect(arrived.exitCode).toBe(0);
  expect(oneLine(arrived.stdout)).toMatch(
    /^Run q-1 is in this store now, with the status waiting: .*pawl approve q-1~1/,
  );
  await pawl(["approve", "q-1~1", "--store", other], folder);
  const store = await openStore(`file:${other}`);
  const { status } = await new Runner(samplePipeline("report", SEARCHING, MAILING), { store }).resume("q-1");
  await store.close();
  expect(status).toBe("succeeded");
  expect((await pawl(["verify", "q-1", "--store", other], folder)).stdout).toContain("is intact");

  expect((await pawl(["ls"], folder)).stdout).toMatch(/q-1\s.*moved/);
  expect((await pawl(["ls", "--status", "moved"], folder)).stdout).toContain("q-1");
  expect((await pawl(["waits"], folder)).stdout).not.toContain("q-1~1");
  const shown = oneLine((await pawl(["show", "q-1"], folder)).stdout);
  expect(shown).toMatch(/moved to the store [0-9a-f]{32}, waiting there/);
  expect(shown).toContain("pawl export q-1 --bundle FILE --to");
  expect((await pawl(["verify", "q-1"], folder)).exitCode).toBe(0);
  for (const argv of [
    ["approve", "q-1~1"],
    ["deny", "q-1~1", "--why", "no"],
    ["cancel", "q-1"],
  ]) {
    const { exitCode, stderr } = await pawl(argv, folder);
    expect([argv, exitCode, oneLine(stderr)]).toEqual([
      argv,
      1,
      expect.stringMatching(/Run q-1 was moved to the store [0-9a-f]{32}: continue it there\./),
    ]);
  }
  const resumed = folder.withStore((own) =>
    new Runner(samplePipeline("report"), { store: own }).resume("q-1"),
  );
  await expect(resumed).rejects.toMatchObject({ code: "run_moved" });
  const again = folder.withStore((own) =>
    new Runner(samplePipeline("report"), { store: own }).run("Quantum"),
  );
  await expect(again).rejects.toMatchObject({ code: "run_not_begun", details: { why: "moved" } });
});

it("the same bundle again is no error, and the same export again makes it again", async () => {
  const folder = await twoStores();
  const { document: doctor } = await pawlJson<{ checks: { name: string; what: string }[] }>(
    ["doctor", "--store", folder.other],
    folder,
  );
  const storeId = doctor.checks.find(({ name }) => name === "store id")?.what ?? "";
  const move = ["export", "q-1", "--bundle", "q.bundle", "--to", storeId];
  for (const _ of ["first", "again"]) {
    const { exitCode, document } = await pawlJson<object>(move, folder);
    expect([exitCode, document]).toEqual([
      0,
      expect.objectContaining({ runId: "q-1", to: storeId, blobs: 0 }),
    ]);
  }
  const take = ["import", "q.bundle", "--store", folder.other];
  expect((await pawlJson<object>(take, folder)).document).toMatchObject({ isNew: true, status: "waiting" });
  expect(await pawlJson<object>(take, folder)).toMatchObject({ exitCode: 0, document: { isNew: false } });
  const { stdout } = await pawl(take, folder);
  expect(oneLine(stdout)).toMatch(/^Run q-1 was imported before, and nothing was changed: it is here, with/);
});

it("what would confuse a folder and a store, or lose a file, is refused before anything is moved", async () => {
  const folder = await twoStores();
  writeFileSync(join(folder.cwd, "notes.txt"), "mine");
  for (const [argv, exitCode, sentence] of [
    [["--bundle", "q.bundle"], 2, "The store that the run moves to is missing: add --to"],
    [["--to", "f".repeat(32)], 2, "is a store, and a run is exported to a folder"],
    [["--to", "postgres://ann:secret@db/app"], 2, "--to postgres://db/app is a store"],
    [["--bundle", "q.bundle", "--to", "missing.db"], 1, "There is no database at"],
    [["--bundle", "q.bundle", "--to", ".pawl/pawl.db"], 2, "name the store that it moves to"],
    [["--bundle", "notes.txt", "--to", "other.db"], 2, "Nothing was moved"],
    [["--bundle", ".pawl/pawl.db", "--to", "other.db"], 2, "is a file of the store"],
  ] as const) {
    const { stderr, ...ended } = await pawl(["export", "q-1", ...argv], folder);
    expect([argv, ended.exitCode, oneLine(stderr)]).toEqual([
      argv,
      exitCode,
      expect.stringContaining(sentence),
    ]);
  }
  expect((await pawl(["ls"], folder)).stdout).toMatch(/q-1\s.*waiting/);
  expect(existsSync(join(folder.cwd, "q.bundle"))).toBe(false);
  for (const [file, sentence] of [
    ["notes.txt", "The bundle"],
    ["missing.bundle", "cannot be read (ENOENT)"],
  ] as const) {
    const { exitCode, stderr } = await pawl(["import", file, "--store", folder.other], folder);
    expect([file, exitCode, oneLine(stderr)]).toEqual([file, 1, expect.stringContaining(sentence)]);
  }
});

it("moves a run between processes", async () => {
  const folder = await twoStores();
  const run = (...args: readonly string[]) => startPawl(folder.cwd, ...args).ended();
  const exported = await run("export", "q-1", "--bundle", "q.bundle", "--to", "other.db");
  expect([exported.exitCode, exported.stderr]).toEqual([0, ""]);
  const wrong = await run("import", "q.bundle");
  expect([wrong.exitCode, oneLine(wrong.stderr)]).toEqual([1, expect.stringContaining("is for the store")]);
  const imported = await run("import", "q.bundle", "--store", "other.db", "--json");
  expect([imported.exitCode, imported.stderr]).toEqual([0, ""]);
  expect(JSON.parse(imported.stdout)).toMatchObject({ runId: "q-1", status: "waiting", isNew: true });
});
