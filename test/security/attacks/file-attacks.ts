import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  existsSync,
  promises as fs,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { DIRECT_EFFECTS, type EffectsPort } from "../../../src/engine/run/effects-port.ts";
import type { Attack } from "../attack.ts";
import type { Target } from "../target.ts";

const SECRET = "another user's key";

type Folders = {
  readonly project: string;
  /** The folder of the run. */
  readonly workspace: string;
  /** A folder that no run may read or write. */
  readonly outside: string;
};

function makeFolders(): Folders {
  const root = mkdtempSync(join(tmpdir(), "pawl-attack-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [project, outside] = [join(root, "project"), join(root, "outside")];
  for (const folder of [project, outside]) mkdirSync(folder);
  writeFileSync(join(outside, "key.txt"), SECRET);
  return { project, workspace: join(project, "pawl-runs/r-1"), outside };
}

type Call = {
  readonly name: "read_file" | "write_file";
  readonly input: { readonly [name: string]: string };
};

/** What another program does to the workspace between the check and the use. */
type Meanwhile = { readonly written?: () => void; readonly read?: () => void };

/** Runs a model that makes these calls, one per turn, and returns the tools' results. */
async function calls(
  target: Target,
  { project }: Folders,
  wanted: readonly Call[],
  meanwhile: Meanwhile = {},
): Promise<string> {
  const { pawl, tools, testing } = await target.library();
  const store = await pawl.openStore(":memory:");
  const model = testing.scriptedModel(({ turn }) => {
    const call = wanted[turn - 1];
    return call === undefined ? { text: "Done." } : { toolCalls: [call] };
  });
  const agent = pawl.agent({
    name: "clerk",
    model,
    tools: { read_file: tools.readFile, write_file: tools.writeFile },
  });
  const outside: EffectsPort = {
    ...DIRECT_EFFECTS,
    execute: (tool, input, call) => {
      const isStoreFile = (path: string) => {
        meanwhile.read?.();
        return call.isStoreFile(path);
      };
      return DIRECT_EFFECTS.execute(tool, input, { ...call, isStoreFile });
    },
    writeFile: async (path, content) => {
      if (basename(path) === "new.txt") meanwhile.written?.();
      await fs.writeFile(path, content);
    },
  };
  const disturbed = Object.keys(meanwhile).length > 0 ? { outside } : {};
  await new pawl.Runner(agent, { store, workspaceRoot: project, ...disturbed })
    .run("Go", { runId: "r-1" })
    .catch(() => undefined);
  const results = (await store.listToolCalls("r-1")).map(({ receipt }) => JSON.stringify(receipt)).join("\n");
  await store.close();
  return results;
}

/** Replaces a folder of the workspace by a link to the outside. */
function exchange({ workspace, outside }: Folders): void {
  const pages = join(workspace, "pages");
  if (!lstatSync(pages).isDirectory()) return;
  renameSync(pages, join(workspace, "old"));
  symlinkSync(outside, pages);
}

export const FILE_ATTACKS: readonly Attack[] = [
  {
    threat: "another program replaces a folder by a link while a file is written",
    weakened: [
      {
        file: "store/guarded-folder.ts",
        right: 'const HAS_DESCRIPTORS = process.platform === "linux" && existsSync(DESCRIPTORS);',
        wrong: "const HAS_DESCRIPTORS = false;",
      },
    ],
    succeeds: async (target) => {
      const here = makeFolders();
      const write = { name: "write_file", input: { path: "pages/new.txt", text: "planted" } } as const;
      await calls(target, here, [write], { written: () => exchange(here) });
      return existsSync(join(here.outside, "new.txt"));
    },
  },
  {
    threat: "another program replaces a folder by a link while a file is read",
    weakened: [
      {
        file: "adapters/tools/workspace-files.ts",
        right: "if (!(await isOpenedBelow(await workspaceOf(call), path, file))) throw leadsOut(name);",
        wrong: "",
      },
    ],
    succeeds: async (target) => {
      const here = makeFolders();
      mkdirSync(join(here.workspace, "pages"), { recursive: true });
      writeFileSync(join(here.workspace, "pages/key.txt"), "mine");
      const read = { name: "read_file", input: { path: "pages/key.txt" } } as const;
      return (await calls(target, here, [read], { read: () => exchange(here) })).includes(SECRET);
    },
  },
  {
    threat: "a run's folder is replaced by a link before the run begins",
    weakened: [
      {
        file: "engine/run/run-folder.ts",
        right: "if (isBelow(root, path)) return root;",
        wrong: "if (isBelow(root, path)) return path;",
      },
    ],
    succeeds: async (target) => {
      const here = makeFolders();
      mkdirSync(join(here.project, "pawl-runs"));
      symlinkSync(here.outside, here.workspace);
      const results = await calls(target, here, [
        { name: "write_file", input: { path: "new.txt", text: "planted" } },
        { name: "read_file", input: { path: "key.txt" } },
      ]);
      return results.includes(SECRET) || readdirSync(here.outside).length > 1;
    },
  },
  {
    threat: "the folder of all runs is replaced by a link while a run uses it",
    weakened: [
      {
        file: "engine/run/run-folder.ts",
        right: "if (isBelow(root, path)) return root;",
        wrong: "if (isBelow(root, path)) return fixed;",
      },
      {
        file: "engine/run/workspace.ts",
        right:
          "if (this.#usedFolder.dev !== found.dev || this.#usedFolder.ino !== found.ino) throw this.#replaced();",
        wrong: "",
      },
    ],
    succeeds: async (target) => {
      const here = makeFolders();
      mkdirSync(join(here.outside, "r-1"));
      writeFileSync(join(here.outside, "r-1/key.txt"), SECRET);
      let reads = 0;
      const results = await calls(
        target,
        here,
        [
          { name: "write_file", input: { path: "first.txt", text: "mine" } },
          { name: "read_file", input: { path: "first.txt" } },
          { name: "write_file", input: { path: "second.txt", text: "planted" } },
          { name: "read_file", input: { path: "key.txt" } },
        ],
        {
          read: () => {
            reads += 1;
            if (reads > 1) return;
            renameSync(join(here.project, "pawl-runs"), join(here.project, "old"));
            symlinkSync(here.outside, join(here.project, "pawl-runs"));
          },
        },
      );
      return results.includes(SECRET) || existsSync(join(here.outside, "r-1/second.txt"));
    },
  },
  {
    threat: "a run's folder is replaced by another folder while the run uses it",
    weakened: [
      {
        file: "engine/run/workspace.ts",
        right:
          "if (this.#usedFolder.dev !== found.dev || this.#usedFolder.ino !== found.ino) throw this.#replaced();",
        wrong: "",
      },
    ],
    succeeds: async (target) => {
      const here = makeFolders();
      const other = join(here.outside, "other");
      mkdirSync(other);
      writeFileSync(join(other, "key.txt"), SECRET);
      let isDone = false;
      const results = await calls(
        target,
        here,
        [
          { name: "write_file", input: { path: "first.txt", text: "mine" } },
          { name: "read_file", input: { path: "first.txt" } },
          { name: "read_file", input: { path: "key.txt" } },
        ],
        {
          read: () => {
            if (isDone) return;
            isDone = true;
            renameSync(here.workspace, join(here.project, "old"));
            renameSync(other, here.workspace);
          },
        },
      );
      return results.includes(SECRET);
    },
  },
  {
    threat: "a pipe in place of a run's mark keeps the run from ever starting",
    weakened: [
      {
        file: "store/guarded-folder.ts",
        right: "constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK",
        wrong: "constants.O_RDONLY | constants.O_NOFOLLOW",
      },
    ],
    succeeds: async (target) => {
      const here = makeFolders();
      mkdirSync(here.workspace, { recursive: true });
      const pipe = join(here.workspace, ".pawl-run");
      execFileSync("mkfifo", [pipe]);
      const write = { name: "write_file", input: { path: "first.txt", text: "mine" } } as const;
      const ended = await Promise.race([calls(target, here, [write]), sleep(3_000, null)]);
      // A blocked reader is released, so that the test ends.
      if (ended === null) closeSync(openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK));
      return ended === null;
    },
  },
  {
    threat: "a hard link in the workspace shows a file from elsewhere",
    weakened: [
      { file: "adapters/tools/workspace-files.ts", right: "if (stats.nlink > 1)", wrong: "if (false)" },
    ],
    succeeds: async (target) => {
      const here = makeFolders();
      mkdirSync(here.workspace, { recursive: true });
      linkSync(join(here.outside, "key.txt"), join(here.workspace, "notes.txt"));
      const results = await calls(target, here, [{ name: "read_file", input: { path: "notes.txt" } }]);
      return results.includes(SECRET);
    },
  },
  {
    threat: "a file of a run has the name of a Windows device",
    weakened: [{ file: "core/artifact-name.ts", right: "DEVICE.test(", wrong: "/^$/.test(" }],
    succeeds: async (target) => {
      const here = makeFolders();
      const write = { name: "write_file", input: { path: "notes/aux.txt", text: "lost" } } as const;
      await calls(target, here, [write]);
      return existsSync(join(here.workspace, "notes/aux.txt"));
    },
  },
  {
    threat: "a model writes files that Git executes into its workspace",
    weakened: [{ file: "core/artifact-name.ts", right: "GIT_FOLDER.test(", wrong: "/^$/.test(" }],
    succeeds: async (target) => {
      const here = makeFolders();
      const write = { name: "write_file", input: { path: ".git/hooks/pre-commit", text: "rm" } } as const;
      await calls(target, here, [write]);
      return existsSync(join(here.workspace, ".git/hooks/pre-commit"));
    },
  },
  {
    threat: "a file's name is displayed backwards",
    weakened: [
      {
        file: "core/artifact-name.ts",
        right: "if (hasInvisible(name) || PRIVATE_USE.test(name))",
        wrong: "if (false)",
      },
    ],
    succeeds: async (target) => {
      const here = makeFolders();
      const write = { name: "write_file", input: { path: "invoice\u202efdp.sh", text: "rm" } } as const;
      await calls(target, here, [write]);
      return (
        existsSync(here.workspace) && readdirSync(here.workspace).some((name) => name.includes("\u202e"))
      );
    },
  },
  {
    threat: "another user of the machine reads the files of a run",
    weakened: [
      {
        file: "store/guarded-folder.ts",
        right: "const FOLDER_MODE = 0o700;",
        wrong: "const FOLDER_MODE = 0o755;",
      },
      {
        file: "store/guarded-folder.ts",
        right: "const FILE_MODE = 0o600;",
        wrong: "const FILE_MODE = 0o644;",
      },
    ],
    succeeds: async (target) => {
      const here = makeFolders();
      const write = { name: "write_file", input: { path: "notes/plan.txt", text: "private" } } as const;
      await calls(target, here, [write]);
      const made = ["pawl-runs", "pawl-runs/r-1", "pawl-runs/r-1/notes", "pawl-runs/r-1/notes/plan.txt"];
      return made.some((path) => (statSync(join(here.project, path)).mode & 0o077) !== 0);
    },
  },
];
