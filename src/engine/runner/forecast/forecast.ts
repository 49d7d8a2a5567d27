import { PawlError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { assertBudgetRaised } from "../../../core/run/resume-request.ts";
import { childPath, ROOT_PATH, type StepPath } from "../../../core/step-path.ts";
import { decideTurn } from "../../../core/turn/turn-decision.ts";
import type { Amount } from "../../../core/usage/usage.ts";
import type { RunRecord, RunStatus, WaitRecord } from "../../../store/store.ts";
import type { CompactionOptions, ConversationStep } from "../../definition/conversation-step.ts";
import { instancesOf } from "../../definition/pipeline/phases.ts";
import type { CodeStep, LoopStep, PipelineStep, StepNode, TurnLoopStep } from "../../definition/step.ts";
import { NO_PROBE } from "../../ports/crash-points.ts";
import type { ActiveRun, RunWith } from "../../run/active-run.ts";
import { RunBudget } from "../../run/run-budget.ts";
import { agentExecutor, openScope } from "../../steps/agent-executor.ts";
import { BUILT_IN_EXECUTORS } from "../../steps/built-in-executors.ts";
import { codeStepExecutor } from "../../steps/code-step-executor.ts";
import { conversationExecutor } from "../../steps/conversation-executor.ts";
import { stepFailed } from "../../steps/execute-step.ts";
import { loopExecutor } from "../../steps/loop-executor.ts";
import type { StepExecution, StepExecutor } from "../../steps/step-executor.ts";
import { StepRegistry } from "../../steps/step-registry.ts";
import { type CompactionOutcome, compactHistory } from "../../turn/compact-history.ts";
import { executeTurn } from "../../turn/turn-executor.ts";
import type { TurnScope } from "../../turn/turn-scope.ts";
import { runBusy } from "../run-checks.ts";
import { budgetQuestion, runPipeline } from "../run-pipeline.ts";
import type { ResumeOptions, RunnerSetup } from "../runner-options.ts";
import { ForecastArtifacts } from "./forecast-artifacts.ts";
import { type ForecastCall, forecastCodeStepCalls, forecastTurnCalls } from "./forecast-calls.ts";
import { type ClaimForecast, forecastClaim } from "./forecast-claim.ts";
import { type AcceptedChanges, ForecastEnd, ForecastStore } from "./forecast-store.ts";

export type { CallAction, ForecastCall } from "./forecast-calls.ts";
export type { AcceptedChanges } from "./forecast-store.ts";

/** What `resume` would do now. Nothing is claimed, written or sent to find out. */
export type ResumeForecast = {
  readonly runId: string;
  readonly status: RunStatus;
  /** The error that would stop the run, in `next` or before it; null if there is none. */
  readonly refusal: ForecastRefusal | null;
  /** Finished steps: they return their stored outputs and are not executed. */
  readonly skipped: readonly StepPath[];
  /**
   * The step that would be resumed or begun; null if none is left. A loop, if its `until` has to decide first whether
   * another iteration follows.
   */
  readonly next: { readonly step: StepPath; readonly phase: string; readonly isBegun: boolean } | null;
  /** The changes of `next` that `acceptDivergence` accepts; null if there are none. */
  readonly accepts: AcceptedChanges | null;
  /** The first turn of `next`, if it is an agent's step; null also if a person has to be asked before that turn. */
  readonly turn: ForecastTurn | null;
  /** The calls of the interrupted turn or code step. */
  readonly calls: readonly ForecastCall[];
  /** Open questions. They stay open when the run resumes, unless a look-up answers them. */
  readonly waits: readonly WaitRecord[];
  /** The steps after `next`. They are skipped if the stop conditions hold before. */
  readonly later: readonly StepPath[];
};

/** An error that would stop the resumed run. */
export type ForecastRefusal = {
  readonly code: string;
  readonly message: string;
  readonly details: JsonObject;
  /** True if a person is asked about it; otherwise the run fails. */
  readonly isQuestion: boolean;
};

/** The first turn of a resumed agent. */
export type ForecastTurn = {
  readonly index: number;
  /**
   * `asked`: the model is asked. `replayed`: the journaled response is used, and the model is not asked or paid again.
   * `none`: all turns are committed. `summary`: before the turn, the history of a conversation is compacted.
   */
  readonly response: "asked" | "replayed" | "none" | "summary";
  /** The most that asking the model may cost; null if it is not asked. */
  readonly mayCost: Amount | null;
};

/** The run to forecast, as the store has it. */
export type ForecastSubject = {
  readonly run: RunRecord;
  /** True if another worker holds its lease. */
  readonly isHeld: boolean;
  /** The options of the resume to forecast. */
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
  const nothing = {
    runId,
    status,
    skipped: [],
    next: null,
    accepts: null,
    turn: null,
    calls: [],
    waits,
    later: [],
  };
  if (status === "succeeded") return { ...nothing, refusal: null };
  if (isHeld) {
    const { code, message, details } = runBusy(runId, {
      owner: owner ?? "another process",
      until: leaseUntil,
    });
    return { ...nothing, refusal: { code, message, details, isQuestion: false } };
  }
  const execution = new ForecastExecution(run, executors ?? {}, await forecastClaim(run, record, options));
  try {
    const error = await execution.execute(root, options);
    const refusal = error === null ? null : await refusalOf(run, root, error);
    const forecast = { ...nothing, refusal, skipped: execution.skipped, next: execution.next };
    if (refusal !== null) return forecast;
    const { next, accepts, turn, calls } = execution;
    const later = next === null ? [] : (stepsAfter(next.step, root, ROOT_PATH) ?? []);
    return { ...forecast, later, accepts, turn, calls, waits: stillOpen(waits, calls) };
  } finally {
    run.keeper.session.close();
    await run.sources.close();
  }
}

/** True for a question about a budget that these options set. */
function isAnsweredBy({ kind, subject }: WaitRecord, { budgets = {} }: ResumeOptions): boolean {
  const { budget } = subject;
  return kind === "budget" && typeof budget === "string" && Object.hasOwn(budgets, budget);
}

/** The error as the run would end with it. */
async function refusalOf(
  run: RunWith<"store" | "runId" | "contract" | "policy">,
  root: PipelineStep,
  error: unknown,
): Promise<ForecastRefusal> {
  const thrown = PawlError.isInstance(error) ? error : stepFailed(error, root.name);
  run.policy.secrets.redactError(thrown);
  const { code, message, details } = thrown;
  return { code, message, details, isQuestion: (await budgetQuestion(run, thrown)) !== null };
}

/** The questions that stay open: those about calls that are settled without an answer are left out. */
function stillOpen(waits: readonly WaitRecord[], calls: readonly ForecastCall[]): readonly WaitRecord[] {
  const unsettled = calls.filter(({ action }) => ["ask", "later", "look_up"].includes(action));
  return waits.filter(
    ({ toolCallId }) => toolCallId === null || unsettled.some((call) => call.toolCallId === toolCallId),
  );
}

/**
 * Executes the pipeline with the engine's own executors, up to the first effect: asking a model, running a tool, entering a
 * step's code, or storing something that later code reads. So every error that would stop the run is found here too.
 */
class ForecastExecution {
  readonly skipped: StepPath[] = [];
  turn: ForecastTurn | null = null;
  calls: readonly ForecastCall[] = [];
  readonly #run: ActiveRun;
  readonly #record: RunRecord;
  readonly #registry: StepRegistry;
  readonly #store: ForecastStore;

  /** `ownExecutors` are the runner's `executors`. */
  constructor(
    run: ActiveRun,
    ownExecutors: { readonly [kind: string]: StepExecutor<never> },
    { record, work, unsent }: ClaimForecast,
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

  get accepts(): AcceptedChanges | null {
    return this.#store.accepted;
  }

  get next(): ResumeForecast["next"] {
    const entered = this.#store.entered.at(-1);
    return entered === undefined
      ? null
      : { step: entered.path, phase: entered.phase, isBegun: entered.isBegun };
  }

  /** Resolves to the error that the run would fail with; null if it would continue. */
  async execute(root: PipelineStep, { budgets }: ResumeOptions): Promise<unknown> {
    const { currentStep } = this.#record;
    const onSession = () => undefined;
    try {
      assertBudgetRaised(this.#record.error, budgets);
      const pipeline = { registry: this.#registry, root, resumed: true, currentStep, otherPipelines: [] };
      await runPipeline(this.#run, { ...pipeline, onSession });
      return null;
    } catch (error) {
      if (!ForecastEnd.isInstance(error)) return error;
    }
    const { opening, dropped } = this.#store;
    if (opening !== null)
      this.turn = {
        index: opening.turnIndex,
        response: opening.isSummary ? "summary" : "asked",
        mayCost: opening.reserve,
      };
    if (dropped.length > 0)
      this.calls = dropped.map(({ toolCallId, tool }) => ({ toolCallId, tool, action: "dropped" }));
    return null;
  }

  /** The engine's executors. Each one stops before its first effect. */
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
    const talks = conversationExecutor(
      (scope, expected) => this.#forecastTurn(scope, expected),
      (scope, compaction) => this.#forecastSummary(scope, compaction),
    );
    const talk: StepExecutor<ConversationStep> = {
      storage: talks.storage,
      execute: async (step, execution) => {
        if (execution.run.resume.milestone.isOpen) await this.#abandonTurn(step, execution);
        return talks.execute(step, execution);
      },
    };
    const code: StepExecutor<CodeStep> = {
      storage: codeStepExecutor.storage,
      execute: (_step, execution) => this.#enterCode(execution),
    };
    return { pipeline, when, loop: FORECAST_LOOP, "turn-loop": agent, conversation: talk, run: code };
  }

  /** Replaces an executor of the user: what it would do is unknown. */
  readonly #unknown = ({ storage }: StepExecutor<never>): StepExecutor<never> => ({
    storage,
    execute: (step: StepNode, execution) => this.#enterUnknown(step, execution),
  });

  /** Stops at a turn whose response is journaled, or before the model is asked. A committed turn is passed. */
  async #forecastTurn(scope: TurnScope, index: number): Promise<void> {
    const { conversation, fingerprint } = scope;
    const { kind } = decideTurn(conversation.stored(), index, fingerprint);
    if (kind === "replay" && conversation.journaled !== null) {
      this.turn = { index, response: "replayed", mayCost: null };
      this.calls = await forecastTurnCalls(scope, conversation.journaled);
      throw new ForecastEnd();
    }
    await executeTurn(scope, index);
    this.turn = { index, response: "none", mayCost: null };
  }

  /** Stops before the model is asked. A function is the user's code, and is not run. */
  #forecastSummary(scope: TurnScope, compaction: CompactionOptions): Promise<CompactionOutcome> {
    if (compaction.summarize === undefined) return compactHistory(scope, compaction);
    this.turn = { index: scope.conversation.committed + 1, response: "summary", mayCost: null };
    return Promise.reject(new ForecastEnd());
  }

  /** The calls of a turn that is abandoned for a milestone are settled first. */
  async #abandonTurn(loop: TurnLoopStep | ConversationStep, execution: StepExecution): Promise<void> {
    const scope = await openScope(loop, execution, "abandon");
    const { journaled, isComplete } = scope.conversation;
    if (journaled === null || isComplete) return;
    this.calls = await forecastTurnCalls(scope, journaled, "abandon");
    if (this.calls.some(({ action }) => action === "ask")) throw new ForecastEnd();
    await this.#store.settleOpenTurn(scope.stepKey);
  }

  async #enterCode({ run, instance }: StepExecution): Promise<never> {
    if (instance !== null) this.calls = await forecastCodeStepCalls(run, instance);
    throw new ForecastEnd();
  }

  async #enterUnknown(step: StepNode, { path, phase = "", instance }: StepExecution): Promise<never> {
    if (instance === null)
      this.#store.entered.push({ path: childPath(path, step.name), phase, isBegun: false });
    throw new ForecastEnd();
  }
}

/** A loop whose `until` ends the forecast: it is the user's code, and is not run. */
const FORECAST_LOOP: StepExecutor<LoopStep> = {
  storage: "instance",
  execute: (loop, execution) =>
    loopExecutor.execute({ ...loop, until: () => Promise.reject(new ForecastEnd()) }, execution),
};

/** The steps after `path`, as far as they are known before they are entered; null if `path` is not inside `step`. */
function stepsAfter(path: StepPath, step: StepNode, parent: StepPath): readonly StepPath[] | null {
  if (step.kind !== "pipeline") {
    const own = childPath(parent, step.name);
    if (own === path) return [];
    if (!path.startsWith(`${own}[`)) return null;
    const iteration = path.slice(0, path.indexOf("]", own.length) + 1);
    return step.children?.[0] === undefined ? [] : stepsAfter(path, step.children[0], iteration);
  }
  const { children, inline, name } = step as PipelineStep;
  const own = inline ? parent : childPath(parent, name);
  for (const [i, child] of children.entries()) {
    const inside = stepsAfter(path, child, own);
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
