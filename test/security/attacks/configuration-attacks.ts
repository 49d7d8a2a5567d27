import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Attack } from "../attack.ts";
import type { Target } from "../target.ts";

/** A folder outside of any project, with a home folder in it. */
function makeFolders(): { readonly root: string; readonly home: string; readonly work: string } {
  const root = mkdtempSync(join(tmpdir(), "pawl-attack-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [home, work] = [join(root, "home"), join(root, "shared/work")];
  for (const folder of [home, work]) mkdirSync(folder, { recursive: true });
  return { root, home, work };
}

/** A configuration that leaves a mark when it is run. */
function plant(folder: string, mark: string): string {
  const file = join(folder, "pawl.config.mjs");
  writeFileSync(
    file,
    `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(mark)}, "");\nexport default { store: "file:./x.db" };\n`,
  );
  return file;
}

const isRoot = process.geteuid?.() === 0;

/** Only root may change the owner; without root, a world-writable file is used instead. */
function giveAway(path: string): void {
  if (isRoot) return chownSync(path, 12_345, 12_345);
  console.log(`not root: ${path} is made writable for others in place of another owner`);
  chmodSync(path, 0o666);
}

async function isRun(target: Target, cwd: string, home: string, args: readonly string[], mark: string) {
  await target.cli(args, { cwd, env: { HOME: home } });
  return existsSync(mark);
}

export const CONFIGURATION_ATTACKS: readonly Attack[] = [
  {
    threat: "another user puts a configuration into a folder above the project",
    weakened: [
      {
        file: "cli/config/config-file.ts",
        right: "  if (refusal === null) return;\n",
        wrong: "  if (refusal !== undefined) return;\n",
      },
    ],
    succeeds: async (target) => {
      const { root, home, work } = makeFolders();
      const mark = join(root, "pwned");
      giveAway(plant(join(root, "shared"), mark));
      return isRun(target, work, home, ["run", "report"], mark);
    },
  },
  {
    threat: "another user puts a configuration into a world-writable folder",
    weakened: [
      { file: "cli/config/config-owner.ts", right: "if (!isSafe)\n", wrong: "if (!isSafe && path === '')\n" },
    ],
    succeeds: async (target) => {
      const { root, home, work } = makeFolders();
      const mark = join(root, "pwned");
      plant(join(root, "shared"), mark);
      chmodSync(join(root, "shared"), 0o1777);
      return isRun(target, work, home, ["run", "report"], mark);
    },
  },
  {
    threat: "another user redirects a link on the path of a configuration to their own",
    weakened: [
      {
        file: "cli/config/config-owner.ts",
        right: 'if (isForeign(stats, user) && (found === "found" || who !== null))',
        wrong: 'if (link === "")',
      },
      {
        file: "cli/config/config-owner.ts",
        right: "return who === null || isSticky(folder)\n",
        wrong: "return folder !== null\n",
      },
    ],
    succeeds: async (target) => {
      const { root, home, work } = makeFolders();
      const mark = join(root, "pwned");
      // The file itself belongs to the user: the link decides which of the user's files it is.
      const safe = join(root, "elsewhere");
      mkdirSync(safe);
      plant(safe, mark);
      const open = join(root, "open");
      mkdirSync(open);
      symlinkSync(safe, join(open, "link"));
      symlinkSync(join(open, "link/pawl.config.mjs"), join(work, "pawl.config.mjs"));
      if (isRoot) lchownSync(join(open, "link"), 12_345, 12_345);
      chmodSync(open, isRoot ? 0o1777 : 0o777);
      return isRun(target, work, home, ["run", "report"], mark);
    },
  },
  {
    threat: "another user puts a provider's package into a folder above the project",
    weakened: [
      {
        file: "cli/job/provider-package.ts",
        right: "if (isForeign(stats, user) && !trusted.includes(stats.uid))",
        wrong: "if (each === '')",
      },
      {
        file: "cli/job/provider-package.ts",
        right: "if (who !== null && (who",
        wrong: "if (who === '' && (who",
      },
    ],
    succeeds: async (target) => {
      const { root, home, work } = makeFolders();
      const mark = join(root, "pwned");
      mkdirSync(join(root, "shared/.git"));
      writeFileSync(join(work, "pawl.config.mjs"), "export default {};\n");
      const evil = join(root, "shared/node_modules/@ai-sdk/evil");
      mkdirSync(evil, { recursive: true });
      writeFileSync(join(evil, "package.json"), '{ "name": "@ai-sdk/evil", "main": "index.js" }');
      writeFileSync(join(evil, "index.js"), `require("node:fs").writeFileSync(${JSON.stringify(mark)}, "");`);
      if (isRoot) chownSync(evil, 12_345, 12_345);
      else chmodSync(evil, 0o777);
      const pipeline = {
        name: "harm",
        agents: { a: { model: "evil/model" } },
        steps: [{ name: "a", agent: "a" }],
      };
      writeFileSync(join(work, "job.json"), JSON.stringify({ objective: "x", pipeline }));
      return isRun(target, work, home, ["run", "job.json", "--trust"], mark);
    },
  },
  {
    threat: "a configuration above the repository, the package or the home folder is run",
    weakened: [
      {
        file: "cli/config/config-search.ts",
        right: "for (let last = folder; !ends.includes(last) && last !== dirname(last); folders.push(last))",
        wrong: "for (let last = folder; last !== dirname(last); folders.push(last))",
      },
      {
        file: "cli/config/config-search.ts",
        right: "if (folder === top) return null;",
        wrong: "if (top === '') return null;",
      },
    ],
    succeeds: async (target) => {
      for (const end of [".git", "package.json", "home"]) {
        const { root, home, work } = makeFolders();
        const mark = join(root, "pwned");
        plant(root, mark);
        if (end === ".git") mkdirSync(join(root, "shared/.git"));
        if (end === "package.json") writeFileSync(join(root, "shared/package.json"), "{}");
        const itsHome = end === "home" ? join(root, "shared") : home;
        if (await isRun(target, work, itsHome, ["run", "report"], mark)) return true;
      }
      return false;
    },
  },
  {
    threat: "a configuration is run by a command that only reads the store",
    weakened: [
      {
        file: "cli/run/command-store.ts",
        right: "const store = await writtenStore(found.path, context.env);",
        wrong: "const { store = null } = (await import(found.path)).default;",
      },
    ],
    succeeds: async (target) => {
      const { root, home, work } = makeFolders();
      const mark = join(root, "pwned");
      plant(work, mark);
      return isRun(target, work, home, ["ls"], mark);
    },
  },
  {
    threat: "another user plants compiled code for the command line to load",
    weakened: [
      {
        file: "cli/config/private-folder.ts",
        right: "return stats.uid === user && otherWriters(stats, user) === null;",
        wrong: "return true;",
      },
    ],
    succeeds: async (target) => {
      const { home, work } = makeFolders();
      // The owner of the folder decides what is in it, so harm is done when it is used at all.
      const planted = join(home, ".cache/pawl/compiled");
      mkdirSync(planted, { recursive: true, mode: 0o700 });
      if (isRoot) chownSync(planted, 12_345, 12_345);
      else chmodSync(planted, 0o777);
      await target.cli(["ls"], {
        cwd: work,
        env: { HOME: home, TMPDIR: join(home, ".."), NODE_COMPILE_CACHE: "" },
      });
      return readdirSync(planted).length > 0;
    },
  },
];
