// The code of worker threads, as one text with everything that it needs: it is started from text.

import { join, resolve } from "node:path";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";

const root = resolve(import.meta.dirname, "..");

/** It is minified, since the text of an error is all that leaves a thread. */
export async function threadCode(): Promise<OutputChunk> {
  const build = await rolldown({
    cwd: root,
    input: "src/adapters/off-thread-worker.ts",
    platform: "node",
    plugins: [allSchemas(), withoutUnused()],
    onLog: (_, { code, message }) => {
      if (code === "IMPORT_IS_UNDEFINED") throw new Error(message);
    },
  });
  const { output } = await build.generate({ format: "cjs", codeSplitting: false, minify: true });
  await build.close();
  return output[0];
}

const ALL_SCHEMAS = "\0all-schemas";
const ZOD = join(root, "node_modules/zod/v4/classic");

/** The kinds of schemas of zod, as a module of which only those that are used are kept. */
function allSchemas(): Plugin {
  const text = [
    `export * from "${ZOD}/schemas.js";`,
    `export * from "${ZOD}/checks.js";`,
    `export * as iso from "${ZOD}/iso.js";`,
  ].join("\n");
  return {
    name: "all-schemas",
    resolveId: (id) => (id === ALL_SCHEMAS ? ALL_SCHEMAS : null),
    load: (id) => (id === ALL_SCHEMAS ? text : null),
  };
}

/** Statements of packages that keep code which no thread uses, and what is there instead. */
const CHANGES: { readonly [file: string]: readonly (readonly [RegExp, string])[] } = {
  // An object of all kinds of schemas keeps every one of them.
  [join(ZOD, "from-json-schema.js")]: [
    [
      /^const z = \{\s*\.\.\._schemas,\s*\.\.\._checks,\s*iso: _iso,?\s*\};$/m,
      `import * as z from "${ALL_SCHEMAS}";`,
    ],
  ],
  // Each kind of schema can write itself as a JSON Schema.
  [join(ZOD, "schemas.js")]: [
    [
      /^ +inst\._zod\.processJSONSchema = \(ctx, json, params\) => processors\.\w+\(inst, ctx, json, params\);$/gm,
      "",
    ],
    [
      /^import \{ createStandardJSONSchemaMethod, createToJSONSchemaMethod \} from "\.\.\/core\/to-json-schema\.js";$/m,
      "const createStandardJSONSchemaMethod = () => undefined, createToJSONSchemaMethod = () => undefined;",
    ],
  ],
  // The default instance of marked keeps what writes HTML. Threads only read Markdown.
  [join(root, "node_modules/marked/lib/marked.esm.js")]: [
    [
      /var (\w+)=new \w+;function \w+\(\w+,\w+\)\{return \1\.parse\([^]*export\{[^}]*?\b(\w+) as Lexer\b[^}]*\};/,
      "export{$2 as Lexer};",
    ],
  ],
};

/** Of zod, a third is left out, and of marked a quarter. */
function withoutUnused(): Plugin {
  return {
    name: "without-unused",
    transform: (code, id) =>
      CHANGES[id]?.reduce((changed, [from, to]) => {
        if (changed.search(from) === -1)
          throw new Error(`${id} has changed: see CHANGES in build-thread.ts.`);
        return changed.replace(from, to);
      }, code) ?? null,
  };
}
