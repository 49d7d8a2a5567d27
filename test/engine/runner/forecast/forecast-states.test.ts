// A run in each possible state: its forecast in full, and that it is what then happens.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  defineSlice,
  PausedError,
  Pipeline,
  Runner,
  type RunnerOptions,
  Step,
  type StepNode,
  type StopState,
} from "../../../../src/index.ts";
import { asking, crashAt, jumpingClock } from "../../call/call-fixture.ts";
import { jobSpec, temporaryFolder } from "../../job-fixture.ts";
import { databaseFile, fileStore } from "../../run-fixture.ts";
import { check, type Sight } from "./forecast-fixture.ts";
import { type Scenario, Stage, Story, World } from "./forecast-world.ts";

const HOUR_MS = 3_600_000;
const ignoreSights = (_sight: Sight) => undefined;

const counted = (world: World, name: string) =>
  Step.run(name, () => {
    world.touch();
    return name;
  });

/** A run that has proceeded as far as it can without outside help. */
async function started(scenario: Scenario): Promise<Story> {
  const story = (await Stage.open()).story(scenario);
  await story.start();
  return story;
}

/** The forecast, which must be what then happens. */
async function exactForecast(story: Story, ...how: Parameters<Story["check"]> | []) {
  const { forecast, problems, status } = await story.check(how[0] ?? {}, ignoreSights, how[2]);
  expect(problems).toEqual([]);
  return { ...forecast, outcome: status };
}

const keyedTwice = (world: World) =>
  world.agent([asking(["keyed", { what: "a" }]), asking(["keyed", { what: "b" }]), { text: "End." }]);

describe("a run that", () => {
  it("has succeeded has nothing left", async () => {
    const story = await started({ target: keyedTwice });
    expect(await exactForecast(story)).toEqual({
      runId: "r-1",
      status: "succeeded",
      accepts: null,
      refusal: null,
      skipped: [],
      next: null,
      turn: null,
      calls: [],
      waits: [],
      later: [],
      outcome: "succeeded",
    });
  });

  it("was cancelled inside a tool, or released, resumes where it was", async () => {
    const stop = new AbortController();
    const cancelled = await started({
      target: (world) => Step.run("a", (_input, ctx) => ctx.call(world.tool("keyed"), { what: "a" })),
      options: { onEvent: ({ type }) => void (type === "tool.started" && stop.abort()) },
      start: { signal: stop.signal },
    });
    expect(await exactForecast(cancelled)).toMatchObject({
      status: "cancelled",
      next: { step: "a", isBegun: true },
    });

    const release = new AbortController();
    const queued = await started({
      target: keyedTwice,
      options: { onEvent: ({ type }) => void (type === "tool.started" && release.abort()) },
      start: { release: release.signal },
    });
    expect(await exactForecast(queued)).toMatchObject({
      status: "queued",
      turn: { index: 2, response: "asked" },
      outcome: "succeeded",
    });
  });

  it("was paused by its own code resumes there", async () => {
    const story = await started({
      target: (world) =>
        Step.run("a", () => {
          world.touch();
          if (world.touched === 1) throw new PausedError();
          return "done";
        }),
    });
    expect(await exactForecast(story)).toMatchObject({
      status: "waiting",
      refusal: null,
      calls: [],
      outcome: "succeeded",
    });
  });

  it("is a fork resumes after its last turn, with another model", async () => {
    const story = await started({ target: keyedTwice });
    const runner = new Runner(keyedTwice(story.world), { store: story.store, clock: story.clock });
    await runner.fork("r-1", { atTurn: 1, runId: "r-2" });
    const fork = new Story(
      story,
      { target: (world) => world.agent([{ text: "No." }, { text: "End." }], { modelId: "other" }) },
      "r-2",
    );
    expect(await exactForecast(fork)).toMatchObject({
      status: "queued",
      turn: { index: 2, response: "asked" },
      outcome: "succeeded",
    });
  });

  it.each([
    [false, null, "waiting"],
    [true, "budget_exceeded", "failed"],
  ])(
    "waited for a person for longer than its time budget, with countWaitingTime %s",
    async (countWaitingTime, code, outcome) => {
      const story = await started({
        target: () => Step.human("check", { question: "Is it?" }),
        start: { spec: jobSpec({ budgets: { maxWallclockMinutes: 30, countWaitingTime } }) },
        options: { workspaceRoot: temporaryFolder() },
      });
      await story.clock.advance(HOUR_MS);
      const { refusal, ...rest } = await exactForecast(story);
      expect([refusal?.code ?? null, rest.outcome, rest.waits.length]).toEqual([code, outcome, 1]);
    },
  );

  it("stopped inside a tool for longer than its key is valid needs a person", async () => {
    const ofAgent = (world: World) => world.agent([asking(["keyed", { what: "a" }]), { text: "End." }]);
    const ofCode = (world: World) =>
      Step.run("acts", (_input, ctx) => ctx.call(world.tool("keyed"), { what: "a" }));
    for (const target of [ofAgent, ofCode]) {
      const story = (await Stage.open()).story({ target });
      await story.start(crashAt("tool:executed"));
      await story.clock.advance(23 * HOUR_MS);
      expect((await story.forecast()).calls).toMatchObject([{ action: "run_again" }]);
      await story.clock.advance(HOUR_MS);
      expect((await exactForecast(story)).calls).toMatchObject([{ action: "ask" }]);
    }
  });

  it("was denied more budget by a person fails", async () => {
    const story = await started({
      target: keyedTwice,
      start: {
        spec: jobSpec({ budgets: { maxToolCalls: 1 }, escalation: { askHumanOnBudgetReached: true } }),
      },
      options: { workspaceRoot: temporaryFolder() },
    });
    expect((await exactForecast(story)).refusal).toMatchObject({ code: "budget_exceeded", isQuestion: true });
    await story.store.deny("r-1~1", "That is enough.");
    expect((await exactForecast(story)).refusal).toMatchObject({
      code: "budget_exceeded",
      isQuestion: false,
    });
  });
});

/** All rows of a database, read without the store. */
function rowsIn(file: string): string {
  const database = new DatabaseSync(file, { readOnly: true });
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
  const rows = tables.map(({ name }) => [name, database.prepare(`SELECT * FROM "${String(name)}"`).all()]);
  database.close();
  return JSON.stringify(rows, (_key, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value,
  );
}

it("is refused while another worker has the run; when that is closed, its call in doubt needs a person", async () => {
  const clock = jumpingClock();
  const file = databaseFile();
  const now = () => clock.now();
  const [theirs, ours] = [await fileStore(file, { now }), await fileStore(file, { now })];
  const world = new World();
  const begun = Promise.withResolvers<void>();
  const step = Pipeline.of(
    "p",
    counted(world, "first"),
    Step.run("acts", (_input, ctx) => ctx.call(world.tool("blind"), { what: "a" })),
  );
  const stuck = {
    ...world.tool("blind"),
    execute: () => {
      begun.resolve();
      return new Promise<never>(() => undefined);
    },
  };
  const theirStep = Pipeline.of(
    "p",
    counted(world, "first"),
    Step.run("acts", (_input, ctx) => ctx.call(stuck, { what: "a" })),
  );
  void new Runner(theirStep, { store: theirs, clock }).run("Go", { runId: "r-1" }).catch(() => undefined);
  await begun.promise;
  const process = {
    store: ours,
    runId: "r-1",
    touched: () => world.touched,
    saw: ignoreSights,
    runner: (onEvent: RunnerOptions["onEvent"]) =>
      new Runner(step, { store: ours, clock, ...(onEvent && { onEvent }) }),
  };

  const held = await check(process);
  expect([held.problems, held.forecast.refusal?.code]).toEqual([[], "run_busy"]);

  await theirs.close({ graceMs: 0 });
  await clock.advance(HOUR_MS);
  const before = rowsIn(file);
  const forecast = await process.runner(undefined).forecast("r-1");
  expect(rowsIn(file)).toBe(before);
  expect(forecast).toMatchObject({
    status: "running",
    skipped: ["first"],
    next: { step: "acts", isBegun: true },
    calls: [{ toolCallId: "r-1/acts#0.1", tool: "blind", action: "ask" }],
  });
  expect(await check(process)).toMatchObject({ problems: [], status: "waiting" });
});

describe("a run whose pipeline", () => {
  it("has changed before the current step is refused, but one that differs only later is not", async () => {
    const story = await started({
      target: (world) => Pipeline.of("p", counted(world, "a"), broken(world), counted(world, "c")),
    });
    const renamed = (world: World) =>
      Pipeline.of("p", counted(world, "x"), broken(world), counted(world, "c"));
    const longer = (world: World) =>
      Pipeline.of("p", counted(world, "a"), broken(world), counted(world, "d"), counted(world, "e"));
    expect(await exactForecast(story, {}, ignoreSights, renamed)).toMatchObject({
      refusal: { code: "resume" },
      next: null,
    });
    expect(await exactForecast(story, {}, ignoreSights, longer)).toMatchObject({
      refusal: null,
      later: ["d", "e"],
      outcome: "succeeded",
    });
  });

  it("has a custom kind of step is forecast up to that step", async () => {
    const own = { storage: "instance", execute: () => Promise.resolve("own") } as const;
    const through = {
      storage: "none",
      execute: (_step: StepNode, { input }: { input: unknown }) => Promise.resolve(input),
    } as const;
    const custom = (kind: string): StepNode => ({ kind, name: kind });
    const target = (world: World) =>
      Pipeline.of("p", custom("through"), broken(world), custom("own"), counted(world, "last"));
    const story = await started({ target, options: { executors: { own, through } as never } });
    const { next, skipped } = (await story.check({}, ignoreSights)).forecast;
    expect([next, skipped]).toEqual([{ step: "through", phase: "", isBegun: false }, []]);
  });

  it("stopped early and may not any more resumes with the skipped step and the previous step's output", async () => {
    let isDone = true;
    const draft = "A draft that takes some tokens. ".repeat(9);
    const stopConditions = { done: ({ output }: StopState) => output === (isDone ? draft : "End.") };
    const story = (await Stage.open()).story({
      target: (world) =>
        Pipeline.of(
          "p",
          Step.run("a", () => draft),
          Step.granular("b", world.agent([{ text: "End." }])),
        ),
      options: { stopConditions, workspaceRoot: temporaryFolder() },
      start: { spec: jobSpec({ stopConditions: ["done"] }) },
    });
    await story.start(crashAt("run:before-finish"));
    expect((await story.store.listSteps("r-1")).map(({ status }) => status)).toEqual([
      "succeeded",
      "skipped",
    ]);
    isDone = false;
    expect(await exactForecast(story)).toMatchObject({
      refusal: null,
      skipped: ["a"],
      next: { step: "b", isBegun: false },
      turn: { index: 1, response: "asked" },
      outcome: "succeeded",
    });
  });

  it("has a condition that throws is refused", async () => {
    const stopConditions = {
      fine: () => {
        throw new Error("No.");
      },
    };
    const story = await started({
      target: (world) => Pipeline.of("p", counted(world, "a"), counted(world, "b")),
      options: { stopConditions, workspaceRoot: temporaryFolder() },
      start: { spec: jobSpec({ stopConditions: ["fine"] }) },
    });
    expect((await exactForecast(story)).refusal).toMatchObject({ code: "step_failed", isQuestion: false });
  });
});

describe("the expected outputs of a job", () => {
  it("are looked up in its folder, which is not created or written to", async () => {
    const root = temporaryFolder();
    const folder = join(root, "elsewhere", "<run_id>");
    const target = (world: World) => counted(world, "a");
    const spec = jobSpec({ artifacts: { workspaceDir: "elsewhere", expectedOutputs: ["report.md"] } });
    const story = await started({ target, options: { workspaceRoot: root }, start: { spec } });
    expect((await exactForecast(story)).refusal).toMatchObject({ code: "unmet_conditions" });

    const elsewhere = temporaryFolder();
    const runner = new Runner(target(story.world), {
      store: story.store,
      clock: story.clock,
      workspaceRoot: elsewhere,
    });
    expect((await runner.forecast("r-1")).refusal?.code).toBe("unmet_conditions");
    expect([existsSync(join(elsewhere, "elsewhere")), folder.length > 0]).toEqual([false, true]);

    writeFileSync(join(root, "elsewhere", "report.md"), "It is there.");
    expect(await exactForecast(story)).toMatchObject({ refusal: null, next: null, outcome: "succeeded" });
  });
});

describe("a session that does not fit its slices any more", () => {
  const target = (world: World) =>
    world.agent([asking(["says", { what: "one" }]), asking(["keyed", { what: "a" }]), { text: "End." }]);
  const other = defineSlice({ name: "words", version: 2, schema: z.number(), reducers: {} });

  it.each([
    ["stop", "snapshot_restore", null],
    ["fresh", undefined, 3],
  ] as const)("is refused or started over, as configured: %s", async (onSliceMismatch, code, turn) => {
    const story = (await Stage.open()).story({ target });
    await story.start(crashAt("turn:before-commit", 2));
    const { forecast, problems } = await story.check({}, ignoreSights, undefined, {
      slices: [other],
      onSliceMismatch,
    });
    expect([problems, forecast.refusal?.code, forecast.turn?.index ?? null]).toEqual([[], code, turn]);
  });
});

/** A step that fails the first time. */
function broken(world: World) {
  return Step.run("broken", () => {
    world.touch();
    if (world.touched < 3) throw new Error("It broke.");
    return "fixed";
  });
}
