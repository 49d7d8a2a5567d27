import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ownDependency } from "../../../src/cli/init/own-package.ts";
import { detectPackageManager } from "../../../src/cli/init/package-manager.ts";
import { PROJECT_VERSIONS, packageName, projectFiles } from "../../../src/cli/init/project-files.ts";
import { writeProject } from "../../../src/cli/init/project-folder.ts";
import { chooseProjectModel } from "../../../src/cli/init/project-model.ts";
import { CliProcess } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";

const FILES = [
  ".gitignore",
  "README.md",
  "agent.test.ts",
  "agent.ts",
  "bank.ts",
  "job.yaml",
  "main.ts",
  "package.json",
  "pawl.config.ts",
  "tsconfig.json",
];
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly version: string;
  readonly devDependencies: { readonly [name: string]: string };
};

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-init-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function textsIn(folder: string): { readonly [name: string]: string } {
  return Object.fromEntries(FILES.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

/** The files that init writes there by default, as a list. */
function defaultFiles(folderName: string) {
  return projectFiles(folderName, chooseProjectModel({}), detectPackageManager({}));
}

/** Runs init, and expects that it writes nothing. */
async function refused(cwd: string, ...args: readonly string[]): Promise<string> {
  const before = new Set(readdirSync(cwd, { recursive: true, encoding: "utf8" }));
  const { exitCode, stdout, stderr } = await pawl(["init", ...args], { cwd });
  expect([exitCode, stdout]).toEqual([2, ""]);
  expect(new Set(readdirSync(cwd, { recursive: true, encoding: "utf8" }))).toEqual(before);
  return stderr.replaceAll(cwd, "…");
}

describe("pawl init", () => {
  it("writes a project into an empty folder, and prints what to type next", async () => {
    const cwd = emptyFolder();
    const { exitCode, stdout, stderr } = await pawl(["init"], { cwd });
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(readdirSync(cwd).toSorted()).toEqual(FILES);
    expect(stdout).toContain("  npm install\n  npm start  # the bank is slow");
    expect(stdout).toContain("  npm test   # kills the agent at every point");
    expect(stdout).toContain("No API key is needed: the agent follows a script.");
    expect(stdout).not.toContain("cd ");
  });

  it("makes a folder that does not exist", async () => {
    const cwd = emptyFolder();
    const { document } = await pawlJson<{ readonly next: readonly { readonly command: string }[] }>(
      ["init", "deep/my agent"],
      { cwd },
    );
    expect(readdirSync(join(cwd, "deep/my agent")).toSorted()).toEqual(FILES);
    expect(readdirSync(join(cwd, "deep"))).toEqual(["my agent"]);
    expect(document.next.map(({ command }) => command)).toEqual([
      "cd 'deep/my agent'",
      "npm install",
      "npm start",
      "npm start",
      "npm test",
    ]);
  });

  it("counts what a new repository holds as empty, and leaves it as it is", async () => {
    const cwd = emptyFolder();
    mkdirSync(join(cwd, ".git"));
    for (const name of ["LICENSE", "README.md", ".gitignore"]) writeFileSync(join(cwd, name), "mine");
    const { exitCode, stdout } = await pawl(["init"], { cwd });
    expect(exitCode).toBe(0);
    expect(readdirSync(cwd).toSorted()).toEqual([".git", "LICENSE", ...FILES].toSorted());
    for (const name of ["LICENSE", "README.md", ".gitignore"])
      expect(readFileSync(join(cwd, name), "utf8")).toBe("mine");
    expect(stdout).toContain("README.md was there already, and was left as it is.");
    expect(stdout).toMatch(/add node_modules\/ and\s\.pawl\/ to it/);
  });

  it("writes the model whose API key is set, and the commands of the package manager that started it", async () => {
    const cwd = emptyFolder();
    const env = { ANTHROPIC_API_KEY: "k", npm_config_user_agent: "pnpm/10.1.0 npm/? node/v24.0.0" };
    const { stdout } = await pawl(["init"], { cwd, env });
    const { "agent.ts": agent = "", "package.json": written = "", "README.md": readme } = textsIn(cwd);
    expect(agent).toContain('process.env.ANTHROPIC_API_KEY ? anthropic("claude-sonnet-4-5") : script');
    expect(JSON.parse(written)).toMatchObject({ dependencies: { "@ai-sdk/anthropic": "^4.0.102" } });
    expect(written).not.toContain("@ai-sdk/openai");
    expect(stdout).toContain("ANTHROPIC_API_KEY is set");
    for (const text of [stdout, readme]) expect(text).toContain("pnpm install");
  });

  it("depends on this version of Pawl, and on versions that Pawl is tested with", async () => {
    const cwd = emptyFolder();
    await pawl(["init"], { cwd });
    expect(JSON.parse(textsIn(cwd)["package.json"] ?? "")).toMatchObject({
      type: "module",
      dependencies: { pawl: `^${manifest.version}`, ai: PROJECT_VERSIONS.ai },
    });
    for (const [name, version] of Object.entries(PROJECT_VERSIONS))
      expect(`${name} ${version}`).toBe(`${name} ^${manifest.devDependencies[name]}`);
  });
});

describe("pawl init refuses", () => {
  it("a folder that is not empty, and names what is in the way", async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, "package.json"), "{}");
    mkdirSync(join(cwd, "src"));
    expect(await refused(cwd)).toBe(
      "error: … is not empty: it has package.json and src. Nothing was written; use an empty folder, or name a new one: `pawl init my-agent`.\n",
    );
    for (let i = 1; i < 9; i++) writeFileSync(join(cwd, `a${i}`), "");
    expect(await refused(cwd)).toContain("it has a1, a2, a3, a4, a5 and 5 more.");
  });

  it("the folder that it has already written", async () => {
    const cwd = emptyFolder();
    await pawl(["init", "mine"], { cwd });
    expect(await refused(cwd, "mine")).toContain("…/mine is not empty: it has agent.test.ts, agent.ts,");
  });

  it("a file, a path through a file, a name that is too long, and an empty one", async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, "notes.txt"), "");
    expect(await refused(cwd, "notes.txt")).toBe(
      "error: …/notes.txt is not a folder: name an empty folder, or one that does not exist yet.\n",
    );
    expect(await refused(cwd, "notes.txt/agent")).toBe(
      "error: …/notes.txt/agent cannot be made, since a part of its path is a file: name another folder. Nothing was written.\n",
    );
    expect(await refused(cwd, "n".repeat(300))).toContain("has a name that is too long for the file system");
    expect(await refused(cwd, " ")).toBe(
      "error: The name of the folder is empty: name one, or leave it out.\n",
    );
  });

  it("a folder that cannot be written to", async () => {
    const cwd = emptyFolder();
    chmodSync(cwd, 0o555);
    // The superuser may write everywhere, so it becomes the user nobody first.
    const nobody = "data:text/javascript,if (process.getuid() === 0) process.setuid(65534)";
    const { exitCode, stderr } = await new CliProcess(cwd, process.execPath, [
      "--import",
      nobody,
      join(import.meta.dirname, "../../../src/cli/main.ts"),
      "init",
    ]).ended();
    expect([exitCode, stderr]).toEqual([
      2,
      `error: ${cwd} cannot be written to (EACCES): name another folder. Nothing was written.\n`,
    ]);
    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe("a project folder", () => {
  it("that a killed init left in the middle is completed by the next one", async () => {
    const folder = emptyFolder();
    const files = defaultFiles("x");
    mkdirSync(join(folder, ".pawl-init"));
    writeFileSync(join(folder, ".pawl-init/agent.ts"), "import {");
    for (const { name, text } of files.slice(0, 4)) writeFileSync(join(folder, name), text);
    await writeProject(folder, files);
    expect(textsIn(folder)).toEqual(Object.fromEntries(files.map(({ name, text }) => [name, text])));
    expect(existsSync(join(folder, ".pawl-init"))).toBe(false);
  });

  it("that a killed init left is refused if a file in it was changed since", async () => {
    const folder = emptyFolder();
    mkdirSync(join(folder, ".pawl-init"));
    writeFileSync(join(folder, "agent.ts"), "// mine");
    await expect(writeProject(folder, defaultFiles("x"))).rejects.toThrow("it has agent.ts.");
    expect(readFileSync(join(folder, "agent.ts"), "utf8")).toBe("// mine");
  });

  it("that another program makes meanwhile is left as it is, with everything around it", async () => {
    const parent = join(emptyFolder(), "new");
    const writing = writeProject(join(parent, "agent"), defaultFiles("agent"));
    while (!existsSync(parent)) await new Promise(setImmediate);
    mkdirSync(join(parent, "agent"), { recursive: true });
    for (const name of ["agent/precious.txt", "other.txt"]) writeFileSync(join(parent, name), "mine");
    await expect(writing).rejects.toThrow("was made by another program at the same time");
    const left = ["agent", "agent/precious.txt", "other.txt"];
    expect(readdirSync(parent, { recursive: true, encoding: "utf8" }).toSorted()).toEqual(left);
  });

  it("that several processes make at the same time is made by one of them", async () => {
    const cwd = emptyFolder();
    const main = join(import.meta.dirname, "../../../src/cli/main.ts");
    const start = () => new CliProcess(cwd, process.execPath, [main, "init", "deep/er/agent"]).ended();
    const ends = await Promise.all([start(), start(), start()]);
    expect(ends.map(({ exitCode }) => String(exitCode)).toSorted()).toEqual(["0", "2", "2"]);
    expect(readdirSync(join(cwd, "deep/er"))).toEqual(["agent"]);
    expect(readdirSync(join(cwd, "deep/er/agent")).toSorted()).toEqual(FILES);
  });

  it("leaves nothing of a killed init beside it, and everything of others", async () => {
    const parent = emptyFolder();
    const dead = spawnSync(process.execPath, ["-e", ""]).pid;
    const keeper = join(parent, `.pawl-init-${process.ppid}`);
    for (const name of [`.pawl-init-${dead}`, `.pawl-init-${process.pid}`, ".pawl-init-mine"])
      mkdirSync(join(parent, name));
    mkdirSync(keeper);
    writeFileSync(join(parent, `.pawl-init-${dead}`, "agent.ts"), "import {");
    writeFileSync(join(parent, `.pawl-init-${process.pid}`, "agent.ts"), "import {");
    await writeProject(join(parent, "x"), defaultFiles("x"));
    expect(readdirSync(parent).toSorted()).toEqual([basename(keeper), ".pawl-init-mine", "x"].toSorted());
    // The process that had this number is long gone.
    utimesSync(keeper, 0, 0);
    await writeProject(join(parent, "y"), defaultFiles("y"));
    expect(existsSync(keeper)).toBe(false);
  });

  it("beside a leftover that holds a file of somebody else is made, and the file stays", async () => {
    const parent = emptyFolder();
    mkdirSync(join(parent, ".pawl-init"));
    writeFileSync(join(parent, ".pawl-init/notes.txt"), "mine");
    await writeProject(join(parent, "x"), defaultFiles("x"));
    expect(readFileSync(join(parent, ".pawl-init/notes.txt"), "utf8")).toBe("mine");
    expect(readdirSync(join(parent, "x")).toSorted()).toEqual(FILES);
  });

  it.each(["existing", "new"])("that is %s holds nothing if one file cannot be written", async (kind) => {
    const parent = emptyFolder();
    const folder = join(parent, "deep/x");
    if (kind === "existing") mkdirSync(folder, { recursive: true });
    const [first, ...rest] = defaultFiles("x");
    const files = [...rest, { ...first, name: "no/such/folder", text: "", purpose: "" }];
    await expect(writeProject(folder, files)).rejects.toThrow("cannot be written to (ENOENT)");
    expect(readdirSync(parent, { recursive: true })).toEqual(kind === "new" ? [] : ["deep", "deep/x"]);
  });
});

describe("the version of Pawl that a project depends on", () => {
  const own = `^${manifest.version}`;
  const packed = { packages: { "node_modules/pawl": { resolved: "file:pawl.tgz" } } };

  it.each([
    ["the packed file that npm was given", JSON.stringify(packed), "file:…/pawl.tgz"],
    ["this one without a record of npm", null, own],
    ["this one if that record is cut off", '{"packages": {', own],
    ["this one if that record is of another form", '{"packages": []}', own],
  ])("is %s", (_, record, expected) => {
    const project = emptyFolder();
    const installed = join(project, "node_modules/pawl");
    mkdirSync(installed, { recursive: true });
    writeFileSync(join(project, "pawl.tgz"), "");
    if (record !== null) writeFileSync(join(project, "node_modules/.package-lock.json"), record);
    expect(ownDependency(installed).replace(project, "…")).toBe(expected);
  });
});

describe("the name of the package", () => {
  it.each([
    ["my-agent", "my-agent"],
    ["My Agent", "my-agent"],
    ["Ünïcode & more!", "n-code-more"],
    ["_.hidden", "hidden"],
    ["日本", "pawl-project"],
    ["zod", "pawl-project"],
    ["pawl", "pawl-project"],
    ["-", "pawl-project"],
  ])("of %s is %s", (folder, name) => {
    expect(packageName(folder)).toBe(name);
  });
});
