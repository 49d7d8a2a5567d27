import { existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

// Files of the package that are no code. Paths are relative to this module, which is one level below the folder of the code:
// `src/` in a clone and `dist/` in the package. A program that was bundled into one file has none of them.

/** The built files of the dashboard. */
export function dashboardFolder(): string {
  const isClone = extname(import.meta.url) === ".ts";
  return fileURLToPath(new URL(isClone ? "../../dashboard/dist" : "../dashboard", import.meta.url));
}

/** False in a clone in which it was not built. */
export function hasDashboard(): boolean {
  return ["index.html", "index.html.gz"].some((name) => existsSync(join(dashboardFolder(), name)));
}

/** The OpenAPI document as it is shipped; null if it is not beside the code. */
export function openApiText(): string | null {
  const path = fileURLToPath(new URL("../../docs/openapi.json", import.meta.url));
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

export function packageVersion(): string {
  const path = fileURLToPath(new URL("../../package.json", import.meta.url));
  if (!existsSync(path)) return "unknown";
  return (JSON.parse(readFileSync(path, "utf8")) as { readonly version: string }).version;
}
