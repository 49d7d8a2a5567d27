// The progress display: on a terminal, on a narrow one, and in a log.

import { describe, expect, it } from "vitest";
import { widthOf } from "../../../src/cli/context/terminal-text.ts";
import { ProgressScreen } from "../../../src/cli/screen/progress-screen.ts";
import type { RunEvent } from "../../../src/engine/ports/run-events.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { TerminalEmulator } from "../terminal-emulator.ts";

const runId = "r-1";
const same = (text: string) => text;
const unpainted = { good: same, bad: same, warning: same, quiet: same, plain: same, block: same };

const begun: RunEvent = { type: "run.started", runId, resumed: false };
const step = (type: "step.started" | "step.finished" | "step.skipped", path: string): RunEvent => ({
  type,
  runId,
  step: path,
});
const turn = (path: string, number: number): RunEvent => ({
  type: "turn.started",
  runId,
  step: path,
  turn: number,
  replayed: false,
});
const settled = (path: string, number: number, tokens: number): RunEvent => ({
  type: "usage.settled",
  runId,
  step: path,
  turn: number,
  attempt: 1,
  basis: "provider",
  reserved: { tokens: 9_000, microDollars: 0 },
  charged: { tokens, microDollars: 12_300 },
});
const toolStarted = (tool: string, input: object, id = `${runId}/research#1.1`): RunEvent => ({
  type: "tool.started",
  runId,
  toolCallId: id,
  tool,
  attempt: 1,
  input: input as { [key: string]: string },
});
const toolFinished = (tool: string, status: "succeeded" | "failed" | "timed_out"): RunEvent => ({
  type: "tool.finished",
  runId,
  toolCallId: `${runId}/research#1.1`,
  tool,
  attempt: 1,
  status,
});
const committed = (number: number, text: string): RunEvent => ({
  type: "turn.committed",
  runId,
  step: "research",
  turn: number,
  text,
  isComplete: false,
});

function onTerminal(columns: number) {
  const terminal = new TerminalEmulator(columns);
  const clock = fakeClock();
  const phases = new Map([["research", "crawl"]]);
  const screen = new ProgressScreen(terminal.output, clock, unpainted, (path) => phases.get(path) ?? null);
  const emit = (...events: readonly RunEvent[]) => {
    for (const event of events) screen.showEvent(event);
  };
  screen.hint = "Ctrl-C pauses";
  return { terminal, clock, screen, emit };
}

function inLog() {
  const terminal = new TerminalEmulator(20);
  const clock = fakeClock();
  const screen = new ProgressScreen({ ...terminal.output, isTerminal: false }, clock, unpainted);
  return { clock, screen, text: () => terminal.writes.join("") };
}

/** The rows without the spinner. */
const still = (terminal: TerminalEmulator) =>
  terminal.rows.map((row) => row.replace(/^[\u2800-\u28ff]/u, "*"));

describe("on a terminal", () => {
  it("a block shows the position of the run, the work in progress with its time, and the usage", async () => {
    const { terminal, clock, screen, emit } = onTerminal(60);
    screen.start();
    emit(begun, step("step.started", "research"), turn("research", 1), settled("research", 1, 1_234));
    emit(toolStarted("fetch_page", { url: "https://example.com" }));
    await clock.advance(65_000);
    expect(still(terminal)).toEqual([
      "› run r-1 starts",
      "* crawl · research · turn 1                            1:05",
      '    fetch_page {"url":"https://example.com"}           1:05',
      "    1,234 tokens · $0.0123                    Ctrl-C pauses",
    ]);
  });

  it("finished work scrolls above the block, and the block is removed at the end", async () => {
    const { terminal, clock, screen, emit } = onTerminal(60);
    screen.start();
    emit(begun, step("step.skipped", "plan"), step("step.started", "research"), turn("research", 1));
    emit(toolStarted("fetch_page", { url: "https://example.com" }));
    await clock.advance(2_300);
    emit(toolFinished("fetch_page", "succeeded"), committed(1, "I have read it."));
    emit(toolStarted("send_email", { to: "a@example.com" }), toolFinished("send_email", "timed_out"));
    emit(turn("research", 2), step("step.finished", "research"));
    const lines = [
      "› run r-1 starts",
      "· plan is already done",
      '  ✓ fetch_page {"url":"https://example.com"}  2.3 s',
      "  › turn 1: I have read it.",
      '  ✗ send_email {"to":"a@example.com"}  timed out  0.0 s',
      "✓ research  2 turns  2.3 s",
    ];
    expect(still(terminal)).toEqual([
      ...lines,
      "* starting the next step                               0:02",
      "    0 tokens                                  Ctrl-C pauses",
    ]);
    screen.stop();
    expect(still(terminal)).toEqual(lines);
  });

  it("the cursor is hidden while the block is drawn, and shown after it, however often it is stopped", () => {
    const { terminal, screen, emit } = onTerminal(60);
    screen.start();
    emit(begun);
    expect(terminal.isCursorShown).toBe(false);
    screen.stop();
    screen.stop();
    expect(terminal.isCursorShown).toBe(true);
    screen.start();
    expect(terminal.isCursorShown).toBe(false);
    screen.stop();
    expect(terminal.isCursorShown).toBe(true);
  });

  it("each change is one write that never blanks the screen first", async () => {
    const { terminal, clock, screen, emit } = onTerminal(60);
    screen.start();
    emit(begun);
    const before = terminal.writes.length;
    await clock.advance(200);
    expect(terminal.writes.length).toBe(before + 1);
    const [first = ""] = terminal.writes.slice(before);
    expect(first.indexOf("\u001b[J")).toBe(first.length - 3);
  });

  it.each([40, 20, 12])("no line is wider than %i columns, whatever is in it", async (columns) => {
    const { terminal, clock, screen, emit } = onTerminal(columns);
    const seen: number[] = [];
    const look = () => seen.push(...terminal.rows.map(widthOf));
    screen.start();
    emit(begun, step("step.started", "research/with/a/very/long/path[12]/in/it"));
    look();
    emit(turn("research/with/a/very/long/path[12]/in/it", 12), settled("research", 1, 123_456_789));
    look();
    for (const index of [1, 2, 3, 4, 5])
      emit(
        toolStarted(
          "fetch_page_漢字漢字漢字漢字漢字",
          { url: "https://example.com/漢字" },
          `${runId}/x#1.${index}`,
        ),
      );
    await clock.advance(4_000);
    look();
    emit({ type: "warning", runId, message: "Something long was said about this run, and it is all here." });
    look();
    screen.stop();
    look();
    expect(seen.length).toBeGreaterThan(10);
    expect(Math.max(...seen)).toBeLessThan(columns);
    expect(terminal.rows.join(" ").replaceAll(/\s+/g, " ")).toContain("about this run");
  });

  it("a window that is made narrower leaves nothing of the old block behind", async () => {
    const { terminal, clock, screen, emit } = onTerminal(80);
    screen.start();
    emit(begun, step("step.started", "research"), turn("research", 3));
    emit(toolStarted("fetch_page", { url: "https://example.com/a/long/enough/address/to/be/broken" }));
    terminal.narrow(40);
    await clock.advance(200);
    expect(still(terminal)).toEqual([
      "› run r-1 starts",
      "* crawl · research · turn 3        0:00",
      '    fetch_page {"url":"https://e…  0:00',
      "    0 tokens              Ctrl-C pauses",
    ]);
  });

  it("control characters of a model or a tool are shown and not obeyed", () => {
    const { terminal, screen, emit } = onTerminal(80);
    screen.start();
    emit(begun, step("step.started", "research"), turn("research", 1));
    emit(toolStarted("clear\u001b[2J", { text: "\u001b]0;owned\u0007" }));
    emit(committed(1, "one\u001b[31m\ntwo\r\u202ethree"));
    emit({ type: "warning", runId, message: "bad \u009b31m news" });
    screen.stop();
    const text = terminal.rows.join("\n");
    expect(text).toContain("turn 1: one␛[31m⏎two⏎\\u202ethree");
    expect(text).toContain("bad \\u009b31m news");
    const written = terminal.writes.join("");
    for (const obeyed of ["\u001b[2J", "\u001b]", "\u009b", "\u202e"]) expect(written).not.toContain(obeyed);
  });

  it("goes back to the step around when one inside of it ends", () => {
    const { terminal, screen, emit } = onTerminal(60);
    screen.start();
    emit(begun, step("step.started", "polish"), step("step.started", "polish[1]/draft"));
    expect(still(terminal).at(-2)).toContain("polish[1]/draft");
    emit(step("step.finished", "polish[1]/draft"));
    expect(still(terminal).at(-2)).toMatch(/^\* polish {2}/);
  });

  it("counts earlier usage once, however often the command resumes the run", () => {
    const { terminal, screen, emit } = onTerminal(60);
    const resumed: RunEvent = { type: "run.started", runId, resumed: true };
    screen.start();
    emit(resumed);
    screen.addEarlierCharges({ tokens: 1_000, microDollars: 0 });
    emit(settled("research", 1, 234));
    expect(still(terminal).at(-1)).toContain("1,234 tokens");
    screen.stop();
    screen.resume();
    emit(resumed, step("step.skipped", "plan"));
    screen.addEarlierCharges({ tokens: 1_234, microDollars: 0 });
    emit(settled("research", 2, 66));
    expect(still(terminal).at(-1)).toContain("1,300 tokens");
    expect(still(terminal).filter((row) => row.includes("resumes") || row.includes("plan"))).toEqual([
      "› run r-1 resumes",
    ]);
  });

  it("shows the attempt and the start time of a retried call", async () => {
    const { terminal, clock, screen, emit } = onTerminal(80);
    screen.start();
    emit(begun, step("step.started", "research"), toolStarted("send", { to: "a" }));
    await clock.advance(1_000);
    emit(toolFinished("send", "failed"));
    const toolCallId = `${runId}/research#1.1`;
    emit({
      type: "tool.retrying",
      runId,
      toolCallId,
      tool: "send",
      attempt: 1,
      message: "Busy.",
      retryInMs: 2_000,
    });
    expect(still(terminal).at(-2)).toContain("send (waiting to retry)");
    emit({ type: "tool.started", runId, toolCallId, tool: "send", attempt: 2, input: { to: "a" } });
    expect(still(terminal).at(-2)).toContain('send (attempt 2) {"to":"a"}');
    expect(still(terminal)).toContain("  ! send: Busy; retrying in 2.0 s");
  });
});

describe("in a log", () => {
  it("every important line is written once, and nothing is redrawn", () => {
    const { screen, text } = inLog();
    screen.start();
    for (const event of [
      begun,
      step("step.started", "research"),
      turn("research", 1),
      toolStarted("fetch_page", { url: "https://example.com/a/long/enough/address/to/be/broken" }),
      toolFinished("fetch_page", "succeeded"),
      committed(1, "Half of it."),
      step("step.finished", "research"),
    ])
      screen.showEvent(event);
    screen.stop();
    expect(text().split("\n")).toEqual([
      "› run r-1 starts",
      "› research starts",
      '  ✓ fetch_page {"url":"https://example.com/a/long/enough/address/to/be/broken"}  0.0 s',
      "  › turn 1: Half of it.",
      "✓ research  1 turn  0.0 s",
      "",
    ]);
    expect(text()).not.toContain("\u001b");
  });

  it("after a long silence a line shows the work in progress", async () => {
    const { clock, screen, text } = inLog();
    screen.start();
    screen.showEvent(begun);
    screen.showEvent(step("step.started", "research"));
    screen.showEvent(turn("research", 3));
    await clock.advance(60_000);
    screen.stop();
    await clock.advance(60_000);
    expect(text().split("\n").slice(2)).toEqual([
      "· still at turn 3 of research: asking the model (0:30)",
      "· still at turn 3 of research: asking the model (1:00)",
      "",
    ]);
  });
});

describe("an unusual event", () => {
  const line = (event: RunEvent) => {
    const { screen, text } = inLog();
    screen.showEvent(event);
    return text();
  };
  const toolCallId = `${runId}/research#1.1`;

  it.each<readonly [string, RunEvent, string]>([
    [
      "a turn that was answered before the interruption",
      { type: "turn.started", runId, step: "research", turn: 2, replayed: true },
      "  · turn 2 replays its stored response\n",
    ],
    [
      "a model that failed",
      {
        type: "model.failed",
        runId,
        step: "research",
        turn: 2,
        attempt: 1,
        message: "Busy.",
        retryInMs: 500,
        outageSince: null,
      },
      "  ! the model failed: Busy; retrying in 0.5 s\n",
    ],
    [
      "a charge without an answer",
      {
        type: "usage.baseline",
        runId,
        step: "a",
        turn: 2,
        attempt: 1,
        charged: { tokens: 1_200, microDollars: 0 },
      },
      "  ! turn 2 got no response with its usage: 1,200 tokens stay charged\n",
    ],
    [
      "a call that was looked up",
      { type: "tool.reconciled", runId, toolCallId, tool: "send", status: "done" },
      "  · send was looked up: it had happened\n",
    ],
    [
      "a call that may still land",
      { type: "tool.waiting", runId, toolCallId, tool: "send", until: 0 },
      "  · send: a lost attempt may still take effect, so the next one waits\n",
    ],
    [
      "a duplicate",
      { type: "tool.deduplicated", runId, toolCallId, tool: "send", duplicateOf: "r-1/a#1.1" },
      "  · send is not run again: it reuses the receipt of r-1/a#1.1\n",
    ],
    [
      "a new line of history",
      { type: "lineage.begun", runId, step: "research", turn: 4, checkpoint: 2, reason: "milestone" },
      "  · research resumes from checkpoint 2 with turn 4\n",
    ],
    [
      "a compaction",
      { type: "lineage.begun", runId, step: "talk", turn: 4, checkpoint: null, reason: "compaction" },
      "  · talk continues with a summary of its history\n",
    ],
    [
      "a milestone",
      { type: "checkpoint.saved", runId, step: "research", turn: 4, checkpoint: 2 },
      "  · milestone 2 saved\n",
    ],
    ["a warning", { type: "warning", runId, message: "Look here." }, "! Look here.\n"],
  ])("%s has a line", (_what, event, expected) => {
    expect(line(event)).toBe(expected);
  });
});
