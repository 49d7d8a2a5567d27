import { expect, test } from "vitest";
import {
  filterOf,
  filterSearch,
  isInFilter,
  NO_FILTER,
  needsPerson,
  partsOf,
  runQuery,
  usualFilter,
  VIEWS,
} from "../../dashboard/src/pages/runs/run-filter.ts";
import { runWords } from "../../dashboard/src/pages/runs/run-words.ts";
import { parseViews } from "../../dashboard/src/pages/runs/saved-views.ts";
import { runHead } from "./run-head.ts";

const NOW = Date.parse("2026-11-18T12:00:30.500Z");
const counts = { counts: {} as never, total: 9, isCapped: false };

test("what needs a person is shown first, where something does", () => {
  expect(usualFilter({ ...counts, needsPerson: 2 }, true)).toEqual(VIEWS.needs.filter);
  expect(usualFilter({ ...counts, needsPerson: 0 }, true)).toEqual(NO_FILTER);
  // A viewer can act on none of them.
  expect(usualFilter({ ...counts, needsPerson: 2 }, false)).toEqual(NO_FILTER);
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

test("a run of the stream has a tool error if one of its calls failed; of which tool, only the server knows", () => {
  const [failed, fine] = [runHead({ failedCalls: 1 }), runHead({ status: "failed" })];
  const any = { ...NO_FILTER, toolError: "*" };
  expect([isInFilter(failed, any, NOW), isInFilter(fine, any, NOW)]).toEqual([true, false]);
  expect(isInFilter(failed, { ...NO_FILTER, toolError: "send_email" }, NOW)).toBe(false);
  expect(isInFilter(failed, NO_FILTER, NOW)).toBe(true);
});

test("a filter by tool error is in the address, in saved views and in the query", () => {
  for (const [toolError, search] of [
    ["*", "toolError=*"],
    ["mcp__mail&x__send", "toolError=mcp__mail%26x__send"],
  ] as const) {
    const filter = { ...NO_FILTER, toolError };
    expect(filterSearch(filter)).toBe(search);
    expect(filterOf(search)).toEqual(filter);
    expect(parseViews(JSON.stringify([{ name: "errors", search }]))).toEqual([{ name: "errors", filter }]);
    expect(runQuery(filter, NOW)).toEqual({ toolError });
  }
  expect(filterOf("toolError=")).toEqual(NO_FILTER);
});

test("each filter can be dropped by itself", () => {
  const parts = partsOf({ ...VIEWS.failed.filter, q: "mail" });
  expect(parts.map(({ words }) => words)).toEqual(["status failed", "since 24h", "“mail”"]);
  expect(parts[0]?.without).toMatchObject({ status: [], since: "24h", q: "mail" });
  const ofTool = partsOf({ ...VIEWS.failed.filter, toolError: "send_email" });
  expect(ofTool.map(({ words }) => words)).toEqual(["status failed", "since 24h", "error of send_email"]);
  expect(ofTool[2]?.without).toEqual(VIEWS.failed.filter);
  expect(partsOf({ ...NO_FILTER, toolError: "*" })).toEqual([
    { words: "error of any tool", without: NO_FILTER },
  ]);
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
