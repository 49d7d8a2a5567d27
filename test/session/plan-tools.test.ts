import { describe, expect, it } from "vitest";
import { z } from "zod";
import { DraftSession } from "../../src/session/draft-session.ts";
import { planSlice, setupPlan, updateStep } from "../../src/session/plan.ts";
import { planTools } from "../../src/session/plan-tools.ts";
import { Session } from "../../src/session/session.ts";
import type { SessionView } from "../../src/session/session-view.ts";

function newSession(): Session {
  return new Session({ id: "s", createdAt: 0, slices: [planSlice] });
}

function planned(steps: readonly string[] = ["Build", "Test", "Document", "Announce"]): Session {
  const session = newSession();
  session.dispatch(setupPlan("Ship it", steps));
  return session;
}

/** Calls the tool as the engine does: the arguments are parsed by the schema first. */
function call(name: string, input: unknown, session: SessionView): string {
  const tool = planTools().find((each) => each.name === `planning_${name}`);
  if (tool === undefined) throw new Error(`There is no tool ${name}.`);
  return tool.run(tool.inputSchema.parse(input) as never, session);
}

describe("the planning tools", () => {
  it("are four, each with a description and a schema for the model", () => {
    expect(planTools().map(({ name }) => name)).toEqual([
      "planning_setup_plan",
      "planning_add_step",
      "planning_update_step",
      "planning_read_plan",
    ]);
    for (const { description, inputSchema } of planTools()) {
      expect(description).toMatch(/\.$/);
      expect(z.toJSONSchema(inputSchema, { io: "input" })).toMatchObject({ type: "object" });
    }
  });

  it("show the model their rules", () => {
    const [setup, , update] = planTools().map(({ inputSchema }) =>
      z.toJSONSchema(inputSchema, { io: "input" }),
    );
    expect(setup).toMatchObject({
      required: ["objective"],
      properties: { objective: { minLength: 1, maxLength: 500 }, steps: { items: { maxLength: 500 } } },
    });
    expect(JSON.stringify(update)).toContain('"enum":["pending","in_progress","done"]');
    expect(update).toMatchObject({ required: ["id"], properties: { id: { type: "integer" } } });
  });

  it("set up a plan", () => {
    const session = newSession();
    const answer = call("setup_plan", { objective: " Ship it ", steps: ["Build ", "Test"] }, session);
    expect(answer).toBe(
      "The plan is set up.\n\nObjective: Ship it\nStatus: active\n1. [pending] Build\n2. [pending] Test",
    );
    expect(session.query(planSlice).latest()?.steps).toHaveLength(2);
  });

  it("set up a plan whose steps are added later, and say how", () => {
    const session = newSession();
    expect(call("setup_plan", { objective: "Ship it" }, session)).toMatch(
      /no steps yet: add some with planning_add_step/,
    );
    expect(session.query(planSlice).latest()?.steps).toEqual([]);
  });

  it("report that a new plan replaced the earlier one", () => {
    const answer = call("setup_plan", { objective: "Rest", steps: ["Sleep"] }, planned());
    expect(answer).toMatch(/^The plan is set up in place of the earlier one\./);
  });

  it("add steps", () => {
    const session = planned(["Build"]);
    expect(call("add_step", { steps: ["Test"] }, session)).toMatch(
      /^The step is added\.[^]*2\. \[pending\] Test$/,
    );
    expect(call("add_step", { steps: ["a", "b"] }, session)).toMatch(/^2 steps are added\./);
    expect(session.query(planSlice).latest()?.steps).toHaveLength(4);
  });

  it("update a step, and report the changed plan", () => {
    const session = planned(["Build"]);
    expect(call("update_step", { id: 1, title: " Compile " }, session)).toMatch(/1\. \[pending\] Compile$/);
    expect(call("update_step", { id: 1, status: "done", title: null }, session)).toBe(
      "Step 1 is updated.\n\nObjective: Ship it\nStatus: completed\n1. [done] Compile",
    );
  });

  it("keep an event that changes nothing in this plan, because another plan may need it", () => {
    const session = planned();
    session.dispatch(updateStep(2, { status: "done" }));
    const draft = new DraftSession(session, () => session.state);
    call("update_step", { id: 2, status: "done" }, draft);
    expect(draft.events).toEqual([{ type: "UpdateStep", id: 2, status: "done" }]);
  });

  it("read the plan, and report if there is none", () => {
    expect(call("read_plan", {}, planned(["Build"]))).toBe(
      "Objective: Ship it\nStatus: active\n1. [pending] Build",
    );
    expect(call("read_plan", {}, newSession())).toBe(
      "There is no plan yet: set one up with planning_setup_plan.",
    );
  });
});

describe("a bad call of a planning tool changes nothing, and answers", () => {
  const long = "x".repeat(501);
  it.each<[string, unknown, string]>([
    ["setup_plan", { objective: "  " }, "The objective is empty: give it 1 to 500 characters."],
    ["setup_plan", { objective: long }, "The objective has 501 characters: shorten it to 500 or fewer."],
    [
      "setup_plan",
      { objective: "Ship it", steps: ["a", " "] },
      "The title of new step 2 is empty: give it 1 to 500 characters.",
    ],
    ["add_step", { steps: [] }, "Give at least one step to add."],
    [
      "add_step",
      { steps: [long] },
      "The title of new step 1 has 501 characters: shorten it to 500 or fewer.",
    ],
    ["update_step", { id: 7, status: "done" }, "There is no step 7: the plan has steps 1 to 4."],
    ["update_step", { id: 0, status: "done" }, "There is no step 0: the plan has steps 1 to 4."],
    ["update_step", { id: 1.5, status: "done" }, "There is no step 1.5: the plan has steps 1 to 4."],
    ["update_step", { id: 1 }, "Give a new title, a new status, or both."],
    ["update_step", { id: 1, title: null, status: null }, "Give a new title, a new status, or both."],
    ["update_step", { id: 1, title: "" }, "The title is empty: give it 1 to 500 characters."],
    [
      "update_step",
      { id: 1, status: "finished" },
      '"finished" is no status of a step: use pending, in_progress, done.',
    ],
  ])("%s with %j", (name, input, sentence) => {
    const session = planned();
    const before = session.state;
    expect(() => call(name, input, session)).toThrow(new Error(sentence));
    expect(session.state).toBe(before);
  });

  it.each([
    ["add_step", { steps: ["a"] }],
    ["update_step", { id: 1, status: "done" }],
  ])("%s without a plan", (name, input) => {
    const sentence = "There is no plan yet: set one up with planning_setup_plan.";
    expect(() => call(name, input, newSession())).toThrow(new Error(sentence));
  });

  it.each([
    ["add_step", { steps: ["a"] }],
    ["update_step", { id: 1, status: "pending" }],
  ])("%s on a completed plan", (name, input) => {
    const session = planned(["Build"]);
    session.dispatch(updateStep(1, { status: "done" }));
    const sentence = "The plan is completed: set up a new one with planning_setup_plan.";
    expect(() => call(name, input, session)).toThrow(new Error(sentence));
  });

  it("update_step on a plan with one step, and on one with none", () => {
    const update = { id: 2, status: "done" };
    expect(() => call("update_step", update, planned(["Build"]))).toThrow(
      new Error("There is no step 2: the plan has only step 1."),
    );
    expect(() => call("update_step", update, planned([]))).toThrow(
      new Error("There is no step 2: the plan has no steps yet, add some with planning_add_step."),
    );
  });
});
