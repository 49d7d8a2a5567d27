// Every `ts`, `sh` and `yaml` block of the pages, against the package as users get it: compiled, parsed, and run where it can be.

import { globSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageEntries } from "../../scripts/docs/entries.ts";
import { choose } from "../../src/cli/program.ts";
import { recordingContext } from "../cli/recording-context.ts";
import { root } from "../package/packed-project.ts";
import { type Block, blocksOf, formProblems } from "./blocks/blocks.ts";
import { makeDocsProject, PACKAGES, SCRIPTS } from "./blocks/docs-project.ts";
import { exampleModules } from "./blocks/examples.ts";
import { jobProblems } from "./blocks/jobs.ts";
import {
  compileModules,
  copyPreludes,
  exportedNames,
  type Module,
  modulesOf,
  type Preludes,
  writeModules,
} from "./blocks/modules.ts";
import { matchesExpected, runPage } from "./blocks/run-blocks.ts";
import { commandsOf, type ShellWorld, shellProblems } from "./blocks/shell.ts";

const PRELUDES = join(import.meta.dirname, "preludes");
const preludes: Preludes = new Map(
  readdirSync(PRELUDES).map((file) => [
    basename(file, ".ts"),
    exportedNames(readFileSync(join(PRELUDES, file), "utf8")),
  ]),
);

const pages = [
  "README.md",
  "CONTRIBUTING.md",
  ...globSync("docs/**/*.md", { cwd: root }).filter((page) => !/^docs\/(?:decisions|api)\//.test(page)),
].sort();
const blocks = pages.flatMap((page) => blocksOf(page, readFileSync(join(root, page), "utf8")));
const checked = blocks.filter(({ marks }) => !marks.has("unchecked"));
const inLanguage = (language: string, of: readonly Block[] = checked) =>
  of.filter((block) => block.language === language);

const project = await makeDocsProject();
afterAll(() => rmSync(project, { recursive: true, force: true }));

/** A page with one planted block. */
function planted(text: string, language: string, mark = ""): readonly Block[] {
  return blocksOf("planted.md", `${mark}\n\`\`\`${language}\n${text}\n\`\`\`\n`);
}

describe("the blocks of the pages", () => {
  test("are seen, in languages and with marks that the tests know", () => {
    expect(pages.length).toBeGreaterThan(15);
    expect(inLanguage("ts").length).toBeGreaterThan(20);
    expect(inLanguage("sh").length).toBeGreaterThan(5);
    expect(inLanguage("yaml").length).toBeGreaterThan(2);
    expect(formProblems(blocks)).toEqual([]);
  });

  test("are all checked, apart from these few", () => {
    const left = blocks.filter(({ marks }) => marks.has("unchecked"));
    expect(left.map(({ page, marks }) => `${page}: ${marks.get("unchecked")}`)).toEqual([]);
  });

  test("may not name another language or another mark", () => {
    expect(formProblems(planted("let x", "typescript", "<!-- wiht: model -->"))).toEqual([
      "planted.md:3: unknown language typescript",
      "planted.md:3: unknown mark wiht",
    ]);
  });
});

describe("ts blocks", () => {
  const wrong = planted('import { Runner } from "pawl";\n\nnew Runner(7);', "ts");
  let problems: readonly string[] = [];
  let examples: readonly Module[] = [];

  beforeAll(async () => {
    copyPreludes(PRELUDES, project);
    examples = exampleModules(
      packageEntries(join(project, "node_modules/pawl")),
      preludes.get("examples") ?? [],
    );
    const modules: readonly Module[] = [...modulesOf([...inLanguage("ts"), ...wrong], preludes), ...examples];
    writeModules(project, modules);
    problems = await compileModules(project, modules);
  }, 120_000);

  test("compile, and a mistake is found with its place", () => {
    const mistakes = problems.filter((problem) => problem.startsWith("planted.md"));
    expect(mistakes).toEqual([expect.stringMatching(/^planted\.md:5: TS2345: /)]);
    const isElsewhere = (problem: string) => /^(?:planted\.md|example of )/.test(problem);
    expect(problems.filter((problem) => !isElsewhere(problem))).toEqual([]);
  });

  test("in doc comments compile too", () => {
    expect(examples.length).toBeGreaterThan(30);
    expect(problems.filter((problem) => problem.startsWith("example of "))).toEqual([]);
  });
});

describe("sh blocks", () => {
  const { context } = recordingContext();
  const world = (page: string): ShellWorld => ({
    parsePawl: (argv) => choose(argv, context),
    scripts: SCRIPTS,
    packages: ["pawl", "typescript", ...PACKAGES],
    isFile: (name) =>
      checked.some((block) => block.page === page && block.marks.get("file") === name) ||
      globSync(name, { cwd: root }).length > 0,
  });

  test("have commands, scripts and files that exist", async () => {
    expect(inLanguage("sh").flatMap(({ text }) => commandsOf(text)).length).toBeGreaterThan(10);
    const problems = inLanguage("sh").map((block) => shellProblems(block, world(block.page)));
    expect((await Promise.all(problems)).flat()).toEqual([]);
  });

  test("are found where a command, a flag, a script, a package or a file does not exist", async () => {
    const text = [
      "pawl resmue q-1 # resume",
      "npx pawl ls --stauts failed",
      "X=1 npm run -s pawl -- show",
      "npm run tests && npm install pawl ai@7 left-pad",
      "node gone.ts; sudo ls | node README.md",
    ].join("\n");
    const problems = planted(text, "sh").map((block) => shellProblems(block, world("planted.md")));
    expect((await Promise.all(problems)).flat()).toEqual([
      expect.stringMatching(/^planted\.md:3: pawl resmue q-1: unknown command 'resmue'/),
      expect.stringMatching(/^planted\.md:4: npx pawl ls --stauts failed: unknown option '--stauts'/),
      expect.stringMatching(/^planted\.md:5: npm run -s pawl -- show: missing required argument/),
      "planted.md:6: npm run tests: there is no script tests",
      "planted.md:6: npm install pawl ai@7 left-pad: left-pad is no package that the docs are compiled with",
      "planted.md:7: node gone.ts: there is no file gone.ts",
      "planted.md:7: sudo ls: is no command that the test knows",
    ]);
  });
});

describe("yaml blocks", () => {
  test("are job files that pawl accepts", async () => {
    const problems = await Promise.all(inLanguage("yaml").map(jobProblems));
    expect(problems.flat()).toEqual([]);
  });

  test("are found where a field or a tool does not exist", async () => {
    const [budget, tool] = [
      planted("objective: Go\npipeline: p\nbudgets: { max_stpes: 3 }", "yaml"),
      planted(
        "objective: Go\npipeline:\n  name: p\n  steps: [{ name: a, tool: fetch_pages, with: { url: x } }]",
        "yaml",
      ),
    ];
    const problems = await Promise.all([...budget, ...tool].map(jobProblems));
    expect(problems).toEqual([
      [expect.stringMatching(/^planted\.md:5: .*max_stpes/)],
      [expect.stringMatching(/^planted\.md:6: pipeline\.steps\[0\]\.tool is no known tool/)],
    ]);
  });
});

describe("blocks to run", () => {
  test("do what their pages say", { timeout: 240_000 }, async () => {
    const results = [];
    for (const page of pages)
      results.push(
        await runPage(
          project,
          checked.filter((block) => block.page === page),
        ),
      );
    expect(results.flatMap(({ problems }) => problems)).toEqual([]);
    expect(results.reduce((sum, { ran }) => sum + ran, 0)).toBeGreaterThan(0);
  });

  test("are found where one fails, or prints something else", async () => {
    const sh = `<!-- run -->\n\`\`\`sh\necho run 1234 is done\n\`\`\`\n\n\`\`\`text\nrun <id> is gone\n\`\`\`\n`;
    const failing =
      "<!-- file: kept.txt -->\n```text\nkept\n```\n<!-- run -->\n```sh\ncat kept.txt gone\n```\n";
    const { ran, problems } = await runPage(project, [
      ...blocksOf("planted.md", sh),
      ...blocksOf("planted.md", failing),
    ]);
    expect(ran).toBe(2);
    expect(problems).toEqual([
      "planted.md:3: printed other text than the page shows:\nrun 1234 is done\n",
      expect.stringMatching(/^planted\.md:7: ended with 1: cat: gone/),
    ]);
    expect(matchesExpected("run 1234 is gone\n", "run <id> is gone\n")).toBe(true);
  });
});
