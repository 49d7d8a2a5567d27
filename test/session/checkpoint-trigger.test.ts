import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { CheckpointTrigger } from "../../src/session/checkpoint-trigger.ts";
import { addStep, planSlice, setupPlan, updateStep } from "../../src/session/plan.ts";
import { Session } from "../../src/session/session.ts";

const session = new Session({ id: "s", createdAt: 0, slices: [planSlice] });
session.dispatch(setupPlan("Ship it", ["Build"]));

describe("a checkpoint trigger", () => {
  it("by default fires when a step of the plan is done, and on nothing else", () => {
    const trigger = new CheckpointTrigger();
    expect(trigger.eventTypes).toEqual(["UpdateStep"]);
    expect(trigger.shouldCheckpoint(updateStep(1, { status: "done" }), session)).toBe(true);
    for (const event of [
      updateStep(1, { status: "in_progress" }),
      updateStep(1, { title: "done" }),
      setupPlan("Ship it", ["Build"]),
      addStep("Test"),
      { type: "MilestoneReached", status: "done" },
    ])
      expect(trigger.shouldCheckpoint(event, session)).toBe(false);
  });

  it("fires on every event of the given types, but on updates only when done", () => {
    const trigger = new CheckpointTrigger({ eventTypes: ["SetupPlan", "AddStep", "UpdateStep"] });
    expect(trigger.shouldCheckpoint(setupPlan("Ship it", []), session)).toBe(true);
    expect(trigger.shouldCheckpoint(addStep("Test"), session)).toBe(true);
    expect(trigger.shouldCheckpoint(updateStep(1, { status: "done" }), session)).toBe(true);
    expect(trigger.shouldCheckpoint(updateStep(1, { status: "pending" }), session)).toBe(false);
  });

  it("takes only the given types, which then exclude the plan's", () => {
    const trigger = new CheckpointTrigger({ eventTypes: ["MilestoneReached"] });
    expect(trigger.shouldCheckpoint({ type: "MilestoneReached" }, session)).toBe(true);
    expect(trigger.shouldCheckpoint(updateStep(1, { status: "done" }), session)).toBe(false);
    expect(new CheckpointTrigger({ eventTypes: [] }).shouldCheckpoint({ type: "x" }, session)).toBe(false);
  });

  it("lets a predicate decide about events of its types, given the event and the session", () => {
    const trigger = new CheckpointTrigger({
      eventTypes: ["Scored", "UpdateStep"],
      when: (event, view) => event.score === 7 && view.query(planSlice).latest()?.objective === "Ship it",
    });
    expect(trigger.shouldCheckpoint({ type: "Scored", score: 7 }, session)).toBe(true);
    expect(trigger.shouldCheckpoint({ type: "Scored", score: 6 }, session)).toBe(false);
    expect(trigger.shouldCheckpoint({ type: "Other", score: 7 }, session)).toBe(false);
    expect(trigger.shouldCheckpoint({ type: "UpdateStep", score: 7 }, session)).toBe(true);
  });

  it("refuses a predicate that does not return true or false", () => {
    const trigger = new CheckpointTrigger({ eventTypes: ["x"], when: (async () => true) as never });
    expect(() => trigger.shouldCheckpoint({ type: "x" }, session)).toThrow(ConfigurationError);
    expect(() => trigger.shouldCheckpoint({ type: "x" }, session)).toThrow(/return true or false/);
  });

  it("saves with the commit unless it says otherwise, and finished steps of the plan always", () => {
    const done = updateStep(1, { status: "done" });
    const eventTypes = ["Scored", "UpdateStep"];
    for (const trigger of [
      new CheckpointTrigger(),
      new CheckpointTrigger({ eventTypes, checkpoint: "sync" }),
    ])
      expect([trigger.mayBeLate({ type: "Scored" }), trigger.mayBeLate(done)]).toEqual([false, false]);
    const late = new CheckpointTrigger({ eventTypes, checkpoint: "async" });
    expect([late.mayBeLate({ type: "Scored" }), late.mayBeLate(done)]).toEqual([true, false]);
    expect(() => new CheckpointTrigger({ checkpoint: "later" as never })).toThrow(/use "sync" or "async"/);
  });

  it("refuses types that are not names, and a predicate that is not a function", () => {
    for (const eventTypes of ["UpdateStep", [""], [7]])
      expect(() => new CheckpointTrigger({ eventTypes: eventTypes as never })).toThrow(ConfigurationError);
    expect(() => new CheckpointTrigger({ when: true as never })).toThrow(ConfigurationError);
  });
});
