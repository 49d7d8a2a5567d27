import { expect, test } from "vitest";
import { asResult, crashFolder } from "./crash-folder.ts";

const INPUT = "town";
const dies = { point: "turn:journaled", turn: 2 } as const;

test("run without an id goes on with the run of the same input whose process died", async () => {
  const folder = crashFolder();
  await folder.killed({ scenario: "errands", act: { do: "run", input: INPUT }, crash: dies });
  const result = await folder.result({ scenario: "errands", act: { do: "run", input: INPUT } });

  expect(result).toMatchObject({ status: "succeeded", resumed: true });
  expect(folder.lines("asked").map(({ turn }) => turn)).toEqual([1, 2, 3, 4, 5]);
  expect(folder.outside()).toHaveLength(4);
  const runs = await folder.withStore((store) => store.listRuns());
  expect(runs.map(({ runId, status }) => [runId, status])).toEqual([[result.runId, "succeeded"]]);
});

test("run without an id starts anew once that run has ended", async () => {
  const folder = crashFolder();
  const first = await folder.result({ scenario: "errands", act: { do: "run", input: INPUT } });
  const second = await folder.result({ scenario: "errands", act: { do: "run", input: INPUT } });
  expect(second.resumed).toBe(false);
  expect(second.runId).not.toBe(first.runId);
  expect(folder.lines("asked")).toHaveLength(10);
  expect(folder.outside()).toHaveLength(8);
});

test("run with fresh starts anew and leaves the dead run as it is", async () => {
  const folder = crashFolder();
  await folder.killed({
    scenario: "errands",
    act: { do: "run", input: INPUT, runId: "dead-1" },
    crash: dies,
  });
  const result = await folder.result({ scenario: "errands", act: { do: "run", input: INPUT, fresh: true } });

  expect(result).toMatchObject({ status: "succeeded", resumed: false });
  expect(folder.lines("asked").map(({ turn }) => turn)).toEqual([1, 2, 1, 2, 3, 4, 5]);
  const dead = await folder.withStore((store) => store.getRun("dead-1"));
  expect(dead).toMatchObject({ status: "running", epoch: 1 });
  // It can still be gone on with, and nothing of the other run is mistaken for its own.
  expect(await folder.result({ scenario: "errands", act: { do: "run", input: INPUT } })).toMatchObject({
    runId: "dead-1",
    resumed: true,
  });
  expect(folder.outside()).toHaveLength(8);
});

test("run without an id starts anew for another input", async () => {
  const folder = crashFolder();
  await folder.killed({
    scenario: "errands",
    act: { do: "run", input: INPUT, runId: "dead-1" },
    crash: dies,
  });
  const result = await folder.result({ scenario: "errands", act: { do: "run", input: "village" } });
  expect(result.resumed).toBe(false);
  expect(result.runId).not.toBe("dead-1");
});

test("run without an id starts anew while a living process has the run", async () => {
  const folder = crashFolder();
  const first = folder.start({
    scenario: "errands",
    act: { do: "run", input: INPUT, runId: "alive-1" },
    wait: { at: "model", turn: 2 },
  });
  await folder.untilWaiting();
  const result = await folder.result({ scenario: "errands", act: { do: "run", input: INPUT } });
  expect(result.resumed).toBe(false);
  expect(result.runId).not.toBe("alive-1");
  folder.allow("release");
  expect(asResult(await first.end)).toMatchObject({ runId: "alive-1", status: "succeeded", resumed: false });
});

test("run without an id does not take up a run that failed", async () => {
  const folder = crashFolder();
  const variant = { step: { maxTurns: 2 } };
  const error = await folder.error({ scenario: "errands", act: { do: "run", input: INPUT }, variant });
  expect(error.name).toBe("MaxTurnsExceededError");
  const result = await folder.result({ scenario: "errands", act: { do: "run", input: INPUT } });
  expect(result.resumed).toBe(false);
});

test("run goes on with the newest of two dead runs of the same input", async () => {
  const folder = crashFolder();
  for (const runId of ["dead-1", "dead-2"])
    await folder.killed({ scenario: "errands", act: { do: "run", input: INPUT, runId }, crash: dies });
  const first = await folder.result({ scenario: "errands", act: { do: "run", input: INPUT } });
  const second = await folder.result({ scenario: "errands", act: { do: "run", input: INPUT } });
  expect([first.runId, second.runId]).toEqual(["dead-2", "dead-1"]);
  expect(folder.outside()).toHaveLength(8);
  expect(folder.tries("pay")).toBe(8);
});
