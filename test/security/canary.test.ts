// A secret that is planted in every way an operator can give one, said back in every usual spelling by all that it is given to,
// is nowhere afterwards: not in the files of the store, not in logs, events, traces, exports or the list of processes.

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { exportRun } from "../../src/export/export-run.ts";
import { openStore } from "../../src/index.ts";
import { bundlePatched, makeBundleFolder, type Patch } from "../patched-sources.ts";
import { PATIENCE } from "../patience.ts";
import { CANARIES, foundIn, spelled } from "./canary/spellings.ts";
import { Target } from "./target.ts";

const bundles = makeBundleFolder();
afterAll(bundles.remove);
const SERVER = fileURLToPath(new URL("./canary/server.ts", import.meta.url));

/** Says the credential that it was sent, and the path, in its body, its headers and its refusals. */
async function service(): Promise<string> {
  const server = createServer((request, response) => {
    const credential = request.headers.authorization?.replace("Bearer ", "") ?? "";
    const hook = request.url?.replace("/hooks/", "") ?? "";
    const said = spelled(credential === "" ? hook : credential);
    const etag = credential === "" ? hook : credential;
    const isFine = request.url === "/echo";
    response.writeHead(isFine ? 200 : 422, {
      "content-type": "text/plain",
      etag: `"${etag}"`,
      "x-request-id": etag,
    });
    response.end(`${isFine ? "z".repeat(29_990) : ""}${said}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-canary-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** One process, with what it wrote in a file beside the others. */
function life(
  program: string,
  args: readonly string[],
  folder: string,
): Promise<NodeJS.Signals | number | null> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const said: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => said.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => said.push(chunk));
    child.once("close", (code, signal) => {
      writeFileSync(join(folder, `output-${child.pid}.txt`), Buffer.concat(said));
      resolve(signal ?? code);
    });
  });
}

/** Kills and resumes a run until it is over, exports it, and says which canaries are in which file. */
async function leaksOf(patches: readonly Patch[], kills: readonly string[]) {
  const folder = temporaryFolder();
  const program = join(bundles.folder, `worker-${patches.length}`, "worker.mjs");
  await bundlePatched("test/security/canary/worker.ts", program, patches);
  const url = await service();
  for (const kill of kills) expect(await life(program, [folder, url, SERVER, kill], folder)).toBe("SIGKILL");
  // What a process that was killed leaves is looked at before another one cleans up after it.
  const left = leaksIn(folder);
  expect(await life(program, [folder, url, SERVER], folder)).toBe(0);
  const store = await openStore(`file:${join(folder, "canary.db")}`);
  const calls = await store.listToolCalls("canary");
  await exportRun(store, "canary", join(folder, "export"), () => undefined);
  const found = leaksIn(folder);
  await store.close();
  return { folder, calls, leaks: [...left, ...found] };
}

function leaksIn(folder: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return files.flatMap(({ parentPath, name }) =>
    foundIn(readFileSync(join(parentPath, name)), Object.values(CANARIES)).map((what) => `${name}: ${what}`),
  );
}

it(
  "A planted secret is in no file of a run that was killed and resumed, in no spelling",
  PATIENCE,
  async () => {
    const kills = ["tool:executed@2", "turn:journaled@4", "step:finished@1"];
    const { folder, calls, leaks } = await leaksOf([], kills);
    expect(leaks).toEqual([]);
    // A search that saw nothing would prove nothing.
    const files = readdirSync(folder, { recursive: true }).map(String);
    for (const file of ["canary.db", "log.txt", "events.txt", "spans.txt", "processes.txt"])
      expect(files).toContain(file);
    expect(files.some((file) => /^export.transcript/.test(file))).toBe(true);
    expect(calls.length).toBe(11);
    expect(new Set(JSON.stringify(calls).match(/\[secret:[0-9a-f]{12}/g)).size).toBeGreaterThanOrEqual(7);
  },
);

it("The search for it finds what a weaker hiding leaves", PATIENCE, async () => {
  const patch = {
    file: "core/secret/secret-search.ts",
    right: "if (this.isEmpty || text.length < MIN_SEARCHED_LENGTH) return found;",
    wrong: "if (text.length > 0) return found;",
  };
  const { leaks } = await leaksOf([patch], []);
  for (const file of ["canary.db", "log.txt", "events.txt", "spans.txt", "transcript.md", "output-"])
    expect(leaks.filter((leak) => leak.startsWith(file))).not.toEqual([]);
});

it("A variable of a job file is in nothing that the command line leaves or says", PATIENCE, async () => {
  const folder = temporaryFolder();
  const url = await service();
  writeFileSync(
    join(folder, "job.yaml"),
    `objective: Ask
constraints: { allowed_domains: ["127.0.0.1:*"] }
pipeline:
  name: ask
  tools: { http_request: { credentials: { "${url}": { authorization: "Bearer \${CANARY}" } } } }
  steps:
    - { name: ask, tool: http_request, with: { method: GET, url: "${url}/echo" } }
    - { name: refuse, tool: http_request, with: { method: POST, url: "${url}/refuse", body: "{}" } }
`,
  );
  const jobs = { environment: ["CANARY"], domains: ["127.0.0.1:*"] };
  writeFileSync(join(folder, "pawl.config.mjs"), `export default ${JSON.stringify({ jobs })};\n`, {
    mode: 0o600,
  });
  const target = new Target(join(bundles.folder, "cli"));
  const place = { cwd: folder, env: { CANARY: CANARIES.http } };
  const said = [
    await target.cli(["run", "job.yaml", "--trust", "--run-id", "r-1", "--log-level", "trace"], place),
    await target.cli(["show", "r-1", "--json"], place),
    await target.cli(["export", "r-1", "--to", "out"], place),
  ];
  expect(said.map(({ code }) => code)).toEqual([1, 0, 0]);
  writeFileSync(join(folder, "said.txt"), said.flatMap(({ stdout, stderr }) => [stdout, stderr]).join("\n"));
  expect(readFileSync(join(folder, "said.txt"), "utf8")).toMatch(/\[secret:[0-9a-f]{12}\]/);
  expect(leaksIn(folder)).toEqual([]);
});
