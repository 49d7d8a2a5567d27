// Questions at the terminal: what is shown, what is typed, and the effect on the run.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { runCommandLine } from "../../../src/cli/program.ts";
import { askPerson } from "../../../src/cli/screen/ask-person.ts";
import type { RunSpecInput } from "../../../src/core/job/run-spec-input.ts";
import { NeedsHuman, Runner, tool } from "../../../src/index.ts";
import { temporaryFolder } from "../../engine/job-fixture.ts";
import { failureOf, memoryStore, scriptedAgent, toolResults } from "../../engine/run-fixture.ts";
import { CliFolder } from "../cli-process.ts";
import { pawl } from "../recording-context.ts";
import { DOWN, ENTER, ESCAPE, Typist, UP } from "../typist.ts";
import { WORKING_CONFIG } from "../working-config.ts";

describe("a run at a terminal", () => {
  it("asks directly, shows the exact arguments, and resumes with the answer", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    const typist = new Typist(folder.path);
    const command = runCommandLine(["run", "asks", "--input", "Go", "--run-id", "w-1"], typist.context);
    await typist.sees("May it run?");
    expect(typist.terminal.rows.join("\n")).toContain('{\n  "to": "ada@example.com"\n}');
    // Its tool can neither be repeated nor looked up: reported once, when the run starts.
    expect(typist.terminal.rows[1]).toBe("! mail: a crash during a call needs a person. Better:");
    expect(folder.log).toEqual([]);
    await typist.types(DOWN, ENTER);
    await typist.sees("Is it right?");
    await typist.sees("not quite");
    expect(folder.log).toEqual(["mail to ada@example.com"]);
    await typist.types(DOWN, DOWN, ENTER);
    expect(await command).toBe(0);
    expect(typist.stdout()).toBe("not quite\n");
    expect(typist.terminal.isCursorShown).toBe(true);
    // Events that were already shown are not repeated after an answer.
    expect(typist.terminal.rows.filter((row) => row.includes("resumes"))).toEqual([]);
  });

  it("that is resumed does not repeat the advice about its tools", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    await pawl(["run", "asks", "--input", "Go", "--run-id", "w-1"], { cwd: folder.path });
    const typist = new Typist(folder.path);
    const command = runCommandLine(["resume", "w-1"], typist.context);
    await typist.sees("May it run?");
    await typist.types(ENTER);
    expect(await command).toBe(3);
    expect(typist.terminal.rows.slice(0, 2)).toEqual([
      "› run w-1 resumes",
      "  · turn 1 replays its stored response",
    ]);
  });

  it("that is interrupted twice restores the terminal before it ends", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("hold-one");
    const typist = new Typist(folder.path);
    const command = runCommandLine(["run", "worker", "--input", "Go", "--run-id", "r-1"], typist.context);
    await folder.logged("one begins");
    expect(typist.terminal.isCursorShown).toBe(false);
    typist.interrupt();
    await typist.sees("! finishing turn 1 of worker; Ctrl-C again stops now");
    // npm forwards the signal that the terminal has already sent: still the same key press.
    typist.interrupt();
    expect(typist.terminal.isCursorShown).toBe(false);
    await sleep(300);
    expect(() => typist.interrupt()).toThrow("quit with 130");
    expect(typist.terminal.isCursorShown).toBe(true);
    expect(typist.terminal.rows.at(-1)).toBe("› resume with: pawl resume r-1");
    folder.remove("hold-one");
    await command;
  });

  it("ignores a stray Enter, and shows how to answer later", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    const typist = new Typist(folder.path);
    const command = runCommandLine(["run", "asks", "--input", "Go", "--run-id", "w-1"], typist.context);
    await typist.types(ENTER);
    expect(await command).toBe(3);
    expect(typist.stdout()).toContain("  pawl approve w-1~1\n");
    expect(folder.log).toEqual([]);
  });
});

/** A run that asks a question at its first call, and the person who answers. */
async function waitingRun(act: Partial<Parameters<typeof tool>[0]>, spec?: RunSpecInput) {
  const store = await memoryStore();
  const seen: unknown[] = [];
  const acting = tool({
    description: "Act.",
    inputSchema: z.object({ what: z.string() }),
    effect: "external",
    execute: () => "acted",
    ...act,
  });
  const { agent } = scriptedAgent(
    ({ turn, options }) => {
      seen.push(...toolResults(options.prompt));
      return turn === 1 ? { toolCalls: [{ name: "acting", input: { what: "this" } }] } : { text: "Done." };
    },
    { tools: { acting } },
  );
  const runner = new Runner(agent, { store, workspaceRoot: temporaryFolder() });
  const { waits } = await runner.run("Go", { runId: "r-1", ...(spec === undefined ? {} : { spec }) });
  expect(waits).toHaveLength(1);
  const typist = new Typist();
  const desk = { context: typist.context, store, signal: new AbortController().signal };
  return { store, runner, typist, seen, answered: askPerson(desk, waits), desk, waits };
}

/** It ends when it is aborted: one that does not is given another second. */
const untilAborted = (_input: unknown, { signal }: { readonly signal: AbortSignal }) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
const TIMES_OUT = { timeoutMs: 20, execute: untilAborted };
const asksForHelp = () => {
  throw new NeedsHuman("auth_failure", "The token has expired: renew it.");
};

describe("a call in doubt", () => {
  it("is settled with its result, as JSON or as a text", async () => {
    const { runner, typist, answered, seen } = await waitingRun(TIMES_OUT);
    await typist.sees("Did it happen?");
    expect(typist.terminal.rows.join("\n")).toContain("r-1/worker#1.1");
    await typist.types(DOWN, ENTER);
    await typist.sees("What did it return?");
    await typist.types("{", '"id":', " 7}", ENTER);
    expect(await answered).toBe(true);
    expect((await runner.resume("r-1")).output).toBe("Done.");
    expect(seen).toEqual([{ type: "json", value: { id: 7 } }]);
  });

  it("is run again", async () => {
    let tries = 0;
    const { runner, typist, answered } = await waitingRun({
      timeoutMs: 20,
      execute: (input, call) => (tries++ === 0 ? untilAborted(input, call) : "acted"),
    });
    await typist.sees("Did it happen?");
    await typist.types(DOWN, DOWN, ENTER);
    expect(await answered).toBe(true);
    expect((await runner.resume("r-1")).status).toBe("succeeded");
    expect(tries).toBe(2);
  });

  it("is settled as failed, with a required reason", async () => {
    const { runner, typist, answered, seen } = await waitingRun(TIMES_OUT);
    await typist.sees("Did it happen?");
    await typist.types(UP, ENTER);
    await typist.sees("Why?");
    await typist.types(ENTER);
    await typist.sees("Enter a text");
    await typist.types("Too late", ENTER);
    expect(await answered).toBe(true);
    await runner.resume("r-1");
    expect(seen).toEqual([{ type: "error-text", value: "It was settled as failed: Too late" }]);
  });

  it("is left for later with Escape", async () => {
    const { store, typist, answered } = await waitingRun(TIMES_OUT);
    await typist.sees("Did it happen?");
    await typist.types(ESCAPE);
    expect(await answered).toBe(false);
    expect(await store.listOpenWaits()).toHaveLength(1);
  });
});

describe("a tool that asks for help", () => {
  it("is answered, and the caller gets the answer", async () => {
    const { runner, typist, answered, seen } = await waitingRun({ execute: asksForHelp });
    await typist.sees("The token has expired: renew it.");
    await typist.sees("What should be done?");
    await typist.types(UP, ENTER);
    await typist.sees("The answer:");
    await typist.types("Use the other one", ENTER);
    expect(await answered).toBe(true);
    await runner.resume("r-1");
    expect(seen).toEqual([
      { type: "error-text", value: "It needed a person, who answered: Use the other one" },
    ]);
  });
});

describe("an approval", () => {
  it("is denied, with a reason", async () => {
    const { store, runner, typist, answered, seen } = await waitingRun({ approval: true });
    await typist.sees("May it run?");
    await typist.types(UP, ENTER);
    await typist.sees("Why not?");
    await typist.types("Not today", ENTER);
    expect(await answered).toBe(true);
    await runner.resume("r-1");
    expect(JSON.stringify(seen)).toContain("Not today");
    expect((await store.listWaits("r-1"))[0]).toMatchObject({ status: "answered", answeredBy: "tester" });
  });

  it("that another person has answered meanwhile is not asked about again", async () => {
    const { store, runner, typist, answered } = await waitingRun({ approval: true });
    await typist.sees("May it run?");
    await store.approve("r-1~1", { by: "somebody else" });
    await typist.types(DOWN, ENTER);
    expect(await answered).toBe(true);
    expect(typist.terminal.rows.join("\n")).toContain("Wait r-1~1 was already answered by somebody else");
    expect((await runner.resume("r-1")).status).toBe("succeeded");
  });

  it("is withdrawn when the command must end", async () => {
    const { desk, waits, typist, answered } = await waitingRun({ approval: true });
    await typist.sees("May it run?");
    await typist.types(ENTER);
    await answered;
    const ending = new AbortController();
    const again = askPerson({ ...desk, signal: ending.signal }, waits);
    ending.abort();
    expect(await again).toBe(false);
  });
});

describe("a budget that is used up", () => {
  const spec: RunSpecInput = {
    objective: "Act",
    budgets: { maxSteps: 1, maxTokens: 10 },
    escalation: { askHumanOnBudgetReached: true },
  };

  it("is raised to a sufficient limit", async () => {
    const { runner, typist, answered } = await waitingRun({}, spec);
    await typist.sees("May it use more?");
    await typist.types(DOWN, ENTER);
    await typist.sees("The new maxTokens:");
    await typist.types("11", ENTER);
    await typist.sees("Enter a number of at least");
    await typist.types("\u007f", "\u007f", "1000000", ENTER);
    expect(await answered).toBe(true);
    expect((await runner.resume("r-1")).output).toBe("Done.");
  });

  it("ends the run where it is not", async () => {
    const { runner, typist, answered } = await waitingRun({}, spec);
    await typist.sees("May it use more?");
    await typist.types(UP, ENTER);
    await typist.sees("Why?");
    await typist.types("Enough", ENTER);
    expect(await answered).toBe(true);
    expect(await failureOf(runner.resume("r-1"))).toHaveProperty("code", "budget_exceeded");
  });
});
