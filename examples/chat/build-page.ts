/** Bundles the page into a folder. A product does this once for each release. */
import { fileURLToPath } from "node:url";
import { build } from "vite";

export async function buildPage(outDir: string): Promise<void> {
  await build({
    configFile: false,
    root: fileURLToPath(new URL("./page", import.meta.url)),
    logLevel: "error",
    build: { outDir, emptyOutDir: true },
  });
}
