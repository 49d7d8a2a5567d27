import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { PHASES } from "../../src/demo/job-pipeline.ts";
import { openStore } from "../../src/store/open-store.ts";
import { PATIENCE } from "../patience.ts";
import { ENVIRONMENT, testFolder } from "./demo-fixture.ts";

const MAIN = fileURLToPath(new URL("../../src/demo/main.ts", import.meta.url));

async function demo(...words: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    env: ENVIRONMENT,
  });
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { stdout, stderr, code: await code };
}

test(
  "the demo kills its job once in every phase, and reports the outcome in 80 columns without colours",
  PATIENCE,
  async () => {
    const folder = join(testFolder(), "kept");
    const { stdout, stderr, code } = await demo("--seed", "11", "--keep", folder);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ +seed +11$/m);
    expect(stdout).toMatch(/^ +model +a script/m);
    const killed = [...stdout.matchAll(/^ {2}(\w+) +✗ /gm)].map(([, phase]) => phase);
    expect(killed).toEqual(PHASES);
    expect(stdout.match(/↻ /g)?.length).toBeGreaterThan(PHASES.length);
    expect(stdout).toContain("✓ 7 kills, and nothing was lost or sent twice.");
    expect(stdout).toMatch(/^ {2}mails +1 +1 +✓ +[1-9]$/m);
    expect(stdout).toContain(folder);
    expect(stdout).toContain("npm run -s pawl -- show clockwork");
    expect(stdout).not.toContain("\u001b");
    expect(stdout.split("\n").filter((line) => line.length > 80 && !line.includes(folder))).toEqual([]);

    const left = readdirSync(folder).filter((name) => !name.startsWith(".") && !name.startsWith("pawl.db"));
    expect(left.toSorted()).toEqual([
      "job.yaml",
      "report.html",
      "report.pdf",
      "run.log",
      "trace.json",
      "transcript.md",
    ]);
    expect(readFileSync(join(folder, "transcript.md"), "utf8")).toContain("fetch_page");
    const store = await openStore(`file:${join(folder, "pawl.db")}`);
    const run = await store.getRun("clockwork");
    expect(run).toMatchObject({ status: "succeeded", epoch: 8 });
    for (const { name, hash } of await store.listArtifacts("clockwork"))
      expect(
        createHash("sha256")
          .update(readFileSync(join(folder, name)))
          .digest("hex"),
      ).toBe(hash);
    await store.close();
  },
);

test.for([
  { words: ["--seed", "many"], says: '--seed is "many": give a whole number' },
  { words: ["--seed", "-1"], says: "--seed" },
  { words: ["--sead", "1"], says: "--sead" },
  { words: ["7"], says: "7" },
])("wrong use is one sentence and code 2 ($words)", async ({ words, says }) => {
  const { stdout, stderr, code } = await demo(...words);
  expect(stdout).toBe("");
  expect(stderr).toContain(says);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect(code).toBe(2);
});

test("a folder with something in it is left as it is", async () => {
  const folder = testFolder();
  writeFileSync(join(folder, "mine.txt"), "mine");
  const { stderr, code } = await demo("--keep", folder);
  expect(stderr).toContain("is not empty");
  expect(code).toBe(2);
  expect(readdirSync(folder)).toEqual(["mine.txt"]);
});

test("Ctrl-C ends the demo and the process that it was about to kill", PATIENCE, async () => {
  const folder = join(testFolder(), "kept");
  const child = spawn(process.execPath, [MAIN, "--seed", "11", "--keep", folder], {
    stdio: ["ignore", "pipe", "ignore"],
    env: ENVIRONMENT,
  });
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  // The first process is dead, and the second is working, or will be soon.
  for await (const said of child.stdout.setEncoding("utf8"))
    if (String(said).includes("✗ in turn")) child.kill("SIGINT");
  expect(await code).toBe(130);
  // No process holds the run any more: it can be claimed immediately.
  const store = await openStore(`file:${join(folder, "pawl.db")}`);
  const claim = await store.claimRun("clockwork", { leaseMs: 1_000, from: ["running"] });
  await store.close();
  expect(claim.kind).toBe("claimed");
});
