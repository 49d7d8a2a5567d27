// A refused session: reported before the run is created, and nothing keeps the process from ending.

import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { ConfigurationError, Runner, Step } from "../../../src/index.ts";
import { CliProcess } from "../../cli/cli-process.ts";
import { databaseFile, failureAs, memoryStore } from "../run-fixture.ts";

const child = fileURLToPath(new URL("./children/refused-run.ts", import.meta.url));

/** The exit code and output; hangs if the process does not end on its own. */
async function linesOf(what: string): Promise<readonly [number | null, string[]]> {
  const { exitCode, stdout } = await new CliProcess(process.cwd(), process.execPath, [
    child,
    databaseFile(),
    what,
  ]).ended();
  return [exitCode, stdout.trimEnd().split("\n")];
}

describe("a runner with invalid tags", () => {
  const tags = { team: 7 as unknown as string };

  it("fails before the run is created", async () => {
    const store = await memoryStore();
    const start = async () =>
      new Runner(
        Step.run("a", () => 1),
        { store, tags },
      ).run("Go", { runId: "r-1" });
    expect((await failureAs(ConfigurationError, start())).message).toContain('The tag "team" is not a text');
    expect(await store.listRuns()).toEqual([]);
  });

  it("lets its process end", async () => {
    expect(await linesOf("tags")).toEqual([0, ['The tag "team" is not a text: give it one.', "no run"]]);
  });
});

describe("a run that fails while its session is set up", () => {
  it("is released, and lets its process end", async () => {
    const [exitCode, lines] = await linesOf("a listener");
    expect([exitCode, lines.at(-1)]).toEqual([0, "failed"]);
    expect(lines[0]).toContain("The listener failed.");
  });
});
