import { PawlError } from "../core/errors.ts";
import { childPath, iterationPath, ROOT_PATH, type StepPath } from "../core/step-path.ts";
import { decideToolCall } from "../core/tool-call-decision.ts";
import { decideTurn } from "../core/turn-decision.ts";
import type { Amount } from "../core/usage.ts";
import type { RunRecord, RunStatus, StepRecord, ToolCallRecord, WaitRecord } from "../store/store.ts";
import { assertInTime } from "./deadline.ts";
import { diverged } from "./divergence.ts";
import { isDone } from "./final-checks.ts";
import { openScope } from "./granular-executor.ts";
import { instancesOf } from "./phases.ts";
import { assertSameShape } from "./pipeline-shape.ts";
import type { RunHandle } from "./run-handle.ts";
import type { LoopStep, PipelineStep, StepNode, TurnLoopStep } from "./step.ts";
import type { StepRegistry } from "./step-registry.ts";
import { StepSession } from "./step-session.ts";
import { type CallItem, planTurnCalls } from "./turn-call-plan.ts";
import { openingOf } from "./turn-executor.ts";
import type { TurnScope } from "./turn-scope.ts";

/** What `resume` would do now. Nothing was claimed, written or sent to find out. */
export type ResumeForecast = {
  readonly runId: string;
  readonly status: RunStatus;
  /** What keeps it from going on; null where nothing does. */
  readonly refusal: { readonly code: string; readonly message: string } | null;
  /** Steps that are finished: they give their stored outputs and are not entered. */
  readonly skipped: readonly StepPath[];
  /** The step that is gone on with, or begun; null where none is left. */
  readonly next: { readonly step: StepPath; readonly phase: string; readonly isBegun: boolean } | null;
  /** What comes first in it, where it is an agent's. */
  readonly turn: ForecastTurn | null;
  /** What becomes of each call of the turn or code step that was interrupted. */
  readonly calls: readonly ForecastCall[];
  /** Questions that nobody has answered: the run waits again, unless what they are about is settled otherwise. */
  readonly waits: readonly WaitRecord[];
  /** Steps that were not begun and come after it. */
  readonly later: readonly StepPath[];
};

export type ForecastTurn = {
  readonly index: number;
  /** `replayed`: the model has answered already, and is not asked or paid again. `none`: all turns are there. */
  readonly response: "asked" | "replayed" | "none";
  /** The most that asking may cost; null where nothing is asked, or that cannot be told before the step has begun. */
  readonly mayCost: Amount | null;
};

export type ForecastCall = {
  readonly toolCallId: string;
  readonly tool: string;
  readonly action: CallAction;
};

/**
 * `answered`: from its receipt. `run`: for the first time. `run_again`: it may have happened, and that is harmless. `look_up`:
 * the outside is asked. `ask`: a person is. `deduplicated`: the same effect was had. `refused`: it is not run, and whoever
 * asked is told. `later`: when the call before it has come to its end. `dropped`: with the response that asked for it.
 */
export type CallAction =
  | "answered"
  | "run"
  | "run_again"
  | "look_up"
  | "ask"
  | "deduplicated"
  | "refused"
  | "later"
  | "dropped";

type Found = {
  readonly step: StepNode;
  readonly path: StepPath;
  readonly phase: string;
  readonly instance: StepRecord | null;
};

export async function forecastRun(
  run: RunHandle,
  registry: StepRegistry,
  root: PipelineStep,
  record: RunRecord,
  isHeld: boolean,
): Promise<ResumeForecast> {
  const { runId, status } = record;
  const waits = (await run.store.listWaits(runId)).filter((wait) => wait.status === "open");
  const nothing = { runId, status, skipped: [], next: null, turn: null, calls: [], waits, later: [] };
  if (status === "succeeded") return { ...nothing, refusal: null };
  if (isHeld)
    return {
      ...nothing,
      refusal: {
        code: "run_busy",
        message: `Run ${runId} is being worked on by ${record.owner ?? "another process"}.`,
      },
    };
  const walk = new Walk(run, registry);
  try {
    const { shape } = await run.store.readRunInput(runId);
    const begun = (await run.store.listSteps(runId)).filter((step) => step.status !== "skipped");
    assertSameShape(runId, shape, root, begun);
    if (status !== "waiting") assertInTime(run);
    await run.keeper.load(run.milestone.isOpen);
    const found = await walk.first(root, ROOT_PATH, "");
    const next =
      found === null ? null : { step: found.path, phase: found.phase, isBegun: found.instance !== null };
    const later = found === null ? [] : walk.after(root, found.path);
    const { turn, calls } = found === null ? { turn: null, calls: [] } : await insideOf(run, found);
    return { ...nothing, refusal: null, skipped: walk.skipped, next, later, turn, calls };
  } catch (error) {
    if (!PawlError.isInstance(error)) throw error;
    return { ...nothing, skipped: walk.skipped, refusal: { code: error.code, message: error.message } };
  } finally {
    run.keeper.session.close();
  }
}

/** Goes through the steps as the executors would, up to the first one that is not finished. */
class Walk {
  readonly skipped: StepPath[] = [];
  readonly #run: RunHandle;
  readonly #registry: StepRegistry;

  constructor(run: RunHandle, registry: StepRegistry) {
    this.#run = run;
    this.#registry = registry;
  }

  async first(step: StepNode, parent: StepPath, inherited: string): Promise<Found | null> {
    const phase = step.phase ?? inherited;
    if (step.kind === "pipeline") return this.#firstInside(step as PipelineStep, parent, phase);
    if (this.#registry.executorOf(step).storage === "none") return null;
    const path = childPath(parent, step.name);
    const instance = await this.#run.store.findStep(this.#run.runId, path);
    if (instance?.status === "succeeded") {
      this.skipped.push(path);
      return null;
    }
    const found = { step, path, phase, instance };
    if (step.kind !== "loop" || instance === null) return found;
    const last = (await this.#run.store.listLoopDecisions(instance.stepKey)).at(-1);
    if (last?.done === true) return found;
    const inside = iterationPath(path, (last?.iteration ?? 0) + 1);
    return (await this.first((step as LoopStep).children[0], inside, phase)) ?? found;
  }

  async #firstInside(pipeline: PipelineStep, parent: StepPath, phase: string): Promise<Found | null> {
    const path = pipeline.inline ? parent : childPath(parent, pipeline.name);
    for (const [i, child] of pipeline.children.entries()) {
      const found = await this.first(child, path, phase);
      if (found !== null) return found;
      const finished = await this.#run.store.findStep(this.#run.runId, childPath(path, child.name));
      const isLast = i === pipeline.children.length - 1;
      // Where the run has come to all that was asked of it, the rest is not needed.
      if (!isLast && (await isDone(this.#run, finished?.output ?? null))) return null;
    }
    return null;
  }

  after(root: PipelineStep, path: StepPath): readonly StepPath[] {
    const all = instancesOf(root, ROOT_PATH, "").map((step) => step.path);
    const at = all.findIndex((each) => path === each || path.startsWith(`${each}[`));
    return all.slice(at + 1);
  }
}

async function insideOf(
  run: RunHandle,
  { step, path, instance }: Found,
): Promise<Pick<ResumeForecast, "turn" | "calls">> {
  if (step.kind === "turn-loop") {
    if (instance === null) return { turn: { index: 1, response: "asked", mayCost: null }, calls: [] };
    return insideAgent(run, step as TurnLoopStep, path, instance);
  }
  if (instance === null) return { turn: null, calls: [] };
  const calls = await run.store.listCodeStepCalls(instance.stepKey);
  const waits = await run.store.listWaits(run.runId);
  return { turn: null, calls: calls.map((call) => codeCall(run, call, waits)) };
}

async function insideAgent(
  run: RunHandle,
  step: TurnLoopStep,
  path: StepPath,
  instance: StepRecord,
): Promise<Pick<ResumeForecast, "turn" | "calls">> {
  const session = new StepSession(run.keeper, run.secrets);
  const frame = { run, path, input: instance.input, context: { value: {} }, instance, session };
  const enter = () => Promise.reject(new Error("A forecast enters nothing."));
  const isLeft = run.milestone.isOpen;
  const scope = await openScope(step.children[0], step.maxTurns, { ...frame, enter }, isLeft);
  const { conversation } = scope;
  if (conversation.isComplete)
    return { turn: { index: conversation.committed, response: "none", mayCost: null }, calls: [] };
  const { journaled } = conversation;
  const index = conversation.committed + 1;
  const isAccepted = isLeft || run.acceptDivergence !== null;
  const decision = decideTurn(conversation.stored(), index, scope.fingerprint);
  if (decision.kind === "diverged" && !isAccepted)
    throw diverged(run.runId, path, conversation.storedFingerprint?.document ?? null, scope.document);
  const calls = journaled === null ? [] : await turnCalls(scope, journaled, isLeft);
  if (journaled !== null && !isLeft && !run.redoTurn)
    return { turn: { index, response: "replayed", mayCost: null }, calls };
  // A line of history that is begun anew numbers its turns on from the one that it leaves.
  const asked = journaled !== null && isLeft ? index + 1 : index;
  const { reserve } = openingOf(scope, asked, isLeft ? 0 : conversation.viewTokens());
  return {
    turn: { index: asked, response: "asked", mayCost: isLeft ? null : reserve },
    calls: run.redoTurn ? calls.map((call) => ({ ...call, action: "dropped" })) : calls,
  };
}

async function turnCalls(
  scope: TurnScope,
  {
    turnIndex,
    response,
    calls,
  }: { turnIndex: number; response: Parameters<typeof planTurnCalls>[2]; calls: readonly ToolCallRecord[] },
  isLeft: boolean,
): Promise<readonly ForecastCall[]> {
  const { items } = await planTurnCalls(scope, turnIndex, response, { known: calls, isLeft });
  return calls.map(({ toolCallId, tool, callIndex }) => {
    const item = items.find((each) => each.callIndex === callIndex);
    return { toolCallId, tool, action: item === undefined ? "dropped" : actionOf(item) };
  });
}

function actionOf({ judgement }: CallItem): CallAction {
  switch (judgement.kind) {
    case "replay":
      return "answered";
    case "settled":
      return judgement.outcome.status === "deduplicated" ? "deduplicated" : "refused";
    case "person":
    case "held":
      return "ask";
    case "pending":
      return "later";
    case "misconfigured":
      throw judgement.error;
    case "work":
      return WORK[judgement.decision.kind];
  }
}

const WORK = { execute: "run", retry: "run_again", reconcile: "look_up" } as const;

/** By what the ledger says of it: the tool itself is in the step's code, which is not run to find out. */
function codeCall(run: RunHandle, call: ToolCallRecord, waits: readonly WaitRecord[]): ForecastCall {
  const { toolCallId, tool, status, recovery, attempt } = call;
  if (call.receipt !== null) return { toolCallId, tool, action: "answered" };
  const asked = waits.filter((wait) => wait.toolCallId === toolCallId);
  const isOpen = asked.some((wait) => wait.kind === "question" && wait.status === "open");
  const approval = asked.findLast(({ kind }) => kind === "approval")?.answer ?? null;
  const decision = decideToolCall({
    status,
    recovery,
    inDoubt: "ask",
    canReconcile: recovery === "reconcile",
    keyIsValid: call.startedAt === null || run.clock.now() < call.startedAt + DAY_MS,
    wasNotApplied: false,
    isToRetry: asked.some(
      ({ attempt: about, answer }) =>
        about === attempt && answer !== null && "as" in answer && answer.as === "retry",
    ),
    approval:
      asked.some(({ kind }) => kind === "approval") === false
        ? "not_needed"
        : approval === null || !("approved" in approval)
          ? "needed"
          : approval.approved
            ? "given"
            : "denied",
    earlier: "none",
  });
  if (isOpen || decision.kind === "ask") return { toolCallId, tool, action: "ask" };
  if (decision.kind === "refuse") return { toolCallId, tool, action: "refused" };
  if (decision.kind === "replay" || decision.kind === "deduplicate")
    return { toolCallId, tool, action: "answered" };
  return { toolCallId, tool, action: WORK[decision.kind] };
}

/** How long a key is good for, unless its tool says otherwise. */
const DAY_MS = 24 * 60 * 60_000;
