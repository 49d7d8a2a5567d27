import fc from "fast-check";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { SessionEvent } from "../../src/core/session-event.ts";
import { addStep, type Plan, planSlice, setupPlan, updateStep } from "../../src/session/plan.ts";
import { Session } from "../../src/session/session.ts";

function planOf(...events: readonly SessionEvent[]): Plan | null {
  const session = new Session({ id: "s", createdAt: 0, slices: [planSlice] });
  for (const event of events) session.dispatch(event);
  return session.query(planSlice).latest();
}

const twoSteps = setupPlan("Ship it", ["Build", "Test"]);
const done = (id: number) => updateStep(id, { status: "done" });

describe("the plan", () => {
  it("is typed, and null at first", () => {
    const session = new Session({ id: "s", createdAt: 0, slices: [planSlice] });
    const plan = session.query(planSlice).latest();
    expectTypeOf(plan).toEqualTypeOf<Plan | null>();
    expect(plan).toBeNull();
  });

  it("is set up with pending steps, numbered from 1, texts trimmed", () => {
    expect(planOf(setupPlan("  Ship it ", [" Build", "Test\n"]))).toEqual({
      objective: "Ship it",
      status: "active",
      steps: [
        { id: 1, title: "Build", status: "pending" },
        { id: 2, title: "Test", status: "pending" },
      ],
    });
    expect(planOf(setupPlan("Ship it", []))).toEqual({ objective: "Ship it", status: "active", steps: [] });
  });

  it("is replaced by a new one, and only the new one is kept", () => {
    const session = new Session({ id: "s", createdAt: 0, slices: [planSlice] });
    session.dispatch(twoSteps);
    session.dispatch(setupPlan("Rest", ["Sleep"]));
    expect(
      session
        .query(planSlice)
        .all()
        .map(({ objective }) => objective),
    ).toEqual(["Rest"]);
    expect(session.query(planSlice).latest()?.steps[0]?.id).toBe(1);
  });

  it("gets more steps at its end, with ids that were never used", () => {
    const plan = planOf(twoSteps, done(1), addStep("Document", " Announce "), addStep("Rest"));
    expect(plan?.steps.map(({ id, title }) => [id, title])).toEqual([
      [1, "Build"],
      [2, "Test"],
      [3, "Document"],
      [4, "Announce"],
      [5, "Rest"],
    ]);
  });

  it("changes the title, the status, or both of one step, and leaves the others as they are", () => {
    expect(planOf(twoSteps, updateStep(2, { status: "in_progress" }))?.steps).toEqual([
      { id: 1, title: "Build", status: "pending" },
      { id: 2, title: "Test", status: "in_progress" },
    ]);
    expect(planOf(twoSteps, updateStep(1, { title: " Compile " }))?.steps[0]).toEqual({
      id: 1,
      title: "Compile",
      status: "pending",
    });
    expect(planOf(twoSteps, updateStep(1, { title: "Compile", status: "done" }))?.steps[0]).toEqual({
      id: 1,
      title: "Compile",
      status: "done",
    });
    expect(planOf(twoSteps, done(1), updateStep(1, { status: "pending" }))?.steps[0]?.status).toBe("pending");
  });

  it("is completed when all of its steps are done, not before, and not without steps", () => {
    expect(planOf(twoSteps, done(1))?.status).toBe("active");
    expect(planOf(twoSteps, done(1), done(2))?.status).toBe("completed");
    expect(planOf(setupPlan("Ship it", []))?.status).toBe("active");
  });

  it("does not change after it is completed, until a new one is set up", () => {
    const completed = [twoSteps, done(1), done(2)];
    for (const event of [
      addStep("More"),
      updateStep(1, { status: "pending" }),
      updateStep(1, { title: "x" }),
    ])
      expect(planOf(...completed, event)).toEqual(planOf(...completed));
    expect(planOf(...completed, setupPlan("Rest", ["Sleep"]))?.status).toBe("active");
  });

  const long = "x".repeat(501);
  it.each<[string, SessionEvent]>([
    ["an update of a step that does not exist", done(3)],
    ["an update of step 0", done(0)],
    ["an update by a text", { type: "UpdateStep", id: "1", status: "done" }],
    ["an update without a change", { type: "UpdateStep", id: 1 }],
    ["an unknown status", { type: "UpdateStep", id: 1, status: "finished" }],
    ["a status of null", { type: "UpdateStep", id: 1, status: null }],
    ["an empty title", updateStep(1, { title: "  " })],
    ["a title that is too long", updateStep(1, { title: long })],
    ["a good status with a bad title", updateStep(1, { title: "", status: "done" })],
    ["no steps to add", addStep()],
    ["a step to add that is empty", addStep("Document", " ")],
    ["a step to add that is too long", addStep(long)],
    ["steps that are not a list", { type: "AddStep", steps: "Document" }],
    ["steps that are not strings", { type: "AddStep", steps: [7] }],
    ["no steps at all", { type: "AddStep" }],
    ["a plan without an objective", { type: "SetupPlan", steps: [] }],
    ["a plan with an empty objective", setupPlan(" ", ["a"])],
    ["a plan with an objective that is too long", setupPlan(long, ["a"])],
    ["a plan with an empty step", setupPlan("Ship it", ["a", ""])],
    ["a plan without a list of steps", { type: "SetupPlan", objective: "Ship it" }],
    ["an update to the same values", updateStep(1, { title: "Build", status: "pending" })],
  ])("is not changed by %s", (_what, event) => {
    const session = new Session({ id: "s", createdAt: 0, slices: [planSlice] });
    session.dispatch(twoSteps);
    const before = session.state;
    session.dispatch(event);
    expect(session.state).toBe(before);
  });

  it("takes no step and no update before it is set up", () => {
    expect(planOf(addStep("a"))).toBeNull();
    expect(planOf(done(1))).toBeNull();
  });

  it("takes titles of 1 and of 500 characters", () => {
    const titles = ["x", "x".repeat(500)];
    expect(planOf(setupPlan(` ${"o".repeat(500)} `, titles))?.steps.map(({ title }) => title)).toEqual(
      titles,
    );
  });

  it("stays a valid plan for any events in any order", () => {
    const title = fc.oneof(fc.string({ maxLength: 4 }), fc.constant(long));
    const odd = fc.option(fc.oneof(fc.nat(5), title, fc.array(title, { maxLength: 2 })));
    const event = fc.record(
      {
        type: fc.constantFrom("SetupPlan", "AddStep", "UpdateStep"),
        objective: odd,
        steps: fc.oneof(odd, fc.array(fc.constantFrom("a", "b"), { maxLength: 3 })),
        id: odd,
        title: odd,
        status: fc.oneof(odd, fc.constantFrom("pending", "in_progress", "done")),
      },
      { requiredKeys: ["type"] },
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), (events) => {
        const plan = planOf(twoSteps, ...events);
        expect(plan?.steps.map(({ id }) => id)).toEqual(plan?.steps.map((_, index) => index + 1));
        const isDone = plan?.steps.length !== 0 && plan?.steps.every(({ status }) => status === "done");
        expect(plan?.status).toBe(isDone ? "completed" : "active");
      }),
      { numRuns: 300 },
    );
  });
});
