// A page, pasted block by block into a project, as a reader does it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Block, blocksOf } from "../docs/blocks/blocks.ts";
import { matchesExpected } from "../docs/blocks/run-blocks.ts";
import { root } from "./packed-project.ts";

/** The slow answer of the pages' code, which gives a reader the time to kill it. */
const SLOW_ANSWER = "sleep(5_000)";
/** In a test the answer takes a minute where the process is killed, and no time where it is not. */
const GIVEN_ANSWER = "sleep(Number(process.env.SLOW_ANSWER_MS))";

export function pageBlocks(page: string): readonly Block[] {
  return blocksOf(page, readFileSync(join(root, page), "utf8"));
}

/** The text of the block that a page saves under this name. */
export function pageFile(page: string, name: string): string {
  const block = pageBlocks(page).find(({ marks }) => marks.get("file") === name);
  if (block === undefined) throw new Error(`${page} has no block for ${name}.`);
  return block.text;
}

/** Saves code of a page in a project. */
export function saveFile(project: string, name: string, text: string): void {
  writeFileSync(join(project, name), text.replaceAll(SLOW_ANSWER, GIVEN_ANSWER));
}

export type Printed = { readonly stdout: string; readonly stderr: string; readonly exitCode: number | null };

/** Runs a shell line in a project. With `killWhen`, the process is killed as soon as it has printed this text. */
export async function inShell(
  cwd: string,
  line: string,
  { env, killWhen }: { readonly env: NodeJS.ProcessEnv; readonly killWhen?: RegExp },
): Promise<Printed> {
  // The programs of the project are in the path, and npx takes a second to find them there.
  const direct = line.replaceAll("npx ", "");
  // `exec`: the signal reaches the program itself, and not a shell around it.
  const script = killWhen === undefined ? direct : `exec ${direct}`;
  const child = spawn("bash", ["-euc", script], {
    cwd,
    env: { ...env, SLOW_ANSWER_MS: killWhen === undefined ? "0" : "60000" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => {
      printed[name] += text;
      if (killWhen?.test(printed.stdout)) child.kill("SIGKILL");
    });
  await once(child, "close");
  return { ...printed, exitCode: child.exitCode };
}

/** A line of a page that starts a program and kills it while it works. */
const KILLED = /^(?<program>node [^&]+) & sleep 3; kill -9 \$!$/;

/** Runs the lines of a block. A line that kills is not timed: the program dies when it has printed its first line. */
async function runLines(cwd: string, { text }: Block, env: NodeJS.ProcessEnv): Promise<Printed> {
  let all: Printed = { stdout: "", stderr: "", exitCode: 0 };
  for (const line of text.trim().split("\n")) {
    const program = KILLED.exec(line)?.groups?.program;
    const { stdout, stderr, exitCode } = await inShell(cwd, program ?? line, {
      env,
      ...(program === undefined ? {} : { killWhen: /\n/ }),
    });
    const code = program === undefined ? exitCode : 0;
    all = { stdout: all.stdout + stdout, stderr: all.stderr + stderr, exitCode: code };
    if (code !== 0) return all;
  }
  return all;
}

/** Pastes all blocks of a page into a project, apart from those that install. Returns what was not as the page says. */
export async function pastePage(
  project: string,
  page: string,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly ran: number; readonly problems: readonly string[] }> {
  const problems: string[] = [];
  const blocks = pageBlocks(page);
  let ran = 0;
  for (const [i, block] of blocks.entries()) {
    const file = block.marks.get("file");
    if (file !== undefined) saveFile(project, file, block.text);
    if (block.language !== "sh" || block.text.includes("npm install")) continue;
    const { stdout, stderr, exitCode } = await runLines(project, block, env);
    ran += 1;
    const next = blocks[i + 1];
    const where = `${page}:${block.line}`;
    if (exitCode !== 0) problems.push(`${where} ended with ${exitCode}:\n${stdout}${stderr}`);
    else if (next?.language === "text" && !matchesExpected(stdout, next.text))
      problems.push(`${where} printed other text than the page shows:\n${stdout}`);
  }
  return { ran, problems };
}
