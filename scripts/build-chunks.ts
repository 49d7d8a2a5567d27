// Which modules share a file of the package. A file takes as long to load as some 10 KB of code, and a package much longer.
// So modules that are loaded together are in one file, unless some of them need packages that the others do not.

import { isBuiltin } from "node:module";
import { basename, join, relative, resolve } from "node:path";
import type { Plugin } from "rolldown";
import { BUNDLED_PACKAGES } from "./bundled-packages.ts";

const source = resolve(import.meta.dirname, "../src");

/** What is loaded in one go, by its first modules. A module belongs to the first part that needs it. */
const PARTS = {
  // What the command line needs before it can check the version of Node and use its compile cache, and its own version.
  start: ["core/node-version.ts", "cli/config/private-folder.ts", "server/own-files.ts"],
  pawl: ["index.ts"],
  store: ["store/sqlite/sqlite-store.ts"],
  export: ["export/export-run.ts"],
  engine: ["engine/runner/run-requests.ts"],
};

/** So small that they are kept with the code that uses them. */
const SMALL_PACKAGES = ["canonicalize", "picocolors"];

type ModuleGraph = ReadonlyMap<
  string,
  { readonly isEntry: boolean; readonly importedIds: readonly string[] }
>;

/** Names the file of a module; null for one that is loaded on its own. `plugin` has to see the modules first. */
export function chunkFiles(): { readonly plugin: Plugin; readonly nameOf: (id: string) => string | null } {
  const modules = new Map<string, { isEntry: boolean; importedIds: string[] }>();
  let names: ReadonlyMap<string, string> = new Map();
  const plugin: Plugin = {
    name: "read-imports",
    moduleParsed: (module) => void modules.set(module.id, module),
    buildEnd: () => {
      names = chunkNames(modules);
    },
  };
  return { plugin, nameOf: (id) => names.get(id) ?? null };
}

function chunkNames(modules: ModuleGraph): ReadonlyMap<string, string> {
  const imported = new Set([...modules.values()].flatMap(({ importedIds }) => importedIds));
  const parts = Object.entries(PARTS).map(([name, files]) => ({
    name,
    ids: reachedFrom(modules, ...files.map((file) => join(source, file))),
  }));
  const partOf = (id: string) => parts.find(({ ids }) => ids.has(id))?.name ?? null;
  const packageOf = packages(modules);
  const names = new Map<string, string>();
  for (const [id, { isEntry }] of modules) {
    const own = packageOf(id);
    const part = own ?? partOf(id) ?? layerOf(id);
    // What no module imports is loaded on its own: by a user, or with `import()`.
    if (part === null || (own === null && (isEntry || !imported.has(id)))) continue;
    const needed = [...reachedFrom(modules, id)].flatMap((each) => {
      // Some commands, such as `pawl ls`, do not need the engine either, nor does what they say of a run.
      const isEngine = (part === "cli" || part === "account") && partOf(each) === "engine";
      return packageOf(each) ?? (isEngine ? "engine" : []);
    });
    names.set(id, own ?? [part, ...new Set(needed.sort())].join("-"));
  }
  return names;
}

/** The modules that are loaded with these. */
function reachedFrom(modules: ModuleGraph, ...start: readonly string[]): ReadonlySet<string> {
  const reached = new Set(start);
  for (const id of reached) for (const next of modules.get(id)?.importedIds ?? []) reached.add(next);
  return reached;
}

/** Finds the package that a module comes with; null for Pawl's own modules, Node's, and those of small packages. */
function packages(modules: ModuleGraph): (id: string) => string | null {
  const bundled = BUNDLED_PACKAGES.map((name) => ({
    name: basename(name),
    ids: reachedFrom(modules, ...[...modules.keys()].filter((id) => id.includes(`/node_modules/${name}/`))),
  }));
  return (id) => {
    if (isBuiltin(id) || SMALL_PACKAGES.some((name) => id.includes(`/node_modules/${name}/`))) return null;
    if (!modules.has(id)) return basename(id);
    return bundled.find(({ ids }) => ids.has(id))?.name ?? null;
  };
}

/** A layer imports only from the layers above it, so the files of two layers never need each other. */
function layerOf(id: string): string | null {
  if (!id.startsWith(source)) return null;
  const [layer = "", room = ""] = relative(source, id).split("/");
  const hasEntries = layer === "adapters" || layer === "testing";
  return hasEntries && !room.endsWith(".ts") ? `${layer}-${room}` : layer;
}
