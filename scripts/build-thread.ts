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
    plugins: [lexerOnly()],
  });
  const { output } = await build.generate({ format: "cjs", codeSplitting: false, minify: true });
  await build.close();
  return output[0];
}

/** The default instance of marked, and its functions, up to the list of exports. */
const INSTANCE =
  /var (\w+)=new \w+;function \w+\(\w+,\w+\)\{return \1\.parse\([^]*export\{[^}]*?\b(\w+) as Lexer\b[^}]*\};/;

/** Threads only read Markdown, and the default instance of marked keeps what writes HTML: a quarter of it. */
function lexerOnly(): Plugin {
  const marked = join(root, "node_modules/marked/lib/marked.esm.js");
  return {
    name: "lexer-only",
    transform: (code, id) => {
      if (id !== marked) return null;
      if (!INSTANCE.test(code)) throw new Error(`${id} has changed: see INSTANCE in build-thread.ts.`);
      return code.replace(INSTANCE, "export{$2 as Lexer};");
    },
  };
}
