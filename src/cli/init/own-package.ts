import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { packageVersion } from "../../server/own-files.ts";
import { OWN_FOLDER } from "../own-files.ts";

/** The record that npm keeps in `node_modules` of what it installed from where. */
const installed = z.object({
  packages: z.record(z.string(), z.object({ resolved: z.string().optional() })),
});

/**
 * The version of Pawl that a new project depends on: this one, from where it was installed. That is the registry, or the
 * packed file that npm was given.
 */
export function ownDependency(folder = dirname(OWN_FOLDER)): string {
  const packed = packedFile(folder);
  return packed === null ? `^${packageVersion()}` : `file:${packed}`;
}

/** Null if Pawl was installed from the registry, or by a package manager that keeps no such record. */
function packedFile(folder: string): string | null {
  const modules = dirname(folder);
  const { resolved = "" } = recordsIn(modules)["node_modules/pawl"] ?? {};
  if (!resolved.startsWith("file:")) return null;
  const file = resolve(dirname(modules), resolved.slice("file:".length));
  return existsSync(file) ? file : null;
}

/** What npm installed. A damaged record counts as none: npm writes it again, and the registry has this version. */
function recordsIn(modules: string): z.infer<typeof installed>["packages"] {
  try {
    return installed.parse(JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8"))).packages;
  } catch {
    return {};
  }
}
