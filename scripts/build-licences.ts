// The licences of the packages whose code is in the build: most of them ask to be kept with the code.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What a package says about itself, and the terms. Most have the same terms, which are written once. */
type Licence = { readonly holder: string; readonly terms: string };

export function licenceTexts(folders: readonly string[]): string {
  const byTerms = Map.groupBy(folders.map(licenceOf), ({ terms }) => words(terms));
  const texts = [...byTerms.values()].map((same) =>
    [...same.map(({ holder }) => holder), same[0]?.terms ?? ""].join("\n\n"),
  );
  return `Pawl contains code of these packages.\n\n${texts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

function licenceOf(folder: string): Licence {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  const [file] = globSync("{LICENSE,LICENCE,License,license}*", { cwd: folder });
  const text =
    file === undefined
      ? `Licence: ${license ?? "see its package"}`
      : readFileSync(join(folder, file), "utf8").trim();
  // In front of the terms: the title and who has the copyright.
  const at = Math.max(0, text.search(MIT_TERMS));
  return {
    holder: [`${name} ${version}`, text.slice(0, at).trim()].join("\n\n").trim(),
    terms: text.slice(at),
  };
}

const MIT_TERMS = /^Permission is hereby granted, free of charge/m;

function words(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
