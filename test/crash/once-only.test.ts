import { describe, expect, test } from "vitest";
import { sampled } from "../full-test.ts";
import { type CrashFolder, crashFolder } from "./harness/crash-folder.ts";
import type { Act, CrashSite, Variant } from "./harness/worker-order.ts";

const RUN: Act = { do: "run", input: "town", runId: "letters-1" };
const RESUME: Act = { do: "resume", runId: "letters-1" };
const scenario = "correspondence";
const ONE_AT_A_TIME: Variant = { maxParallelToolCalls: 1 };
const id = (place: string) => `letters-1/correspondence#${place}`;

/** The calls of the whole run, in their order: two mails in four calls, four test runs. */
const CALLS = [
  { toolCallId: id("1.1"), tool: "run_tests", status: "succeeded", duplicateOf: null },
  { toolCallId: id("2.1"), tool: "send_email", status: "succeeded", duplicateOf: null },
  { toolCallId: id("3.1"), tool: "run_tests", status: "succeeded", duplicateOf: null },
  { toolCallId: id("4.1"), tool: "send_email", status: "succeeded", duplicateOf: null },
  { toolCallId: id("4.2"), tool: "send_email", status: "deduplicated", duplicateOf: id("4.1") },
  { toolCallId: id("4.3"), tool: "run_tests", status: "succeeded", duplicateOf: null },
  { toolCallId: id("4.4"), tool: "run_tests", status: "succeeded", duplicateOf: null },
  { toolCallId: id("5.1"), tool: "send_email", status: "deduplicated", duplicateOf: id("2.1") },
];

test.for([
  { how: "one after the other", variant: ONE_AT_A_TIME },
  { how: "side by side", variant: {} },
])(
  "a mail is sent once however it is worded, and tests run as often as requested ($how)",
  async ({ variant }) => {
    const folder = crashFolder();
    const result = await folder.result({ scenario, act: RUN, variant });
    expect(result).toMatchObject({ status: "succeeded", output: "Done after 8 calls." });
    await assertOnce(folder, { mails: 2, tests: 4 });
  },
);

/** How often all processes entered the tools: once for each mail and test run, and again only for a kill. */
type Tries = { readonly mails: number; readonly tests: number };

describe("a call that is requested again after a kill", () => {
  const kills: readonly (CrashSite & Tries)[] = [
    { point: "turn:committed", turn: 2, occurrence: 1, mails: 2, tests: 4 },
    { point: "turn:committed", turn: 3, occurrence: 1, mails: 2, tests: 4 },
    { point: "model:answered", turn: 3, occurrence: 1, mails: 2, tests: 4 },
    // Between two equal mails: the first has had its effect; or its receipt too, and the second waits.
    { point: "tool:executed", turn: 4, occurrence: 1, mails: 3, tests: 4 },
    { point: "tool:receipt-stored", turn: 4, occurrence: 1, mails: 2, tests: 4 },
    // Between two equal test runs: before the receipt of the first, and before the second.
    { point: "tool:executed", turn: 4, occurrence: 2, mails: 2, tests: 5 },
    { point: "tool:started", turn: 4, occurrence: 2, mails: 2, tests: 4 },
    { point: "turn:committed", turn: 4, occurrence: 1, mails: 2, tests: 4 },
    { point: "turn:journaled", turn: 5, occurrence: 1, mails: 2, tests: 4 },
    { point: "turn:before-commit", turn: 5, occurrence: 1, mails: 2, tests: 4 },
    { point: "turn:committed", turn: 5, occurrence: 1, mails: 2, tests: 4 },
  ];

  test.for(sampled(kills, 3))(
    "happens once, or again, as its tool declares ($point, time $occurrence in turn $turn)",
    async ({ mails, tests, ...crash }) => {
      const folder = crashFolder();
      await folder.killed({ scenario, act: RUN, variant: ONE_AT_A_TIME, crash });
      const result = await folder.result({ scenario, act: RESUME, variant: ONE_AT_A_TIME });
      expect(result).toMatchObject({ status: "succeeded", output: "Done after 8 calls.", waits: [] });
      await assertOnce(folder, { mails, tests });
    },
  );
});

const NOTE =
  "[This call did not run: an earlier call with other arguments counts as the same effect. Below is the result of that earlier call.]";

async function assertOnce(folder: CrashFolder, { mails, tests }: Tries): Promise<void> {
  expect(folder.outside()).toEqual(["All tests pass.", "Thank you."]);
  expect({ mails: folder.tries("send_email"), tests: folder.tries("run_tests") }).toEqual({ mails, tests });
  const calls = await folder.withStore((store) => store.listToolCalls("letters-1"));
  expect(
    calls.map(({ toolCallId, tool, status, receipt }) => ({
      toolCallId,
      tool,
      status,
      duplicateOf: receipt?.duplicateOf,
    })),
  ).toEqual(CALLS);
  // Each call has its own key, the duplicates too.
  expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(CALLS.length);
  assertSeen(folder);
}

/** The model gets the whole first receipt, although it is long, with a note if it asked in other words. */
function assertSeen(folder: CrashFolder): void {
  const results = folder.lines("saw").findLast(({ turn }) => turn === 6)?.results ?? [];
  const of = (place: string) => results[CALLS.findIndex(({ toolCallId }) => toolCallId === id(place))];
  expect(results).toHaveLength(CALLS.length);
  expect(of("5.1")).toBe(`${NOTE}\n\n${of("2.1")}`);
  expect(of("4.2")).toBe(of("4.1"));
  expect(of("2.1")).toContain('"sent":"All tests pass."');
  expect(of("2.1")?.length).toBeGreaterThan(20_000);
  const testRuns = ["1.1", "3.1", "4.3", "4.4"].map(of);
  expect(new Set(testRuns).size).toBe(4);
  for (const testRun of testRuns) expect(testRun).toMatch(/^test run \d is green$/);
}
