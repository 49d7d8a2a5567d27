import { expect, test } from "vitest";
import { type CrashFolder, crashFolder } from "./harness/crash-folder.ts";
import type { Act, Variant } from "./harness/worker-order.ts";

const RUN = { do: "run", input: "town", runId: "errands-1" } as const satisfies Act;
const RESUME = { do: "resume", runId: "errands-1" } as const satisfies Act;

function turnsAsked(folder: CrashFolder): number[] {
  return folder.lines("asked").map(({ turn }) => turn);
}

function assertToolsOnce(folder: CrashFolder): void {
  expect(folder.outside()).toEqual(["town/1", "town/2", "town/3", "town/4"]);
  expect(folder.tries("pay")).toBe(4);
  expect(folder.effects("look")).toBe(4);
}

test("a run that reached maxTurns resumes in another process with a higher limit", async () => {
  const folder = crashFolder();
  const few: Variant = { step: { maxTurns: 2 } };
  const error = await folder.error({ scenario: "errands", act: RUN, variant: few });
  expect(error).toMatchObject({ name: "MaxTurnsExceededError", details: { maxTurns: 2, step: "errands" } });
  expect(turnsAsked(folder)).toEqual([1, 2]);

  // The same limit again changes nothing, and nothing is called.
  expect((await folder.error({ scenario: "errands", act: RESUME, variant: few })).name).toBe(
    "MaxTurnsExceededError",
  );
  expect((await folder.error({ scenario: "errands", act: RUN, variant: few })).name).toBe(
    "MaxTurnsExceededError",
  );
  expect(turnsAsked(folder)).toEqual([1, 2]);

  const result = await folder.result({
    scenario: "errands",
    act: RESUME,
    variant: { step: { maxTurns: 5 } },
  });
  expect(result).toMatchObject({ status: "succeeded", resumed: true });
  expect(turnsAsked(folder)).toEqual([1, 2, 3, 4, 5]);
  assertToolsOnce(folder);
  // Nothing was reserved for the turn over the limit: all five calls are charged as the provider reported.
  expect(result.usage).toMatchObject({ modelCalls: 5, charged: { tokens: 75 } });
  expect(await folder.withStore((store) => store.listModelCalls("errands-1"))).toHaveLength(5);
});

test("a run that was killed and then reaches maxTurns keeps all of its turns", async () => {
  const folder = crashFolder();
  const variant: Variant = { step: { maxTurns: 3 } };
  await folder.killed({
    scenario: "errands",
    act: RUN,
    variant,
    crash: { point: "tool:receipt-stored", turn: 3 },
  });
  expect((await folder.error({ scenario: "errands", act: RESUME, variant })).name).toBe(
    "MaxTurnsExceededError",
  );
  const result = await folder.result({ scenario: "errands", act: RESUME });
  expect(result.status).toBe("succeeded");
  expect(turnsAsked(folder)).toEqual([1, 2, 3, 4, 5]);
  expect(folder.tries("pay")).toBe(4);
});

/** Each answer costs 1 000 tokens, so the third exceeds the budget and the fourth is not requested. */
const EXPENSIVE: Variant = { usage: { inputTokens: 900, outputTokens: 100 } };
const BUDGET = { tokens: 2_900 };

test("a run that used up its budget resumes in another process with a higher one", async () => {
  const folder = crashFolder();
  const error = await folder.error({
    scenario: "errands",
    act: { ...RUN, budget: BUDGET },
    variant: EXPENSIVE,
  });
  expect(error).toMatchObject({ name: "QuotaExceededError", details: { unit: "tokens", remaining: 0 } });
  expect(error.message).toContain("budget exceeded. The next model call reserves up to");
  expect(turnsAsked(folder)).toEqual([1, 2, 3]);

  // Without a `budget` option it stays what it was.
  expect((await folder.error({ scenario: "errands", act: RESUME, variant: EXPENSIVE })).name).toBe(
    "QuotaExceededError",
  );
  expect(turnsAsked(folder)).toEqual([1, 2, 3]);

  const result = await folder.result({
    scenario: "errands",
    act: { ...RESUME, budget: { tokens: 10_000 } },
    variant: EXPENSIVE,
  });
  expect(result.status).toBe("succeeded");
  expect(turnsAsked(folder)).toEqual([1, 2, 3, 4, 5]);
  assertToolsOnce(folder);
  expect(result.usage).toMatchObject({ modelCalls: 5, charged: { tokens: 5_000 } });
});

test("a budget holds across a kill, and the request in flight is charged to it", async () => {
  const folder = crashFolder();
  await folder.killed({
    scenario: "errands",
    act: { ...RUN, budget: BUDGET },
    variant: EXPENSIVE,
    crash: { point: "model:answered", turn: 2 },
  });
  const error = await folder.error({ scenario: "errands", act: RESUME, variant: EXPENSIVE });
  expect(error.name).toBe("QuotaExceededError");
  const { calls, run } = await folder.withStore(async (store) => ({
    calls: await store.listModelCalls("errands-1"),
    run: await store.getRun("errands-1"),
  }));
  const charges = calls.map(({ turnIndex, charge }) => [turnIndex, charge?.basis, charge?.amount.tokens]);
  const lost = calls.find(({ charge }) => charge?.basis === "baseline")?.reserved.tokens ?? 0;
  expect(lost).toBeGreaterThan(200);
  expect(charges.slice(0, 3)).toEqual([
    [1, "provider", 1_000],
    [2, "baseline", lost],
    [2, "provider", 1_000],
  ]);
  expect(run?.charged.tokens).toBe(charges.reduce((sum, [, , tokens]) => sum + Number(tokens), 0));
  expect(run?.reserved).toEqual({ tokens: 0, microDollars: 0 });
});
