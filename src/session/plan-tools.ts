import { z } from "zod";
import { once } from "../core/once.ts";
import {
  addStep,
  isPlanStepStatus,
  LONGEST_TITLE,
  PLAN_STEP_STATUSES,
  type Plan,
  type PlanStepStatus,
  planSlice,
  planTitle,
  setupPlan,
  updateStep,
} from "./plan.ts";
import { type SessionTool, sessionTool } from "./session-tool.ts";
import type { SessionView } from "./session-view.ts";

export type { SessionTool } from "./session-tool.ts";

// The model sees the limits, but the schema does not enforce them: a call that breaks one gets a sentence from here instead
// of a validator's message.
const titleInput = (description: string) =>
  z.string().describe(description).meta({ minLength: 1, maxLength: LONGEST_TITLE });
const stepsInput = () => z.array(titleInput("What is to be done, in one line."));

const setupPlanTool = () =>
  sessionTool({
    name: "planning_setup_plan",
    description:
      "Set up the plan: the objective and the steps that lead to it. Replaces the present plan, if there is one.",
    inputSchema: z.object({
      objective: titleInput("What is to be achieved."),
      steps: stepsInput().default([]).describe("The steps, in order; more can be added later."),
    }),
    run: ({ objective, steps }, session) => {
      const replaced = session.query(planSlice).latest();
      session.dispatch(setupPlan(titleOrThrow("The objective", objective), titlesOrThrow(steps)));
      return `${replaced === null ? "The plan is set up" : "The plan is set up in place of the earlier one"}.\n\n${presentPlan(session)}`;
    },
  });

const addStepTool = () =>
  sessionTool({
    name: "planning_add_step",
    description: "Add one or more steps at the end of the plan.",
    inputSchema: z.object({ steps: stepsInput() }),
    run: ({ steps }, session) => {
      activePlanOrThrow(session);
      if (steps.length === 0) throw new Error("Give at least one step to add.");
      session.dispatch(addStep(...titlesOrThrow(steps)));
      return `${steps.length === 1 ? "The step is" : `${steps.length} steps are`} added.\n\n${presentPlan(session)}`;
    },
  });

const updateStepTool = () =>
  sessionTool({
    name: "planning_update_step",
    description:
      "Change the status or the title of one step of the plan. Progress is saved when a step becomes done.",
    inputSchema: z.object({
      id: z.number().describe("The number of the step.").meta({ type: "integer" }),
      title: titleInput("A new title.").nullish(),
      status: z
        .string()
        .meta({ enum: [...PLAN_STEP_STATUSES] })
        .nullish(),
    }),
    run: ({ id, title, status }, session) => {
      const plan = activePlanOrThrow(session);
      assertStep(plan, id);
      const change = {
        title: title === undefined || title === null ? undefined : titleOrThrow("The title", title),
        status: status === undefined || status === null ? undefined : statusOrThrow(status),
      };
      if (change.title === undefined && change.status === undefined)
        throw new Error("Give a new title, a new status, or both.");
      // Dispatched even if the plan has this state already: the receipt may be applied to an earlier plan.
      session.dispatch(updateStep(id, change));
      return `Step ${id} is updated.\n\n${presentPlan(session)}`;
    },
  });

const readPlanTool = () =>
  sessionTool({
    name: "planning_read_plan",
    description: "Read the plan: its objective, and its steps with their status.",
    inputSchema: z.object({}),
    run: (_input, session) => presentPlan(session),
  });

/** The planning tools of an agent. They enforce the rules; the slice's reducers accept what the tools let through. */
export const planTools: () => readonly SessionTool[] = once(() => [
  setupPlanTool(),
  addStepTool(),
  updateStepTool(),
  readPlanTool(),
]);

const NO_PLAN = "There is no plan yet: set one up with planning_setup_plan.";

function presentPlan(session: SessionView): string {
  const plan = session.query(planSlice).latest();
  if (plan === null) return NO_PLAN;
  const steps = plan.steps.map(({ id, title, status }) => `${id}. [${status}] ${title}`);
  return [
    `Objective: ${plan.objective}`,
    `Status: ${plan.status}`,
    ...(steps.length === 0 ? ["There are no steps yet: add some with planning_add_step."] : steps),
  ].join("\n");
}

function activePlanOrThrow(session: SessionView): Plan {
  const plan = session.query(planSlice).latest();
  if (plan === null) throw new Error(NO_PLAN);
  if (plan.status === "completed")
    throw new Error("The plan is completed: set up a new one with planning_setup_plan.");
  return plan;
}

function assertStep({ steps }: Plan, id: number): void {
  if (steps.some((step) => step.id === id)) return;
  throw new Error(`There is no step ${id}: ${describeIds(steps.map((step) => step.id))}.`);
}

function describeIds(ids: readonly number[]): string {
  if (ids.length === 0) return "the plan has no steps yet, add some with planning_add_step";
  if (ids.length === 1) return `the plan has only step ${ids[0]}`;
  return `the plan has steps ${ids[0]} to ${ids.at(-1)}`;
}

function statusOrThrow(status: string): PlanStepStatus {
  if (isPlanStepStatus(status)) return status;
  throw new Error(`${JSON.stringify(status)} is no status of a step: use ${PLAN_STEP_STATUSES.join(", ")}.`);
}

function titlesOrThrow(steps: readonly string[]): readonly string[] {
  return steps.map((title, index) => titleOrThrow(`The title of new step ${index + 1}`, title));
}

function titleOrThrow(what: string, text: string): string {
  const title = planTitle(text);
  if (title !== null) return title;
  const { length } = text.trim();
  if (length === 0) throw new Error(`${what} is empty: give it 1 to ${LONGEST_TITLE} characters.`);
  throw new Error(`${what} has ${length} characters: shorten it to ${LONGEST_TITLE} or fewer.`);
}
