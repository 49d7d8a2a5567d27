// A store in the workspace of a run: closing a descriptor of one of its files would release the store's locks on it, so
// tools do not open them, under whatever name.

import { linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { listFiles, readFile, searchFiles, writeFile } from "../../../src/adapters/tools/index.ts";
import { ExportError } from "../../../src/export/export-folder.ts";
import { exportRun } from "../../../src/export/export-run.ts";
import { openStore, type Store, type Tool } from "../../../src/index.ts";
import { asking, runnerOf } from "../../engine/call/call-fixture.ts";
import { failureAs, sleeplessClock, toolResults } from "../../engine/run-fixture.ts";
import { type Turn, temporaryFolder } from "./tool-fixture.ts";

const FILES: { readonly [name: string]: Tool } = {
  read_file: readFile,
  write_file: writeFile,
  list_files: listFiles,
  search_files: searchFiles,
};

async function openHere(file: string): Promise<Store> {
  const store = await openStore(`file:${file}`);
  onTestFinished(() => store.close());
  return store;
}

/** The results of these tool calls, one per turn, in a workspace that contains the store. */
async function called(folder: string, ...turns: readonly Turn[]): Promise<readonly unknown[]> {
  const store = await openHere(join(folder, "pawl.db"));
  const { runner, prompts } = runnerOf(
    store,
    FILES,
    turns.map((turn) => asking(...turn)),
    { workspaceRoot: folder, clock: sleeplessClock() },
  );
  await runner.run("Go", { runId: "r-1", spec: { objective: "Go", artifacts: { workspaceDir: "." } } });
  const seen = toolResults(prompts.at(-1)) as readonly { readonly value: unknown }[];
  return seen.map(({ value }) => value);
}

const left = (name: string) =>
  `${JSON.stringify(name)} is a file of Pawl's own store, which no tool opens: leave it alone.`;

describe("the files of the store", () => {
  it("are not read, neither by name nor through links", async () => {
    const folder = temporaryFolder();
    await (await openHere(join(folder, "pawl.db"))).close();
    symlinkSync(join(folder, "pawl.db"), join(folder, "soft.txt"));
    linkSync(join(folder, "pawl.db"), join(folder, "hard.txt"));
    mkdirSync(join(folder, "notes"));
    symlinkSync(folder, join(folder, "notes/again"));
    writeFileSync(join(folder, "notes.txt"), "Mine.");
    const names = [
      "pawl.db",
      "pawl.db-wal",
      "pawl.db-shm",
      "soft.txt",
      "hard.txt",
      "notes/again/pawl.db-wal",
    ];
    const turns = [...names, "notes.txt"].map((path) => [["read_file", { path }]] as const);
    const results = await called(folder, ...turns);
    expect(results.slice(0, -1)).toEqual(names.map(left));
    expect(results.at(-1)).toMatchObject({ text: "Mine." });
  });

  it("are not searched, and are listed as not searched", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "notes.txt"), "SQLite format, I noted.");
    writeFileSync(join(folder, "pawl.db-note"), "SQLite format, as any file of the store may be a text.");
    const [found] = await called(folder, [["search_files", { text: "sqlite format" }]]);
    expect(found).toMatchObject({
      matches: ["notes.txt:1: SQLite format, I noted."],
      notSearched: expect.arrayContaining(["pawl.db", "pawl.db-note", "pawl.db-wal", "pawl.db-shm"]),
    });
  });

  it("are not written, and none is created beside them, in upper or lower case", async () => {
    const folder = temporaryFolder();
    const names = ["pawl.db", "pawl.db-wal", "PAWL.DB-journal", "pawl.db-mine"];
    const results = await called(
      folder,
      ...names.map((path) => [["write_file", { path, text: "x" }]] as const),
      [["write_file", { path: "pawl.dbx", text: "x" }]],
    );
    for (const [i, name] of names.entries())
      expect(results[i]).toBe(
        `${JSON.stringify(name)} is a file of Pawl's own store, which nothing else may open or replace: use another name.`,
      );
    expect(results.at(-1)).toMatchObject({ path: "pawl.dbx" });
    expect(readdirSync(folder)).not.toContain("pawl.db-mine");
    expect(readFileSync(join(folder, "pawl.db")).subarray(0, 13).toString()).toBe("SQLite format");
  });

  it("are not replaced by an export into their folder", async () => {
    const folder = temporaryFolder();
    const store = await openHere(join(folder, "run.log"));
    const { runner } = runnerOf(store, {}, [], { workspaceRoot: folder });
    await runner.run("Go", { runId: "r-1" });
    const error = await failureAs(ExportError, exportRun(store, "r-1", folder));
    expect(error.message).toBe(
      `${join(folder, "run.log")} was not written, because it is a file of the store: export to another folder.`,
    );
    expect((await store.getRun("r-1"))?.status).toBe("succeeded");
    expect(readFileSync(join(folder, "run.log")).subarray(0, 13).toString()).toBe("SQLite format");
  });
});
