import { expect, test } from "vitest";
import { asResult, crashFolder } from "./harness/crash-folder.ts";

const INPUT = "town";
const dies = { point: "turn:journaled", turn: 2 } as const;

test("run without an id resumes the run of the same input whose process died", async () => {
  const folder = crashFolder();
  await folder.killed({ scenario: "errands", act: { do: "run", input: INPUT }, crash: dies });
  const result = await folder.result({ scenario: "errands", act: { do: "run", input: INPUT } });

  expect(result).toMatchObject({ status: "succeeded", resumed: true });
  expect(folder.lines("asked").map(({ turn }) => turn)).toEqual([1, 2, 3, 4, 5]);
  expect(folder.outside()).toHaveLength(4);
  const runs = await folder.withStore((store) => store.listRuns());
  expect(runs.map(({ runId, status }) => [runId, status])).toEqual([[result.runId, "succeeded"]]);
});

test("run without an id starts a new run once that run has ended", async () => {
  const folder = crashFolder();
  const first = await folder.result({ scenario: "errands", act: { do: "run", input: INPUT } });
  const second = await folder.result({ scenario: "errands", act: { do: "run", input: INPUT } });
  expect(second.resumed).toBe(false);
  expect(second.runId).not.toBe(first.runId);
  expect(folder.lines("asked")).toHaveLength(10);
  expect(folder.outside()).toHaveLength(8);
});

test("run with fresh starts a new run and leaves the dead run as it is", async () => {
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
  // The dead run can still be resumed, and uses nothing of the other run.
  expect(await folder.result({ scenario: "errands", act: { do: "run", input: INPUT } })).toMatchObject({
    runId: "dead-1",
    resumed: true,
  });
  expect(folder.outside()).toHaveLength(8);
});

test("run with a key is one run for each key, also after a kill, whatever else has the same input", async () => {
  const folder = crashFolder();
  const run = (key: string, input = INPUT) =>
    ({ scenario: "errands", identity: "required", act: { do: "run", input, key } }) as const;
  await folder.killed({ ...run("customer-1"), crash: dies });
  const second = await folder.result(run("customer-2"));
  const first = await folder.result(run("customer-1"));
  expect([first, second]).toMatchObject([
    { status: "succeeded", resumed: true },
    { status: "succeeded", resumed: false },
  ]);
  expect(first.runId).not.toBe(second.runId);
  expect(folder.outside()).toHaveLength(8);
  // The same key again is the same run.
  expect((await folder.result(run("customer-1"))).runId).toBe(first.runId);
  expect(folder.outside()).toHaveLength(8);
  expect((await folder.error(run("customer-1", "village"))).message).toContain("other input");
  const unnamed = { scenario: "errands", identity: "required", act: { do: "run", input: INPUT } } as const;
  expect((await folder.error(unnamed)).name).toBe("ConfigurationError");
});

test("run without an id starts a new run for another input", async () => {
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

test("run without an id starts nothing while a living process owns the run", async () => {
  const folder = crashFolder();
  const first = folder.start({
    scenario: "errands",
    act: { do: "run", input: INPUT, runId: "alive-1" },
    wait: { at: "model", turn: 2 },
  });
  await folder.untilWaiting();
  const error = await folder.error({ scenario: "errands", act: { do: "run", input: INPUT } });
  expect(error).toMatchObject({ name: "RunBusyError", details: { runId: "alive-1" } });
  folder.allow("release");
  expect(asResult(await first.end)).toMatchObject({ runId: "alive-1", status: "succeeded", resumed: false });
});

test("run without an id starts nothing if the last run failed after it had effects outside", async () => {
  const folder = crashFolder();
  const variant = { step: { maxTurns: 2 } };
  const error = await folder.error({ scenario: "errands", act: { do: "run", input: INPUT }, variant });
  expect(error.name).toBe("MaxTurnsExceededError");
  const [failed] = await folder.withStore((store) => store.listRuns());
  const refused = await folder.error({ scenario: "errands", act: { do: "run", input: INPUT } });
  expect(refused).toMatchObject({
    name: "RunNotBegunError",
    details: { why: "failed", runIds: [failed?.runId] },
  });
  expect(folder.outside()).toHaveLength(2);
  const fresh = await folder.result({ scenario: "errands", act: { do: "run", input: INPUT, fresh: true } });
  expect(fresh).toMatchObject({ status: "succeeded", resumed: false });
});

test("run without an id starts nothing if two dead runs have the same input, and names both", async () => {
  const folder = crashFolder();
  for (const runId of ["dead-1", "dead-2"])
    await folder.killed({ scenario: "errands", act: { do: "run", input: INPUT, runId }, crash: dies });
  const error = await folder.error({ scenario: "errands", act: { do: "run", input: INPUT } });
  expect(error).toMatchObject({
    name: "RunNotBegunError",
    details: { why: "several", runIds: ["dead-2", "dead-1"] },
  });
  expect(error.message).toContain("dead-2, dead-1");
  for (const runId of ["dead-1", "dead-2"])
    await folder.result({ scenario: "errands", act: { do: "resume", runId } });
  expect(folder.outside()).toHaveLength(8);
  expect(folder.tries("pay")).toBe(8);
});
