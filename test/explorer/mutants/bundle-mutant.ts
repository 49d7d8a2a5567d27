import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Plugin, rolldown } from "rolldown";
import type * as entry from "./entry.ts";
import type { Patch } from "./mutant.ts";

const repository = fileURLToPath(new URL("../../../", import.meta.url));

/** What a bundle gives: the explorer and the scenarios, with one engine and store for all of them. */
export type Bundled = typeof entry;

/** A folder for the bundles: inside of `node_modules`, from where the packages are found that they import. */
export function makeBundleFolder(): { readonly folder: string; readonly remove: () => void } {
  const cache = join(repository, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "mutants-"));
  // They are read from beside the code that applies them.
  cpSync(join(repository, "src/store/sqlite/migrations"), join(folder, "migrations"), { recursive: true });
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Bundles the explorer with these texts replaced, and loads it. The sources stay as they are. */
export async function loadPatched(folder: string, name: string, patches: readonly Patch[]): Promise<Bundled> {
  const built = await rolldown({
    input: join(repository, "test/explorer/mutants/entry.ts"),
    platform: "node",
    external: (id) => !id.startsWith(".") && !isAbsolute(id),
    plugins: [planting(patches)],
    logLevel: "silent",
  });
  const file = join(folder, `${name}.mjs`);
  await built.write({ file, format: "esm", codeSplitting: false });
  await built.close();
  return (await import(pathToFileURL(file).href)) as Bundled;
}

/** A bug that is not planted would be one that nobody finds: every text has to be there, and once. */
function planting(patches: readonly Patch[]): Plugin {
  const missing = patches.find(({ file }) => !existsSync(pathOf(file)));
  if (missing !== undefined) throw new Error(`There is no src/${missing.file} to plant a bug in.`);
  const planted = new Set<Patch>();
  return {
    name: "plant-bugs",
    transform(source, id) {
      const here = patches.filter(({ file }) => id === pathOf(file));
      for (const patch of here) planted.add(patch);
      return here.length === 0 ? null : { code: here.reduce(patched, source) };
    },
    buildEnd(error) {
      const left = patches.find((patch) => !planted.has(patch));
      if (error === undefined && left !== undefined)
        throw new Error(`src/${left.file} is not in the bundle.`);
    },
  };
}

function patched(source: string, { file, right, wrong }: Patch): string {
  const times = source.split(right).length - 1;
  if (times !== 1) throw new Error(`src/${file} has this text ${times} times, and not once:\n${right}`);
  return source.replace(right, () => wrong);
}

function pathOf(file: string): string {
  return join(repository, "src", file);
}
