// Runs the blocks that say so: TypeScript with node, and shell lines in a real shell, in the folder of their page.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { type Block, joinedBlocks } from "./blocks.ts";
import { projectEnvironment } from "./docs-project.ts";
import { modulePath, pageFolder } from "./modules.ts";

/** Blocks that run as one, with what they have to print; null if that does not matter. */
type Running = { readonly blocks: readonly Block[]; readonly expected: string | null };

/** Generous: several tests share the machine. */
const LIMIT_MS = 120_000;

/** A port that is free now: the blocks use $PORT where it is set. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** Runs the marked blocks of a page in their order. Returns how many ran, and what is wrong with them. */
export async function runPage(
  project: string,
  blocks: readonly Block[],
): Promise<{ readonly ran: number; readonly problems: readonly string[] }> {
  saveFiles(project, blocks);
  const code = blocks.filter(({ language }) => language === "ts" || language === "sh");
  const running = joinedBlocks(code)
    .filter((group) => group.some(({ marks }) => marks.has("run")))
    .map((group) => ({
      blocks: group,
      expected: group.findLast(({ expected }) => expected !== null)?.expected ?? null,
    }));
  const problems: string[] = [];
  for (const each of running) problems.push(...(await runBlocks(project, each)));
  return { ran: running.length, problems };
}

/** Saves the named blocks that are no modules: job files, and data that a program reads. */
function saveFiles(project: string, blocks: readonly Block[]): void {
  for (const { page, language, text: content, marks } of blocks) {
    const name = marks.get("file");
    if (name === undefined || language === "ts") continue;
    mkdirSync(join(project, pageFolder(page)), { recursive: true });
    writeFileSync(join(project, pageFolder(page), name), content);
  }
}

async function runBlocks(project: string, { blocks, expected }: Running): Promise<readonly string[]> {
  const [first] = blocks;
  if (first === undefined) return [];
  const where = `${first.page}:${first.line}`;
  const cwd = join(project, pageFolder(first.page));
  mkdirSync(cwd, { recursive: true });
  const script = blocks.map(({ text }) => text).join("");
  const [program, ...args] =
    first.language === "ts" ? ["node", basename(modulePath(first))] : ["bash", "-euc", script];
  const child = spawn(program, args, {
    cwd,
    env: { ...projectEnvironment(project), PORT: String(await freePort()) },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const timer = setTimeout(() => endGroup(child.pid), LIMIT_MS);
  // A block may leave a server running, which holds the pipes: the group is ended once its leader has exited.
  const printed = Promise.all([text(child.stdout), text(child.stderr)]);
  const [exitCode] = (await once(child, "exit")) as [number | null];
  clearTimeout(timer);
  endGroup(child.pid);
  const [stdout, stderr] = await printed;
  if (exitCode !== 0) return [`${where}: ended with ${exitCode}: ${stderr.trim() || stdout.trim()}`];
  if (expected === null || matchesExpected(stdout, expected)) return [];
  return [`${where}: printed other text than the page shows:\n${stdout}`];
}

function endGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // The whole group has exited.
  }
}

/** Compares line by line; `<words>` in the expected text stands for anything that differs from run to run. */
export function matchesExpected(printed: string, expected: string): boolean {
  const pattern = expected
    .trimEnd()
    .split(/(<[a-z ]+>)/)
    .map((part, i) => (i % 2 === 1 ? "[^\\n]+" : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")))
    .join("");
  return new RegExp(`^${pattern}$`).test(printed.trimEnd());
}
