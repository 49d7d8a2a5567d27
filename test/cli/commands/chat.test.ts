// `pawl chat` with a person at a terminal.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { runCommandLine } from "../../../src/cli/program.ts";
import { CHAT_CONFIG } from "../chat-config.ts";
import { CliFolder } from "../cli-process.ts";
import { pawl } from "../recording-context.ts";
import { DOWN, ENTER, Typist } from "../typist.ts";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

/** A person who has begun to talk with an agent. */
function talking(...args: readonly string[]) {
  const folder = new CliFolder(CHAT_CONFIG);
  return { folder, ...sitDown(folder, ...args) };
}

function sitDown(folder: CliFolder, ...args: readonly string[]) {
  const typist = new Typist(folder.path);
  const ended = runCommandLine(["chat", ...args], typist.context);
  const says = (text: string) => typist.types(...text.split(""), ENTER);
  return { typist, ended, says, screen: () => typist.terminal.rows };
}

describe("a conversation on a terminal", () => {
  it("is begun, answered, left, and continued with what was said last", async () => {
    const { folder, typist, ended, says, screen } = talking("clerk", "--run-id", "c-1");
    await typist.sees("Ctrl-D leaves");
    await says("Where is my order?");
    await typist.sees("It is done.");
    await typist.sees("2 turns · 1 call · 30 tokens");
    await typist.types(CTRL_D);
    expect(await ended).toBe(0);
    expect(screen().map((row) => row.replace(/ {2}[\d.]+ s$| · [\d.]+ s$/, ""))).toEqual([
      "clerk",
      "run c-1",
      "/help lists the commands, Ctrl-D leaves",
      "",
      "› Where is my order?",
      "A moment.",
      '  ✓ look_up {"order":7}',
      "It is done.",
      "  · 2 turns · 1 call · 30 tokens",
      "",
      "continue with:",
      "  pawl chat c-1",
    ]);
    expect(typist.stdout()).toBe("A moment.\nIt is done.\n");

    const again = sitDown(folder, "c-1");
    await again.typist.sees("2 turns · 1 call · 30 tokens");
    await again.says("Thanks");
    await again.typist.sees("You said: Thanks");
    await again.typist.sees("15 tokens");
    await again.typist.types(CTRL_C);
    expect(await again.ended).toBe(0);
    expect(again.screen().filter((row) => row.startsWith("›"))).toEqual(["› Where is my order?", "› Thanks"]);
  });

  it("shows the last exchanges of a longer one, and how many came before", async () => {
    const { folder, typist, ended, says } = talking("clerk", "--run-id", "c-1");
    for (const text of ["one", "two", "three"]) {
      await says(text);
      await typist.sees(`You said: ${text}`);
    }
    await typist.types(CTRL_D);
    await ended;
    const again = sitDown(folder, "c-1", "--last", "1");
    await again.typist.sees("You said: three");
    expect(again.screen().slice(4, 7)).toEqual([
      "  · 2 exchanges before these",
      "› three",
      "You said: three",
    ]);
    await again.typist.types(CTRL_D);
    expect(await again.ended).toBe(0);
  });

  it("asks on the spot what needs an approval, in the name of the person who talks", async () => {
    const { folder, typist, ended, says } = talking("helper", "--run-id", "h-1", "--by", "Ann");
    await says("I want my money back");
    await typist.sees("May it run?");
    expect(folder.log).toEqual(["model: I want my money back"]);
    await typist.types(DOWN, ENTER);
    await typist.sees("It is done.");
    await typist.types(CTRL_D);
    expect(await ended).toBe(0);
    expect(folder.log).toContain("refund 7");
    const { stdout } = await pawl(["show", "h-1"], { cwd: folder.path, columns: 200 });
    expect(stdout).toMatch(/approval +answered +\S.* +Ann/);
  });

  it("asks again what was postponed, ends it with /stop, and leaves with 3 while it is open", async () => {
    const { folder, typist, ended, says } = talking("clerk", "--run-id", "c-1");
    await says("Give me the money");
    await typist.sees("May it run?");
    await typist.types(ENTER);
    await typist.sees("it waits for your answer");
    await typist.types(CTRL_D);
    expect(await ended).toBe(3);
    const again = sitDown(folder, "c-1");
    await again.typist.sees("May it run?");
    await again.typist.types(ENTER);
    await again.typist.sees("it waits for your answer");
    await again.says("/stop");
    await again.typist.sees("stopped by tester");
    await again.typist.types(CTRL_D);
    expect(await again.ended).toBe(0);
    expect(folder.log).not.toContain("refund 7");
  });

  it("shows what happened while a person thought about a question that somebody else answered", async () => {
    const { folder, typist, ended, says } = talking("clerk", "--run-id", "c-1");
    await says("Give me the money");
    await typist.sees("May it run?");
    await typist.types(ENTER);
    await typist.types(CTRL_D);
    expect(await ended).toBe(3);
    const again = sitDown(folder, "c-1");
    await again.typist.sees("May it run?");
    await pawl(["approve", "c-1~1"], { cwd: folder.path });
    await folder.logged("model: Give me the money, with a result");
    while (!(await pawl(["ls"], { cwd: folder.path })).stdout.includes("a message")) await sleep(5);
    await again.typist.types(ENTER);
    await again.typist.sees("It is done.");
    await again.typist.types(CTRL_D);
    expect(await again.ended).toBe(0);
  });

  it("keeps a text that is typed meanwhile for the next exchange, and shows that it waits", async () => {
    const { folder, typist, ended, says, screen } = talking("clerk");
    folder.write("hold-model");
    await says("one");
    await folder.logged("model: one");
    await says("two");
    await typist.sees("› two  (next)");
    folder.remove("hold-model");
    await typist.sees("You said: two");
    const said = screen().filter((row) => /^(›|You)/.test(row));
    expect(said.slice(0, 4)).toEqual(["› one", "You said: one", "› two", "You said: two"]);
    await typist.types(CTRL_D);
    expect(await ended).toBe(0);
  });

  it("adds a text to the present exchange with /steer", async () => {
    const { folder, typist, ended, says } = talking("clerk", "--run-id", "c-1");
    folder.write("hold-model");
    await says("one");
    await folder.logged("model: one");
    await says("/steer and this");
    await typist.sees("› and this  (joins)");
    folder.remove("hold-model");
    await typist.sees("You said: and this");
    await typist.sees("2 turns");
    await typist.types(CTRL_D);
    expect(await ended).toBe(0);
  });
});

describe("Ctrl-C", () => {
  it("stops the answer, and the conversation continues", async () => {
    const { folder, typist, ended, says } = talking("clerk");
    folder.write("hold-model");
    await says("one");
    await folder.logged("model: one");
    await typist.types(CTRL_C);
    await typist.sees("stopped by tester");
    folder.remove("hold-model");
    await says("two");
    await typist.sees("15 tokens");
    await typist.types("x", CTRL_C);
    // The text is gone, and nobody has left.
    await says("three");
    await typist.sees("You said: three");
    await typist.types(CTRL_D);
    expect(await ended).toBe(0);
    expect(typist.terminal.isCursorShown).toBe(true);
  });

  it("a second time leaves at once", async () => {
    const { folder, typist, ended, says } = talking("clerk", "--run-id", "c-1");
    folder.write("hold-model");
    await says("one");
    await folder.logged("model: one");
    await typist.types(CTRL_D);
    await typist.sees("finishing; Ctrl-C leaves now");
    await sleep(300);
    expect(() => typist.interrupt()).toThrow("quit with 130");
    expect(typist.terminal.rows.slice(-2)).toEqual(["continue with:", "  pawl chat c-1"]);
    folder.remove("hold-model");
    await ended;
  });
});

describe("what cannot be talked with", () => {
  it.each([
    [
      ["nothing"],
      1,
      'There is no agent and no run "nothing": the configuration has clerk, helper, brief, report',
    ],
    [["report"], 2, "report is a pipeline without a conversation"],
    [["helper", "--send-only"], 2, "put conversation(helper) into the pipelines"],
    [["nothing", "--run-id", "c-1"], 2, "--run-id names the run"],
    [["clerk", "--last", "many"], 2, "--last is"],
  ])("%j is refused in one sentence", async (args, code, message) => {
    const folder = new CliFolder(CHAT_CONFIG);
    await pawl(["run", "report", "--input", "Go"], { cwd: folder.path });
    const { exitCode, stderr } = await pawl(["chat", ...args], { cwd: folder.path });
    expect(exitCode).toBe(code);
    expect(stderr).toContain(message);
  });

  it("a run that has ended takes no messages", async () => {
    const folder = new CliFolder(CHAT_CONFIG);
    await pawl(["run", "report", "--input", "Go", "--run-id", "r-1"], { cwd: folder.path });
    const { exitCode, stderr } = await pawl(["chat", "r-1"], { cwd: folder.path });
    expect(exitCode).toBe(2);
    expect(stderr).toBe("error: Run r-1 has succeeded, and takes no messages: begin another one.\n");
  });
});
