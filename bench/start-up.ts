/**
 * `node bench/start-up.ts [other project]`: how long the packed package takes to load, as a ratio to Node alone. The runs
 * alternate, and figures are medians: machines are noisy. Another project that has Pawl installed is measured beside it.
 */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { packedProject } from "../test/package/packed-project.ts";
import { median } from "./measure.ts";

const ROUNDS = 25;

const project = await packedProject();
try {
  const projects = [project, ...process.argv.slice(2).map((folder) => resolve(folder))];
  const store = `file:${join(project, "pawl.db")}`;
  const made = `await (await (await import("pawl")).openStore(${JSON.stringify(store)})).close()`;
  timeOf(project, ["--input-type=module", "-e", made]);
  const measured = [
    { what: "node -e 0", cwd: project, args: ["-e", "0"] },
    ...projects.flatMap((cwd) => [
      { what: 'import "pawl"', cwd, args: ["--input-type=module", "-e", 'import "pawl";'] },
      {
        what: "pawl ls",
        cwd,
        args: [join(cwd, "node_modules/pawl/dist/cli/main.js"), "ls", "--store", store],
      },
    ]),
  ].map((each) => ({ ...each, times: [] as number[] }));
  for (let round = 0; round < ROUNDS; round++)
    for (const { times, cwd, args } of measured) times.push(timeOf(cwd, args));
  const alone = median(measured[0]?.times ?? []);
  for (const { what, cwd, times } of measured) {
    const time = median(times);
    const where = cwd === project ? "" : `  (${cwd})`;
    console.log(
      `${what.padEnd(16)}${`${time.toFixed(0)} ms`.padStart(8)}${(time / alone).toFixed(2).padStart(8)} ×${where}`,
    );
  }
} finally {
  rmSync(project, { recursive: true, force: true });
}

function timeOf(cwd: string, args: readonly string[]): number {
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`node ${args.join(" ")} failed: ${stderr}`);
  return performance.now() - start;
}
