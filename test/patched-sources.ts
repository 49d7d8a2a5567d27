// Bundles of the sources with a text replaced: a planted bug, or a removed guard. The sources themselves are not changed.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Plugin, rolldown } from "rolldown";

const repository = fileURLToPath(new URL("../", import.meta.url));

/** A text of one source file, and its replacement. */
export type Patch = {
  /** Below `src/`. */
  readonly file: string;
  /** It must be in the file exactly once. */
  readonly right: string;
  readonly wrong: string;
};

/** A folder for the bundles: inside `node_modules`, so that they find the packages that they import. */
export function makeBundleFolder(): { readonly folder: string; readonly remove: () => void } {
  const cache = join(repository, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const outer = mkdtempSync(join(cache, "patched-"));
  const folder = join(outer, "bundles");
  mkdirSync(folder);
  return { folder, remove: () => rmSync(outer, { recursive: true, force: true }) };
}

/** Bundles a file of this repository, with these texts of its sources replaced, into one file. */
export async function bundlePatched(entry: string, file: string, patches: readonly Patch[]): Promise<void> {
  const built = await rolldown({
    input: join(repository, entry),
    platform: "node",
    external: (id) => !id.startsWith(".") && !isAbsolute(id),
    plugins: [planting(patches)],
    logLevel: "silent",
  });
  await built.write({ file, format: "esm", codeSplitting: false });
  await built.close();
  // A thread is started from a file above the code that starts it: this one imports the file of the sources.
  const worker = pathToFileURL(join(repository, "src/adapters/off-thread-worker.ts"));
  writeFileSync(join(dirname(file), "../off-thread-worker.mjs"), `import ${JSON.stringify(worker.href)};\n`);
}

/** A patch that is not applied would go unnoticed: every text must be there, exactly once. */
function planting(patches: readonly Patch[]): Plugin {
  const missing = patches.find(({ file }) => !existsSync(pathOf(file)));
  if (missing !== undefined) throw new Error(`There is no src/${missing.file} to change.`);
  const planted = new Set<Patch>();
  return {
    name: "replace-texts",
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

/** Throws unless each of these texts is in the sources exactly once. */
export function assertPlantable(patches: readonly Patch[]): void {
  const files = Map.groupBy(patches, ({ file }) => pathOf(file));
  for (const [path, here] of files) here.reduce(patched, readFileSync(path, "utf8"));
}

function patched(source: string, { file, right, wrong }: Patch): string {
  const times = source.split(right).length - 1;
  if (times !== 1) throw new Error(`src/${file} has this text ${times} times, and not once:\n${right}`);
  return source.replace(right, () => wrong);
}

function pathOf(file: string): string {
  return join(repository, "src", file);
}
