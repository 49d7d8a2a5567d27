// Secrets are planted in every way an operator can give one, and every tool and server leaks them in every usual encoding.
// Afterwards they are nowhere: not in the files of the store, nor in logs, events, traces, exports or the process list.

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

/** A service that leaks the credential that it got, and the path, in its body, headers and error responses. */
async function service(): Promise<string> {
  const server = createServer((request, response) => {
    const credential = request.headers.authorization?.replace("Bearer ", "") ?? "";
    const hook = request.url?.replace("/hooks/", "") ?? "";
    const leak = spelled(credential === "" ? hook : credential);
    const etag = credential === "" ? hook : credential;
    const isFine = request.url === "/echo";
    response.writeHead(isFine ? 200 : 422, {
      "content-type": "text/plain",
      etag: `"${etag}"`,
      "x-request-id": etag,
    });
    response.end(`${isFine ? "z".repeat(29_990) : ""}${leak}`);
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

/** Runs one process, and writes its output to a file in the folder. */
function runWorker(
  program: string,
  args: readonly string[],
  folder: string,
): Promise<NodeJS.Signals | number | null> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const output: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => output.push(chunk));
    child.once("close", (code, signal) => {
      writeFileSync(join(folder, `output-${child.pid}.txt`), Buffer.concat(output));
      resolve(signal ?? code);
    });
  });
}

/** Kills and resumes a run until its end, exports it, and returns which canaries are in which file. */
async function leaksOf(patches: readonly Patch[], kills: readonly string[]) {
  const folder = temporaryFolder();
  const program = join(bundles.folder, `worker-${patches.length}`, "worker.mjs");
  await bundlePatched("test/security/canary/worker.ts", program, patches);
  const url = await service();
  for (const kill of kills)
    expect(await runWorker(program, [folder, url, SERVER, kill], folder)).toBe("SIGKILL");
  // The files of a killed process are searched before the next one cleans up.
  const left = leaksIn(folder);
  expect(await runWorker(program, [folder, url, SERVER], folder)).toBe(0);
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
  "A planted secret is in no file of a run that was killed and resumed, in no encoding",
  PATIENCE,
  async () => {
    const kills = ["tool:executed@2", "turn:journaled@4", "step:finished@1"];
    const { folder, calls, leaks } = await leaksOf([], kills);
    expect(leaks).toEqual([]);
    // A search that found no files would prove nothing.
    const files = readdirSync(folder, { recursive: true }).map(String);
    for (const file of ["canary.db", "log.txt", "events.txt", "spans.txt", "processes.txt"])
      expect(files).toContain(file);
    expect(files.some((file) => /^export.transcript/.test(file))).toBe(true);
    expect(calls.length).toBe(11);
    expect(new Set(JSON.stringify(calls).match(/\[secret:[0-9a-f]{12}/g)).size).toBeGreaterThanOrEqual(7);
  },
);

it("The search finds the leaks of a weakened redaction", PATIENCE, async () => {
  const patch = {
    file: "core/secret/secret-search.ts",
    right: "if (this.isEmpty || text.length < MIN_SEARCHED_LENGTH) return found;",
    wrong: "if (text.length > 0) return found;",
  };
  const { leaks } = await leaksOf([patch], []);
  for (const file of ["canary.db", "log.txt", "events.txt", "spans.txt", "transcript.md", "output-"])
    expect(leaks.filter((leak) => leak.startsWith(file))).not.toEqual([]);
});

it("A variable of a job file is in no file and no output of the command line", PATIENCE, async () => {
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
  const ended = [
    await target.cli(["run", "job.yaml", "--trust", "--run-id", "r-1", "--log-level", "trace"], place),
    await target.cli(["show", "r-1", "--json"], place),
    await target.cli(["export", "r-1", "--to", "out"], place),
  ];
  expect(ended.map(({ code }) => code)).toEqual([1, 0, 0]);
  writeFileSync(
    join(folder, "output.txt"),
    ended.flatMap(({ stdout, stderr }) => [stdout, stderr]).join("\n"),
  );
  expect(readFileSync(join(folder, "output.txt"), "utf8")).toMatch(/\[secret:[0-9a-f]{12}\]/);
  expect(leaksIn(folder)).toEqual([]);
});
