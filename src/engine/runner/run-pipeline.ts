import { canonicalJson } from "../../core/canonical-json.ts";
import { BudgetExceededError } from "../../core/errors.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { ROOT_PATH, type StepPath } from "../../core/step-path.ts";
import { BUDGET_NAMES } from "../../core/usage/budget.ts";
import type { NewBudgetWait } from "../../core/wait.ts";
import type { Session } from "../../session/session.ts";
import { askAboutBudget } from "../call/call-questions.ts";
import type { Agent } from "../definition/agent.ts";
import { assertSameShape, shapeOf } from "../definition/pipeline/pipeline-shape.ts";
import type { PipelineStep, StepNode } from "../definition/step.ts";
import type { ActiveRun, RunWith } from "../run/active-run.ts";
import { assertMayBegin } from "../run/deadline.ts";
import { assertRequirementsMet } from "../run/run-requirements.ts";
import { executeStep } from "../steps/execute-step.ts";
import type { StepRegistry } from "../steps/step-registry.ts";
import { assertRulesBind } from "./binding-rules.ts";
import { assertFeasible } from "./step-problems.ts";

/** The pipeline of a run, and how far the run has come. */
export type PipelineRunOptions = {
  readonly registry: StepRegistry;
  readonly root: PipelineStep;
  readonly resumed: boolean;
  /** The step that began last; null if none has begun. */
  readonly currentStep: StepPath | null;
  /** Other pipelines that the runner's rules apply to. */
  readonly otherPipelines: readonly (Agent | StepNode)[];
  /** Called with the session before the first step. */
  readonly onSession: (session: Session) => void;
};

/** Executes a run's pipeline from its last commit to the end. A forecast calls it with a store that writes nothing. */
export async function runPipeline(
  run: ActiveRun,
  { registry, root, resumed, currentStep, otherPipelines, onSession }: PipelineRunOptions,
): Promise<{ readonly output: Json; readonly context: JsonObject }> {
  assertMayBegin(run);
  if (resumed) await assertNotDenied(run);
  await openSession(run, onSession);
  if (resumed) await run.artifacts.restore();
  const input = await readInput(run, root, currentStep);
  if (currentStep === null) await assertFeasible(run, root);
  if (currentStep === null) await assertRulesBind(run, root, otherPipelines);
  const context = { value: {} as JsonObject };
  const output = await executeStep(registry, root, { run, path: ROOT_PATH, input, context });
  if (run.contract.budget.reached !== null) throw run.contract.budget.reached;
  await assertRequirementsMet(run, output);
  return { output, context: context.value };
}

/** Throws if a person was asked for a higher budget and denied it: the run ends with that. */
async function assertNotDenied({
  store,
  runId,
  contract: { spec, budget },
}: RunWith<"store" | "runId" | "contract">): Promise<void> {
  if (spec?.escalation.askHumanOnBudgetReached !== true) return;
  const asked = (await store.listWaits(runId)).filter(({ kind }) => kind === "budget");
  for (const { subject, answer } of asked) {
    const name = BUDGET_NAMES.find((each) => each === subject.budget);
    if (name === undefined || answer === null || !("approved" in answer)) continue;
    const limit = budget.limits[name];
    if (limit !== null && limit === subject.limit) throw budget.exceeded(name, limit, Number(subject.used));
  }
}

/** Loads the session. If it does not fit, and `onSliceMismatch` is `fresh`, the work starts again; the ledger is kept. */
async function openSession(
  { keeper, resume: { milestone } }: RunWith<"keeper" | "resume">,
  onSession: PipelineRunOptions["onSession"],
): Promise<void> {
  const fits = await keeper.load({ isRollingBack: milestone.isOpen });
  if (!fits) milestone.setDefault({ kind: "beginning" });
  onSession(keeper.session);
}

/** The input of the run, after a check that the pipeline has not changed in the part that was executed already. */
async function readInput(
  { store, runId, fence }: RunWith<"store" | "runId" | "fence">,
  root: PipelineStep,
  currentStep: StepPath | null,
): Promise<Json> {
  const { input, shape } = await store.readRunInput(runId);
  const begun = currentStep === null ? [] : await store.listSteps(runId);
  assertSameShape(
    runId,
    shape,
    root,
    begun.filter(({ status }) => status !== "skipped"),
  );
  const present = shapeOf(root);
  if (canonicalJson(present) !== canonicalJson(shape)) await store.pinShape(fence, present);
  return input;
}

/** The question about an exhausted budget; null if the spec wants none, or a person has denied more of it. */
export async function budgetQuestion(
  { store, runId, contract: { spec } }: RunWith<"store" | "runId" | "contract">,
  error: unknown,
): Promise<NewBudgetWait | null> {
  if (!BudgetExceededError.isInstance(error) || spec?.escalation.askHumanOnBudgetReached !== true)
    return null;
  const asked = askAboutBudget(error);
  const waits = await store.listWaits(runId);
  const last = waits.findLast(({ subject }) => subject.budget === asked.subject.budget);
  const answer = last?.answer ?? null;
  const isDenied = answer !== null && "approved" in answer && last?.subject.limit === asked.subject.limit;
  return isDenied ? null : asked;
}
