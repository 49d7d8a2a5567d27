import { describe, expect, test } from "vitest";
import { CheckpointStoreError } from "../../../src/core/errors.ts";
import { FileCheckpointStore } from "../../../src/store/checkpoint/file-checkpoint-store.ts";
import { sampled } from "../../full-test.ts";
import { type Fault, type FaultKind, FaultyFileSystem } from "./faulty-file-system.ts";
import { PowerCutFileSystem, type Remains } from "./power-cut-file-system.ts";
import {
  checkpoint,
  directoryOf,
  filesIn,
  findState,
  request,
  stateOf,
  workerDirectory,
} from "./worker-fixture.ts";

type Scenario = {
  readonly what: string;
  before(store: FileCheckpointStore): Promise<unknown>;
  act(store: FileCheckpointStore): Promise<unknown>;
  /** Every state that a death may leave; the first is the one before the operation, the last the one after it. */
  readonly states: readonly [string, ...string[]];
};

const incomplete = async (store: FileCheckpointStore) => {
  await store.begin(request(1));
  await store.persistCheckpoint(checkpoint(1));
};
const completed = async (store: FileCheckpointStore) => {
  await incomplete(store);
  await store.markCompleted(request(1).runId);
};

const scenarios: readonly Scenario[] = [
  {
    what: "its first request is kept",
    before: async () => undefined,
    act: (store) => store.begin(request(1)),
    states: ["- - -", "run-1 - -"],
  },
  {
    what: "its first checkpoint is written",
    before: (store) => store.begin(request(1)),
    act: (store) => store.persistCheckpoint(checkpoint(1)),
    states: ["run-1 - -", "run-1 1 -"],
  },
  {
    what: "a checkpoint replaces another",
    before: incomplete,
    act: (store) => store.persistCheckpoint(checkpoint(2)),
    states: ["run-1 1 -", "run-1 2 -"],
  },
  {
    what: "it is marked as completed",
    before: incomplete,
    act: (store) => store.markCompleted(request(1).runId),
    states: ["run-1 1 -", "run-1 1 completed"],
  },
  {
    what: "a new request follows a completed one",
    before: completed,
    act: (store) => store.begin(request(2)),
    // The marker goes last: nothing of the completed request is ever resumed.
    states: ["run-1 1 completed", "run-1 - completed", "run-2 - completed", "run-2 - -"],
  },
  {
    what: "a new request follows an abandoned one",
    before: incomplete,
    act: (store) => store.begin(request(2)),
    states: ["run-1 1 -", "run-1 - -", "run-2 - -"],
  },
  {
    what: "its checkpoint is set aside",
    before: incomplete,
    act: (store) => store.setCheckpointAside(),
    states: ["run-1 1 -", "run-1 - -"],
  },
];

/** Acts with the fault, and returns the state that a new process finds. */
async function actWith(scenario: Scenario, fault: Fault | null) {
  const directory = workerDirectory();
  const fileSystem = new FaultyFileSystem();
  const store = new FileCheckpointStore(directory, { fileSystem });
  const release = await store.acquire();
  await scenario.before(store);
  fileSystem.arm(fault);
  const error: unknown = await scenario.act(store).then(
    () => null,
    (reason: unknown) => reason,
  );
  await fileSystem.finish();
  return { directory, fileSystem, store, release, error };
}

async function operationsOf(scenario: Scenario): Promise<readonly string[]> {
  const { fileSystem, release, error } = await actWith(scenario, null);
  expect(error).toBeNull();
  await release();
  return fileSystem.operations;
}

const last = (states: readonly string[]): string => states.at(-1) ?? "";

describe("a worker that dies while", () => {
  test.for(sampled(scenarios))(
    "$what leaves the old or the new state, whole, at every file operation",
    async (scenario) => {
      const operations = await operationsOf(scenario);
      expect(operations.length).toBeGreaterThan(5);
      const found = new Set<string>();
      for (const kind of ["dies before", "dies half-way", "dies after"] satisfies FaultKind[])
        for (const at of operations.keys()) {
          const { directory, fileSystem, release } = await actWith(scenario, { kind, at });
          expect(fileSystem.isDead).toBe(true);
          await release(); // As the system does for a dead process.
          found.add(await findState(directory));
          expect(filesIn(directory).filter((name) => name.endsWith(".tmp"))).toEqual([]);
        }
      expect([...found].sort()).toEqual([...scenario.states].sort());
    },
  );
});

describe("a power cut while", () => {
  async function cutDuring(scenario: Scenario) {
    const directory = workerDirectory();
    const fileSystem = new PowerCutFileSystem(directory);
    const store = new FileCheckpointStore(directory, { fileSystem });
    const release = await store.acquire();
    await scenario.before(store);
    fileSystem.watch();
    await scenario.act(store);
    await release();
    return fileSystem;
  }

  async function statesOf(remains: readonly Remains[]): Promise<readonly string[]> {
    const different = new Map(remains.map((each) => [JSON.stringify(each && [...each]), each]));
    const found = new Set<string>();
    for (const each of different.values()) found.add(await findState(directoryOf(each)));
    return [...found].sort();
  }

  test.for(sampled(scenarios, 2, 1))(
    "$what leaves the old or the new state, whole, whichever unsynced data is lost",
    async (scenario) => {
      const fileSystem = await cutDuring(scenario);
      expect(await statesOf(fileSystem.atAnyMoment)).toEqual([...scenario.states].sort());
    },
  );

  test.each(scenarios)("$what undoes nothing once it has resolved", async (scenario) => {
    const fileSystem = await cutDuring(scenario);
    expect(await statesOf(fileSystem.remains())).toEqual([last(scenario.states)]);
  });

  test("a directory is created, with missing parents, undoes nothing either", async () => {
    const directory = `${workerDirectory()}/and/deeper`;
    const fileSystem = new PowerCutFileSystem(directory);
    const store = new FileCheckpointStore(directory, { fileSystem });
    await store.acquire();
    expect(fileSystem.atAnyMoment).toContain(null);
    expect(fileSystem.remains()).not.toContain(null);
  });

  test("a worker takes over from a killed process undoes nothing that it read", async () => {
    const directory = workerDirectory();
    const fileSystem = new PowerCutFileSystem(directory);
    const store = new FileCheckpointStore(directory, { fileSystem });
    const release = await store.acquire();
    await incomplete(store);
    // Killed after the removal and before the directory's fsync.
    await fileSystem.unlink(`${directory}/checkpoint.json`);
    await release();
    expect(await statesOf(fileSystem.remains())).toEqual(["run-1 - -", "run-1 1 -"]);
    await new FileCheckpointStore(directory, { fileSystem }).acquire();
    expect(await statesOf(fileSystem.remains())).toEqual(["run-1 - -"]);
  });
});

describe("a file operation that fails while", () => {
  const reasons = { ENOSPC: "full", EIO: "io", EACCES: "permission" } as const;
  const codes = ["ENOSPC", "EIO", "EACCES"] as const;

  test.each(scenarios.flatMap((scenario) => codes.map((code) => ({ code, scenario, what: scenario.what }))))(
    "$what ($code) leaves the old or the new state, and the next attempt works",
    async ({ code, scenario }) => {
      for (const at of (await operationsOf(scenario)).keys()) {
        const { directory, store, release, error } = await actWith(scenario, { kind: code, at });
        expect(error).toBeInstanceOf(CheckpointStoreError);
        expect(error).toMatchObject({ details: { reason: reasons[code] }, cause: { code } });
        expect(filesIn(directory).filter((name) => name.endsWith(".tmp"))).toEqual([]);

        expect(scenario.states).toContain(await stateOf(store));
        await scenario.act(store);
        await release();
        expect(await findState(directory)).toBe(last(scenario.states));
      }
    },
  );
});
