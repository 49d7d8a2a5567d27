// What a user has to download and keep: the package, and the packages that are installed with it.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { BUNDLED_PACKAGES, DASHBOARD_PACKAGES } from "../../scripts/bundled-packages.ts";
import { manifest, packedPackage, root } from "./packed-project.ts";

const MB = 1_000_000;

/**
 * The built files of a browser app, which no program loads, have a limit of their own. Of a package that has one, some files
 * have to be seen: a limit that looks at nothing proves nothing.
 */
const DASHBOARD = { folder: "dist/dashboard", leastFiles: 5, mostBytes: 0.4 * MB };

let folder: string;

beforeAll(async () => {
  ({ folder } = await packedPackage());
}, 120_000);

function filesIn(path: string): readonly string[] {
  const files = readdirSync(path, { recursive: true, encoding: "utf8" }).map((file) => join(path, file));
  expect(files.length).toBeGreaterThan(5);
  return files.filter((file) => statSync(file).isFile());
}

const bytesOf = (files: readonly string[]) => files.reduce((sum, file) => sum + statSync(file).size, 0);
/** As most disks keep it, in blocks of 4 KB. */
const diskBytesOf = (files: readonly string[]) =>
  files.reduce((sum, file) => sum + Math.ceil(statSync(file).size / 4_096) * 4_096, 0);

describe("the package", () => {
  it("is small, and has no source maps", () => {
    const isOfDashboard = (file: string) => file.startsWith(join(folder, DASHBOARD.folder, "/"));
    const all = filesIn(join(folder, "dist"));
    const files = all.filter((file) => !isOfDashboard(file));
    expect(bytesOf(files)).toBeLessThan(3.3 * MB);
    expect(diskBytesOf(files)).toBeLessThan(3.7 * MB);
    const dashboard = all.filter(isOfDashboard);
    expect(dashboard.length).toBeGreaterThanOrEqual(DASHBOARD.leastFiles);
    expect(bytesOf(dashboard)).toBeLessThan(DASHBOARD.mostBytes);
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
    expect(all.reduce((sum, path) => sum + diskBytesOf(filesIn(path)), 0)).toBeLessThan(20 * MB);
  });

  it("has the licences of the packages whose code is in it", () => {
    const licences = readFileSync(join(folder, "dist/third-party-licenses.txt"), "utf8");
    for (const name of [...BUNDLED_PACKAGES, ...DASHBOARD_PACKAGES])
      expect(licences).toMatch(new RegExp(`^${name.replace("/", "\\/")} \\d+\\.\\d+\\.\\d+$`, "m"));
  });
});
