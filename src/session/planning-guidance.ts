/** The way in which the agent is instructed to work with its plan. */
export type PlanningStrategy = "react" | "plan_act_reflect" | "goal_decompose_route_synthesise";

// None of these may contain COMPLETE or DONE in capitals: instructions with such a word make it the completion signal.
export const PLANNING_GUIDANCE: { readonly [strategy in PlanningStrategy]: string } = {
  react: `Work in short rounds. In each:
1. Think: say in a sentence what you know and what the next step of the plan needs.
2. Act: take one action towards it.
3. Observe: read the result before you think again, and change the plan where it shows that the plan is wrong.`,

  plan_act_reflect: `Work in three phases, and come back to the first when the last one says so:
1. Plan: set up the plan before you act, in steps that each leave something behind.
2. Act: take the steps in order, one at a time; mark a step \`in_progress\` when you begin it.
3. Reflect: after each step compare its result with the objective, then mark it \`done\`, and add or rename the steps that are left.`,

  goal_decompose_route_synthesise: `Work from the goal down, and back up:
1. Goal: state the objective so that anybody could tell whether it is reached.
2. Decompose: split it into steps that do not depend on each other where they need not.
3. Route: give each step to the tool that fits it best, and mark it \`done\` when its result is there.
4. Synthesise: make the last step one that puts the results together and checks them against the goal.`,
};

/** Without a plan there are no milestones to return to, so the agent is instructed to make one. */
export const PLANNING_REQUIREMENT = `### Planning Requirement

For tasks with multiple steps or any complexity:
1. Always start with \`planning_setup_plan\` to define the objective
2. Break work into discrete steps
3. Mark steps as \`done\` when complete
4. Progress is saved automatically when steps complete

Skipping planning means progress cannot be saved if interrupted.`;
