// The package as users get it: built, packed, and installed in a project of its own. It is built once for all test files,
// and again only after its files have changed.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

export const root = resolve(import.meta.dirname, "../..");
const cache = join(root, "node_modules/.cache/packed");
const BUILD_TAKES_AT_MOST_MS = 5 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

export type PackageManifest = {
  readonly files: readonly string[];
  readonly bin: { readonly pawl: string };
  readonly exports: {
    readonly [path: string]: string | { readonly default: string; readonly types: string };
  };
  readonly dependencies: { readonly [name: string]: string };
  readonly peerDependencies: { readonly [name: string]: string };
  readonly peerDependenciesMeta: { readonly [name: string]: { readonly optional: boolean } };
};

export const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as PackageManifest;

export const optionalPeers = Object.keys(manifest.peerDependencies).filter(
  (name) => manifest.peerDependenciesMeta[name]?.optional,
);

/** The environment for programs of the tests, in which `node` and the project's own tools are found first. */
export const toolsFirst = {
  ...process.env,
  PATH: [join(root, "node_modules/.bin"), process.env.PATH ?? ""].join(delimiter),
};

/**
 * Makes an empty project with Pawl, its dependencies and the given other packages of this repository, such as optional
 * peers or `@types/node`. Returns its folder, which the caller removes. `npx pawl` works in it.
 *
 * @example
 * const project = await packedProject({ packages: ["ai"] });
 * execFileSync("npx", ["pawl", "--help"], { cwd: project, env: toolsFirst });
 */
export async function packedProject({
  packages = [],
  packageJson = { type: "module" },
}: {
  readonly packages?: readonly string[];
  readonly packageJson?: object;
} = {}): Promise<string> {
  const { folder } = await packedPackage();
  const project = mkdtempSync(join(tmpdir(), "pawl-project-"));
  const modules = join(project, "node_modules");
  // Copied: through a link, Pawl would find the packages of this repository, and none would ever be missing.
  cpSync(folder, join(modules, "pawl"), { recursive: true });
  const needed = Object.keys(manifest.peerDependencies).filter((name) => !optionalPeers.includes(name));
  for (const name of [...Object.keys(manifest.dependencies), ...needed, ...packages])
    link(join(root, "node_modules", name), join(modules, name));
  link(join(modules, "pawl", manifest.bin.pawl), join(modules, ".bin/pawl"));
  writeFileSync(join(project, "package.json"), JSON.stringify(packageJson));
  return project;
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  if (!existsSync(path)) symlinkSync(target, path);
}

/** The packed package: `folder` has its files, `tarball` is for `npm install`. */
export async function packedPackage(): Promise<{ readonly folder: string; readonly tarball: string }> {
  const done = join(cache, contentHash());
  const packed = { folder: join(done, "package"), tarball: join(done, "pawl.tgz") };
  mkdirSync(cache, { recursive: true });
  // One worker builds; the others wait for its folder.
  const lock = `${done}.lock`;
  while (!existsSync(done)) {
    if (!takeLock(lock)) {
      await sleep(100);
      continue;
    }
    try {
      if (!existsSync(done)) renameSync(await buildAndPack(), done);
      removeOld();
    } finally {
      rmSync(lock, { recursive: true, force: true });
    }
  }
  return packed;
}

function takeLock(lock: string): boolean {
  if (isOlderThan(lock, BUILD_TAKES_AT_MOST_MS)) rmSync(lock, { recursive: true, force: true });
  try {
    mkdirSync(lock);
    return true;
  } catch {
    return false;
  }
}

function isOlderThan(path: string, ms: number): boolean {
  const mtimeMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return mtimeMs !== undefined && Date.now() - mtimeMs > ms;
}

function removeOld(): void {
  for (const name of readdirSync(cache))
    if (isOlderThan(join(cache, name), DAY_MS)) rmSync(join(cache, name), { recursive: true, force: true });
}

/** Everything that the package is made from. */
function contentHash(): string {
  const packed = manifest.files.filter((name) => name !== "dist");
  const patterns = [
    ...packed.flatMap((name) => [name, `${name}/**`]),
    "src/**",
    "scripts/bu*.ts",
    "scripts/{embed-migrations,type-statements,docs/declarations}.ts",
  ];
  const hash = createHash("sha256");
  for (const file of globSync([...patterns, "tsconfig*.json", "package.json"], { cwd: root }).sort()) {
    if (!statSync(join(root, file)).isFile()) continue;
    hash.update(`${file}\n`).update(readFileSync(join(root, file)));
  }
  return hash.digest("hex").slice(0, 32);
}

const run = promisify(execFile);

async function buildAndPack(): Promise<string> {
  const made = mkdtempSync(join(cache, "building-"));
  const folder = join(made, "package");
  const env = toolsFirst;
  await run(process.execPath, [join(root, "scripts/build.ts"), join(folder, "dist")], { cwd: root, env });
  for (const name of [
    "package.json",
    ...manifest.files.filter((file) => file !== "dist" && !file.startsWith("!")),
  ])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  await run("npm", ["pack", "--ignore-scripts", "--pack-destination", made], { cwd: folder, env });
  rmSync(folder, { recursive: true });
  const tarball = join(made, readdirSync(made).find((name) => name.endsWith(".tgz")) ?? "");
  await run("tar", ["-xzf", tarball, "-C", made]);
  renameSync(tarball, join(made, "pawl.tgz"));
  // npm does this when it installs a package.
  chmodSync(join(made, basename(folder), manifest.bin.pawl), 0o755);
  return made;
}
