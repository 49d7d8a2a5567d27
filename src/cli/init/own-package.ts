import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { OWN_FOLDER, packageVersion } from "../own-files.ts";

/** The record that npm keeps in `node_modules` of what it installed from where. */
const installed = z.object({
  packages: z.record(z.string(), z.object({ resolved: z.string().optional() })),
});

/**
 * The version of Pawl that a new project depends on: this one, from where it was installed. That is the registry, or the
 * packed file that npm was given.
 */
export function ownDependency(): string {
  const packed = packedFile(dirname(OWN_FOLDER));
  return packed === null ? `^${packageVersion()}` : `file:${packed}`;
}

/** Null if Pawl was installed from the registry, or by a package manager that keeps no such record. */
function packedFile(folder: string): string | null {
  const modules = dirname(folder);
  const record = join(modules, ".package-lock.json");
  if (!existsSync(record)) return null;
  const { resolved = "" } =
    installed.parse(JSON.parse(readFileSync(record, "utf8"))).packages["node_modules/pawl"] ?? {};
  if (!resolved.startsWith("file:")) return null;
  const file = resolve(dirname(modules), resolved.slice("file:".length));
  return existsSync(file) ? file : null;
}
