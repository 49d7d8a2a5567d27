// The dashboard, built once for all tests of pages, until its sources change.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { buildDashboard } from "../../scripts/build-dashboard.ts";

const root = resolve(import.meta.dirname, "../..");
const cache = join(root, "node_modules/.cache");

/** The folder of its files. It has its final name only once it is complete: tests may start side by side, and be killed. */
export async function builtDashboard(): Promise<string> {
  const folder = join(cache, `dashboard-${sourcesHash()}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const built = mkdtempSync(`${folder}.`);
  await buildDashboard(built);
  try {
    renameSync(built, folder);
  } catch (error) {
    rmSync(built, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/** Of all that may become a part of it. */
function sourcesHash(): string {
  const hash = createHash("sha256");
  const folders = ["dashboard", "src"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort(),
  );
  for (const file of [...folders, join(root, "package-lock.json"), join(root, "scripts/build-dashboard.ts")])
    hash.update(`${file}\n`).update(readFileSync(file));
  return hash.digest("hex").slice(0, 16);
}
