// The log of a command that works on a run.

import { describe, expect, it } from "vitest";
import { CliFolder } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { WORKING_CONFIG } from "../working-config.ts";

type Line = { readonly level: string; readonly time: string; readonly event?: string; readonly msg: string };

function linesOf(text: string): readonly Line[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

const folder = () => ({ cwd: new CliFolder(WORKING_CONFIG).path });
const RUN = ["run", "worker", "--input", "Go", "--run-id", "r-1"];

describe("--log-format json", () => {
  it("logs one line per event to stderr instead of the progress, and does not touch stdout", async () => {
    const { exitCode, stdout, stderr } = await pawl([...RUN, "--log-format", "json"], folder());
    expect(exitCode).toBe(0);
    const lines = linesOf(stderr);
    expect(lines.map(({ event }) => event)).toEqual([
      "run.started",
      "step.started",
      "tool.finished",
      "turn.committed",
      "tool.finished",
      "turn.committed",
      "turn.committed",
      "step.finished",
      "run.finished",
      undefined,
    ]);
    expect(lines.at(-1)?.msg).toMatch(/^run r-1 succeeded: /);
    expect(lines[2]).toMatchObject({
      level: "info",
      runId: "r-1",
      toolCallId: "r-1/worker#1.1",
      tool: "act",
    });
    for (const { time } of lines) expect(new Date(time).toISOString()).toBe(time);
    expect(stdout).toContain("All is done.");
    expect(stdout).not.toContain('"event"');
  });

  it("can be combined with --json, whose one document is on stdout", async () => {
    const { stdout, stderr } = await pawl([...RUN, "--json", "--log-level", "warn"], folder());
    expect(JSON.parse(stdout)).toMatchObject({ status: "succeeded" });
    expect(stderr).toBe("");
  });

  it("logs why a run failed and how to resume it as one line", async () => {
    const here = new CliFolder(WORKING_CONFIG);
    here.write("broken");
    const { exitCode, stderr } = await pawl(
      ["run", "fails", "--input", "Go", "--run-id", "r-1", "--log-format", "json"],
      {
        cwd: here.path,
      },
    );
    expect(exitCode).toBe(1);
    const last = linesOf(stderr).at(-1);
    expect(last?.level).toBe("error");
    expect(last?.msg).toMatch(/The press is broken\..*kept: .*resume with: pawl resume r-1/);
  });

  it("logs why a run is waiting and what to do as lines", async () => {
    const here = folder();
    const asked = await pawl(
      ["run", "asks", "--input", "Go", "--run-id", "r-1", "--log-format", "json"],
      here,
    );
    expect(asked.exitCode).toBe(3);
    expect(linesOf(asked.stderr).at(-1)).toMatchObject({
      event: "run.finished",
      status: "waiting",
      waits: 1,
    });
    const again = await pawl(["resume", "r-1", "--log-format", "json"], here);
    expect(linesOf(again.stderr)[0]).toMatchObject({ event: "run.started", resumed: true });
  });
});

describe("--log-level", () => {
  it("sets the amount: debug logs more than info, silent nothing", async () => {
    const debug = linesOf((await pawl([...RUN, "--log-level", "debug"], folder())).stderr);
    expect(debug.map(({ event }) => event)).toContain("usage.settled");
    expect((await pawl([...RUN, "--log-level", "silent"], folder())).stderr).toBe("");
  });

  it("is pretty on a terminal, without colours if they are disabled", async () => {
    const { stderr } = await pawl([...RUN, "--log-level", "info"], { ...folder(), isTerminal: true });
    expect(stderr).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: run started/);
    expect(stderr).toContain('"toolCallId":"r-1/worker#1.1"');
    expect(stderr.includes("\u001b")).toBe(false);
    const coloured = await pawl([...RUN, "--log-level", "info"], {
      ...folder(),
      isTerminal: true,
      useColour: true,
    });
    expect(coloured.stderr.includes("\u001b[32mINFO")).toBe(true);
  });

  it("may be set by the environment; the flag takes precedence", async () => {
    const env = { PAWL_LOG_LEVEL: "silent", PAWL_LOG_FORMAT: "json" };
    expect((await pawl(RUN, { ...folder(), env })).stderr).toBe("");
    const { stderr } = await pawl([...RUN, "--log-level", "info"], { ...folder(), env });
    expect(linesOf(stderr)[0]).toMatchObject({ event: "run.started" });
  });

  it("is wrong use if unknown, and nothing is started", async () => {
    const here = folder();
    const flag = await pawl([...RUN, "--log-level", "loud"], here);
    expect(flag.exitCode).toBe(2);
    expect(flag.stderr).toContain("loud");
    const { exitCode, stderr } = await pawl(RUN, { ...here, env: { PAWL_LOG_FORMAT: "xml" } });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('PAWL_LOG_FORMAT is "xml": use pretty, json.');
    expect((await pawlJson<{ runs: unknown[] }>(["ls"], here)).document.runs).toEqual([]);
  });
});
