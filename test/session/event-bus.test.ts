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
  it("notifies each subscriber of its own event type", () => {
    const bus = new EventBus();
    const received: unknown[] = [];
    bus.subscribe("TurnCommitted", (event) => {
      expectTypeOf(event.isComplete).toEqualTypeOf<boolean>();
      received.push(["one", event]);
    });
    bus.subscribe("TurnCommitted", (event) => received.push(["two", event]));
    bus.subscribe("PromptExecuted", () => received.push("wrong"));
    bus.publish("TurnCommitted", committed);
    expect(received).toEqual([
      ["one", committed],
      ["two", committed],
    ]);
  });

  it("does not notify a subscriber that has unsubscribed, not even while it is emitting", () => {
    const bus = new EventBus();
    const received: string[] = [];
    bus.subscribe("TurnCommitted", () => {
      received.push("one");
      endTwo();
    });
    const endTwo = bus.subscribe("TurnCommitted", () => received.push("two"));
    bus.publish("TurnCommitted", committed);
    expect(received).toEqual(["one"]);
  });

  it("does not notify a handler that subscribed while it was emitting", () => {
    const bus = new EventBus();
    let calls = 0;
    bus.subscribe("TurnCommitted", () => {
      bus.subscribe("TurnCommitted", () => calls++);
    });
    bus.publish("TurnCommitted", committed);
    expect(calls).toBe(0);
  });

  it("isolates the other handlers from one that throws, now or later", async () => {
    const bus = new EventBus();
    const received: string[] = [];
    const failures: string[] = [];
    bus.subscribe("ObserverFailed", ({ message }) => failures.push(message));
    bus.subscribe("TurnCommitted", () => {
      throw new Error("boom");
    });
    bus.subscribe("TurnCommitted", lateBoom);
    bus.subscribe("TurnCommitted", () => received.push("three"));
    bus.publish("TurnCommitted", committed);
    expect(received).toEqual(["three"]);
    await setImmediate();
    await setImmediate();
    expect(failures).toEqual([
      "A handler of TurnCommitted failed: boom",
      "A handler of TurnCommitted failed: late boom",
    ]);
  });

  it("swallows what a handler of failures throws", () => {
    const bus = new EventBus();
    const received: string[] = [];
    bus.subscribe("ObserverFailed", () => {
      throw new Error("boom");
    });
    bus.subscribe("ObserverFailed", ({ message }) => received.push(message));
    bus.publish("ObserverFailed", { message: "first" });
    expect(received).toEqual(["first"]);
  });

  it("notifies no handler once it is closed", () => {
    const bus = new EventBus();
    let calls = 0;
    bus.subscribe("TurnCommitted", () => calls++);
    bus.close();
    bus.publish("TurnCommitted", committed);
    expect(calls).toBe(0);
    expect(() => bus.subscribe("TurnCommitted", () => calls++)).toThrow(ConfigurationError);
  });

  it("refuses an unknown event type, and lists the known ones", () => {
    const subscribe = () => new EventBus().subscribe("TurnComitted" as never, () => undefined);
    expect(subscribe).toThrow(ConfigurationError);
    expect(subscribe).toThrow(/no event "TurnComitted": use one of ToolInvoked, .*TurnCommitted/);
  });
});
