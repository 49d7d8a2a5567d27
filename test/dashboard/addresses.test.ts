import fc from "fast-check";
import { expect, test } from "vitest";
import { callPath, placeOf, runPath, waitPath } from "../../dashboard/src/browser/places.ts";
import {
  changedSearch,
  flag,
  oneOf,
  readParams,
  someOf,
  text,
} from "../../dashboard/src/browser/search-params.ts";
import { filterOf, filterSearch, VIEWS } from "../../dashboard/src/pages/runs/run-filter.ts";
import { parseViews } from "../../dashboard/src/pages/runs/saved-views.ts";
import { STATUSES } from "../../dashboard/src/words/statuses.ts";

const PARAMS = { status: someOf(STATUSES), view: oneOf(["list", "tree"], "list"), q: text, all: flag };

test("every id has an address, and the address leads back to it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (id) => {
      fc.pre(id.isWellFormed());
      const pathname = (path: string): string => new URL(path, "http://127.0.0.1").pathname;
      fc.pre(id !== "." && id !== "..");
      expect(placeOf(pathname(runPath(id)))).toEqual({ page: "run", runId: id });
      expect(placeOf(pathname(waitPath(id)))).toEqual({ page: "inbox", waitId: id });
    }),
  );
  expect(callPath("q-1", "q-1/report#2.1")).toBe("/runs/q-1?view=ledger&at=q-1%2Freport%232.1");
});

test("an address that is none of ours is not found", () => {
  for (const path of ["/runs/a/b", "/elsewhere", "/spend/x", "/runs/%ff"]) {
    expect(placeOf(path)).toEqual({ page: "unknown" });
  }
});

test("what is changed in an address is what is read from it, and everything else stays", () => {
  const search = changedSearch(PARAMS, "?other=1", { status: ["failed", "running"], q: "a&b=c", all: true });
  expect(readParams(PARAMS, search)).toEqual({
    status: ["running", "failed"],
    view: "list",
    q: "a&b=c",
    all: true,
  });
  expect(new URLSearchParams(search).get("other")).toBe("1");
});

test("usual values are left out of the address, and unknown ones are read as usual", () => {
  expect(changedSearch(PARAMS, "?view=tree&q=x", { view: "list", q: "" })).toBe("");
  expect(readParams(PARAMS, "?view=sideways&status=failed,exploded")).toMatchObject({
    view: "list",
    status: ["failed"],
  });
});

test("a view is its filters: saved, read again, it is the same", () => {
  for (const { filter } of Object.values(VIEWS)) expect(filterOf(filterSearch(filter))).toEqual(filter);
});

test("saved views that are broken are left out", () => {
  expect(parseViews(null)).toEqual([]);
  expect(parseViews("{")).toEqual([]);
  expect(parseViews('[{"name":"mine","search":"status=failed"},{"name":1},null]')).toEqual([
    { name: "mine", filter: filterOf("status=failed") },
  ]);
});
