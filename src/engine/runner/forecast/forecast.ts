import { PawlError } from "../../../core/errors.ts";
import type { Json, JsonObject } from "../../../core/json.ts";
import { childPath, ROOT_PATH, type StepPath } from "../../../core/step-path.ts";
import { decideTurn } from "../../../core/turn/turn-decision.ts";
import type { Amount } from "../../../core/usage/usage.ts";
import type { RunRecord, RunStatus, WaitRecord } from "../../../store/store.ts";
import { instancesOf } from "../../definition/phases.ts";
import { assertBudgetRaised } from "../../definition/run-spec-checks.ts";
import type { GranularStep, LoopStep, PipelineStep, StepNode, TurnLoopStep } from "../../definition/step.ts";
import { RunBudget } from "../../run/run-budget.ts";
import type { RunHandle } from "../../run/run-handle.ts";
import { granularExecutor, openScope, turnLoopExecutor } from "../../steps/agent-executor.ts";
import { whenExecutor } from "../../steps/blueprint/blueprint-when.ts";
import { codeStepExecutor } from "../../steps/code-step-executor.ts";
import { stepFailed } from "../../steps/execute-step.ts";
import { loopExecutor } from "../../steps/loop-executor.ts";
import { pipelineExecutor } from "../../steps/pipeline-executor.ts";
import type { Frame, StepExecutor } from "../../steps/step-executor.ts";
import { StepRegistry } from "../../steps/step-registry.ts";
import { executeTurn } from "../../turn/turn-executor.ts";
import { busy } from "../run-checks.ts";
import { goThrough, questionAbout } from "../run-pipeline.ts";
import type { ResumeOptions } from "../runner-options.ts";
import { ForecastArtifacts } from "./forecast-artifacts.ts";
import { codeStepActions, type ForecastCall, turnActions } from "./forecast-calls.ts";
import { type AsClaimed, asClaimed } from "./forecast-claim.ts";
import { ForecastEnd, ForecastStore } from "./forecast-store.ts";

export type { CallAction, ForecastCall } from "./forecast-calls.ts";

/** What `resume` would do now. Nothing was claimed, written or sent to find out. */
export type ResumeForecast = {
  readonly runId: string;
  readonly status: RunStatus;
  /** What keeps it from going on, in `next` or before it; null where nothing does. */
  readonly refusal: ForecastRefusal | null;
  /** Steps that are finished: they give their stored outputs and are not entered. */
  readonly skipped: readonly StepPath[];
  /**
   * The step that is gone on with, or begun; null where none is left. A loop where its own code has to say first whether
   * another iteration follows.
   */
  readonly next: { readonly step: StepPath; readonly phase: string; readonly isBegun: boolean } | null;
  /** What comes first in it, where it is an agent's; null too where a person has to be asked before that. */
  readonly turn: ForecastTurn | null;
  /** What becomes of each call of the turn or code step that was interrupted. */
  readonly calls: readonly ForecastCall[];
  /** Questions that nobody has answered: they are still asked when the run comes back, unless looking outside answers them. */
  readonly waits: readonly WaitRecord[];
  /** Steps that were not begun and come after it, unless the run has come to all that was asked of it before. */
  readonly later: readonly StepPath[];
};

export type ForecastRefusal = {
  readonly code: string;
  readonly message: string;
  readonly details: JsonObject;
  /** Whether a person is asked about it; the run fails where nobody is. */
  readonly isQuestion: boolean;
};

export type ForecastTurn = {
  readonly index: number;
  /** `replayed`: the model has answered already, and is not asked or paid again. `none`: all turns are there. */
  readonly response: "asked" | "replayed" | "none";
  /** The most that asking may cost; null where nothing is asked. */
  readonly mayCost: Amount | null;
};

export async function forecastRun(
  run: RunHandle,
  registry: StepRegistry,
  root: PipelineStep,
  record: RunRecord,
  isHeld: boolean,
  options: ResumeOptions = {},
): Promise<ResumeForecast> {
  const { runId, status, owner, leaseUntil } = record;
  const waits = (await run.store.listWaits(runId)).filter(
    (wait) => wait.status === "open" && !isAnsweredBy(wait, options),
  );
  const nothing = { runId, status, skipped: [], next: null, turn: null, calls: [], waits, later: [] };
  if (status === "succeeded") return { ...nothing, refusal: null };
  if (isHeld) {
    const { code, message, details } = busy(runId, { owner: owner ?? "another process", until: leaseUntil });
    return { ...nothing, refusal: { code, message, details, isQuestion: false } };
  }
  const trial = new Trial(run, registry, await asClaimed(run, record, options));
  try {
    const error = await trial.go(root, options);
    const refusal = error === null ? null : await refusalOf(run, root, error);
    const forecast = { ...nothing, refusal, skipped: trial.skipped, next: trial.next };
    if (refusal !== null) return forecast;
    const { next, turn, calls } = trial;
    const later = next === null ? [] : (laterThan(next.step, root, ROOT_PATH) ?? []);
    return { ...forecast, later, turn, calls, waits: stillAsked(waits, calls) };
  } finally {
    run.keeper.session.close();
    await run.sources.close();
  }
}

/** Somebody says by another way how much it may be. */
function isAnsweredBy({ kind, subject }: WaitRecord, { budgets = {} }: ResumeOptions): boolean {
  const { budget } = subject;
  return kind === "budget" && typeof budget === "string" && Object.hasOwn(budgets, budget);
}

/** As the run would end with it. */
async function refusalOf(run: RunHandle, root: PipelineStep, error: unknown): Promise<ForecastRefusal> {
  const thrown = PawlError.isInstance(error) ? error : stepFailed(error, root.name);
  run.secrets.hideInError(thrown);
  const { code, message, details } = thrown;
  return { code, message, details, isQuestion: (await questionAbout(run, thrown)) !== null };
}

/** What is settled in another way is not asked any more. */
function stillAsked(waits: readonly WaitRecord[], calls: readonly ForecastCall[]): readonly WaitRecord[] {
  const unsettled = calls.filter(({ action }) => ["ask", "later", "look_up"].includes(action));
  return waits.filter(
    ({ toolCallId }) => toolCallId === null || unsettled.some((call) => call.toolCallId === toolCallId),
  );
}

/**
 * Goes through the steps with the very executors that would execute them, up to the first thing that would be done: a model
 * asked, a tool run, a step's code entered, something stored that later code looks at. So whatever would keep the run from
 * going on is met here too.
 */
class Trial {
  readonly skipped: StepPath[] = [];
  turn: ForecastTurn | null = null;
  calls: readonly ForecastCall[] = [];
  readonly #run: RunHandle;
  readonly #record: RunRecord;
  readonly #registry: StepRegistry;
  readonly #store: ForecastStore;

  constructor(run: RunHandle, registry: StepRegistry, { record, work, unsent }: AsClaimed) {
    this.#store = new ForecastStore(run.store, record, unsent);
    const { store } = this.#store;
    const { runId, limit, deadline, budgets } = record;
    this.#run = {
      ...run,
      store,
      limit,
      deadline,
      budget: new RunBudget(runId, budgets, work),
      artifacts: new ForecastArtifacts(store, run.fence, run.artifacts.workspace.place),
      emit: (event) => {
        if (event.type === "step.skipped") this.skipped.push(event.step);
      },
    };
    this.#record = record;
    this.#registry = new TrialRegistry(registry, this);
  }

  get next(): ResumeForecast["next"] {
    const entered = this.#store.entered.at(-1);
    return entered === undefined
      ? null
      : { step: entered.path, phase: entered.phase, isBegun: entered.isBegun };
  }

  /** Resolves to what the run would fail with; null where it goes on. */
  async go(root: PipelineStep, { budgets }: ResumeOptions): Promise<unknown> {
    const { currentStep } = this.#record;
    const onSession = () => undefined;
    try {
      assertBudgetRaised(this.#record, budgets);
      const course = { registry: this.#registry, root, resumed: true, currentStep, otherPipelines: [] };
      await goThrough(this.#run, { ...course, onSession });
      return null;
    } catch (error) {
      if (!(error instanceof ForecastEnd)) return error;
    }
    const { opening, dropped } = this.#store;
    if (opening !== null)
      this.turn = { index: opening.turnIndex, response: "asked", mayCost: opening.reserve };
    if (dropped.length > 0)
      this.calls = dropped.map(({ toolCallId, tool }) => ({ toolCallId, tool, action: "dropped" }));
    return null;
  }

  /** One turn: its response is there, or the model would be asked for it, or it is committed already. */
  async takeTurn(step: GranularStep, frame: Frame): Promise<Json> {
    if (frame.turn === undefined) return granularExecutor.execute(step, frame);
    const { scope, expected: index } = frame.turn;
    const { conversation, fingerprint } = scope;
    const { kind } = decideTurn(conversation.stored(), index, fingerprint);
    if (kind === "replay" && conversation.journaled !== null) {
      this.turn = { index, response: "replayed", mayCost: null };
      this.calls = await turnActions(scope, conversation.journaled);
      throw new ForecastEnd();
    }
    await executeTurn(scope, index);
    this.turn = { index, response: "none", mayCost: null };
    return null;
  }

  async takeTurns(loop: TurnLoopStep, frame: Frame): Promise<Json> {
    if (frame.run.milestone.isOpen) await this.#leaveTurn(loop, frame);
    return turnLoopExecutor.execute(loop, frame);
  }

  /** Calls of a turn that is to be left for a milestone are brought to their end first. */
  async #leaveTurn(loop: TurnLoopStep, frame: Frame): Promise<void> {
    const scope = await openScope(loop.children[0], loop.maxTurns, frame, true);
    const { journaled, isComplete } = scope.conversation;
    if (journaled === null || isComplete) return;
    this.calls = await turnActions(scope, journaled, true);
    if (this.calls.some(({ action }) => action === "ask")) throw new ForecastEnd();
    await this.#store.settleOpenTurn(scope.stepKey);
  }

  async enterCode({ run, instance }: Frame): Promise<never> {
    if (instance !== null) this.calls = await codeStepActions(run, instance);
    throw new ForecastEnd();
  }

  /** What an executor of somebody else's would do is not known before it does it. */
  async enterUnknown(step: StepNode, { path, phase = "", instance }: Frame): Promise<never> {
    if (instance === null)
      this.#store.entered.push({ path: childPath(path, step.name), phase, isBegun: false });
    throw new ForecastEnd();
  }
}

/** The executors of a runner, as far as they do nothing; in place of the others, what is to be said of them. */
class TrialRegistry extends StepRegistry {
  readonly #registry: StepRegistry;
  readonly #trial: Trial;

  constructor(registry: StepRegistry, trial: Trial) {
    super({});
    this.#registry = registry;
    this.#trial = trial;
  }

  override executorOf(step: StepNode): StepExecutor {
    const executor = this.#registry.executorOf(step);
    const { storage } = executor;
    const trial = this.#trial;
    switch (executor) {
      case pipelineExecutor:
      case whenExecutor:
        return executor;
      case loopExecutor:
        return UNDECIDED_LOOP;
      case turnLoopExecutor:
        return { storage, execute: (loop: TurnLoopStep, frame) => trial.takeTurns(loop, frame) };
      case granularExecutor:
        return { storage, execute: (granular: GranularStep, frame) => trial.takeTurn(granular, frame) };
      case codeStepExecutor:
        return { storage, execute: (_code, frame) => trial.enterCode(frame) };
      default:
        return { storage, execute: (other, frame) => trial.enterUnknown(other, frame) };
    }
  }
}

/** Whether another iteration follows is for the loop's own code to say. */
const UNDECIDED_LOOP: StepExecutor<LoopStep> = {
  storage: "instance",
  execute: (loop, frame) =>
    loopExecutor.execute({ ...loop, until: () => Promise.reject(new ForecastEnd()) }, frame),
};

/** The steps after this one, as far as that can be told before they are entered; null where it is not inside. */
function laterThan(path: StepPath, step: StepNode, parent: StepPath): readonly StepPath[] | null {
  if (step.kind !== "pipeline") {
    const own = childPath(parent, step.name);
    if (own === path) return [];
    if (!path.startsWith(`${own}[`)) return null;
    const iteration = path.slice(0, path.indexOf("]", own.length) + 1);
    return step.children?.[0] === undefined ? [] : laterThan(path, step.children[0], iteration);
  }
  const { children, inline, name } = step as PipelineStep;
  const own = inline ? parent : childPath(parent, name);
  for (const [i, child] of children.entries()) {
    const inside = laterThan(path, child, own);
    if (inside === null) continue;
    const after = children.slice(i + 1).flatMap((each) => instancesOf(each, own, ""));
    return [...inside, ...after.map((each) => each.path)];
  }
  return null;
}
