import { describe, expect, it } from "vitest";
import { CommandInput } from "../../../src/cli/context/command.ts";
import { commandHint, formatHints } from "../../../src/cli/context/command-hint.ts";
import {
  counted,
  formatAgo,
  formatBytes,
  formatClock,
  formatDuration,
  formatMoney,
  formatTime,
} from "../../../src/cli/screen/format.ts";
import { recordingContext } from "../recording-context.ts";

describe("figures for people", () => {
  it.each([
    [0, "0.0 s"],
    [9_999, "9.9 s"],
    [59_999, "59 s"],
    [185_000, "3 min 05 s"],
    [7_500_000, "2 h 05 min"],
    [273_600_000, "3 d 4 h"],
    [-5, "0.0 s"],
  ])("a duration of %i ms is %s", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it.each([
    [7_000, "0:07"],
    [750_000, "12:30"],
    [3_725_000, "1:02:05"],
  ])("a clock at %i ms shows %s", (ms, text) => {
    expect(formatClock(ms)).toBe(text);
  });

  it.each([
    [0, "just now"],
    [59_000, "59 s ago"],
    [3_599_000, "59 min ago"],
    [86_399_000, "23 h ago"],
    [172_800_000, "2 d ago"],
  ])("%i ms back is %s", (ms, text) => {
    expect(formatAgo(1_000_000_000_000 - ms, 1_000_000_000_000)).toBe(text);
  });

  it.each([
    [0, "$0"],
    [1, "<$0.0001"],
    [12_300, "$0.0123"],
    [999_999, "$1.0000"],
    [1_500_000, "$1.50"],
    [1_234_560_000, "$1234.56"],
  ])("%i micro-dollars are %s", (microDollars, text) => {
    expect(formatMoney(microDollars)).toBe(text);
  });

  it.each([
    [999, "999 B"],
    [1_000, "1.0 kB"],
    [999_949, "999.9 kB"],
    [999_950, "1.0 MB"],
    [2_500_000_000, "2.5 GB"],
  ])("%i bytes are %s", (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it("counts one thing and several things", () => {
    expect([counted(1, "turn"), counted(1_234, "turn")]).toEqual(["1 turn", "1,234 turns"]);
  });

  it("formats local time so that it sorts", () => {
    expect(formatTime(new Date(2026, 0, 31, 9, 5, 7).getTime())).toBe("2026-01-31 09:05:07");
  });
});

describe("a suggested command line", () => {
  const given = (options: { readonly [name: string]: string }) =>
    new CommandInput(new Map(), new Map(Object.entries(options)));

  it("repeats the --store and --config of this one", () => {
    expect(commandHint(given({ store: "file:./a b.db", config: "x.ts" }), "resume", "q-1")).toBe(
      "pawl resume q-1 --store 'file:./a b.db' --config x.ts",
    );
  });

  it("leaves out a password", () => {
    expect(commandHint(given({ store: "postgres://ann:hunter2@db/app?schema=a" }), "waits")).toBe(
      "pawl waits --store 'postgres://ann@db/app?schema=a'",
    );
  });

  it("can be pasted, whatever it contains", () => {
    expect(commandHint(given({}), "answer", "q-1~1", "it's $HOME")).toBe(
      "pawl answer q-1~1 'it'\\''s $HOME'",
    );
    expect(commandHint(given({}), "settle", "q-1/a#1.1")).toBe("pawl settle q-1/a#1.1");
  });

  it("is continued on the next line with a backslash if it is too long", () => {
    const { context } = recordingContext({ columns: 30 });
    expect(formatHints(context, ["pawl settle q-1/research#2.1 --failed 'not today'"])).toBe(
      "  pawl settle \\\n    q-1/research#2.1 \\\n    --failed 'not today'\n",
    );
  });
});
