// `pawl crashtest` with stand-ins from the configuration: what it finds, reports and refuses.

import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { runCommandLine } from "../../../src/cli/program.ts";
import { PATIENCE } from "../../patience.ts";
import { CliFolder } from "../cli-process.ts";
import { pawl, pawlJson, recordingContext } from "../recording-context.ts";
import { configWith } from "./crashtest-config.ts";

const ALL_REAL = `{
  forgetful: { input, model: script, tools: { send_email: "real" } },
  careful: { input, model: script, tools: { send_email: "real" } },
}`;

type Report = {
  readonly kept: boolean;
  readonly unproven: string | null;
  readonly points: number;
  readonly counts: { readonly schedules: number };
  readonly violations: readonly {
    readonly invariant: string;
    readonly schedule: string;
    readonly story: readonly { readonly process: number; readonly what: string }[];
    readonly advice: readonly string[];
  }[];
  readonly run: string | null;
};

describe("a tool that ignores its key", () => {
  it(
    "is found, with the schedule, what the outside saw, how to fix it, and how to replay it",
    PATIENCE,
    async () => {
      const folder = new CliFolder(configWith(ALL_REAL));
      const { exitCode, stdout, stderr } = await folder.pawl("crashtest", "forgetful", "--mode", "crash");
      expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
      expect(stdout).toContain("✗ effects-at-most-once, broken in 2 schedules");
      expect(stdout).toContain("    crash after tool.send_email 1\n");
      expect(stdout).toMatch(/process 1 {2}runs send_email \(key [0-9a-f]{8}\): it happens\n/);
      expect(stdout).toContain("process 1  DIES after tool.send_email 1\n");
      expect(stdout).toMatch(
        /process 2 {2}runs send_email \(key [0-9a-f]{8}\) again: IT HAPPENS A SECOND TIME\n/,
      );
      expect(stdout).toContain("never reads call.idempotencyKey");
      const [again] = stdout.match(/pawl crashtest forgetful --schedule .*/) ?? [];
      expect(again).toBe("pawl crashtest forgetful --schedule 'crash after tool.send_email 1'");
      const replay = await folder.type(again ?? "");
      expect(replay.exitCode).toBe(1);
      expect(replay.stdout).toContain("2 schedules (1 undisturbed, 1 crash): ");
      expect(replay.stdout).not.toContain("To replay a schedule");
    },
  );

  it("is reported to programs as one document", PATIENCE, async () => {
    const folder = new CliFolder(configWith(ALL_REAL));
    const { exitCode, document } = await pawlJson<Report>(
      ["crashtest", "forgetful", "--schedule", "crash after tool.send_email 1"],
      { cwd: folder.path },
    );
    expect(exitCode).toBe(1);
    expect(document).toMatchObject({ kept: false, run: null, counts: { schedules: 2 } });
    const found = document.violations.find(({ invariant }) => invariant === "effects-at-most-once");
    expect(found?.schedule).toBe("crash after tool.send_email 1");
    expect(found?.story.map(({ process }) => process)).toEqual([1, 1, 1, 2, 2, 2]);
    expect(found?.advice.join(" ")).toContain("Pass the key on");
  });

  it("passes once it uses the key", PATIENCE, async () => {
    const folder = new CliFolder(configWith(ALL_REAL));
    const { exitCode, stdout } = await pawl(["crashtest", "careful", "--mode", "crash"], {
      cwd: folder.path,
      columns: 120,
    });
    expect(stdout).toContain("28 points, 29 schedules (1 undisturbed, 28 crashes): every promise kept\n");
    expect(exitCode).toBe(0);
  });
});

describe("nothing that reaches the world", () => {
  const refused = async (crashtests: string, ...args: readonly string[]) => {
    const folder = new CliFolder(configWith(crashtests));
    const { exitCode, stderr, stdout } = await pawl(["crashtest", ...args], { cwd: folder.path });
    expect({ exitCode, stdout, log: folder.log }).toEqual({ exitCode: 2, stdout: "", log: [] });
    return stderr;
  };
  const answers =
    'model: scriptedModel([{ toolCalls: [{ name: "send_email", input: { to: "a" } }] }, { text: "." }])';

  it("is run silently: a tool has a stand-in, or is declared harmless", PATIENCE, async () => {
    expect(await refused(`{ careful: { input, ${answers} } }`, "careful")).toBe(
      'error: crashtests.careful.tools has no send_email, and the tool itself would run in every schedule: give a stand-in, `send_email: (input, call) => …`, or "real" if the service behind it is already a stand-in.\n',
    );
  });

  it("is run because of a misspelt name: neither a tool, nor a look-up", PATIENCE, async () => {
    const misspelt = (name: string, asked: string, tool: string) =>
      `{ ${name}: { input, ${asked}, tools: { ${tool}: () => 1 } } }`;
    expect(await refused(misspelt("careful", answers, "send_emial"), "careful")).toContain(
      "crashtests.careful.tools has no send_email",
    );
    const looks = 'model: scriptedModel([{ toolCalls: [{ name: "look_up", input: {} }] }, { text: "." }])';
    expect(await refused(misspelt("reader", looks, "look_upp"), "reader")).toContain(
      "There is no tool look_upp to stand in for: did you mean look_up? Nothing has run yet.",
    );
  });

  it("is asked silently: not the model either", async () => {
    expect(await refused("{ careful: { input } }", "careful")).toContain(
      "crashtests.careful has no model, and the agents' own would be asked in every schedule",
    );
  });

  it("is started: a pipeline with tools from a server is refused in one sentence", async () => {
    expect(await refused(`{ served: { input, ${answers} } }`, "served")).toContain(
      "served has tools from a server (files), which would have to be started in every schedule",
    );
  });

  it.each([
    ["{ careful: { input, model: 7 } }", "crashtests.careful.model is not a model"],
    [`{ careful: { input, ${answers}, tools: { send_email: 7 } } }`, "tools.send_email is not a stand-in"],
    [`{ careful: { input, ${answers}, person: { approve: () => 1 } } }`, "person.approve is not used"],
    [`{ careful: { input, ${answers}, invariants: { mine: true } } }`, "invariants.mine is not an invariant"],
    [`{ careful: { ${answers} } }`, "set crashtests.careful.input, or add --input TEXT"],
    ["{ careful: { modle: 1 } }", 'crashtests.careful has no "modle": did you mean model?'],
    [
      `{ careful: { input, ${answers}, tools: { send_email: { reconcile: () => ({ status: "absent" }) } } } }`,
      'tools.send_email has a reconcile but no execute, so the tool itself would run in every schedule: add an execute, or give "real" instead',
    ],
    [`{ careful: { input, ${answers}, mayFail: "yes" } }`, 'careful.mayFail is "yes": set it to true'],
  ])("is done with %s", async (crashtests, sentence) => {
    expect(await refused(crashtests, "careful")).toContain(sentence);
  });
});

describe("the flags", () => {
  it.each([
    [
      ["--mode", "crash,explode"],
      '--mode has "explode": it takes a comma-separated list of crash, twice, pause, close, disk, random',
    ],
    [["--pairs", "5"], "--pairs is for twice: add --mode twice."],
    [["--mode", "crash", "--courses", "5"], "--courses is for random: add --mode crash,random."],
    [["--pairs", "some", "--mode", "twice"], '--pairs is "some": give a whole number'],
    [["--schedule", "crash tomorrow"], '"tomorrow" is not a point'],
    [["--schedule", "never"], '"never" is not a schedule'],
    [["--schedule", "undisturbed", "--seed", "1"], "--schedule replays one schedule: leave out --seed."],
  ])("%j are refused with a remedy", async (flags, sentence) => {
    const folder = new CliFolder(configWith(ALL_REAL));
    const { exitCode, stderr } = await pawl(["crashtest", "careful", ...flags], { cwd: folder.path });
    expect(stderr).toContain(sentence);
    expect(exitCode).toBe(2);
  });
});

describe("a test that proves nothing", () => {
  const failing = (rest: string) =>
    configWith(`{ careful: { input, model: scriptedModel([]), tools: { send_email: "real" }, ${rest} } }`);

  it.each([
    ["of a run that fails by itself", failing(""), ["--mode", "crash"]],
    ["at a point that is not there", configWith(ALL_REAL), ["--schedule", "crash before tool.send_email 9"]],
  ])("%s ends with 1 and says why, to people and to programs", PATIENCE, async (_, config, flags) => {
    const { path: cwd } = new CliFolder(config);
    const { exitCode, document } = await pawlJson<Report>(["crashtest", "careful", ...flags], { cwd });
    expect({ exitCode, ...document }).toMatchObject({ exitCode: 1, kept: false, violations: [] });
    expect(document.unproven).toMatch(/^[A-Z].*\.$/);
    const finished = await pawl(["crashtest", "careful", ...flags], { cwd, columns: 400 });
    expect(finished.exitCode).toBe(1);
    expect(finished.stdout).toContain(document.unproven);
    expect(finished.stdout).not.toContain("every promise kept");
  });

  it("is valid if the run is meant to fail", PATIENCE, async () => {
    const { path: cwd } = new CliFolder(failing("mayFail: true"));
    const { exitCode, document } = await pawlJson<Report>(["crashtest", "careful", "--mode", "crash"], {
      cwd,
    });
    expect({ exitCode, ...document }).toMatchObject({ exitCode: 0, kept: true, unproven: null });
    expect(document.counts.schedules).toBeGreaterThan(1);
  });
});

it("code steps are named before they run", PATIENCE, async () => {
  const folder = new CliFolder(configWith('{ moody: { tools: { note: "real" } } }'));
  const recording = recordingContext({ cwd: folder.path });
  const { context } = recording;
  const seen: string[] = [];
  const stderr: typeof context.stderr = {
    ...context.stderr,
    write: (text) => {
      seen.push(...folder.log, text);
    },
  };
  const args = ["crashtest", "moody", "--schedule", "crash before tool.note 1"];
  expect(await runCommandLine(args, { ...context, stderr })).toBe(0);
  expect(seen).toEqual(["Step code really runs, in every schedule: look.\n"]);
  expect(folder.log.length).toBeGreaterThan(0);
});

it("a test shows its progress on a terminal, and ends when it is interrupted", PATIENCE, async () => {
  const folder = new CliFolder(configWith(ALL_REAL));
  const recording = recordingContext({ cwd: folder.path, isTerminal: true });
  const ended = runCommandLine(["crashtest", "careful"], recording.context);
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver && !recording.stderr().includes("schedules done")) await nextTurn();
  recording.interrupt();
  expect(await ended).toBe(130);
  expect(recording.stdout()).toMatch(/^Stopped after \d+ schedules?: no promise was broken so far\.\n$/);
});
