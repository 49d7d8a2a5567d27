// An archive of runs has the files of `pawl export`, under names that are safe to unpack.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { FolderNames, folderName } from "../../../src/export/archive/folder-names.ts";
import { archiveRun, archiveRuns, openExport } from "../../../src/export/archive/run-archive.ts";
import { ExportError } from "../../../src/export/export-folder.ts";
import { exportRun } from "../../../src/export/export-run.ts";
import { RunNotFoundError } from "../../../src/index.ts";
import { SampleRun } from "../../../src/testing/store/sample-run.ts";
import { failureAs } from "../../engine/run-fixture.ts";
import { tickingStore } from "../sample-store.ts";
import { readerWith } from "../transcript/transcript-fixture.ts";
import { unzipped } from "./read-zip.ts";

const read = async (pieces: AsyncIterable<Uint8Array>) => unzipped(await buffer(pieces));

async function storeWithRuns(...runIds: readonly string[]) {
  const { store } = await tickingStore();
  for (const runId of runIds) {
    const run = await SampleRun.create(store, runId);
    await run.committedWithCall(1);
    for (const [name, text] of [
      ["report.bin", `\0\xff of ${runId}`],
      ["pages/one.html", "<h1>One</h1>"],
    ] as const)
      await store.keepArtifact(run.fence, { stepKey: run.stepKey, name, bytes: Buffer.from(text) });
  }
  return store;
}

describe("the archive of a run", () => {
  it("has exactly the files that an export to a folder has, byte for byte", async () => {
    const store = await storeWithRuns("run-1");
    const folder = mkdtempSync(join(tmpdir(), "pawl-archive-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    await exportRun(store, "run-1", folder);
    const files = await read(archiveRun("run-1", await openExport(store, "run-1")));
    const written = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
    expect(written.length).toBe(6);
    expect([...files.keys()].sort()).toEqual(written.map((name) => `run-1/${name}`).sort());
    for (const name of written)
      expect(files.get(`run-1/${name}`)?.equals(readFileSync(join(folder, name)))).toBe(true);
  });

  it("is refused before it begins if a name would lead out of its folder", async () => {
    const store = await storeWithRuns("run-1");
    for (const name of [
      "../../.bashrc",
      "/etc/cron.d/x",
      "a\r\nb",
      "..",
      "C:\\x",
      ".git/hooks/post-checkout",
    ]) {
      const reader = readerWith(store, {
        listArtifacts: async () => [{ name, size: 1, hash: "00", stepPath: "", at: 0 }],
      });
      const error = await failureAs(ExportError, openExport(reader, "run-1"));
      expect(error.message).toContain("Run run-1 was not exported");
    }
  });

  it("fails if the run is deleted while it is read, and does not end with what was there until then", async () => {
    const store = await storeWithRuns("run-1");
    let isDeleted = false;
    const reader = readerWith(store, {
      getRun: async (runId) => (isDeleted ? null : store.getRun(runId)),
    });
    const archive = archiveRun("run-1", await openExport(reader, "run-1"));
    await archive.next();
    isDeleted = true;
    await failureAs(RunNotFoundError, read(archive));
  });
});

describe("the archive of several runs", () => {
  it("has a folder for each, and a list of them with what is not there", async () => {
    const store = await storeWithRuns("a:b", "A_B");
    const reader = readerWith(store, {
      readArtifact: async (runId, name) => (name === "report.bin" ? null : store.readArtifact(runId, name)),
    });
    const problem = { code: "run_not_found", detail: "There is no run none." };
    const files = await read(
      archiveRuns([
        { runId: "a:b", open: () => openExport(store, "a:b") },
        { runId: "none", open: async () => ({ problem }) },
        { runId: "A_B", open: () => openExport(reader, "A_B") },
      ]),
    );
    expect(JSON.parse(files.get("export.json")?.toString() ?? "")).toEqual({
      runs: [
        { runId: "a:b", folder: "a_b", missing: [], problem: null },
        { runId: "none", folder: null, missing: [], problem },
        { runId: "A_B", folder: "A_B_2", missing: ["artifacts/report.bin"], problem: null },
      ],
    });
    expect(files.get("a_b/artifacts/report.bin")?.toString()).toContain("of a:b");
    expect(files.has("A_B_2/transcript.md")).toBe(true);
    expect([...files.keys()].at(-1)).toBe("export.json");
    expect(files.size).toBe(6 + 5 + 1);
  });

  it("opens a run when its turn has come", async () => {
    const opened: string[] = [];
    const open = (runId: string) => async () => {
      opened.push(runId);
      const files = [{ name: "run.log", at: 0, read: async () => runId }];
      return { files, assertWhole: async () => undefined };
    };
    const archive = archiveRuns(["a", "b"].map((runId) => ({ runId, open: open(runId) })));
    expect(opened).toEqual([]);
    await archive.next();
    expect(opened).toEqual(["a"]);
    await archive.return();
    expect(opened).toEqual(["a"]);
  });
});

describe("the folder of a run", () => {
  it.each([
    ["q-1", "q-1"],
    ["2026-11-18T15:04:06", "2026-11-18T15_04_06"],
    ["a@b=c+d_e.f", "a@b=c+d_e.f"],
    ["con", "run_con"],
    ["nul.txt", "run_nul.txt"],
    ["dots...", "dots___"],
    // No store has such ids, unless its file was changed.
    ["../../etc/passwd", ".._.._etc_passwd"],
    ["..", "__"],
    ["", "run_"],
    [".git", "run_.git"],
    ["a\0\u202Eb", "a__b"],
    ["x".repeat(500), "x".repeat(128)],
  ])("of the id %j is a name on every system", (runId, name) => {
    expect(folderName(runId)).toBe(name);
  });

  it("is its own, also where systems do not tell capitals apart", () => {
    const names = new FolderNames(["export.json"]);
    expect(["q:1", "Q_1", "q_1", "Export.json", "q_1_2"].map((runId) => names.take(runId))).toEqual([
      "q_1",
      "Q_1_2",
      "q_1_3",
      "Export.json_2",
      "q_1_2_2",
    ]);
  });
});
