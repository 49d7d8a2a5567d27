// The dependencies of the package: their licences, versions and install scripts.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { BUNDLED_PACKAGES, DASHBOARD_PACKAGES } from "../../scripts/bundled-packages.ts";
import { shippedPackages } from "../../scripts/shipped-packages.ts";

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly dependencies: { readonly [name: string]: string };
  readonly devDependencies: { readonly [name: string]: string };
  readonly peerDependencies: { readonly [name: string]: string };
  readonly scripts: { readonly [name: string]: string };
  readonly files: readonly string[];
  readonly repository: { readonly url: string };
  readonly bugs: { readonly url: string };
  readonly publishConfig: { readonly provenance: boolean };
};
/** The dependencies that a user gets, peers included; not development dependencies. */
const shipped = [...shippedPackages()];

/** Permissive licences: use, change and redistribution without conditions for the rest of a program. */
const LICENCES = new Set([
  "MIT",
  "ISC",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "Apache-2.0",
  "0BSD",
  "BlueOak-1.0.0",
  "MIT-0",
  // argparse, which graphile-worker brings.
  "Python-2.0",
  // wouter, which is in the dashboard: it has no owner any more.
  "Unlicense",
]);

describe("every dependency of the package", () => {
  it("has a permissive licence", () => {
    expect(shipped.length).toBeGreaterThan(40);
    // "(AFL-2.1 OR BSD-3-Clause)": the user chooses.
    const choices = (license = "") => license.replace(/^\(|\)$/g, "").split(" OR ");
    const others = shipped.filter(([, { license }]) => !choices(license).some((each) => LICENCES.has(each)));
    expect(others.map(([path, { license }]) => `${path}: ${license}`)).toEqual([]);
  });

  it("runs nothing when it is installed", () => {
    expect(shipped.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
    for (const script of ["preinstall", "install", "postinstall"])
      expect(manifest.scripts).not.toHaveProperty(script);
  });

  it("has an exact version if it is a direct one", () => {
    const inside = [...BUNDLED_PACKAGES, ...DASHBOARD_PACKAGES];
    const bundled = inside.map((name) => manifest.devDependencies[name] ?? `${name} is missing`);
    const versions = [...Object.values(manifest.dependencies), ...bundled];
    const ranges = versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(version));
    expect(ranges).toEqual([]);
  });

  it("is in the bill of materials", () => {
    const printed = execFileSync(process.execPath, ["scripts/sbom.ts"], { encoding: "utf8" });
    const bill = JSON.parse(printed) as {
      readonly bomFormat: string;
      readonly components: readonly {
        readonly name: string;
        readonly version: string;
        readonly hashes: unknown;
      }[];
    };
    expect(bill.bomFormat).toBe("CycloneDX");
    expect(bill.components).toHaveLength(shipped.length);
    const named = new Set(bill.components.map(({ name, version }) => `${name}@${version}`));
    for (const [name, version] of Object.entries(manifest.dependencies))
      expect(named).toContain(`${name}@${version}`);
    const names = new Set(bill.components.map(({ name }) => name));
    for (const name of [
      ...Object.keys(manifest.peerDependencies),
      ...BUNDLED_PACKAGES,
      ...DASHBOARD_PACKAGES,
    ])
      expect(names).toContain(name);
    for (const name of ["vitest", "@biomejs/biome"]) expect(names).not.toContain(name);
    expect(bill.components.filter(({ hashes }) => hashes === undefined)).toEqual([]);
  });
});

describe("the package", () => {
  it("names its repository and where to report issues, and is built before it is packed", () => {
    expect(manifest.repository.url).toMatch(/^git\+https:\/\/.*\.git$/);
    expect(manifest.bugs.url).toMatch(/^https:\/\/.*\/issues$/);
    expect(manifest.publishConfig.provenance).toBe(true);
    expect(manifest.scripts.prepack).toBe("npm run build");
    expect(manifest.files.filter((file) => file !== "dist" && !existsSync(file.replace("!", "")))).toEqual(
      [],
    );
    expect(manifest.files).toContain("SECURITY.md");
  });
});
