// Measures the first minute of a new user, in seconds: from an empty folder to a resumed agent, with the packed package and
// the real registry. Three ways: the README's example, `pawl init`, and the quickstart, pasted as they are.
//   node scripts/first-minute.ts            with an empty npm cache for each of them
//   node scripts/first-minute.ts --warm     with the npm cache of this user
//   node scripts/first-minute.ts init       only one of them

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { matchesExpected } from "../test/docs/blocks/run-blocks.ts";
import { packedPackage, root } from "../test/package/packed-project.ts";
import { pageBlocks, pageFile } from "../test/package/pasted-page.ts";
import { refundProvider } from "../test/package/refund-provider.ts";

const LIMIT_S = 60;

/** One way of a new user, in a folder of its own. `type` runs lines in a shell there, and returns what they print. */
type Visit = {
  readonly folder: string;
  readonly tarball: string;
  readonly type: (what: string, lines: string, env?: NodeJS.ProcessEnv) => Promise<string>;
};

const WAYS: Readonly<Record<string, (visit: Visit) => Promise<void>>> = { readme, init, quickstart };

const { values, positionals } = parseArgs({
  options: { warm: { type: "boolean", default: false } },
  allowPositionals: true,
});
const chosen = positionals.length === 0 ? Object.keys(WAYS) : positionals;
const { tarball } = await packedPackage();
for (const name of chosen) {
  const way = WAYS[name];
  if (way === undefined)
    throw new Error(`There is no way ${name}: name one of ${Object.keys(WAYS).join(", ")}.`);
  const seconds = await measured(name, way);
  if (seconds > LIMIT_S) process.exitCode = 1;
}

async function measured(name: string, way: (visit: Visit) => Promise<void>): Promise<number> {
  const place = mkdtempSync(join(tmpdir(), "pawl-first-minute-"));
  const folder = join(place, "empty");
  mkdirSync(folder);
  const cache = values.warm ? {} : { npm_config_cache: join(place, "cache") };
  let total = 0;
  console.log(`${name}${values.warm ? "" : ", with an empty npm cache"}`);
  try {
    await way({
      folder,
      tarball,
      type: async (what, lines, env = {}) => {
        const begun = performance.now();
        const printed = await inShell(folder, lines, { ...cache, ...env });
        const seconds = (performance.now() - begun) / 1_000;
        total += seconds;
        console.log(`  ${seconds.toFixed(1).padStart(6)} s  ${what}`);
        return printed;
      },
    });
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
  const verdict = total > LIMIT_S ? `more than ${LIMIT_S} s` : "✓";
  console.log(`  ${total.toFixed(1).padStart(6)} s  in all  ${verdict}\n`);
  return total;
}

/** The programs of this repository are not in the path: a new user has none of them. */
async function inShell(cwd: string, lines: string, own: NodeJS.ProcessEnv): Promise<string> {
  const others = (process.env.PATH ?? "").split(delimiter).filter((path) => !path.startsWith(root));
  const path = [dirname(process.execPath), ...others].join(delimiter);
  const keys = { OPENAI_API_KEY: "", ANTHROPIC_API_KEY: "", AI_GATEWAY_API_KEY: "" };
  const env = { ...process.env, ...keys, NO_COLOR: "1", ...own, PATH: path };
  const { stdout } = await promisify(execFile)("bash", ["-euc", lines], { cwd, env });
  return stdout;
}

/** The README's install line, its example with a real provider's package, killed and started again. */
async function readme({ folder, tarball: file, type }: Visit): Promise<void> {
  const provider = await refundProvider();
  try {
    const [install, kill] = pageBlocks("README.md").filter(({ language }) => language === "sh");
    await type("install", fromFile(install?.text ?? "", file));
    writeFileSync(join(folder, "agent.mts"), pageFile("README.md", "agent.mts"));
    const printed = await type("run, kill -9, run again", kill?.text ?? "", provider.env);
    const refund = "refunding 40 euros for A-17, key 94f8d0bb\n";
    expectText(printed, `${refund}${refund}The customer has the money back. (36 tokens)\n`);
    if (provider.asked.length !== 2) throw new Error(`The model was asked ${provider.asked.length} times.`);
  } finally {
    await provider.close();
  }
}

async function init({ folder, tarball: file, type }: Visit): Promise<void> {
  await type("npx pawl init", `npx --yes --package=${file} pawl init`);
  await type("npm install", "npm install");
  await type("npm test", "npm test");
  await type("run, kill -9, run again", "node main.ts & sleep 3; kill -9 $!\nnpm start");
  const payments = readFileSync(join(folder, "payments.log"), "utf8").trimEnd().split("\n");
  if (payments.length !== 1) throw new Error(`The bank has paid ${payments.length} times.`);
}

async function quickstart({ folder, tarball: file, type }: Visit): Promise<void> {
  const blocks = pageBlocks("docs/quickstart.md");
  for (const [i, { language, text, line, marks }] of blocks.entries()) {
    const name = marks.get("file");
    if (name !== undefined) writeFileSync(join(folder, name), text);
    if (language !== "sh") continue;
    // Each block gets a shell of its own, so it stays in its folder.
    const lines = fromFile(text, file).replace("mkdir refunds && cd refunds\n", "");
    const printed = await type(`line ${line}: ${text.trim().replaceAll("\n", "; ")}`, lines);
    const next = blocks[i + 1];
    if (next?.language === "text") expectText(printed, next.text);
  }
}

/** The same line, with the packed file in place of the package in the registry. */
function fromFile(lines: string, file: string): string {
  return lines.replace("npm install pawl ", `npm install ${file} `);
}

function expectText(printed: string, expected: string): void {
  if (!matchesExpected(printed, expected)) throw new Error(`Expected\n${expected}and got\n${printed}`);
}
