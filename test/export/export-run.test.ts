// A folder with everything readable about a run: complete files, in their place, the same for the same store.

import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ExportError, ExportFolder } from "../../src/export/export-folder.ts";
import { type ExportProgress, exportRun } from "../../src/export/export-run.ts";
import { renderReceipts } from "../../src/export/receipts.ts";
import { renderLog } from "../../src/export/run-log.ts";
import { renderTrace } from "../../src/export/trace.ts";
import { renderTranscript } from "../../src/export/transcript/transcript.ts";
import { RunNotFoundError, type Store } from "../../src/index.ts";
import { newReceipt, SampleRun } from "../../src/testing/store/sample-run.ts";
import { failureAs } from "../engine/run-fixture.ts";
import { tickingStore } from "./sample-store.ts";
import { readerWith } from "./transcript/transcript-fixture.ts";

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-export-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const text = (...parts: readonly string[]) => readFileSync(join(...parts), "utf8");

/** A run with a turn, two artifacts and an end. */
async function finishedRun(): Promise<{ store: Store; run: SampleRun }> {
  const { store } = await tickingStore();
  const run = await SampleRun.create(store);
  await run.committedWithCall(1);
  await store.keepArtifact(run.fence, {
    stepKey: run.stepKey,
    name: "report.bin",
    bytes: Buffer.from([0, 255, 10]),
  });
  await store.keepArtifact(run.fence, {
    stepKey: null,
    name: "pages/one.html",
    bytes: Buffer.from("<h1>One</h1>"),
  });
  await store.releaseRun(run.fence, { status: "succeeded", output: "done", context: {} });
  return { store, run };
}

describe("an export", () => {
  it("has the trace, the transcript, the log, the receipts and the artifacts", async () => {
    const { store } = await finishedRun();
    const folder = join(temporaryFolder(), "new", "export");
    const paths = await exportRun(store, "run-1", folder);
    expect(paths).toEqual(
      [
        "trace.json",
        "transcript.md",
        "run.log",
        "receipts.json",
        "artifacts/pages/one.html",
        "artifacts/report.bin",
      ].map((name) => join(folder, name)),
    );
    expect(JSON.parse(text(folder, "trace.json"))).toEqual(await renderTrace(store, "run-1"));
    expect(text(folder, "transcript.md")).toBe(await renderTranscript(store, "run-1"));
    expect(text(folder, "run.log")).toBe(await renderLog(store, "run-1"));
    expect(JSON.parse(text(folder, "receipts.json"))).toEqual(await renderReceipts(store, "run-1"));
    expect(readFileSync(join(folder, "artifacts/report.bin"))).toEqual(Buffer.from([0, 255, 10]));
    expect(text(folder, "artifacts/pages/one.html")).toBe("<h1>One</h1>");
    // No temporary file is left.
    expect(readdirSync(folder).sort()).toEqual([
      "artifacts",
      "receipts.json",
      "run.log",
      "trace.json",
      "transcript.md",
    ]);
  });

  it("is the same for the same store, and replaces an earlier one", async () => {
    const { store } = await finishedRun();
    const [one, two] = [temporaryFolder(), temporaryFolder()];
    writeFileSync(join(two, "transcript.md"), "Old.".repeat(10_000));
    await exportRun(store, "run-1", one);
    await exportRun(store, "run-1", two);
    await exportRun(store, "run-1", two);
    const files = ["trace.json", "transcript.md", "run.log", "receipts.json", "artifacts/report.bin"];
    const differing = files.filter(
      (name) => !readFileSync(join(two, name)).equals(readFileSync(join(one, name))),
    );
    expect(differing).toEqual([]);
  });

  it("reports each file once it is written", async () => {
    const { store } = await finishedRun();
    const folder = temporaryFolder();
    const reports: ExportProgress[] = [];
    await exportRun(store, "run-1", folder, (progress) => {
      expect(statSync(progress.path).size).toBe(progress.bytes);
      reports.push(progress);
    });
    expect(reports.map(({ done, total, isMissing }) => [done, total, isMissing])).toEqual(
      [1, 2, 3, 4, 5, 6].map((done) => [done, 6, false]),
    );
  });

  it("reports an artifact that is no longer in the store, and has the others", async () => {
    const { store } = await finishedRun();
    const folder = temporaryFolder();
    const missing: string[] = [];
    const reader = readerWith(store, {
      readArtifact: async (runId, name) => (name === "report.bin" ? null : store.readArtifact(runId, name)),
    });
    const paths = await exportRun(reader, "run-1", folder, ({ path, isMissing }) => {
      if (isMissing) missing.push(path);
    });
    expect(missing).toEqual([join(folder, "artifacts/report.bin")]);
    expect(paths).not.toContain(join(folder, "artifacts/report.bin"));
    expect(readdirSync(join(folder, "artifacts"))).toEqual(["pages"]);
  });

  it("writes nothing for a run that does not exist", async () => {
    const { store } = await tickingStore();
    const folder = join(temporaryFolder(), "export");
    await failureAs(RunNotFoundError, exportRun(store, "no-such-run", folder));
    expect(() => statSync(folder)).toThrow("ENOENT");
  });

  it("reads a long run in parts of bounded length", async () => {
    const { store } = await tickingStore();
    const run = await SampleRun.create(store);
    for (let turn = 1; turn <= 250; turn++) await run.committedWithCall(turn, newReceipt(1));
    const longest = new Map<string, number>();
    const reader = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function" || typeof name !== "string") return value;
        return async (...args: unknown[]): Promise<unknown> => {
          const given: unknown = await value.apply(target, args);
          if (Array.isArray(given)) longest.set(name, Math.max(longest.get(name) ?? 0, given.length));
          return given;
        };
      },
    });
    await exportRun(reader, "run-1", temporaryFolder());
    expect(longest.get("listTurns")).toBe(100);
    expect(longest.get("listToolCalls")).toBe(100);
    expect(longest.get("listModelCalls")).toBe(100);
    expect([...longest.values()].every((length) => length <= 500)).toBe(true);
  });
});

describe("a file of an export", () => {
  it("replaces a link, and leaves the link's target alone", async () => {
    const [folder, outside] = [temporaryFolder(), temporaryFolder()];
    writeFileSync(join(outside, "mine.txt"), "Mine.");
    symlinkSync(join(outside, "mine.txt"), join(folder, "run.log"));
    await (await ExportFolder.open(folder)).write("run.log", "Log.");
    expect([text(outside, "mine.txt"), text(folder, "run.log")]).toEqual(["Mine.", "Log."]);
  });

  it("is not written through a link in place of a folder", async () => {
    const [folder, outside] = [temporaryFolder(), temporaryFolder()];
    symlinkSync(outside, join(folder, "artifacts"));
    const target = await ExportFolder.open(folder);
    const error = await failureAs(ExportError, target.write("artifacts/a.txt", "a"));
    expect(error.message).toBe(
      `${join(folder, "artifacts/a.txt")} was not written, because ${join(folder, "artifacts")} is a link or a file and no folder: remove it, or export to another folder.`,
    );
    expect(readdirSync(outside)).toEqual([]);
  });

  it("may be in a folder that is named by a link", async () => {
    const [folder, outside] = [temporaryFolder(), temporaryFolder()];
    symlinkSync(outside, join(folder, "link"));
    const target = await ExportFolder.open(join(folder, "link"));
    expect(await target.write("run.log", "Log.")).toBe(4);
    expect(text(outside, "run.log")).toBe("Log.");
  });

  it.each(["../out.txt", "/etc/out.txt", "a/../../out.txt", "a//b", "", "a\0b"])(
    "has no name that leads elsewhere: %j",
    async (name) => {
      const folder = temporaryFolder();
      const target = await ExportFolder.open(join(folder, "in"));
      await failureAs(ExportError, target.write(name, "x"));
      expect([readdirSync(folder), readdirSync(join(folder, "in"))]).toEqual([["in"], []]);
    },
  );

  it("that cannot be written leaves only the old one behind", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "run.log"));
    const target = await ExportFolder.open(folder);
    const error = await failureAs(ExportError, target.write("run.log", "Log."));
    expect(error.message).toBe(
      `${join(folder, "run.log")} could not be written (EISDIR): remove the folder that is in its place, or export to another folder.`,
    );
    expect(readdirSync(folder)).toEqual(["run.log"]);
  });

  it("cannot be in a folder that is a file", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "file"), "");
    const error = await failureAs(ExportError, ExportFolder.open(join(folder, "file")));
    expect(error.message).toContain(
      "could not be written (EEXIST): remove the file that is in its place, or export to another folder.",
    );
  });
});
