import { expect, test } from "vitest";
import { pressKey } from "../../dashboard/src/browser/key-sequence.ts";
import { answerWords } from "../../dashboard/src/pages/inbox/wait-words.ts";
import { counted, limitWords, moneyWords, sizeWords } from "../../dashboard/src/words/money-words.ts";
import { durationWords, longDurationWords, relativeWords } from "../../dashboard/src/words/time-words.ts";

test.each([
  [0, "$0.00"],
  [42_100, "$0.0421"],
  [30, "< $0.0001"],
  [2_110_000, "$2.1100"],
  [1_234_567_890, "$1,234.57"],
  [-42_100, "−$0.0421"],
])("%d micro-dollars are %s", (microDollars, words) => {
  expect(moneyWords(microDollars)).toBe(words);
});

test("limits, counts and sizes have no digits that say nothing", () => {
  expect([limitWords(2_500_000), limitWords(42_150)]).toEqual(["$2.50", "$0.0422"]);
  expect([counted(1, "run"), counted(1_200, "run"), counted(2, "reply", "replies")]).toEqual([
    "1 run",
    "1,200 runs",
    "2 replies",
  ]);
  expect([sizeWords(412), sizeWords(4_120), sizeWords(2_500_000)]).toEqual(["412 bytes", "4.1 kB", "2.5 MB"]);
});

test("times are their distance from now, in the largest unit", () => {
  expect([durationWords(40_999), durationWords(3_600_000), durationWords(250), durationWords(-5)]).toEqual([
    "40 s",
    "1 h",
    "250 ms",
    "0 ms",
  ]);
  expect([longDurationWords(12_000_000), longDurationWords(3_600_000)]).toEqual(["3 h 20 m", "1 h"]);
  expect([relativeWords(0, 40_000), relativeWords(90_000_000, 0), relativeWords(500, 0)]).toEqual([
    "40 s ago",
    "in 1 d",
    "now",
  ]);
});

test("an answer is said in a few words, whatever its kind", () => {
  const said = (answer: Parameters<typeof answerWords>[0]["answer"]) =>
    answerWords({ status: "answered", answer });
  expect(said({ approved: true })).toBe("approved");
  expect(said({ approved: false, why: "ask Bo" })).toBe("denied: ask Bo");
  expect(said({ as: "answered", value: "Delft" })).toBe("Delft");
  expect(said({ as: "succeeded", result: { id: 1 } })).toBe('it happened: {"id":1}');
  expect(said({ as: "retry" })).toBe("it did not happen: run again");
});

const run = (): void => undefined;
const BINDINGS = [
  { keys: "g r", does: "Runs", run },
  { keys: "r", does: "Resume", run },
];

test("two keys are one only if they come soon after each other", () => {
  const { first } = pressKey(BINDINGS, null, { key: "g", at: 0 });
  expect(first).toEqual({ key: "g", at: 0 });
  expect(pressKey(BINDINGS, first, { key: "r", at: 500 }).binding?.does).toBe("Runs");
  expect(pressKey(BINDINGS, first, { key: "r", at: 5_000 }).binding?.does).toBe("Resume");
  expect(pressKey(BINDINGS, null, { key: "x", at: 0 })).toEqual({ binding: null, first: null });
});
