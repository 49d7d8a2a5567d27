import { setImmediate } from "node:timers/promises";
import { describe, expect, expectTypeOf, it } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { EventBus } from "../../src/session/event-bus.ts";

const committed = { runId: "r", step: "research", turn: 1, isComplete: false };

const lateBoom: () => unknown = async () => {
  await setImmediate();
  throw new Error("late boom");
};

describe("the event bus", () => {
  it("tells each subscriber of its own type of event", () => {
    const bus = new EventBus();
    const told: unknown[] = [];
    bus.subscribe("TurnCommitted", (event) => {
      expectTypeOf(event.isComplete).toEqualTypeOf<boolean>();
      told.push(["one", event]);
    });
    bus.subscribe("TurnCommitted", (event) => told.push(["two", event]));
    bus.subscribe("PromptExecuted", () => told.push("wrong"));
    bus.publish("TurnCommitted", committed);
    expect(told).toEqual([
      ["one", committed],
      ["two", committed],
    ]);
  });

  it("tells nobody whose subscription has ended, not even in the middle of telling", () => {
    const bus = new EventBus();
    const told: string[] = [];
    bus.subscribe("TurnCommitted", () => {
      told.push("one");
      endTwo();
    });
    const endTwo = bus.subscribe("TurnCommitted", () => told.push("two"));
    bus.publish("TurnCommitted", committed);
    expect(told).toEqual(["one"]);
  });

  it("does not tell who subscribed in the middle of telling", () => {
    const bus = new EventBus();
    let told = 0;
    bus.subscribe("TurnCommitted", () => {
      bus.subscribe("TurnCommitted", () => told++);
    });
    bus.publish("TurnCommitted", committed);
    expect(told).toBe(0);
  });

  it("keeps a handler that throws, now or later, from harming anybody", async () => {
    const bus = new EventBus();
    const told: string[] = [];
    const failures: string[] = [];
    bus.subscribe("ObserverFailed", ({ message }) => failures.push(message));
    bus.subscribe("TurnCommitted", () => {
      throw new Error("boom");
    });
    bus.subscribe("TurnCommitted", lateBoom);
    bus.subscribe("TurnCommitted", () => told.push("three"));
    bus.publish("TurnCommitted", committed);
    expect(told).toEqual(["three"]);
    await setImmediate();
    await setImmediate();
    expect(failures).toEqual([
      "A handler of TurnCommitted failed: boom",
      "A handler of TurnCommitted failed: late boom",
    ]);
  });

  it("swallows what a handler of failures throws", () => {
    const bus = new EventBus();
    const told: string[] = [];
    bus.subscribe("ObserverFailed", () => {
      throw new Error("boom");
    });
    bus.subscribe("ObserverFailed", ({ message }) => told.push(message));
    bus.publish("ObserverFailed", { message: "first" });
    expect(told).toEqual(["first"]);
  });

  it("tells nobody any more once it is closed", () => {
    const bus = new EventBus();
    let told = 0;
    bus.subscribe("TurnCommitted", () => told++);
    bus.close();
    bus.publish("TurnCommitted", committed);
    expect(told).toBe(0);
    expect(() => bus.subscribe("TurnCommitted", () => told++)).toThrow(ConfigurationError);
  });

  it("refuses a type that there is not, and lists those there are", () => {
    const subscribe = () => new EventBus().subscribe("TurnComitted" as never, () => undefined);
    expect(subscribe).toThrow(ConfigurationError);
    expect(subscribe).toThrow(/no event "TurnComitted": use one of ToolInvoked, .*TurnCommitted/);
  });
});
