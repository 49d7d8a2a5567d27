// A worker whose files are lost, corrupt, full, or of another store: they are set aside with a warning, and nothing
// is done twice.

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type CheckpointStore,
  CheckpointStoreError,
  DatabaseCheckpointStore,
  FileCheckpointStore,
  StepFailedError,
  type Store,
  type WorkerCheckpoint,
} from "../../../src/index.ts";
import { failureAs, failureOf, memoryStore, must } from "../run-fixture.ts";
import { sayTool, stopsBefore, storedSlice } from "../session-fixture.ts";
import { saidIn, speakingLoop, TO_SAY, workerDirectory } from "./main-loop-fixture.ts";

/** A worker in a directory that has said two words and died; `make` starts a new process of it. */
async function died() {
  const store = await memoryStore();
  const directory = workerDirectory();
  const { say, spoken } = sayTool();
  const warnings: string[] = [];
  const make = (options: Parameters<typeof speakingLoop>[3] = {}, other: Store = store) => {
    const checkpoints = new FileCheckpointStore(directory);
    return speakingLoop(other, checkpoints, say, { warn: (message) => warnings.push(message), ...options });
  };
  const { runId } = await failureAs(StepFailedError, make({ probe: stopsBefore(3) }).loop.execute({ n: 1 }));
  expect(spoken).toEqual(["one!", "two!"]);
  return {
    store,
    directory,
    spoken,
    warnings,
    make,
    runId: must(runId),
    at: (name: string) => join(directory, name),
  };
}

const CORRUPT = '{"version":1,"sess';

/** The files in the directory, except the lock. */
const filesIn = (directory: string) =>
  readdirSync(directory)
    .filter((name) => name !== ".lock")
    .sort();

describe("a worker in a directory", () => {
  it("has its request, its latest checkpoint and finally its marker there", async () => {
    const { store, directory, runId, make, at } = await died();
    expect(filesIn(directory)).toEqual(["checkpoint.json", "request.json"]);
    expect(JSON.parse(readFileSync(at("request.json"), "utf8"))).toMatchObject({ runId, request: { n: 1 } });
    const { cursor, ...snapshot } = JSON.parse(
      readFileSync(at("checkpoint.json"), "utf8"),
    ) as WorkerCheckpoint["snapshot"];
    const last = must(await store.readCheckpoint(runId));
    expect([snapshot, cursor]).toEqual([last.snapshot, { ...last.cursor, checkpoint: 2 }]);
    await make().loop.execute({ n: 1 });
    expect(filesIn(directory)).toEqual(["checkpoint.json", "completed", "request.json"]);
  });

  it("sets a corrupt checkpoint aside, starts over, and repeats nothing", async () => {
    const { store, directory, spoken, warnings, make, runId, at } = await died();
    writeFileSync(at("checkpoint.json"), CORRUPT);
    const { loop, prompts } = make();
    expect(await loop.execute({ n: 1 })).toMatchObject({ runId, status: "succeeded" });
    expect(warnings).toEqual([
      expect.stringMatching(/The checkpoint of worker .+ is corrupt: it is kept as .+corrupt-1/),
    ]);
    expect(readFileSync(at("checkpoint.json.corrupt-1"), "utf8")).toBe(CORRUPT);
    expect(prompts.map((prompt) => saidIn(prompt).length)).toEqual([0, 1, 2, 3]);
    expect([spoken, await storedSlice(store, "words", runId)]).toEqual([[...TO_SAY], [...TO_SAY]]);
    expect(filesIn(directory)).toContain("completed");
    expect((await store.verify(runId)).problems).toEqual([]);
  });

  it("reports a corrupt checkpoint to the store's own listener as well, or as a process warning if there is none", async () => {
    const { store, directory, at } = await died();
    const { say } = sayTool();
    const [own, ofProcess]: [string[], string[]] = [[], []];
    const onWarning = ({ message }: Error) => void ofProcess.push(message);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    writeFileSync(at("checkpoint.json"), CORRUPT);
    const checkpoints = new FileCheckpointStore(directory, { warn: (message) => own.push(message) });
    const { loop, warnings } = speakingLoop(store, checkpoints, say, { probe: stopsBefore(3) });
    await failureOf(loop.execute({ n: 1 }));
    expect([own.length, warnings]).toEqual([1, own]);

    writeFileSync(at("checkpoint.json"), CORRUPT);
    const silent = new FileCheckpointStore(directory);
    await silent.acquire();
    await silent.loadCheckpoint();
    await new Promise(setImmediate);
    expect(ofProcess).toEqual([expect.stringMatching(/is corrupt: it is kept as .+corrupt-2/)]);
  });

  it("sets a checkpoint that is JSON but no snapshot aside, starts over, and repeats nothing", async () => {
    const { spoken, warnings, make, runId, at } = await died();
    writeFileSync(at("checkpoint.json"), JSON.stringify({ version: 1, cursor: { checkpoint: 2 } }));
    expect(await make().loop.execute({ n: 1 })).toMatchObject({ runId, status: "succeeded" });
    expect(warnings).toEqual([
      expect.stringMatching(/cannot be restored .+: the work starts from the beginning/),
    ]);
    expect([spoken, existsSync(at("checkpoint.json.aside-1"))]).toEqual([[...TO_SAY], true]);
  });

  it("starts over if its checkpoint is lost, and repeats nothing", async () => {
    const { spoken, make, runId, at } = await died();
    rmSync(at("checkpoint.json"));
    expect(await make().loop.execute({ n: 1 })).toMatchObject({ runId, status: "succeeded" });
    expect(spoken).toEqual([...TO_SAY]);
  });

  it("finds its run and its input by the checkpoint if its request is lost", async () => {
    const { spoken, warnings, make, runId, at } = await died();
    rmSync(at("request.json"));
    const { loop, prompts } = make();
    expect(await loop.execute({ n: 2 })).toMatchObject({ runId, status: "succeeded", request: { n: 1 } });
    expect(warnings).toEqual([expect.stringMatching(/resumes the request that it has not completed/)]);
    expect(prompts.map((prompt) => saidIn(prompt).length)).toEqual([2, 3]);
    expect(spoken).toEqual([...TO_SAY]);
  });

  it("sets a corrupt request aside, and finds the run by its checkpoint", async () => {
    const { spoken, warnings, make, runId, at } = await died();
    writeFileSync(at("request.json"), CORRUPT);
    expect(await make().loop.execute({ n: 1 })).toMatchObject({ runId, status: "succeeded" });
    expect(warnings).toEqual([
      expect.stringMatching(/The request of worker .+ is corrupt: it is kept as .+corrupt-1/),
    ]);
    expect([spoken, existsSync(at("request.json.corrupt-1"))]).toEqual([[...TO_SAY], true]);
  });

  it("is completed after a lost request too: the next request is another run", async () => {
    const { spoken, make, runId, at } = await died();
    rmSync(at("request.json"));
    await make().loop.execute({ n: 1 });
    const next = await make().loop.execute({ n: 2 });
    expect([next.runId === runId, next.request, spoken.length]).toEqual([false, { n: 2 }, 6]);
  });

  it("fails if both files are corrupt, names both, and touches nothing", async () => {
    const { directory, spoken, make, at } = await died();
    for (const name of ["request.json", "checkpoint.json"]) writeFileSync(at(name), CORRUPT);
    const { loop, prompts } = make();
    const error = await failureAs(CheckpointStoreError, loop.execute({ n: 1 }));
    expect(error.details).toEqual({ reason: "corrupt", paths: [at("request.json"), at("checkpoint.json")] });
    expect(error.message).toContain(`${at("request.json")} and ${at("checkpoint.json")} are both corrupt`);
    expect([prompts, spoken.length, filesIn(directory)]).toEqual([
      [],
      2,
      ["checkpoint.json", "request.json"],
    ]);
  });

  it("of another store is refused, since that ledger could not prevent repetitions", async () => {
    const { directory, spoken, make, runId } = await died();
    const { loop, prompts } = make({}, await memoryStore());
    const error = await failureAs(CheckpointStoreError, loop.execute({ n: 1 }));
    expect(error.message).toMatch(new RegExp(`has a checkpoint of run ${runId}, which is not in this store`));
    expect(error.details.reason).toBe("unknown_run");
    expect([prompts, spoken.length, filesIn(directory)]).toEqual([
      [],
      2,
      ["checkpoint.json", "request.json"],
    ]);
  });

  it("of another store without a request starts fresh, and sets the checkpoint aside", async () => {
    const { warnings, make, runId, at } = await died();
    rmSync(at("request.json"));
    const result = await make({}, await memoryStore()).loop.execute({ n: 2 });
    expect([result.runId === runId, result.request]).toEqual([false, { n: 2 }]);
    expect(warnings).toEqual([
      expect.stringMatching(
        /has a checkpoint and no request.+it starts fresh, and the checkpoint is kept as/,
      ),
    ]);
    expect(existsSync(at("checkpoint.json.aside-1"))).toBe(true);
  });
});

it("a worker emits the events of its runs to onEvent, like a runner", async () => {
  const store = await memoryStore();
  const { say } = sayTool();
  const types: string[] = [];
  const { loop } = speakingLoop(store, new DatabaseCheckpointStore(store, "w"), say, {
    onEvent: ({ type }) => types.push(type),
  });
  await loop.execute("Go");
  expect(types).toContain("checkpoint.saved");
  expect(types.at(-1)).toBe("run.finished");
});

describe("a checkpoint that cannot be written", () => {
  /** A store that refuses to write these of its checkpoints, counted from 1. */
  function full(checkpoints: CheckpointStore, ...refused: number[]): CheckpointStore {
    let n = 0;
    const persist = checkpoints.persistCheckpoint.bind(checkpoints);
    checkpoints.persistCheckpoint = async (checkpoint) => {
      if (refused.includes(++n)) throw new Error("The disk is full.");
      await persist(checkpoint);
    };
    return checkpoints;
  }

  it("leads to one warning, and the run continues to its end", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    const checkpoints = full(new FileCheckpointStore(workerDirectory()), 1, 2, 3);
    const { loop, warnings } = speakingLoop(store, checkpoints, say);
    expect((await loop.execute("Go")).status).toBe("succeeded");
    expect(warnings).toEqual([
      expect.stringMatching(
        /^The checkpoint of worker \S+ could not be written: The disk is full\. The run continues/,
      ),
    ]);
    expect([spoken, await checkpoints.isCompleted()]).toEqual([[...TO_SAY], true]);
  });

  it("leads to another warning if one was written in between", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const checkpoints = full(new FileCheckpointStore(workerDirectory()), 1, 3);
    const { loop, warnings } = speakingLoop(store, checkpoints, say);
    await loop.execute("Go");
    expect(warnings).toHaveLength(2);
  });

  it("is replaced by the next one, from which a crash resumes", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    const directory = workerDirectory();
    const first = full(new FileCheckpointStore(directory), 1);
    await failureAs(
      StepFailedError,
      speakingLoop(store, first, say, { probe: stopsBefore(3) }).loop.execute("Go"),
    );
    const { loop, prompts } = speakingLoop(store, new FileCheckpointStore(directory), say);
    await loop.execute("Go");
    expect(prompts.map((prompt) => saidIn(prompt).length)).toEqual([2, 3]);
    expect(spoken).toEqual([...TO_SAY]);
  });

  it("leaves the earlier one, from which a crash resumes without repeating anything", async () => {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    const directory = workerDirectory();
    const first = full(new FileCheckpointStore(directory), 2);
    const dying = speakingLoop(store, first, say, { probe: stopsBefore(3) });
    const { runId } = await failureAs(StepFailedError, dying.loop.execute("Go"));
    const { loop, prompts } = speakingLoop(store, new FileCheckpointStore(directory), say);
    await loop.execute("Go");
    expect(prompts.map((prompt) => saidIn(prompt).length)).toEqual([1, 2, 3]);
    expect([spoken, await storedSlice(store, "words", must(runId))]).toEqual([[...TO_SAY], [...TO_SAY]]);
  });
});

describe("workers in one store", () => {
  it("are identified by their names", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const make = (name: string, options: Parameters<typeof speakingLoop>[3] = {}) =>
      speakingLoop(store, new DatabaseCheckpointStore(store, name), say, options).loop;
    const a = await failureAs(StepFailedError, make("a", { probe: stopsBefore(2) }).execute("A"));
    const b = await make("b").execute("B");
    expect(b).toMatchObject({ status: "succeeded", request: "B" });
    expect(await make("a").execute("Later")).toMatchObject({ runId: a.runId, request: "A" });
    expect(await store.findWork("b")).toMatchObject({ runId: b.runId, completedAt: expect.any(Number) });
  });
});
