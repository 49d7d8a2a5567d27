// The location of a run's files, how much of the path may be a link, and the owner mark of the folder.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { parseRunSpec, type RunSpec } from "../../../src/core/job/run-spec.ts";
import { folderOf } from "../../../src/engine/run/run-folder.ts";
import { assertWorkspaceIsFree } from "../../../src/engine/run/workspace-owner.ts";
import { failureAs } from "../run-fixture.ts";

function specWith(workspaceDir: string): RunSpec {
  const parsed = parseRunSpec({ objective: "x", artifacts: { workspaceDir } });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.spec;
}

describe("the folder of a run", () => {
  it.for([
    [null, "/root/pawl-runs/r-1", "/root"],
    ["out", "/root/out", "/root"],
    ["runs/<run_id>/files", "/root/runs/r-1/files", "/root"],
    ["a/b/<run_id>/../../c", "/root/a/c", "/root"],
    ["/data/runs/<run_id>", "/data/runs/r-1", "/data/runs"],
    ["/data/out", "/data/out", "/data/out"],
    ["/<run_id>", "/r-1", "/"],
    ["/data/<run_id>/../../etc", "/etc", "/etc"],
  ] as const)("named %s is %s, of which %s may be a link", ([named, path, chosen]) => {
    const spec = named === null ? null : specWith(named);
    expect(folderOf("r-1", spec, "/root")).toEqual({ path, chosen });
  });
});

describe("the mark of a run's folder", () => {
  it.for([
    ["a pipe", (mark: string): void => void execFileSync("mkfifo", [mark])],
    ["a folder", (mark: string) => mkdirSync(mark)],
    ["a link", (mark: string) => symlinkSync("/etc/hostname", mark)],
    ["a long text", (mark: string) => writeFileSync(mark, "x".repeat(2_000))],
  ] as const)("that is %s is refused at once", async ([, put]) => {
    const folder = mkdtempSync(join(tmpdir(), "pawl-mark-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    put(join(folder, ".pawl-run"));
    const error = await failureAs(ConfigurationError, assertWorkspaceIsFree(folder, "r-1"));
    expect(error.message).toContain("was not written by Pawl");
  });
});
