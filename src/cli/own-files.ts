import { extname } from "node:path";
import { fileURLToPath } from "node:url";

// Pawl's own files. Paths are relative to this module: it is one level below the folder of the code, `src/` in a clone and
// `dist/` in the package, where the build keeps shared code on the same level.

/** The folder of Pawl's code. */
export const OWN_FOLDER: string = fileURLToPath(new URL("..", import.meta.url));

/** The path of a program of Pawl, such as `demo/main`: TypeScript in a clone, JavaScript when installed. */
export function ownProgram(name: string): string {
  return fileURLToPath(new URL(`../${name}${extname(import.meta.url)}`, import.meta.url));
}
