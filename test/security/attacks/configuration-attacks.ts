import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Attack } from "../attack.ts";
import type { Target } from "../target.ts";

/** A folder that is nobody's project, with a home in it. */
function place(): { readonly root: string; readonly home: string; readonly work: string } {
  const root = mkdtempSync(join(tmpdir(), "pawl-attack-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [home, work] = [join(root, "home"), join(root, "shared/work")];
  for (const folder of [home, work]) mkdirSync(folder, { recursive: true });
  return { root, home, work };
}

/** Says in a file that it was run. */
function plant(folder: string, mark: string): string {
  const file = join(folder, "pawl.config.mjs");
  writeFileSync(
    file,
    `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(mark)}, "");\nexport default { store: "file:./x.db" };\n`,
  );
  return file;
}

/** Only root may give a file away; where the test is somebody else, that others may write it stands for the same. */
function giveAway(path: string): void {
  if (process.geteuid?.() === 0) return chownSync(path, 12_345, 12_345);
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
        file: "cli/config-file.ts",
        right: "  if (refusal === null) return;\n",
        wrong: "  if (refusal !== undefined) return;\n",
      },
    ],
    succeeds: async (target) => {
      const { root, home, work } = place();
      const mark = join(root, "pwned");
      giveAway(plant(join(root, "shared"), mark));
      return isRun(target, work, home, ["run", "report"], mark);
    },
  },
  {
    threat: "another user puts a configuration into a folder that everybody may write",
    weakened: [
      { file: "cli/config-owner.ts", right: "if (!isSafe)\n", wrong: "if (!isSafe && path === '')\n" },
    ],
    succeeds: async (target) => {
      const { root, home, work } = place();
      const mark = join(root, "pwned");
      plant(join(root, "shared"), mark);
      chmodSync(join(root, "shared"), 0o1777);
      return isRun(target, work, home, ["run", "report"], mark);
    },
  },
  {
    threat: "a configuration above the repository, the package or home is run",
    weakened: [
      {
        file: "cli/config-search.ts",
        right: "for (let last = folder; !ends.includes(last) && last !== dirname(last); folders.push(last))",
        wrong: "for (let last = folder; last !== dirname(last); folders.push(last))",
      },
      {
        file: "cli/config-search.ts",
        right: "if (folder === top) return null;",
        wrong: "if (top === '') return null;",
      },
    ],
    succeeds: async (target) => {
      for (const end of [".git", "package.json", "home"]) {
        const { root, home, work } = place();
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
        file: "cli/command-store.ts",
        right: "const store = await writtenStore(found.path, context.env);",
        wrong: "const { store = null } = (await import(found.path)).default;",
      },
    ],
    succeeds: async (target) => {
      const { root, home, work } = place();
      const mark = join(root, "pwned");
      plant(work, mark);
      return isRun(target, work, home, ["ls"], mark);
    },
  },
  {
    threat: "another user plants compiled code for the command line to load",
    weakened: [
      {
        file: "cli/private-folder.ts",
        right: "(stats.uid === user && !isOpenToOthers(stats))",
        wrong: "stats.uid >= 0",
      },
    ],
    succeeds: async (target) => {
      const { home, work } = place();
      // Whoever owns the folder decides what is in it, so harm is done when it is used at all.
      const planted = join(home, ".cache/pawl/compiled");
      mkdirSync(planted, { recursive: true, mode: 0o700 });
      if (process.geteuid?.() === 0) chownSync(planted, 12_345, 12_345);
      else chmodSync(planted, 0o777);
      await target.cli(["ls"], { cwd: work, env: { HOME: home, TMPDIR: join(home, "..") } });
      return readdirSync(planted).length > 0;
    },
  },
];
