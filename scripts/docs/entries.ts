// The public entries of the package, from `exports` of package.json.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Declaration, type DeclarationFile, exportsOf, readDeclarations } from "./declarations.ts";

/** An import path of the package, such as `pawl/testing`, with what it exports. */
export type Entry = {
  readonly path: string;
  readonly file: DeclarationFile;
  readonly names: ReadonlyMap<string, readonly Declaration[]>;
};

/** All entries with types, read from a built package: a folder with `package.json` and `dist`. */
export function packageEntries(folder: string): readonly Entry[] {
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly exports: { readonly [path: string]: string | { readonly types: string } };
  };
  return Object.entries(exports).flatMap(([path, target]) => {
    if (typeof target === "string") return [];
    const file = readDeclarations(join(folder, target.types));
    return [{ path: `pawl${path.slice(1)}`, file, names: exportsOf(file) }];
  });
}
