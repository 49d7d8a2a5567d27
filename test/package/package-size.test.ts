// What a user has to download and keep: the package, and the packages that are installed with it.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { BUNDLED_PACKAGES, DASHBOARD_PACKAGES } from "../../scripts/bundled-packages.ts";
import { manifest, packedPackage, root } from "./packed-project.ts";

const MB = 1_000_000;
let folder: string;

beforeAll(async () => {
  ({ folder } = await packedPackage());
}, 120_000);

function filesIn(path: string): readonly string[] {
  const files = readdirSync(path, { recursive: true, encoding: "utf8" }).map((file) => join(path, file));
  expect(files.length).toBeGreaterThan(5);
  return files.filter((file) => statSync(file).isFile());
}

const bytesIn = (path: string) => filesIn(path).reduce((sum, file) => sum + statSync(file).size, 0);
/** As most disks keep it, in blocks of 4 KB. */
const diskBytesIn = (path: string) =>
  filesIn(path).reduce((sum, file) => sum + Math.ceil(statSync(file).size / 4_096) * 4_096, 0);

describe("the package", () => {
  it("is small, and has no source maps", () => {
    expect(bytesIn(join(folder, "dist"))).toBeLessThan(3.3 * MB);
    expect(diskBytesIn(join(folder, "dist"))).toBeLessThan(3.7 * MB);
    expect(filesIn(folder).filter((file) => file.endsWith(".map"))).toEqual([]);
  });

  it("takes at most 20 MB with everything that is installed with it", () => {
    const needed = Object.keys(manifest.peerDependencies).filter(
      (name) => manifest.peerDependenciesMeta[name]?.optional !== true,
    );
    const beside = [...Object.keys(manifest.dependencies), ...needed];
    // None of them has dependencies of its own that would come with it.
    for (const name of beside) {
      const { dependencies = {} } = JSON.parse(
        readFileSync(join(root, "node_modules", name, "package.json"), "utf8"),
      ) as { readonly dependencies?: object };
      expect([name, Object.keys(dependencies)]).toEqual([name, []]);
    }
    const all = [folder, ...beside.map((name) => join(root, "node_modules", name))];
    expect(all.reduce((sum, path) => sum + diskBytesIn(path), 0)).toBeLessThan(20 * MB);
  });

  it("has the licences of the packages whose code is in it", () => {
    const licences = readFileSync(join(folder, "dist/third-party-licenses.txt"), "utf8");
    for (const name of [...BUNDLED_PACKAGES, ...DASHBOARD_PACKAGES, "zod"])
      expect(licences).toMatch(new RegExp(`^${name.replace("/", "\\/")} \\d+\\.\\d+\\.\\d+$`, "m"));
  });
});
