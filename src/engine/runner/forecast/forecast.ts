import { PawlError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { childPath, ROOT_PATH, type StepPath } from "../../../core/step-path.ts";
import { decideTurn } from "../../../core/turn/turn-decision.ts";
import type { Amount } from "../../../core/usage/usage.ts";
import type { RunRecord, RunStatus, WaitRecord } from "../../../store/store.ts";
import { instancesOf } from "../../definition/phases.ts";
import { assertBudgetRaised } from "../../definition/run-spec-checks.ts";
import type { CodeStep, LoopStep, PipelineStep, StepNode, TurnLoopStep } from "../../definition/step.ts";
import { NO_PROBE } from "../../ports/crash-points.ts";
import type { ActiveRun } from "../../run/active-run.ts";
import { RunBudget } from "../../run/run-budget.ts";
import { agentExecutor, openScope } from "../../steps/agent-executor.ts";
import { BUILT_IN_EXECUTORS } from "../../steps/built-in-executors.ts";
import { codeStepExecutor } from "../../steps/code-step-executor.ts";
import { stepFailed } from "../../steps/execute-step.ts";
import { loopExecutor } from "../../steps/loop-executor.ts";
import type { StepExecution, StepExecutor } from "../../steps/step-executor.ts";
import { StepRegistry } from "../../steps/step-registry.ts";
import { executeTurn } from "../../turn/turn-executor.ts";
import type { TurnScope } from "../../turn/turn-scope.ts";
import { busy } from "../run-checks.ts";
import { goThrough, questionAbout } from "../run-pipeline.ts";
import type { ResumeOptions, RunnerSetup } from "../runner-options.ts";
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

/** The run to forecast, as the store has it. */
export type ForecastSubject = {
  readonly run: RunRecord;
  /** Whether another worker holds its lease. */
  readonly isHeld: boolean;
  /** What `resume` would be called with. */
  readonly options: ResumeOptions;
};

export async function forecastRun(
  { root, options: { executors } }: RunnerSetup,
  run: ActiveRun,
  { run: record, isHeld, options }: ForecastSubject,
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
  const trial = new Trial(run, executors ?? {}, await asClaimed(run, record, options));
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
async function refusalOf(run: ActiveRun, root: PipelineStep, error: unknown): Promise<ForecastRefusal> {
  const thrown = PawlError.isInstance(error) ? error : stepFailed(error, root.name);
  run.policy.secrets.redactError(thrown);
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
  readonly #run: ActiveRun;
  readonly #record: RunRecord;
  readonly #registry: StepRegistry;
  readonly #store: ForecastStore;

  /** `ownExecutors` are those that the user gave the runner. */
  constructor(
    run: ActiveRun,
    ownExecutors: { readonly [kind: string]: StepExecutor<never> },
    { record, work, unsent }: AsClaimed,
  ) {
    this.#store = new ForecastStore(run.store, record, unsent);
    const { store } = this.#store;
    const { runId, limit, deadline, budgets } = record;
    this.#run = {
      ...run,
      store,
      contract: { ...run.contract, limit, budget: new RunBudget(runId, budgets, work) },
      time: { ...run.time, deadline },
      artifacts: new ForecastArtifacts(store, run.fence, run.artifacts.workspace.location),
      observe: {
        ...run.observe,
        probe: NO_PROBE,
        emit: (event) => {
          if (event.type === "step.skipped") this.skipped.push(event.step);
        },
      },
    };
    this.#record = record;
    this.#registry = new StepRegistry({ ...this.#executors(), ...mapValues(ownExecutors, this.#unknown) });
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

  /** The executors of the engine, each up to the first thing that it would do. */
  #executors(): { readonly [K in keyof typeof BUILT_IN_EXECUTORS]: StepExecutor<never> } {
    const { pipeline, when } = BUILT_IN_EXECUTORS;
    const agents = agentExecutor((scope, expected) => this.#forecastTurn(scope, expected));
    const agent: StepExecutor<TurnLoopStep> = {
      storage: agents.storage,
      execute: async (loop, execution) => {
        if (execution.run.resume.milestone.isOpen) await this.#abandonTurn(loop, execution);
        return agents.execute(loop, execution);
      },
    };
    const code: StepExecutor<CodeStep> = {
      storage: codeStepExecutor.storage,
      execute: (_step, execution) => this.#enterCode(execution),
    };
    return { pipeline, when, loop: UNDECIDED_LOOP, "turn-loop": agent, run: code };
  }

  /** An executor of the user's: what it would do is not known before it does it. */
  readonly #unknown = ({ storage }: StepExecutor<never>): StepExecutor<never> => ({
    storage,
    execute: (step: StepNode, execution) => this.#enterUnknown(step, execution),
  });

  /** One turn: its response is journaled, or the model would be asked for it, or it is committed already. */
  async #forecastTurn(scope: TurnScope, index: number): Promise<void> {
    const { conversation, fingerprint } = scope;
    const { kind } = decideTurn(conversation.stored(), index, fingerprint);
    if (kind === "replay" && conversation.journaled !== null) {
      this.turn = { index, response: "replayed", mayCost: null };
      this.calls = await turnActions(scope, conversation.journaled);
      throw new ForecastEnd();
    }
    await executeTurn(scope, index);
    this.turn = { index, response: "none", mayCost: null };
  }

  /** Calls of a turn that is to be left for a milestone are brought to their end first. */
  async #abandonTurn(loop: TurnLoopStep, execution: StepExecution): Promise<void> {
    const scope = await openScope(loop.children[0], loop.maxTurns, execution, "abandon");
    const { journaled, isComplete } = scope.conversation;
    if (journaled === null || isComplete) return;
    this.calls = await turnActions(scope, journaled, "abandon");
    if (this.calls.some(({ action }) => action === "ask")) throw new ForecastEnd();
    await this.#store.settleOpenTurn(scope.stepKey);
  }

  async #enterCode({ run, instance }: StepExecution): Promise<never> {
    if (instance !== null) this.calls = await codeStepActions(run, instance);
    throw new ForecastEnd();
  }

  /** What an executor of somebody else's would do is not known before it does it. */
  async #enterUnknown(step: StepNode, { path, phase = "", instance }: StepExecution): Promise<never> {
    if (instance === null)
      this.#store.entered.push({ path: childPath(path, step.name), phase, isBegun: false });
    throw new ForecastEnd();
  }
}

/** Whether another iteration follows is for the loop's own code to say. */
const UNDECIDED_LOOP: StepExecutor<LoopStep> = {
  storage: "instance",
  execute: (loop, execution) =>
    loopExecutor.execute({ ...loop, until: () => Promise.reject(new ForecastEnd()) }, execution),
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

function mapValues<A, B>(
  values: { readonly [key: string]: A },
  change: (value: A) => B,
): { readonly [key: string]: B } {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}
