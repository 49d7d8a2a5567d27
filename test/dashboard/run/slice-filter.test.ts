import { expect, test } from "vitest";
import { filterChoices, standsOut } from "../../../dashboard/src/pages/run/timeline/slice-filter.ts";
import { slice } from "./timeline-fixtures.ts";

const mail = slice({ id: "1", category: "tool", name: "send_email", outcome: "in_doubt" });
const look = slice({ id: "2", category: "tool", name: "search", outcome: "succeeded" });
const step = slice({ id: "3", category: "step", name: "search", outcome: null });

test("a timeline offers trouble, waits and each tool of the run, and keeps what the address asks for", () => {
  expect(filterChoices([look, mail, look, step], "calls of gone")).toEqual([
    "failed or cut off",
    "waits",
    "calls of search",
    "calls of send_email",
    "calls of gone",
  ]);
});

test("what failed, is in doubt or was cut off stands out as trouble", () => {
  const trouble = (of: typeof mail | null, hasCut: boolean) => standsOut("failed or cut off", of, hasCut);
  expect([trouble(mail, false), trouble(look, false), trouble(look, true), trouble(null, true)]).toEqual([
    true,
    false,
    true,
    true,
  ]);
});

test("calls of a tool stand out, and neither a step of its name nor a block of several does", () => {
  const found = [mail, look, step, null].map((each) => standsOut("calls of search", each, false));
  expect(found).toEqual([false, true, false, false]);
  expect([mail, look, step, null].map((each) => standsOut(null, each, false))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect([mail, look, step].map((each) => standsOut("waits", each, false))).toEqual([false, false, false]);
});
