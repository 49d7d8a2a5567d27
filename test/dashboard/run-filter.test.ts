import { expect, test } from "vitest";
import {
  isInFilter,
  NO_FILTER,
  needsPerson,
  partsOf,
  runQuery,
  usualFilter,
  VIEWS,
} from "../../dashboard/src/pages/runs/run-filter.ts";
import { runWords } from "../../dashboard/src/pages/runs/run-words.ts";
import { runHead } from "./run-head.ts";

const NOW = Date.parse("2026-11-18T12:00:30.500Z");
const counts = { counts: {} as never, total: 9, isCapped: false };

test("what needs a person is shown first, where something does", () => {
  expect(usualFilter({ ...counts, needsPerson: 2 })).toEqual(VIEWS.needs.filter);
  expect(usualFilter({ ...counts, needsPerson: 0 })).toEqual(NO_FILTER);
});

test("a person is needed by open waits, by interrupted runs and by calls in doubt", () => {
  expect(needsPerson(runHead())).toBe(false);
  expect(needsPerson(runHead({ openWaits: 1 }))).toBe(true);
  expect(needsPerson(runHead({ status: "interrupted" }))).toBe(true);
  expect(needsPerson(runHead({ callsInDoubt: 1, status: "failed" }))).toBe(true);
});

test("all pages of a list ask for the same time", () => {
  const filter = { ...NO_FILTER, since: "24h" as const };
  expect(runQuery(filter, NOW)).toEqual({ since: "2026-11-17T12:00:00.000Z" });
  expect(runQuery(filter, NOW + 20_000)).toEqual(runQuery(filter, NOW));
  expect(runQuery({ ...NO_FILTER, q: "  " }, NOW)).toEqual({});
});

test("a run of the stream is counted as new only where it belongs to the list", () => {
  const head = runHead({ runId: "museum-1", status: "failed" });
  expect(isInFilter(head, VIEWS.failed.filter, NOW)).toBe(true);
  expect(isInFilter(head, VIEWS.failed.filter, NOW + 25 * 3_600_000)).toBe(false);
  expect(isInFilter(head, VIEWS.running.filter, NOW)).toBe(false);
  expect(isInFilter(head, { ...NO_FILTER, pipeline: ["triage"] }, NOW)).toBe(false);
  expect(isInFilter(head, { ...NO_FILTER, q: "museum" }, NOW)).toBe(true);
});

test("each filter can be dropped by itself", () => {
  const parts = partsOf({ ...VIEWS.failed.filter, q: "mail" });
  expect(parts.map(({ words }) => words)).toEqual(["status failed", "since 24h", "“mail”"]);
  expect(parts[0]?.without).toMatchObject({ status: [], since: "24h", q: "mail" });
});

test("a row says what is going on", () => {
  const wait = { waitId: "q-1~1", kind: "approval", question: "May send_email run?" } as const;
  expect(runWords(runHead({ status: "waiting", firstWait: wait }), NOW)).toBe("asks: May send_email run?");
  expect(runWords(runHead({ status: "failed", errorCode: "budget", errorMessage: "Used up." }), NOW)).toBe(
    "budget: Used up.",
  );
  expect(runWords(runHead({ status: "queued", readyAt: "2026-11-18T12:05:31Z" }), NOW)).toBe(
    "sleeps for 5 m",
  );
  expect(runWords(runHead({ life: 3, status: "interrupted" }), NOW)).toBe(
    "crawl · life 3 ended, no worker has it",
  );
});
