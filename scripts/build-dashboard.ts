// The dashboard as the package has it: each file compressed, and only so. Browsers ask for nothing else, and the server sends
// the bytes as they are.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "vite";
import { packagesIn } from "./build-code.ts";

const root = resolve(import.meta.dirname, "..");

/** Writes the files, and returns the folders of the packages whose code is in them. Tests change what is built by `plugins`. */
export async function buildDashboard(
  target: string,
  plugins: readonly Plugin[] = [],
): Promise<readonly string[]> {
  const built = await build({
    configFile: join(root, "dashboard/vite.config.ts"),
    logLevel: "error",
    build: { write: false },
    plugins: [...plugins],
  });
  if (!("output" in built))
    throw new Error("vite.config.ts of the dashboard makes several builds, or watches.");
  for (const file of built.output) {
    const content = file.type === "chunk" ? file.code : file.source;
    const path = join(target, `${file.fileName}.gz`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, gzipSync(content, { level: 9 }));
  }
  return packagesIn(built.output.filter((file) => file.type === "chunk"));
}
