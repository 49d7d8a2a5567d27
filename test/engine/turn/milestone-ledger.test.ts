// The ledger across lineages: receipts of abandoned turns are each reused once, and their events are applied to the
// rolled-back session once.

import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import {
  BlobMissingError,
  NotApplied,
  planning,
  promptTemplate,
  Runner,
  type RunnerOptions,
  StepFailedError,
  type Store,
} from "../../../src/index.ts";
import { asking, crashAt, openWait } from "../call/call-fixture.ts";
import {
  databaseFile,
  failureAs,
  failureOf,
  fileStore,
  memoryStore,
  scriptedAgent,
  sleeplessClock,
  toolResults,
} from "../run-fixture.ts";
import {
  runUntilFailure,
  said,
  sayer,
  saying,
  sayTool,
  stopsBefore,
  storedSlice,
} from "../session-fixture.ts";

type SayTool = ReturnType<typeof sayTool>;

/** Says `zero!`, a milestone, then these answers; and fails before it would end. */
async function interrupted(
  store: Store,
  { say }: SayTool,
  turns: Parameters<typeof sayer>[2],
  options: RunnerOptions = {},
) {
  const probe = stopsBefore(turns.length + 2);
  await runUntilFailure(sayer(store, { say }, [saying("zero!"), ...turns], { probe, ...options }).runner);
}

/** Resumes from the last milestone with these answers, to the end. */
async function resume(
  store: Store,
  { say }: SayTool,
  turns: Parameters<typeof sayer>[2],
  options: RunnerOptions = {},
) {
  const { runner, prompts } = sayer(store, { say }, turns, options);
  const result = await runner.resume("r-1", { from: "milestone" });
  return { ...result, prompts };
}

/** The status of each call, and the call that it repeats. */
async function ends(store: Store): Promise<string[]> {
  return (await store.listToolCalls("r-1")).map(({ turnIndex, callIndex, status, receipt }) => {
    const first = receipt?.duplicateOf?.split("#")[1];
    return `${turnIndex}.${callIndex} ${status}${first === undefined ? "" : ` ${first}`}`;
  });
}

describe("an effect of an abandoned turn", () => {
  it("is reused when it is requested again: the model gets its result, and its events are applied", async () => {
    const store = await memoryStore();
    const all = sayTool();
    await interrupted(store, all, [saying("one")]);
    expect(await storedSlice(store)).toEqual(["zero!", "one"]);
    const { prompts, status } = await resume(store, all, [saying("one")]);
    expect([status, all.spoken]).toEqual(["succeeded", ["zero!", "one"]]);
    expect(toolResults(prompts[1])).toEqual([{ type: "text", value: "said one" }]);
    expect(await storedSlice(store)).toEqual(["zero!", "one"]);
    expect(await ends(store)).toEqual(["1.1 succeeded", "2.1 succeeded", "3.1 deduplicated 2.1"]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("is reused once: a wanted repeat runs, and its events are applied too", async () => {
    const store = await memoryStore();
    const all = sayTool();
    await interrupted(store, all, [saying("one")]);
    await resume(store, all, [saying("one", "one"), saying("one")]);
    expect(all.spoken).toEqual(["zero!", "one", "one", "one"]);
    expect(await storedSlice(store)).toEqual(["zero!", "one", "one", "one"]);
    expect((await ends(store)).slice(2)).toEqual(["3.1 deduplicated 2.1", "3.2 succeeded", "4.1 succeeded"]);
  });

  it("that happened twice is reused twice, in one turn or in two", async () => {
    const store = await memoryStore();
    const all = sayTool();
    await interrupted(store, all, [saying("one", "one"), saying("one")]);
    await resume(store, all, [saying("one"), saying("one", "one")]);
    expect(all.spoken).toHaveLength(4);
    expect((await ends(store)).slice(4)).toEqual([
      "4.1 deduplicated 2.1",
      "5.1 deduplicated 2.2",
      "5.2 deduplicated 3.1",
    ]);
    expect(await storedSlice(store)).toEqual(["zero!", "one", "one", "one"]);
  });

  it("that is not requested again is not in the session", async () => {
    const store = await memoryStore();
    const all = sayTool();
    await interrupted(store, all, [saying("one"), saying("two")]);
    await resume(store, all, [saying("two")]);
    expect(await storedSlice(store)).toEqual(["zero!", "two"]);
    expect(all.spoken).toEqual(["zero!", "one", "two"]);
  });

  it("is reused with its whole result, however large", async () => {
    const store = await memoryStore();
    const large = "x".repeat(30_000);
    const all = sayTool({}, () => large);
    await interrupted(store, all, [saying("one")]);
    const { prompts } = await resume(store, all, [saying("one")]);
    expect(toolResults(prompts[1])).toEqual([{ type: "text", value: large }]);
    expect(all.spoken).toHaveLength(2);
  });

  it("from before the milestone is not reused: another request is a wanted repeat", async () => {
    const store = await memoryStore();
    const all = sayTool();
    await interrupted(store, all, []);
    await resume(store, all, [saying("zero!")]);
    expect(all.spoken).toEqual(["zero!", "zero!"]);
    expect(await storedSlice(store)).toEqual(["zero!", "zero!"]);
  });

  it("that certainly failed is not reused: it runs again", async () => {
    const store = await memoryStore();
    const clock = sleeplessClock();
    const all = sayTool({}, (word, call, n) => {
      if (n === 2) throw new NotApplied("Busy.");
      call.session.dispatch(said(word));
    });
    await interrupted(store, all, [saying("one")], { clock, maxRetriesPerToolCall: 0 });
    await resume(store, all, [saying("one")], { clock });
    expect(all.spoken).toEqual(["zero!", "one", "one"]);
    expect(await storedSlice(store)).toEqual(["zero!", "one"]);
  });

  it("that failed and may have happened needs approval", async () => {
    const store = await memoryStore();
    const all = sayTool({}, (word, call, n) => {
      if (n === 2) throw new Error("Reset.");
      call.session.dispatch(said(word));
    });
    await interrupted(store, all, [saying("one")]);
    expect((await resume(store, all, [saying("one")])).status).toBe("waiting");
    expect(all.spoken).toEqual(["zero!", "one"]);
    await store.approve((await openWait(store)).waitId);
    await sayer(store, { say: all.say }, [saying("one")]).runner.resume("r-1");
    expect(await storedSlice(store)).toEqual(["zero!", "one"]);
    expect(all.spoken).toEqual(["zero!", "one", "one"]);
  });

  it("is reused by the next worker if the first died between the journal and the commit, or after it", async () => {
    for (const point of ["turn:journaled", "turn:before-commit", "turn:committed"] as const) {
      const store = await memoryStore();
      const all = sayTool();
      await interrupted(store, all, [saying("one"), saying("two")]);
      const turns = [saying("one", "two")];
      const dying = sayer(store, { say: all.say }, turns, { probe: crashAt(point) });
      await failureOf(dying.runner.resume("r-1", { from: "milestone" }));
      expect((await sayer(store, { say: all.say }, turns).runner.resume("r-1")).status).toBe("succeeded");
      expect(all.spoken).toEqual(["zero!", "one", "two"]);
      expect(await storedSlice(store)).toEqual(["zero!", "one", "two"]);
    }
  });
});

describe("the open turn", () => {
  it("with receipts is abandoned, and they are reused", async () => {
    const store = await memoryStore();
    const all = sayTool({ exclusive: true });
    const { say } = all;
    const turns = [saying("zero!"), saying("one", "two")];
    let started = 0;
    const probe: RunnerOptions["probe"] = (point, { turnIndex }) => {
      if (point === "tool:before-start" && turnIndex === 2 && ++started === 1)
        throw new Error("The process crashed.");
    };
    await runUntilFailure(sayer(store, { say }, turns, { probe }).runner);
    expect(all.spoken).toEqual(["zero!", "one"]);
    await resume(store, all, [saying("one", "two")]);
    expect(all.spoken).toEqual(["zero!", "one", "two"]);
    expect(await storedSlice(store)).toEqual(["zero!", "one", "two"]);
    expect(await ends(store)).toEqual([
      "1.1 succeeded",
      "2.1 succeeded",
      "2.2 cancelled",
      "3.1 deduplicated 2.1",
      "3.2 succeeded",
    ]);
    expect(await store.listLineages("r-1")).toMatchObject([{ firstTurn: 3, baseTurn: 1, openTurn: 2 }]);
  });

  it("with a call that waits for approval is abandoned: the question is withdrawn, and asked again", async () => {
    const store = await memoryStore();
    const all = sayTool({ approval: ({ word }) => word === "one" });
    const { say } = all;
    const turns = [saying("zero!"), saying("one")];
    expect((await sayer(store, { say }, turns).runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect((await resume(store, all, [saying("one")])).status).toBe("waiting");
    const waits = await store.listWaits("r-1");
    expect(waits.map(({ toolCallId, status }) => [toolCallId, status])).toEqual([
      ["r-1/worker#2.1", "withdrawn"],
      ["r-1/worker#3.1", "open"],
    ]);
    expect((await store.listToolCalls("r-1"))[1]?.receipt).toMatchObject({
      status: "cancelled",
      errorCode: "abandoned",
      output: { value: "say was not run: its turn was abandoned for an earlier milestone." },
    });
    await store.approve((await openWait(store)).waitId);
    await sayer(store, { say }, [saying("one")]).runner.resume("r-1");
    expect([all.spoken, await storedSlice(store)]).toEqual([
      ["zero!", "one"],
      ["zero!", "one"],
    ]);
  });

  /** Its call was made, and the outcome is unknown. */
  async function inDoubt(store: Store, all: SayTool) {
    const turns = [saying("zero!"), saying("one")];
    await runUntilFailure(
      sayer(store, { say: all.say }, turns, { probe: crashAt("tool:executed", 2) }).runner,
    );
    expect(all.spoken).toEqual(["zero!", "one"]);
  }

  it.each([
    ["succeeded", { as: "succeeded", result: "said by hand" }, 2, "deduplicated"],
    ["failed", { as: "failed", why: "It was not said." }, 3, "succeeded"],
  ] as const)(
    "with a call in doubt waits for a person, who settles it as %s",
    async (_, settlement, n, status) => {
      const store = await memoryStore();
      const all = sayTool();
      await inDoubt(store, all);
      expect((await resume(store, all, [])).status).toBe("waiting");
      expect(await store.listLineages("r-1")).toEqual([]);
      expect(await storedSlice(store)).toEqual(["zero!"]);
      await store.settle("r-1/worker#2.1", settlement);
      await resume(store, all, [saying("one")]);
      expect(all.spoken).toHaveLength(n);
      expect((await store.listToolCalls("r-1")).at(-1)?.status).toBe(status);
      expect(await store.listLineages("r-1")).toHaveLength(1);
    },
  );

  it("with a call in doubt that a person lets run again runs it before the turn is abandoned, and then reuses it", async () => {
    const store = await memoryStore();
    const all = sayTool();
    await inDoubt(store, all);
    await resume(store, all, []);
    await store.settle("r-1/worker#2.1", { as: "retry" });
    expect((await resume(store, all, [saying("one")])).status).toBe("succeeded");
    expect(all.spoken).toEqual(["zero!", "one", "one"]);
    expect((await ends(store)).slice(1)).toEqual(["2.1 succeeded", "3.1 deduplicated 2.1"]);
    expect(await storedSlice(store)).toEqual(["zero!", "one"]);
  });

  it("with a keyed call in doubt runs it again with its key before the turn is abandoned, and then reuses it", async () => {
    const store = await memoryStore();
    const keys: string[] = [];
    const all = sayTool({ recovery: "keyed" }, (word, call) => {
      keys.push(call.idempotencyKey);
      call.session.dispatch(said(word));
    });
    await inDoubt(store, all);
    await resume(store, all, [saying("one")]);
    expect(keys).toHaveLength(3);
    expect(keys[1]).toBe(keys[2]);
    expect(await storedSlice(store)).toEqual(["zero!", "one"]);
  });

  it("with a call in doubt that can be looked up looks it up first, and applies the events of the look-up", async () => {
    const store = await memoryStore();
    const all = sayTool({
      recovery: "reconcile",
      reconcile: ({ word }, call) => {
        call.session.dispatch(said(`${word} found`));
        return { status: "done", result: "found" };
      },
    });
    await inDoubt(store, all);
    const { prompts } = await resume(store, all, [saying("one")]);
    expect(all.spoken).toEqual(["zero!", "one"]);
    expect(toolResults(prompts[1])).toEqual([{ type: "text", value: "found" }]);
    expect(await storedSlice(store)).toEqual(["zero!", "one found"]);
  });
});

describe("rolling back repeatedly", () => {
  it("reuses every effect, however many lineages have requested it", async () => {
    const store = await memoryStore();
    const all = sayTool();
    await interrupted(store, all, [saying("one"), saying("two")]);
    for (let line = 1; line <= 3; line++) {
      const probe: RunnerOptions["probe"] = (point, { turnIndex }) => {
        if (point === "turn:committed" && turnIndex === 3 + 2 * line) throw new Error("The process crashed.");
      };
      const dying = sayer(store, { say: all.say }, [saying("two"), saying("one")], { probe });
      await failureAs(StepFailedError, dying.runner.resume("r-1", { from: "milestone" }));
      expect(await storedSlice(store)).toEqual(["zero!", "two", "one"]);
    }
    await resume(store, all, [saying("one"), saying("two"), saying("three")]);
    expect(all.spoken).toEqual(["zero!", "one", "two", "three"]);
    expect(await storedSlice(store)).toEqual(["zero!", "one", "two", "three"]);
    expect(await store.listLineages("r-1")).toMatchObject([
      { firstTurn: 4, baseTurn: 1, checkpoint: 1 },
      { firstTurn: 6, baseTurn: 1, checkpoint: 1 },
      { firstTurn: 8, baseTurn: 1, checkpoint: 1 },
      { firstTurn: 10, baseTurn: 1, checkpoint: 1 },
    ]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("keeps the events of a lineage from before the milestone that it reached", async () => {
    const store = await memoryStore();
    const all = sayTool();
    await interrupted(store, all, [saying("one"), saying("two")]);
    const dying = sayer(store, { say: all.say }, [saying("two"), saying("new!"), saying("one")], {
      probe: stopsBefore(7),
    });
    await failureAs(StepFailedError, dying.runner.resume("r-1", { from: "milestone" }));
    await resume(store, all, [saying("two"), saying("one")]);
    // `two` was reused in a turn that is kept, so the next is a wanted repeat; `one` is reused again.
    expect(all.spoken).toEqual(["zero!", "one", "two", "new!", "two"]);
    expect(await storedSlice(store)).toEqual(["zero!", "two", "new!", "two", "one"]);
  });
});

describe("session tools", () => {
  const prompt = promptTemplate({ namespace: "t", key: "plan", version: 1, sections: [planning()] });
  const setup = asking(["planning_setup_plan", { objective: "Tidy", steps: ["Sweep", "Wash"] }]);
  const done = (id: number) => asking(["planning_update_step", { id, status: "done" }]);

  it("run again, since their events were rolled back", async () => {
    const store = await memoryStore();
    const make = (turns: Parameters<typeof sayer>[2], options: RunnerOptions = {}) => {
      const { agent, prompts } = scriptedAgent([...turns, { text: "End." }], { instructions: prompt });
      return { runner: new Runner(agent, { store, ...options }), prompts };
    };
    const add = asking(["planning_add_step", { steps: ["Dry"] }]);
    await runUntilFailure(make([setup, done(1), add], { probe: stopsBefore(4) }).runner);
    const { runner, prompts } = make([add, done(2), done(3)]);
    await runner.resume("r-1", { from: "milestone" });
    expect(JSON.stringify(toolResults(prompts[1]))).toContain("3. [pending] Dry");
    const [plan] = (await storedSlice(store, "plan")) as { steps: { title: string }[] }[];
    expect(plan?.steps.map(({ title }) => title)).toEqual(["Sweep", "Wash", "Dry"]);
    expect((await ends(store)).every((end) => !end.includes("deduplicated"))).toBe(true);
  });
});

it("a history with missing large results can be abandoned by a milestone resume", async () => {
  const file = databaseFile();
  const store = await fileStore(file);
  const all = sayTool({}, (word, call) => {
    call.session.dispatch(said(word));
    return "x".repeat(30_000);
  });
  await interrupted(store, all, [saying("one")]);
  const raw = new DatabaseSync(file);
  raw.exec("DELETE FROM blobs");
  raw.close();
  await failureAs(BlobMissingError, sayer(store, { say: all.say }, []).runner.resume("r-1"));
  expect((await resume(store, all, [saying("two")])).status).toBe("succeeded");
  expect([all.spoken, await storedSlice(store)]).toEqual([
    ["zero!", "one", "two"],
    ["zero!", "two"],
  ]);
});
