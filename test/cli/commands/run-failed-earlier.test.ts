// `pawl run` with the id of a run that has failed, or that cannot be continued as asked.

import { describe, expect, it } from "vitest";
import { CliFolder } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { WORKING_CONFIG } from "../working-config.ts";

const FAILING = ["run", "fails", "--input", "Go", "--run-id", "r-1"] as const;

describe("run with the id of a run", () => {
  it("that failed earlier says so, and prints the command that continues it", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("broken");
    await pawl(FAILING, { cwd: folder.path });
    const { exitCode, stderr } = await pawl(FAILING, { cwd: folder.path });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^error: Run r-1 failed earlier \(.* UTC\), and was not continued: .*The press is broken\.\nkept: 1 step\nresume with: pawl resume r-1\n$/,
    );
    expect(folder.log).toEqual(["first", "second"]);
  });

  it("and other input, or another pipeline, is wrong use and not a failure of the run", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("broken");
    await pawl(FAILING, { cwd: folder.path });
    const other = await pawl(["run", "fails", "--input", "Stop", "--run-id", "r-1"], { cwd: folder.path });
    expect(other.stderr).toMatch(/^error: Run r-1 was started with other input: .*\n$/);
    const foreign = await pawlJson<{ error: { message: string } }>(
      ["run", "echo", "--input", "Go", "--run-id", "r-1"],
      { cwd: folder.path },
    );
    expect(foreign.exitCode).toBe(2);
    expect(foreign.document.error.message).toContain("Run r-1 belongs to pipeline fails");
  });
});
