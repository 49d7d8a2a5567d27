// Whose configuration is executed: that of this project and this user, and only by commands that need it.

import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findConfig } from "../../../src/cli/config/config-search.ts";
import { writtenStore } from "../../../src/cli/config/config-store.ts";
import { privateFolder } from "../../../src/cli/config/private-folder.ts";
import { pawl } from "../recording-context.ts";
import { cliFolder, runSamples, SEARCHING } from "../sample-runs.ts";

const isRoot = process.geteuid?.() === 0;
const STRANGER = 12_345;

function folderWith(...files: readonly string[]): string {
  const root = mkdtempSync(join(tmpdir(), "pawl-search-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), file.endsWith("package.json") ? "{}" : "export default {};\n");
  }
  return root;
}

const configAbove = async (cwd: string, home = "/home/of-nobody") =>
  (await findConfig({ cwd, env: { HOME: home } }))?.path ?? null;

describe("the search for a configuration", () => {
  it("continues above the packages of a repository, and ends at the repository", async () => {
    const root = folderWith("pawl.config.ts", "repo/.git/HEAD", "repo/packages/a/package.json");
    const cwd = join(root, "repo/packages/a");
    expect(await configAbove(cwd)).toBeNull();
    writeFileSync(join(root, "repo/pawl.config.mjs"), "export default {};\n");
    expect(await configAbove(cwd)).toBe(join(root, "repo/pawl.config.mjs"));
  });

  it("ends at the first package without a repository", async () => {
    const root = folderWith("pawl.config.ts", "app/package.json", "app/src/a.ts");
    expect(await configAbove(join(root, "app/src"))).toBeNull();
  });

  it.for([
    ["package.json", '{ "workspaces": ["packages/*"] }'],
    ["pnpm-workspace.yaml", "packages: []"],
  ] as const)("finds that of a workspace from its packages, by its %s", async ([name, text]) => {
    const root = folderWith("pawl.config.ts", "mono/package.json", "mono/packages/a/package.json");
    writeFileSync(join(root, "mono", name), text);
    writeFileSync(join(root, "mono/pawl.config.ts"), "export default {};\n");
    expect(await configAbove(join(root, "mono/packages/a"))).toBe(join(root, "mono/pawl.config.ts"));
    rmSync(join(root, "mono/pawl.config.ts"));
    expect(await configAbove(join(root, "mono/packages/a"))).toBeNull();
  });

  it("never goes above home, however home is spelt", async () => {
    const root = folderWith("pawl.config.ts", "home/work/a.txt");
    symlinkSync(join(root, "home"), join(root, "link"));
    const cwd = join(root, "home/work");
    expect(await configAbove(cwd)).toBe(join(root, "pawl.config.ts"));
    expect(await configAbove(cwd, join(root, "home"))).toBeNull();
    expect(await configAbove(cwd, join(root, "link"))).toBeNull();
    writeFileSync(join(root, "home/pawl.config.ts"), "export default {};\n");
    expect(await configAbove(cwd, join(root, "home"))).toBe(join(root, "home/pawl.config.ts"));
  });
});

describe("a configuration that another user could have written", () => {
  const refusalOf = async (cwd: string, file?: string) =>
    (await findConfig({ cwd, env: { HOME: "/home/of-nobody" } }, file))?.refusal ?? null;

  it.for([
    ["the file, by everybody", "pawl.config.ts", 0o666, /can be written by every user/],
    ["its folder, by everybody", ".", 0o777, /could put a configuration there/],
    ["its folder, by everybody, sticky", ".", 0o1777, /could put a configuration there/],
  ] as const)("is refused: %s", async ([, what, mode, why]) => {
    const root = folderWith("pawl.config.ts");
    expect(await refusalOf(root)).toBeNull();
    chmodSync(join(root, what), mode);
    expect(await refusalOf(root)).toMatch(why);
    const isSticky = (mode & 0o1000) !== 0;
    expect(await refusalOf(root, "pawl.config.ts")).toEqual(isSticky ? null : expect.stringMatching(why));
    const { exitCode, stderr } = await pawl(["run", "report"], { cwd: root });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringMatching(/^error: .*pawl\.config\.ts was not run: /),
    });
  });

  it("is refused through a symlink to it", async () => {
    const root = folderWith("shared/pawl.config.ts", "project/package.json");
    symlinkSync(join(root, "shared/pawl.config.ts"), join(root, "project/pawl.config.ts"));
    expect(await refusalOf(join(root, "project"))).toBeNull();
    chmodSync(join(root, "shared"), 0o777);
    expect(await refusalOf(join(root, "project"))).toMatch(/shared can be written by every user/);
  });

  it("is refused through a symlink that others could replace, in any part of the path", async () => {
    const root = folderWith("safe/pawl.config.ts", "open/x", "project/package.json");
    symlinkSync(join(root, "safe"), join(root, "open/link"));
    symlinkSync("../open/link/pawl.config.ts", join(root, "project/pawl.config.ts"));
    expect(await refusalOf(join(root, "project"))).toBeNull();
    chmodSync(join(root, "open"), 0o1777);
    expect(await refusalOf(join(root, "project"))).toBeNull();
    if (isRoot) {
      lchownSync(join(root, "open/link"), STRANGER, STRANGER);
      for (const file of [undefined, "pawl.config.ts"])
        expect(await refusalOf(join(root, "project"), file)).toMatch(/a symlink of another user \(12345\)/);
      chmodSync(join(root, "open"), 0o755);
      expect(await refusalOf(join(root, "project"), "pawl.config.ts")).toBeNull();
      lchownSync(join(root, "open/link"), 0, 0);
    }
    chmodSync(join(root, "open"), 0o777);
    expect(await refusalOf(join(root, "project"))).toMatch(/link, which every user could replace/);
  });

  it.skipIf(!isRoot)("is refused if it or its folder belongs to them, unless it is named", async () => {
    for (const what of [".", "pawl.config.ts"]) {
      const root = folderWith("pawl.config.ts");
      chownSync(join(root, what), STRANGER, STRANGER);
      expect(await refusalOf(root)).toMatch(
        /belongs to another user \(12345\): if you trust them, name the file with --config/,
      );
      expect(await refusalOf(root, "pawl.config.ts")).toBeNull();
    }
  });

  it.skipIf(!isRoot)("is refused if a group other than the user's own can write it", async () => {
    const root = folderWith("pawl.config.ts");
    chmodSync(join(root, "pawl.config.ts"), 0o664);
    expect(await refusalOf(root)).toBeNull();
    chownSync(join(root, "pawl.config.ts"), 0, STRANGER);
    expect(await refusalOf(root)).toMatch(/can be written by the group 12345/);
  });
});

describe("the project of a folder", () => {
  it.skipIf(!isRoot).for([".git/HEAD", "package.json", "pnpm-workspace.yaml"])(
    "is not extended by files of another user above it: %s",
    async (name) => {
      const root = folderWith("pawl.config.ts", "package.json", name, "app/package.json");
      const [mark = ""] = name.split("/");
      if (mark === "package.json") writeFileSync(join(root, mark), '{ "workspaces": ["app"] }');
      const cwd = join(root, "app");
      expect(await configAbove(cwd)).toBe(join(root, "pawl.config.ts"));
      chownSync(join(root, mark), STRANGER, STRANGER);
      expect(await configAbove(cwd)).toBeNull();
    },
  );
});

describe("a private folder", () => {
  const state = (home: string) => join(home, ".local/state/pawl/notes");

  it("is created below home, for its user only", () => {
    const home = folderWith("x");
    expect(privateFolder("state", "notes", { HOME: home })).toBe(state(home));
    for (const folder of [state(home), dirname(state(home)), join(home, ".local")])
      expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it.skipIf(!isRoot)("leaves nothing in the home of another user", () => {
    const home = folderWith("x");
    chownSync(home, STRANGER, STRANGER);
    expect(privateFolder("state", "notes", { HOME: home })).toBeNull();
    expect(readdirSync(home)).toEqual(["x"]);
  });

  it("is not used if others could replace it", () => {
    const home = folderWith("x");
    chmodSync(home, 0o777);
    expect(privateFolder("state", "notes", { HOME: home })).toBeNull();
    expect(readdirSync(home)).toEqual(["x"]);
  });
});

describe("a command that only uses the store", () => {
  const COMMANDS = [
    ["ls"],
    ["show", "q-1"],
    ["tail", "q-1"],
    ["receipts", "q-1"],
    ["waits"],
    ["verify", "q-1"],
    ["export", "q-1", "--to", "out"],
    ["gc"],
    ["doctor"],
  ] as const;

  it("does not execute the configuration, and works with a broken one", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    for (const text of ['throw new Error("It was run.");', "export default { pipelines: { ; }}}"]) {
      writeFileSync(join(folder.cwd, "pawl.config.ts"), text);
      for (const command of COMMANDS) {
        const { exitCode, stderr } = await pawl(command, folder);
        expect({ command, exitCode, stderr }).toEqual({ command, exitCode: 0, stderr: "" });
      }
    }
  });

  it("skips the configuration of another user, and reports it", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    writeFileSync(join(folder.cwd, "pawl.config.ts"), 'export default { store: "file:./theirs.db" };');
    chmodSync(join(folder.cwd, "pawl.config.ts"), 0o666);
    const { exitCode, stdout, stderr } = await pawl(["ls"], folder);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("q-1");
    expect(stderr).toMatch(/pawl\.config\.ts is not used: .* can be written by every user/);
  });
});

describe("the store that a configuration names", () => {
  it.for([
    ['export default { store: "file:./a.db" };', "file:./a.db"],
    ["export default defineConfig({ pipelines: { a }, 'store': 'file:./a.db', });", "file:./a.db"],
    ["const c: PawlConfig = { store: `file:./a.db` };\nexport default c;", "file:./a.db"],
    ["const c = { store: `file:./a.db` };\nexport default defineConfig(c);", "file:./a.db"],
    ["export default { store: process.env.DB };", "file:./env.db"],
    ['export default { store: process.env.NONE ?? "file:./a.db" };', "file:./a.db"],
    ['export default { store: process.env.DB || "file:./a.db" };', "file:./env.db"],
    ['export default { store: process.env.EMPTY || "file:./a.db" };', "file:./a.db"],
    ['// store: "file:./old.db"\nexport default { /* store: "file:./old.db", */ pipelines: {} };', null],
    ['export default { tools: { store: "file:./no.db" }, pipelines: { store } };', null],
    ['const other = { store: "file:./no.db" };\nexport default { pipelines: {} };', null],
    ['export default { store: "file:./a.db", "store": "file:./b.db" };', "file:./b.db"],
    ['let c = defineConfig({ store: "file:./a.db" });\nexport default c', "file:./a.db"],
    ['export default { store: "file:./a.db" } satisfies PawlConfig;', "file:./a.db"],
    ['const re = /"[/"]/g, x = a / b / c;\nexport default { store: "file:./a.db" };', "file:./a.db"],
    [
      'const t = `${a ? `"` : {}}`;\nexport default { on: (x) => ({ ...x }), store: "file:./a.db" };',
      "file:./a.db",
    ],
    ['export default { async run() {}, tools: { ...mine, ["store"]: 1 } };', null],
    ['console.log("It exports nothing.");', null],
  ] as const)("is read from %s", async ([text, store]) => {
    const path = join(folderWith(), "pawl.config.ts");
    writeFileSync(path, text);
    expect(await writtenStore(path, { DB: "file:./env.db", EMPTY: "" })).toBe(store);
  });

  it.for([
    "export default make();",
    'export default defineConfig(make({ store: "file:./a.db" }));',
    "export default { ...base };",
    'export default { ["store"]: "file:./a.db" };',
    'export default { get store() { return "file:./a.db"; } };',
    "export default { store() {} };",
    "export default { __proto__: base };",
    'export default { "st\\u006fre": "file:./a.db" };',
    'export default { st\\u006fre: "file:./a.db" };',
    'export default [{}, { store: "file:./a.db" }][1];',
    'export default {} && { store: "file:./a.db" };',
    "export default { pipelines: {} }.x;",
    'const c = { store: "file:./a.db" };\nexport { c as default };',
    'const a = 1, c = { store: "file:./a.db" };\nexport default c;',
    'const c = {};\nc.store = "file:./a.db";\nexport default c;',
    'const c = {};\nObject.assign(c, { store: "file:./a.db" });\nexport default c;',
    'let c = {};\nc = { store: "file:./a.db" };\nexport default c;',
    "const c = {};\nexport default c.other;",
    "const c = {};\nexport default c(1);",
    'module.exports = { store: "file:./a.db" };',
    'if (x) /"/.test(x);\nexport default { store: "file:./a.db" }; // "',
    "export default { pipelines: { ",
    'export default { store: "file:./a.db ',
    'import "dotenv/config";\nexport default { store: process.env.DB };',
    'process.env.DB ??= "file:./b.db";\nexport default { store: process.env.DB };',
  ])("is not guessed if only executing the file would show it: %s", async (text) => {
    const path = join(folderWith(), "pawl.config.ts");
    writeFileSync(path, text);
    await expect(writtenStore(path, { DB: "file:./env.db" })).rejects.toThrow(
      "is not known without executing the file",
    );
  });

  it.for(["store: `file:${place}`", 'store: "file:" + place', "store", 'store: process.env.A + "b"'])(
    "must be named if it is computed: %s",
    async (property) => {
      const folder = cliFolder();
      await runSamples(folder, { "q-1": [SEARCHING] });
      writeFileSync(join(folder.cwd, "pawl.config.ts"), `export default { pipelines: {}, ${property} };`);
      const { exitCode, stderr } = await pawl(["ls"], folder);
      expect({ exitCode, stderr }).toEqual({
        exitCode: 2,
        stderr: expect.stringContaining("--store or PAWL_STORE"),
      });
      const env = { PAWL_STORE: "file:./.pawl/pawl.db" };
      expect((await pawl(["ls"], { ...folder, env })).stdout).toContain("q-1");
    },
  );
});
