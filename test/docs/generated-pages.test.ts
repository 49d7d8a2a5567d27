// docs/configuration.md and docs/api: what the script writes, with nothing left out, and with defaults that are so.

import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { undocumented } from "../../scripts/docs/api-pages.ts";
import { SECTIONS, sectionOptions } from "../../scripts/docs/configuration-page.ts";
import { type Entry, packageEntries } from "../../scripts/docs/entries.ts";
import { ENVIRONMENT } from "../../scripts/docs/environment.ts";
import { statedDefault } from "../../scripts/docs/option-default.ts";
import type { OptionEntry } from "../../scripts/docs/options.ts";
import { docsPages } from "../../scripts/docs/pages.ts";
import { agent, Step, tool } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { packedPackage, root } from "../package/packed-project.ts";

let folder = "";
let entries: readonly Entry[] = [];

beforeAll(async () => {
  ({ folder } = await packedPackage());
  entries = packageEntries(folder);
}, 120_000);

/** The options of the section with this title. */
function options(title: string): ReadonlyMap<string, OptionEntry> {
  const section = SECTIONS.find((each) => each.title.startsWith(title));
  if (section === undefined) throw new Error(`There is no section ${title}.`);
  return new Map(sectionOptions(section, entries).map((option) => [option.name, option]));
}

/** The number or word that the doc comment of an option states as its default. */
function stated(title: string, name: string): string | number | null {
  const text = statedDefault(options(title).get(name)?.text ?? "");
  const number = /^[\d,]+(?= |$)/.exec(text ?? "")?.[0];
  return number === undefined ? text : Number(number.replaceAll(",", ""));
}

describe("the pages that a script writes", () => {
  test("are what it writes: `npm run docs` brings them up to date", () => {
    const pages = docsPages(folder);
    expect(pages.size).toBeGreaterThan(6);
    for (const [path, text] of pages) expect(readFileSync(join(root, path), "utf8")).toBe(text);
    const written = readdirSync(join(root, "docs/api")).map((name) => `docs/api/${name}`);
    expect(written.filter((path) => !pages.has(path))).toEqual([]);
  });

  test("have a section for every name that the package exports, and each name a doc comment", () => {
    expect(entries.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["pawl", "pawl/testing", "pawl/tools"]),
    );
    expect(entries.flatMap(({ names }) => [...names]).length).toBeGreaterThan(200);
    expect(entries.flatMap(undocumented)).toEqual([]);
  });

  test("would show a name without a doc comment", () => {
    const [entry] = entries;
    const [runner] = entry?.names.get("Runner") ?? [];
    if (entry === undefined || runner === undefined) throw new Error("Runner is not exported.");
    const bare = { ...runner, doc: { text: "", examples: [] } };
    expect(undocumented({ ...entry, names: new Map([["Runner", [bare]]]) })).toEqual(["pawl: Runner"]);
  });
});

describe("docs/configuration.md", () => {
  test("has a meaning for every option", () => {
    const all = SECTIONS.flatMap((section) =>
      sectionOptions(section, entries).map((option) => ({ section: section.title, ...option })),
    );
    expect(all.length).toBeGreaterThan(120);
    const silent = all.filter(({ text }) => text === "" || text === statedDefault(text));
    expect(silent.map(({ section, name }) => `${section} ${name}`)).toEqual([]);
  });

  test("has a default for every number and choice that may be left out", () => {
    const left = SECTIONS.flatMap((section) =>
      sectionOptions(section, entries)
        .filter(({ isOptional, type, text }) => {
          const isChoice = /^(?:number(?: \| null)?|"\w+" \| .*)$/.test(type);
          return isOptional && isChoice && statedDefault(text) === null;
        })
        .map(({ name }) => `${section.title} ${name}`),
    );
    expect(left).toEqual([]);
  });

  test.each([
    ["The time, by default 30,000 ms. It renews.", "30,000 ms"],
    ["By default `./.pawl/pawl.db`, which is opened.", "`./.pawl/pawl.db`"],
    ["A result; 20,000 by default.", "20,000"],
    ["A person (`ask`, the default), or the model.", "`ask`"],
    ["By default the limit it has, or none.", "the limit it has, or none"],
    ["Never in parallel. False by default.", "false"],
    ["Defaults to the registered one.", "the registered one"],
    ["Nothing is said about it.", null],
  ])("finds the default in %j", (text, expected) => {
    expect(statedDefault(text)).toBe(expected);
  });

  test("states the defaults that a tool really has", () => {
    const made = tool({ description: "Adds.", inputSchema: z.object({}), execute: () => 1 });
    expect(stated("`tool({", "timeoutMs")).toBe(made.timeoutMs);
    expect(stated("`tool({", "landsWithinMs")).toBe(made.landsWithinMs);
    expect(stated("`tool({", "keyValidForMs")).toBe(made.keyValidForMs);
    expect(stated("`tool({", "namespace")).toBe(`\`"${made.namespace}"\``);
    expect(stated("`tool({", "inDoubt")).toBe(`\`${made.inDoubt}\``);
    expect(stated("`tool({", "exclusive")).toBe(String(made.exclusive));
    expect(stated("`mcpTools({ … })`: its tools", "timeoutMs")).toBe(made.timeoutMs);
  });

  test("states the defaults that an agent's step really has", () => {
    const clerk = agent({ name: "clerk", model: scriptedModel([]) });
    const made = JSON.parse(JSON.stringify(Step.granular("work", clerk))) as {
      readonly children: readonly [
        { readonly maxTurns: number; readonly children: readonly [{ readonly options: object }] },
      ];
    };
    const [loop] = made.children;
    expect(options("`Step.granular`").get("maxTurns")?.text).toContain(`or ${loop.maxTurns}.`);
    expect(loop.children[0].options).toMatchObject({
      historyMaxTokens: stated("`Step.granular`", "historyMaxTokens"),
      blobThresholdBytes: stated("`Step.granular`", "blobThresholdBytes"),
      enforceIdempotency: stated("`Step.granular`", "enforceIdempotency") === "true",
      completion: String(stated("`Step.granular`", "completion")).replaceAll(/[`"]/g, ""),
    });
    expect(stated("`settings` of an agent", "maxOutputTokens")).toBe(clerk.settings.maxOutputTokens);
  });

  test("states the numbers that the runner's code falls back to", () => {
    const code = globSync("src/engine/runner/*.ts", { cwd: root }).map((file) =>
      readFileSync(join(root, file), "utf8"),
    );
    const fallbacks = [...code.join("\n").matchAll(/options\.(\w+) \?\? (\d[\d_]*)/g)].map(
      ([, name = "", number = ""]) => [name, Number(number.replaceAll("_", ""))] as const,
    );
    expect(fallbacks.length).toBeGreaterThan(4);
    for (const [name, number] of fallbacks)
      expect([name, stated("`new Runner", name)]).toEqual([name, number]);
  });

  test("lists every environment variable that the command line reads", () => {
    const code = globSync("src/cli/**/*.ts", { cwd: root }).map((file) =>
      readFileSync(join(root, file), "utf8"),
    );
    const read = code.flatMap((source) =>
      [
        ...source
          .replaceAll(/\/\*[\s\S]*?\*\//g, "")
          .matchAll(/\benv\.([A-Z][A-Z_]+)|variable: "([A-Z_]+)"/g),
      ].map(([, name, variable]) => name ?? variable),
    );
    expect(new Set(ENVIRONMENT.map(({ name }) => name))).toEqual(new Set(read));
  });
});
