// What a page downloads for `pawl/client`.

import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../../..");

async function bundle(
  entry: string,
): Promise<{ readonly code: string; readonly modules: readonly string[] }> {
  const build = await rolldown({ cwd: root, input: entry, platform: "browser", logLevel: "silent" });
  const { output } = await build.generate({ format: "esm", minify: true });
  await build.close();
  const [chunk] = output;
  return { code: chunk.code, modules: chunk.moduleIds.map((id) => id.slice(root.length + 1)) };
}

describe("the client in a browser", () => {
  it("is its own few files and the names of the operations, and imports nothing of Node", async () => {
    const { code, modules } = await bundle("src/client/client.ts");
    const others = modules.filter((id) => !id.startsWith("src/client/"));
    expect(others).toEqual(["src/server/api/operations.ts"]);
    expect(code).not.toMatch(/node:|\bimport\b|require\(/);
    expect(gzipSync(code).length).toBeLessThan(4_500);
  });

  it("would be found out if it imported the schemas", async () => {
    const { modules } = await bundle("src/server/api/routes.ts");
    expect(modules.some((id) => id.includes("node_modules/zod"))).toBe(true);
  });
});
