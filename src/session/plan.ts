import { z } from "zod";
import type { Json } from "../core/json.ts";
import type { SessionEvent } from "../core/session-event.ts";
import { builtInSlice, type Slice } from "./slice.ts";

export const PLAN_STEP_STATUSES = ["pending", "in_progress", "done"] as const;
export type PlanStepStatus = (typeof PLAN_STEP_STATUSES)[number];

/** A step of a plan. It is no step of a pipeline. */
export type PlanStep = { readonly id: number; readonly title: string; readonly status: PlanStepStatus };

/** The agent's plan and its progress. Completed when it has steps and all of them are done. */
export type Plan = {
  readonly objective: string;
  readonly status: "active" | "completed";
  readonly steps: readonly PlanStep[];
};

const SETUP_PLAN = "SetupPlan";
const ADD_STEP = "AddStep";
export const UPDATE_STEP = "UpdateStep";

/** A session event that replaces the plan. */
export type SetupPlan = {
  readonly type: typeof SETUP_PLAN;
  readonly objective: string;
  readonly steps: readonly string[];
};
/** A session event that adds steps to the plan. */
export type AddStep = { readonly type: typeof ADD_STEP; readonly steps: readonly string[] };
export type PlanStepChange = {
  readonly title?: string | undefined;
  readonly status?: PlanStepStatus | undefined;
};
/** A session event that changes a step of the plan. */
export type UpdateStep = {
  readonly type: typeof UPDATE_STEP;
  readonly id: number;
  readonly title?: string;
  readonly status?: PlanStepStatus;
};

/** A new plan, which replaces the previous one. */
export function setupPlan(objective: string, steps: readonly string[]): SetupPlan {
  return { type: SETUP_PLAN, objective, steps };
}

/** Adds steps to the end of the plan. */
export function addStep(...steps: readonly string[]): AddStep {
  return { type: ADD_STEP, steps };
}

/** Changes the title or the status of a step of the plan. */
export function updateStep(id: number, { title, status }: PlanStepChange): UpdateStep {
  return {
    type: UPDATE_STEP,
    id,
    ...(title !== undefined && { title }),
    ...(status !== undefined && { status }),
  };
}

export const LONGEST_TITLE = 500;

/** A title or an objective as it is stored, trimmed; null if it is no text, empty or too long. */
export function planTitle(text: unknown): string | null {
  if (typeof text !== "string") return null;
  const title = text.trim();
  return title.length >= 1 && title.length <= LONGEST_TITLE ? title : null;
}

export function isPlanStepStatus(status: unknown): status is PlanStepStatus {
  return PLAN_STEP_STATUSES.some((known) => known === status);
}

const title = z.string().min(1).max(LONGEST_TITLE);
const planSchema = z
  .object({
    objective: title,
    status: z.enum(["active", "completed"]),
    steps: z
      .array(z.object({ id: z.number().int().min(1), title, status: z.enum(PLAN_STEP_STATUSES) }).readonly())
      .readonly(),
  })
  .readonly();

/**
 * The plan. Its reducers never throw: an event that the planning tools would refuse changes nothing, since on a replay it
 * may be applied to another plan than the one it was made for.
 */
export const planSlice: Slice<Plan> = builtInSlice<Plan>({
  name: "plan",
  schema: planSchema,
  reducers: {
    [SETUP_PLAN]: (plans, event) => replacePlan(plans, planFrom(event)),
    [ADD_STEP]: (plans, event) => replacePlan(plans, withSteps(activePlan(plans), event.steps)),
    [UPDATE_STEP]: (plans, event) => replacePlan(plans, withUpdate(activePlan(plans), event)),
  },
});

function replacePlan(plans: readonly Plan[], plan: Plan | null): readonly Plan[] {
  return plan === null ? plans : [plan];
}

function activePlan(plans: readonly Plan[]): Plan | null {
  const plan = plans.at(-1);
  return plan?.status === "active" ? plan : null;
}

function planFrom(event: SessionEvent): Plan | null {
  const objective = planTitle(event.objective);
  const titles = planTitles(event.steps);
  if (objective === null || titles === null) return null;
  return { objective, status: "active", steps: newSteps([], titles) };
}

function withSteps(plan: Plan | null, steps: Json | undefined): Plan | null {
  const titles = planTitles(steps);
  if (plan === null || titles === null || titles.length === 0) return null;
  return { ...plan, steps: [...plan.steps, ...newSteps(plan.steps, titles)] };
}

function withUpdate(plan: Plan | null, event: SessionEvent): Plan | null {
  const step = plan?.steps.find(({ id }) => id === event.id);
  if (plan === null || step === undefined) return null;
  if (event.title === undefined && event.status === undefined) return null;
  const newTitle = event.title === undefined ? step.title : planTitle(event.title);
  const newStatus = event.status === undefined ? step.status : event.status;
  if (newTitle === null || !isPlanStepStatus(newStatus)) return null;
  if (newTitle === step.title && newStatus === step.status) return null;
  const steps = plan.steps.map((each) =>
    each === step ? { id: step.id, title: newTitle, status: newStatus } : each,
  );
  const isDone = steps.every(({ status }) => status === "done");
  return { ...plan, status: isDone ? "completed" : "active", steps };
}

function planTitles(steps: Json | undefined): readonly string[] | null {
  if (!Array.isArray(steps)) return null;
  const titles = steps.map(planTitle).filter((each) => each !== null);
  return titles.length === steps.length ? titles : null;
}

/** New ids follow the highest one: no step is ever removed, so no id is used twice. */
function newSteps(present: readonly PlanStep[], titles: readonly string[]): readonly PlanStep[] {
  const highest = Math.max(0, ...present.map(({ id }) => id));
  return titles.map((each, index) => ({ id: highest + 1 + index, title: each, status: "pending" }));
}
