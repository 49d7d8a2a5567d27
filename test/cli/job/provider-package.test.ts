// Whose packages are loaded as providers: those of the operator, and none that another user could have put there.

import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findPackage } from "../../../src/cli/job/provider-package.ts";

const isRoot = process.geteuid?.() === 0;
const STRANGER = 12_345;
const NAME = "@ai-sdk/nobodys";

/** `mono/app` is the folder of the configuration, and `mono` the top of its project. */
function project(packageIn: string) {
  const root = mkdtempSync(join(tmpdir(), "pawl-packages-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, "mono/app"), { recursive: true });
  writeFileSync(join(root, "mono/app/pawl.config.ts"), "");
  const place = join(root, packageIn, "node_modules", NAME);
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "package.json"), JSON.stringify({ name: NAME, main: "index.js" }));
  writeFileSync(join(place, "index.js"), "");
  const find = () =>
    findPackage(NAME, { config: join(root, "mono/app/pawl.config.ts"), top: join(root, "mono") });
  return { root, place, find };
}

describe("a provider's package", () => {
  it("is found beside the configuration and above it, up to the top of the project", () => {
    for (const [folder, isFound] of [
      ["mono/app", true],
      ["mono", true],
      [".", false],
    ] as const) {
      const { place, find } = project(folder);
      expect(find()).toEqual(isFound ? { path: join(place, "index.js") } : { path: null, refusals: [] });
    }
  });

  it("is found through a symlink, as some installers create", () => {
    const { root, place, find } = project("store");
    mkdirSync(join(root, "mono/node_modules/@ai-sdk"), { recursive: true });
    symlinkSync(place, join(root, "mono/node_modules", NAME));
    expect(find()).toEqual({ path: join(place, "index.js") });
  });

  it("is not searched further up if it is broken", () => {
    const { root, find } = project(".");
    mkdirSync(join(root, "mono/node_modules", NAME), { recursive: true });
    expect(find()).toEqual({ path: null, refusals: [] });
  });

  it.for([
    ["mono/node_modules/@ai-sdk/nobodys/index.js", 0o666],
    ["mono/node_modules/@ai-sdk/nobodys", 0o777],
    ["mono/node_modules", 0o777],
    ["mono", 0o777],
  ] as const)("is passed over where everybody may write %s", ([what, mode]) => {
    const { root, place, find } = project("mono");
    chmodSync(join(root, what), mode);
    const why = `${join(root, what)} can be written by every user`;
    expect(find()).toEqual({ path: null, refusals: [`${join(place, "index.js")} was not loaded: ${why}`] });
  });

  it.skipIf(!isRoot).for(["mono/node_modules/@ai-sdk/nobodys/index.js", "mono/node_modules/@ai-sdk", "mono"])(
    "is skipped if %s is another user's, unless they wrote the configuration",
    (what) => {
      const { root, find } = project("mono");
      chownSync(join(root, what), STRANGER, STRANGER);
      expect(find()).toMatchObject({
        refusals: [expect.stringContaining("belongs to another user (12345)")],
      });
      chownSync(join(root, "mono/app/pawl.config.ts"), STRANGER, STRANGER);
      expect(find()).toMatchObject({ path: expect.stringContaining("index.js") });
    },
  );
});
