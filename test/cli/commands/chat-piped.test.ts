// `pawl chat` without a terminal: messages from a file or another program, also in processes that are killed.

import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { runCommandLine } from "../../../src/cli/program.ts";
import { CHAT_CONFIG } from "../chat-config.ts";
import { CliFolder } from "../cli-process.ts";
import { pawl, recordingContext } from "../recording-context.ts";

/** `printf 'one\ntwo\n' | pawl chat …`, in this process. */
async function piped(folder: CliFolder, lines: readonly string[], ...args: readonly string[]) {
  const { context, stdout, stderr } = recordingContext({ cwd: folder.path });
  const stdin = { isTerminal: false, stream: Readable.from(lines.map((line) => `${line}\n`)) };
  const exitCode = await runCommandLine(["chat", ...args], { ...context, stdin });
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

const documentsIn = (stdout: string) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly type: string });

describe("a conversation in a pipe", () => {
  it("answers one message a line, in order, and says how to continue", async () => {
    const folder = new CliFolder(CHAT_CONFIG);
    const asked = ["Where is my order?", "", "Thanks"];
    expect(await piped(folder, asked, "clerk", "--run-id", "c-1")).toEqual({
      exitCode: 0,
      stdout: "It is done.\nYou said: Thanks\n",
      stderr: "run c-1\ncontinue with: pawl chat c-1\n",
    });
    expect(await piped(folder, ["/quit is no command here"], "c-1")).toMatchObject({
      exitCode: 0,
      stdout: "You said: /quit is no command here\n",
    });
  });

  it("prints a document for each message, answer and outcome with --json", async () => {
    const folder = new CliFolder(CHAT_CONFIG);
    const { exitCode, stdout, stderr } = await piped(
      folder,
      ["Where is my order?"],
      "clerk",
      "--run-id",
      "c-1",
      "--json",
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(documentsIn(stdout)).toMatchObject([
      { type: "message", text: "Where is my order?", runId: "c-1" },
      { type: "answer", step: "clerk", turn: 2, text: "It is done." },
      {
        type: "outcome",
        exchange: 1,
        outcome: "complete",
        turns: 2,
        calls: [{ tool: "look_up", status: "succeeded" }],
        charged: { tokens: 30 },
      },
    ]);
  });

  it("ends with 1 where an answer is not complete, and sends nothing after that", async () => {
    const folder = new CliFolder(CHAT_CONFIG);
    const { exitCode, stdout, stderr } = await piped(folder, ["Where is my order?", "two"], "brief");
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toContain(
      "! The answer was not complete after 1 turns, the maxTurns of the conversation.\n",
    );
    expect(folder.log).toEqual(["model: Where is my order?", "look up 7"]);
  });

  it("ends with 3 where a person has to decide, and continues after that", async () => {
    const folder = new CliFolder(CHAT_CONFIG);
    const waiting = await piped(folder, ["Give me the money", "two"], "helper", "--run-id", "h-1");
    expect(waiting).toMatchObject({ exitCode: 3, stdout: "" });
    expect(waiting.stderr).toContain("h-1~1: May refund run with these arguments?\n  pawl approve h-1~1\n");
    // Nobody has decided yet: it does not wait for ever.
    expect((await piped(folder, ["two"], "h-1", "--json")).exitCode).toBe(3);
    await pawl(["approve", "h-1~1"], { cwd: folder.path });
    expect(await piped(folder, ["three"], "h-1")).toMatchObject({
      exitCode: 0,
      stdout: "It is done.\nYou said: three\n",
    });
    expect(folder.log.filter((line) => line === "refund 7")).toHaveLength(1);
  });
});

describe("Ctrl-C in a pipe", () => {
  it("stops the answer, sends nothing more, and ends with 130", async () => {
    const folder = new CliFolder(CHAT_CONFIG);
    folder.write("hold-model");
    const { context, stdout, interrupt } = recordingContext({ cwd: folder.path });
    const stdin = { isTerminal: false, stream: Readable.from(["one\n", "two\n"]) };
    const ended = runCommandLine(["chat", "clerk", "--run-id", "c-1"], { ...context, stdin });
    await folder.logged("model: one");
    interrupt();
    expect([await ended, stdout()]).toEqual([130, ""]);
    folder.remove("hold-model");
    expect(await piped(folder, [], "c-1")).toMatchObject({ exitCode: 0, stdout: "" });
    expect(folder.log).toEqual(["model: one"]);
  });

  it("while no message comes ends at once", async () => {
    const folder = new CliFolder(CHAT_CONFIG);
    const { context, stderr, interrupt } = recordingContext({ cwd: folder.path });
    const ended = runCommandLine(["chat", "clerk", "--run-id", "c-1"], context);
    while (stderr() === "") await sleep(2);
    interrupt();
    expect(await ended).toBe(130);
  });
});

describe("a conversation whose process is killed", () => {
  it("with a journaled answer continues with it: the model is not asked again", async () => {
    const folder = new CliFolder(CHAT_CONFIG);
    folder.write("die-in-tool");
    const killed = await folder.type("printf 'Where is my order?\\n' | pawl chat helper --run-id h-1");
    expect(killed).toMatchObject({ exitCode: 137, stdout: "" });
    const { exitCode, stdout } = await folder.type("printf 'Thanks\\n' | pawl chat h-1");
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "It is done.\nYou said: Thanks\n" });
    expect(folder.log).toEqual([
      "model: Where is my order?",
      "look up 7",
      "look up 7",
      "model: Where is my order?, with a result",
      "model: Thanks",
    ]);
  });

  it("before that loses no message: it is answered by the next process", async () => {
    const folder = new CliFolder(CHAT_CONFIG);
    folder.write("die-in-model");
    await folder.type("printf 'hello\\n' | pawl chat clerk --run-id c-1");
    const { exitCode, stdout } = await folder.type("pawl chat c-1 </dev/null");
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "You said: hello\n" });
    expect(folder.log).toEqual(["model: hello", "model: hello"]);
  });
});

describe("a conversation that a worker answers", () => {
  it("is only sent to and watched with --send-only", async () => {
    const folder = new CliFolder(CHAT_CONFIG);
    const worker = folder.start("worker");
    const sent = await piped(folder, ["one", "two"], "clerk", "--run-id", "c-1", "--send-only");
    expect(sent).toMatchObject({ exitCode: 0, stdout: "You said: one\nYou said: two\n" });
    const again = await piped(folder, ["three"], "c-1", "--send-only");
    expect(again).toMatchObject({ exitCode: 0, stdout: "You said: three\n" });
    worker.signal("SIGTERM");
    const { exitCode, stderr } = await worker.ended();
    expect(exitCode).toBe(0);
    expect(stderr).toContain("c-1 claimed: clerk");
  });

  it("is not taken by a worker that has the agent, and not the conversation", async () => {
    const folder = new CliFolder(CHAT_CONFIG);
    await piped(folder, ["hello"], "helper", "--run-id", "h-1");
    await pawl(["send", "h-1", "more"], { cwd: folder.path });
    const worker = folder.start("worker");
    await worker.waitForStderr("runs of helper (chat) wait, and this worker does not have that pipeline");
    worker.signal("SIGTERM");
    await worker.ended();
    expect(await piped(folder, [], "h-1")).toMatchObject({ exitCode: 0, stdout: "You said: more\n" });
  });
});

describe("the lists", () => {
  it("say that a conversation waits for a message, and show it exchange by exchange", async () => {
    const folder = new CliFolder(CHAT_CONFIG);
    await piped(folder, ["Where is my order?", "Thanks"], "clerk", "--run-id", "c-1", "--by", "Ann");
    const seen = async (...args: readonly string[]) =>
      (await pawl(args, { cwd: folder.path, columns: 100 })).stdout;
    expect(await seen("ls")).toMatch(/c-1 +waiting +a message +clerk/);
    expect(await seen("waits")).toContain("  waits  for the next message\n  pawl chat c-1\n");
    const shown = await seen("show", "c-1");
    expect(shown).toMatch(/1 +\S+ +Ann +complete +2 +1 +30 +Where is my order\? +It is done\./);
    expect(shown).toMatch(/2 +\S+ +Ann +complete +1 +15 +Thanks +You said: Thanks/);
    expect(shown).toContain(
      "It waits for the next message: talk with it, or send one that a worker answers:\n",
    );
    const { exchanges } = JSON.parse(await seen("show", "c-1", "--json")) as { exchanges: unknown };
    expect(exchanges).toMatchObject([
      { exchange: 1, said: [{ text: "Where is my order?", sentBy: "Ann" }], answer: "It is done.", turns: 2 },
      { exchange: 2, said: [{ text: "Thanks" }], outcome: "complete", charged: { tokens: 15 }, calls: [] },
    ]);
  });
});
