// The licences of the packages whose code is in the build: most of them ask to be kept with the code.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export function licenceTexts(folders: readonly string[]): string {
  const texts = folders.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      readonly name: string;
      readonly version: string;
      readonly license?: string;
    };
    const [file] = globSync("{LICENSE,LICENCE,License,license}*", { cwd: folder });
    const text =
      file === undefined
        ? `Licence: ${license ?? "see its package"}`
        : readFileSync(join(folder, file), "utf8");
    return `${name} ${version}\n\n${text.trim()}\n`;
  });
  return `Pawl contains code of these packages.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
}
