import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundlePatched, type Patch } from "../../../patched-sources.ts";
import type * as entry from "./entry.ts";

/** The exports of a bundle: the explorer and the scenarios, which share one engine and store. */
export type Bundled = typeof entry;

/** Bundles the explorer with these texts replaced, and loads it. */
export async function loadPatched(folder: string, name: string, patches: readonly Patch[]): Promise<Bundled> {
  const file = join(folder, `${name}.mjs`);
  await bundlePatched("test/testing/crash/mutants/entry.ts", file, patches);
  return (await import(pathToFileURL(file).href)) as Bundled;
}
