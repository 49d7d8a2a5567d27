import { describe, expect, it } from "vitest";
import { AnswerBlock } from "../../../src/cli/screen/answer-block.ts";
import { type AnswerText, answerAfter, answerRows } from "../../../src/cli/screen/answer-text.ts";
import { ProgressScreen } from "../../../src/cli/screen/progress-screen.ts";
import type { LiveEvent } from "../../../src/engine/ports/live-events.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { TerminalEmulator } from "../terminal-emulator.ts";

const PLACE = { runId: "q-1", step: "clerk", turn: 1, attempt: 1 } as const;
const piece = (delta: string, over: Partial<Extract<LiveEvent, { type: "part" }>> = {}): LiveEvent => ({
  type: "part",
  ...PLACE,
  part: 0,
  kind: "text",
  delta,
  ...over,
});
const withdrawn: LiveEvent = { type: "attempt.withdrawn", ...PLACE, why: "failed" };

const after = (...events: readonly LiveEvent[]) =>
  events.reduce<AnswerText | null>((answer, event) => answerAfter(answer, event), null);

describe("an answer that is being written", () => {
  it("shows its last rows, wrapped and safe to print", () => {
    expect(answerRows(after(piece("one "), piece("two\u001b[2J")), 40)).toEqual(["one two␛[2J"]);
    expect(answerRows(after(piece("a b c d e f g h i j ".repeat(30))), 20)).toHaveLength(6);
    expect(answerRows(after(piece("  \n")), 40)).toEqual([]);
  });

  it("begins again with each part and each attempt, and names what is no text", () => {
    const thought = piece("Let me see", { kind: "reasoning" });
    expect(answerRows(after(thought), 40)).toEqual(["(thinking) Let me see"]);
    const call = piece('{"a":1}', { kind: "tool_input", part: 1, tool: "search" });
    expect(answerRows(after(thought, call), 40)).toEqual(['search {"a":1}']);
    expect(answerRows(after(piece("old"), piece("new", { attempt: 2 })), 40)).toEqual(["new"]);
    expect(after(piece("old"), withdrawn)).toBeNull();
  });
});

describe("on a terminal", () => {
  const terminal = () => new TerminalEmulator(60);

  it("a run shows it above its block, and takes it back when it is withdrawn", async () => {
    const screen = terminal();
    const clock = fakeClock();
    const plain = (text: string) => text;
    const paint = { good: plain, bad: plain, warning: plain, quiet: plain, plain, block: plain };
    const progress = new ProgressScreen(screen.output, clock, paint);
    progress.start();
    progress.showEvent({ type: "step.started", runId: "q-1", step: "clerk" });
    await clock.advance(100);
    progress.showLive(piece("Half an answer"));
    expect(screen.rows.join("\n")).toContain("│ Half an answer");
    progress.showLive(withdrawn);
    expect(screen.rows.join("\n")).not.toContain("Half an answer");
    expect(screen.rows.join("\n")).toContain("(answer withdrawn: the request to the model failed)");
    progress.stop();
  });

  it("a log has it below its lines, and nothing of it stays", () => {
    const screen = terminal();
    const block = new AnswerBlock(screen.output, (text) => text);
    block.print("turn.opened\n");
    block.show(piece("Half "));
    block.show(piece("an answer"));
    block.print("another event\n");
    expect(screen.rows).toEqual(["turn.opened", "another event", "  │ Half an answer"]);
    block.end();
    expect(screen.rows).toEqual(["turn.opened", "another event"]);
  });
});
