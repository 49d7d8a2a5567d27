// Checkpoints that are saved after the commit of their turn.

import { describe, expect, it } from "vitest";
import { CheckpointTrigger, type RunEvent, type Store, StoreUnavailableError } from "../../../src/index.ts";
import { asking } from "../call/call-fixture.ts";
import { memoryStore } from "../run-fixture.ts";
import { checkpointsOf, sayer, saying, sayTool } from "../session-fixture.ts";

const late = new CheckpointTrigger({ eventTypes: ["Said", "UpdateStep"], checkpoint: "async" });

/** A store whose `saveCheckpoint` waits for `before`, and which logs its writes once they are durable. */
function logged(store: Store, log: string[], before: () => Promise<void> = () => Promise.resolve()): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const method = (...args: unknown[]) => Reflect.apply(value, target, args) as unknown;
      if (!["journalResponse", "commitTurn", "finishStep", "saveCheckpoint"].includes(String(name)))
        return method;
      return async (...args: unknown[]) => {
        if (name === "saveCheckpoint") await before();
        const result = await method(...args);
        log.push(String(name));
        return result;
      };
    },
  });
}

describe("a checkpoint whose trigger is async", () => {
  it("is saved while the next model call is under way, and before its answer is journaled", async () => {
    const log: string[] = [];
    const asked = Promise.withResolvers<void>();
    const store = logged(await memoryStore(), log, () => asked.promise);
    const { say } = sayTool({}, (word, call, n) => {
      call.session.dispatch({ type: "Said", word });
      log.push(`said ${word}`);
      return n;
    });
    const { runner } = sayer(store, { say }, [saying("one"), saying("two")], {
      checkpointTrigger: late,
      // The second answer is there only after the request for it was sent.
      onEvent: ({ type, ...event }) => {
        if (type === "turn.started" && "turn" in event && event.turn === 2) setTimeout(asked.resolve, 20);
      },
    });
    expect(await runner.run("Go", { runId: "r-1" })).toMatchObject({ status: "succeeded" });
    expect(log).toEqual([
      "journalResponse",
      "said one",
      "commitTurn",
      "saveCheckpoint",
      "journalResponse",
      "said two",
      "commitTurn",
      "saveCheckpoint",
      "commitTurn",
      "finishStep",
    ]);
    expect(await checkpointsOf(store)).toEqual(["1 milestone worker#1", "2 milestone worker#2"]);
    expect((await store.readCheckpoint("r-1", 1))?.snapshot.slices).toEqual({
      words: { version: 1, values: ["one"] },
    });
  });

  it("is announced when it is durable", async () => {
    const store = await memoryStore();
    const events: RunEvent[] = [];
    const { say } = sayTool();
    const { runner } = sayer(store, { say }, [saying("one")], {
      checkpointTrigger: late,
      onEvent: (event) => events.push(event),
    });
    await runner.run("Go", { runId: "r-1" });
    const saved = events.filter(({ type }) => type === "checkpoint.saved");
    expect(saved).toMatchObject([{ turn: 1, checkpoint: 1 }]);
  });

  it("that cannot be saved is a warning: the run continues, and its step ends with a checkpoint", async () => {
    const store = await memoryStore();
    const full = logged(store, [], () =>
      Promise.reject(new StoreUnavailableError("The disk is full.", { reason: "full" })),
    );
    const warnings: string[] = [];
    const { say, spoken } = sayTool();
    const { runner } = sayer(full, { say }, [saying("one"), saying("two")], {
      checkpointTrigger: late,
      onEvent: (event) => void (event.type === "warning" && warnings.push(event.message)),
    });
    expect(await runner.run("Go", { runId: "r-1" })).toMatchObject({ status: "succeeded" });
    expect(warnings).toEqual([
      expect.stringMatching(/^A checkpoint could not be saved, and the run continues without it: The disk/),
      expect.stringMatching(/^A checkpoint could not be saved/),
    ]);
    expect(spoken).toEqual(["one", "two"]);
    expect(await checkpointsOf(store)).toEqual(["1 step_boundary worker#0"]);
  });

  it("of a turn with another milestone that may not be late is part of the commit", async () => {
    const log: string[] = [];
    const store = logged(await memoryStore(), log);
    const { say } = sayTool({}, (word, call) => {
      call.session.dispatch({ type: "Said", word });
      if (word === "done") call.session.dispatch({ type: "UpdateStep", id: 1, status: "done" });
      return word;
    });
    const { runner } = sayer(store, { say }, [asking(["say", { word: "done" }])], {
      checkpointTrigger: late,
    });
    await runner.run("Go", { runId: "r-1" });
    expect(log).not.toContain("saveCheckpoint");
    expect(await checkpointsOf(store)).toEqual(["1 milestone worker#1"]);
  });
});
