import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { PATIENCE } from "../patience.ts";
import { EXPLORER_FOLDER } from "../testing/crash/explored-scenario.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

test(
  "the agent of the guide fails its crash test, is fixed, and both reports are those in the guide",
  PATIENCE,
  () => {
    const main = join(root, "examples/crash-test/main.ts");
    const env = { ...process.env, TMPDIR: EXPLORER_FOLDER.folder ?? tmpdir() };
    const { stdout, stderr, status } = spawnSync(process.execPath, [main], {
      cwd: root,
      env,
      encoding: "utf8",
    });
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    const guide = readFileSync(join(root, "docs/crash-testing.md"), "utf8");
    const reports = stdout.split(/^.*:\n\n/m).map((report) => report.trim());
    expect(reports.filter((report) => report !== "")).toHaveLength(2);
    for (const report of reports) expect(guide).toContain(report);
  },
);
