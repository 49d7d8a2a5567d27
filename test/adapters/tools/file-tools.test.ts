import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { listFiles, readFile, searchFiles, writeFile } from "../../../src/adapters/tools/index.ts";
import { callTool, callTools, temporaryFolder } from "./tool-fixture.ts";

const FILES = {
  read_file: readFile,
  write_file: writeFile,
  list_files: listFiles,
  search_files: searchFiles,
};
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describe("read_file", () => {
  const files = { "notes/plan.md": "one\ntwo\nthree\nfour\n" };

  it("returns the text of a file and its number of lines", async () => {
    const { result, call } = await callTool(readFile, { path: "./notes/plan.md" }, { files });
    expect(result).toEqual({
      path: "notes/plan.md",
      text: "one\ntwo\nthree\nfour",
      fromLine: 1,
      toLine: 4,
      totalLines: 4,
    });
    expect([call.effect, call.recovery]).toEqual(["read_only", "repeat"]);
  });

  it("returns the requested lines", async () => {
    const { result } = await callTool(readFile, { path: "notes/plan.md", fromLine: 2, toLine: 3 }, { files });
    expect(result).toMatchObject({ text: "two\nthree", fromLine: 2, toLine: 3, totalLines: 4 });
  });

  it("gives the number of lines if others are requested", async () => {
    const { result } = await callTool(readFile, { path: "notes/plan.md", fromLine: 9 }, { files });
    expect(result).toBe('There are no lines 9 to the end in "notes/plan.md": it has 4.');
  });

  it("returns a long file in parts that together are the whole", async () => {
    const lines = Array.from({ length: 3_000 }, (_, i) => `line ${i + 1} ${"x".repeat(30)}`);
    const long = { "long.txt": lines.join("\n") };
    const got: string[] = [];
    let next: number | undefined = 1;
    for (let tries = 0; next !== undefined && tries < 10; tries++) {
      const { result } = await callTool(readFile, { path: "long.txt", fromLine: next }, { files: long });
      const part = result as { text: string; next?: number };
      expect(part.text.length).toBeLessThanOrEqual(50_000);
      got.push(part.text);
      next = part.next;
    }
    expect(got.length).toBeGreaterThan(1);
    expect(got.join("\n")).toBe(lines.join("\n"));
  });

  it("cuts a single line that is too long, and says so", async () => {
    const { result } = await callTool(
      readFile,
      { path: "one-line.json" },
      { files: { "one-line.json": "y".repeat(60_000) } },
    );
    expect(result).toMatchObject({
      text: "y".repeat(50_000),
      note: "Line 1 is longer: 10000 characters of it were left out.",
    });
  });

  it("reads an empty file", async () => {
    const { result } = await callTool(readFile, { path: "empty" }, { files: { empty: "" } });
    expect(result).toMatchObject({ text: "", totalLines: 0 });
  });

  it.each([
    ["an image", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1])],
    ["text in another encoding", new Uint8Array([0x47, 0x72, 0xfc, 0xdf, 0x65])],
  ])("refuses %s", async (_what, content) => {
    const { result, call } = await callTool(readFile, { path: "file" }, { files: { file: content } });
    expect(result).toBe('"file" is not UTF-8 text: only text can be read.');
    expect([call.status, call.attempt, call.receipt?.uncertain]).toEqual(["failed", 1, false]);
  });

  it("refuses a folder, and a pipe without waiting for it", async () => {
    const prepare = (folder: string) => execFileSync("mkfifo", [join(folder, "pipe")]);
    const { results } = await callTools(
      FILES,
      [
        [
          ["read_file", { path: "notes" }],
          ["read_file", { path: "pipe" }],
        ],
      ],
      { files, prepare },
    );
    expect(results).toEqual([
      '"notes" is a folder: list_files shows its files.',
      '"pipe" is not a regular file: it was not read.',
    ]);
  });

  it("reports a missing file, and creates no folder while looking for it", async () => {
    const { result, folder } = await callTool(readFile, { path: "far/away.txt" });
    expect(result).toBe(
      'There is no file "far/away.txt" in the workspace: list_files shows the existing files.',
    );
    expect(existsSync(join(folder, "far"))).toBe(false);
  });
});

describe("a path that would leave the workspace", () => {
  const outside = () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "secret.txt"), "the secret outside");
    return folder;
  };

  it.each([
    ["..", "../secret.txt"],
    [".. in the middle", "notes/../../secret.txt"],
    ["an absolute path", "/etc/hostname"],
    ["a path of another system", "..\\secret.txt"],
    ["a NUL", "notes/plan.md\0.png"],
    ["a very long name", "x".repeat(5_000)],
    ["Pawl's own mark", ".pawl-run"],
  ])("is refused by each tool: %s", async (_what, path) => {
    const { results, calls } = await callTools(FILES, [
      [
        ["read_file", { path }],
        ["write_file", { path, text: "x" }],
        ["list_files", { folder: path }],
      ],
    ]);
    expect(results).toHaveLength(3);
    for (const result of results) {
      expect(result).toMatch(/cannot name a file of the workspace/);
      expect(String(result).length).toBeLessThan(400);
    }
    expect(calls.map(({ status }) => status)).toEqual(["failed", "failed", "failed"]);
  });

  it("is not followed through a symbolic link to a file or a folder outside", async () => {
    const elsewhere = outside();
    const { results, calls, folder } = await callTools(
      FILES,
      [
        [
          ["read_file", { path: "link.txt" }],
          ["read_file", { path: "linked/secret.txt" }],
          ["list_files", {}],
          ["list_files", { folder: "linked" }],
          ["search_files", { text: "secret" }],
        ],
        [["write_file", { path: "linked/new.txt", text: "x" }]],
        [["write_file", { path: "link.txt", text: "mine" }]],
      ],
      {
        files: { "own.txt": "nothing here" },
        prepare: (workspace) => {
          symlinkSync(join(elsewhere, "secret.txt"), join(workspace, "link.txt"));
          symlinkSync(elsewhere, join(workspace, "linked"));
        },
      },
    );
    expect(results[0]).toBe('"link.txt" leads out of the workspace by a symbolic link: it was not read.');
    expect(results[1]).toBe(
      '"linked/secret.txt" leads out of the workspace by a symbolic link: it was not read.',
    );
    expect(results[2]).toEqual({ files: [{ path: "own.txt", bytes: 12 }] });
    expect(results[3]).toBe('"linked" leads out of the workspace by a symbolic link: it was not read.');
    expect(results[4]).toEqual({ matches: [] });
    expect(calls[5]?.status).toBe("failed");
    expect(existsSync(join(elsewhere, "new.txt"))).toBe(false);
    // A write replaces the link, and does not follow it.
    expect(results[6]).toMatchObject({ path: "link.txt" });
    expect(readFileSync(join(folder, "link.txt"), "utf8")).toBe("mine");
    expect(readFileSync(join(elsewhere, "secret.txt"), "utf8")).toBe("the secret outside");
  });

  it("is followed through a link that stays inside", async () => {
    const { result } = await callTool(
      readFile,
      { path: "latest.txt" },
      {
        files: { "v2.txt": "second" },
        prepare: (folder) => symlinkSync("v2.txt", join(folder, "latest.txt")),
      },
    );
    expect(result).toMatchObject({ text: "second" });
  });
});

describe("write_file", () => {
  it("keeps the bytes with the run and returns their hash", async () => {
    const { result, store, folder, call } = await callTool(writeFile, {
      path: "out/report.md",
      text: "Grüße\n",
    });
    expect(result).toEqual({ path: "out/report.md", bytes: 8, hash: sha256("Grüße\n") });
    expect(readFileSync(join(folder, "out/report.md"), "utf8")).toBe("Grüße\n");
    expect(Buffer.from((await store.readArtifact("r-1", "out/report.md")) ?? []).toString()).toBe("Grüße\n");
    expect([call.effect, call.recovery]).toEqual(["local", "repeat"]);
  });

  it("keeps the last of several writes in one turn", async () => {
    const { store, results } = await callTools(FILES, [
      [
        ["write_file", { path: "a.txt", text: "first" }],
        ["write_file", { path: "a.txt", text: "second" }],
        ["write_file", { path: "a.txt", text: "first" }],
      ],
      [["read_file", { path: "a.txt" }]],
    ]);
    expect(results[3]).toMatchObject({ text: "first" });
    expect(await store.listArtifacts("r-1")).toHaveLength(1);
  });

  it("writes what read_file finds even if the file was lost meanwhile", async () => {
    const lost = {
      ...readFile,
      execute: (input: never, call: Parameters<typeof readFile.execute>[1]) => {
        rmSync(join(call.workspace, "a.txt"));
        return readFile.execute(input, call);
      },
    };
    const { results } = await callTools({ write_file: writeFile, read_file: lost }, [
      [["write_file", { path: "a.txt", text: "kept" }]],
      [["read_file", { path: "a.txt" }]],
    ]);
    expect(results[1]).toMatchObject({ text: "kept" });
  });

  it("does not touch Pawl's own files", async () => {
    const { result } = await callTool(writeFile, { path: "transcript.md", text: "x" });
    expect(result).toMatch(/"transcript.md" cannot name an artifact: Pawl writes a file of that name itself/);
  });
});

describe("list_files", () => {
  const files = { "a.md": "1", "notes/b.md": "22", "notes/deep/c.txt": "333", ".hidden": "4" };

  it.each([
    [{}, [".hidden", "a.md", "notes/b.md", "notes/deep/c.txt"]],
    [{ folder: "notes" }, ["notes/b.md", "notes/deep/c.txt"]],
    [{ folder: "./notes/" }, ["notes/b.md", "notes/deep/c.txt"]],
    [{ pattern: "*.md" }, ["a.md", "notes/b.md"]],
    [{ pattern: "notes/*" }, ["notes/b.md"]],
    [{ pattern: "notes/**" }, ["notes/b.md", "notes/deep/c.txt"]],
    [{ pattern: "**/?.txt" }, ["notes/deep/c.txt"]],
    [{ pattern: "nothing*" }, []],
  ])("given %j lists %j", async (input, paths) => {
    const { result } = await callTool(listFiles, input, { files });
    expect((result as { files: { path: string }[] }).files.map(({ path }) => path)).toEqual(paths);
  });

  it("reports how many it left out", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 510 }, (_, i) => [`f${String(i).padStart(3, "0")}`, ""]),
    );
    const { result } = await callTool(listFiles, {}, { files: many });
    expect(result).toMatchObject({ note: "10 more files are not listed: name a folder or a pattern." });
    expect((result as { files: unknown[] }).files).toHaveLength(500);
  });

  it("lists nothing if there is no workspace yet, and reports a missing named folder", async () => {
    const prepare = (folder: string) => rmSync(folder, { recursive: true });
    expect((await callTool(listFiles, {}, { prepare })).result).toEqual({ files: [] });
    expect((await callTool(listFiles, { folder: "none" })).result).toBe(
      'There is no folder "none" in the workspace.',
    );
  });
});

describe("search_files", () => {
  const files = {
    "a.md": "A pawl is a catch.\nIt stops.\n",
    "notes/b.md": "no such thing\n  the PAWL again\n",
    "picture.png": new Uint8Array([0, 1, 2]),
  };

  it("returns each match with its file and line, and lists the files that it could not search", async () => {
    const { result } = await callTool(searchFiles, { text: "pawl" }, { files });
    expect(result).toEqual({
      matches: ["a.md:1: A pawl is a catch.", "notes/b.md:2: the PAWL again"],
      notSearched: ["picture.png"],
    });
  });

  it("matches case if asked to, and searches only files that match a pattern", async () => {
    const { result } = await callTool(
      searchFiles,
      { text: "PAWL", matchCase: true, pattern: "*.md" },
      { files },
    );
    expect(result).toEqual({ matches: ["notes/b.md:2: the PAWL again"] });
  });

  it("matches the text literally", async () => {
    const { result } = await callTool(searchFiles, { text: "(a+)+$" }, { files: { x: "aaaa\n(a+)+$\n" } });
    expect(result).toEqual({ matches: ["x:2: (a+)+$"] });
  });

  it("stops at a hundred matches and shortens long lines, and says so", async () => {
    const many = `${"hit ".repeat(200)}\n`.repeat(150);
    const { result } = await callTool(searchFiles, { text: "hit" }, { files: { many } });
    const { matches, note } = result as { matches: string[]; note: string };
    expect(matches).toHaveLength(100);
    expect(Math.max(...matches.map((match) => match.length))).toBeLessThan(330);
    expect(note).toMatch(/^There are more than 100 matches: narrow it down/);
  });

  it("reads no more lines than needed if nearly all of them match", async () => {
    const lowered = vi.spyOn(String.prototype, "toLowerCase");
    onTestFinished(() => lowered.mockRestore());
    const { result } = await callTool(
      searchFiles,
      { text: "Hit" },
      { files: { many: "HIT\n".repeat(20_000) } },
    );
    expect((result as { matches: string[] }).matches).toHaveLength(100);
    const lines = lowered.mock.contexts.filter((each) => String(each) === "HIT").length;
    expect(lines).toBe(101);
  });

  it("does not follow a folder that is a circular link", async () => {
    const { result } = await callTool(
      searchFiles,
      { text: "pawl", folder: "notes" },
      { files, prepare: (folder) => symlinkSync(folder, join(mkdirp(folder, "notes"), "up")) },
    );
    expect(result).toEqual({ matches: ["notes/b.md:2: the PAWL again"] });
  });
});

function mkdirp(folder: string, name: string): string {
  mkdirSync(join(folder, name), { recursive: true });
  return join(folder, name);
}
