// The examples in doc comments, as modules: what they use of the package, and of a prelude, is imported for them.

import { join } from "node:path";
import { examplesOf } from "../../../scripts/docs/declarations.ts";
import type { Entry } from "../../../scripts/docs/entries.ts";
import { importLine, type Module, missingNames } from "./modules.ts";

/** What examples may import from elsewhere; the first one that has a name wins. */
const ELSEWHERE: readonly (readonly [from: string, names: readonly string[]])[] = [
  ["zod", ["z"]],
  ["@ai-sdk/openai", ["openai"]],
  ["node:fs/promises", ["mkdtemp", "rm"]],
  ["node:os", ["tmpdir"]],
  ["node:path", ["join"]],
];

/** One module for each example of the entries. A name of an example's own entry comes first, then one of `pawl`. */
export function exampleModules(entries: readonly Entry[], prelude: readonly string[]): readonly Module[] {
  const seen = new Set<string>();
  return entries.flatMap((entry) => {
    const others = entries.filter((other) => other !== entry);
    const sources = [
      ...[entry, ...others].map(({ path, names }) => [path, [...names.keys()]] as const),
      ...ELSEWHERE,
      ["../preludes/examples.ts", prelude] as const,
    ];
    return [...entry.names].flatMap(([name, all]) =>
      all.flatMap(examplesOf).flatMap((example, i) => {
        // A name that two entries export has the same example.
        if (seen.has(example)) return [];
        seen.add(example);
        return [exampleModule(`${entry.path} ${name} ${i + 1}`, example, sources)];
      }),
    );
  });
}

function exampleModule(
  title: string,
  example: string,
  sources: readonly (readonly [from: string, names: readonly string[]])[],
): Module {
  const imported: string[] = [];
  const imports = sources.flatMap(([from, names]) => {
    const needed = missingNames(example, names).filter((name) => !imported.includes(name));
    imported.push(...needed);
    return needed.length === 0 ? [] : [importLine(from, needed)];
  });
  const lines = [...imports, ...example.split("\n")].map((text) => ({ text, place: `example of ${title}` }));
  return { path: join("pages/examples", `${title.replaceAll(/[/ ]/g, "-")}.ts`), lines };
}
