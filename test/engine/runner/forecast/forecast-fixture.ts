// Shared by the tests of forecasts: the events of a resumed run, compared with its forecast.

import { canonicalJson } from "../../../../src/core/canonical-json.ts";
import type {
  CallAction,
  ForecastCall,
  ResumeForecast,
} from "../../../../src/engine/runner/forecast/forecast.ts";
import {
  type ModelCallRecord,
  PawlError,
  type ResumeOptions,
  type RunEvent,
  type Runner,
  type RunResult,
  type StepRecord,
  type Store,
  type ToolCallRecord,
  type WaitRecord,
} from "../../../../src/index.ts";
import { must } from "../../run-fixture.ts";

/** The kinds of forecast that a test has compared; a test must see each kind that it is about. */
export type Sight =
  | CallAction
  | `model ${"asked" | "replayed" | "none" | "summary"}`
  | `refused ${string}`
  | "a question about a budget"
  | "begun"
  | "not begun"
  | "skipped"
  | "a loop"
  | "nothing left"
  | "still waiting"
  | "later steps";

/** Everything that the store has of a run, as text. */
async function everything(store: Store, runId: string): Promise<string> {
  const { inputHash: _, ...run } = must(await store.getRun(runId));
  return JSON.stringify([
    run,
    await store.listEvents(runId),
    await store.listSteps(runId),
    await store.listTurns(runId),
    await store.listModelCalls(runId),
    await store.listToolCalls(runId),
    await store.listToolCallAttempts(runId),
    await store.listWaits(runId),
    await store.listCheckpoints(runId),
    await store.listLineages(runId),
    await store.listAttempts(runId),
    await store.listArtifacts(runId),
    await store.readSession(runId),
  ]);
}

/** The state of a run as text, without times: equal states have equal forecasts. */
export async function stateOf(store: Store, runId: string): Promise<string> {
  const { status, error, charged, reserved, currentStep } = must(await store.getRun(runId));
  const state = JSON.stringify([
    [status, error?.code ?? null, charged, reserved, currentStep],
    status === "running" ? await store.readLeftBehind(runId) : null,
    (await store.listSteps(runId)).map((step) => [step.path, step.status]),
    (await store.listTurns(runId)).map(({ stepPath, turnIndex, committed }) => [
      stepPath,
      turnIndex,
      committed,
    ]),
    (await store.listModelCalls(runId)).map((call) => [call.stepPath, call.turnIndex, call.reserved]),
    (await store.listToolCalls(runId)).map((call) => [call.toolCallId, call.status, call.attempt]),
    (await store.listToolCallAttempts(runId)).map(({ toolCallId, attempt, outcome }) => [
      toolCallId,
      attempt,
      outcome,
    ]),
    (await store.listWaits(runId)).map((wait) => [wait.waitId, wait.status, wait.answer]),
    (await store.listCheckpoints(runId)).length,
    (await store.listArtifacts(runId)).length,
  ]);
  return state.replaceAll(runId, "");
}

/** The rows that a comparison needs. */
type Rows = {
  readonly steps: readonly StepRecord[];
  readonly calls: readonly ToolCallRecord[];
  readonly modelCalls: readonly ModelCallRecord[];
  readonly waits: readonly WaitRecord[];
  /** The number of dropped responses. */
  readonly drops: number;
};

async function rowsOf(store: Store, runId: string): Promise<Rows> {
  return {
    steps: await store.listSteps(runId),
    calls: await store.listToolCalls(runId),
    modelCalls: await store.listModelCalls(runId),
    waits: (await store.listWaits(runId)).filter(({ status }) => status === "open"),
    drops: (await store.listEvents(runId)).filter(({ type }) => type === "turn.dropped").length,
  };
}

/** What really happened. */
type Observed = {
  readonly events: readonly RunEvent[];
  readonly result: RunResult<unknown> | null;
  readonly error: Error | null;
  readonly before: Rows;
  readonly after: Rows;
};

type Process = {
  readonly store: Store;
  readonly runId: string;
  /** A runner as a new process would make it. */
  readonly runner: (onEvent: (event: RunEvent) => void) => Pick<Runner, "forecast" | "resume">;
  /** How often something outside was called so far: models, tools, look-ups, code. */
  readonly touched: () => number;
  readonly saw: (sight: Sight) => void;
};

export type Checked = {
  readonly forecast: ResumeForecast;
  readonly problems: readonly string[];
  readonly status: string;
};

/** Takes a forecast, resumes the run, and returns one sentence for each difference between the two. */
export async function check(process: Process, options: ResumeOptions = {}): Promise<Checked> {
  const { store, runId, touched, saw } = process;
  const events: RunEvent[] = [];
  const runner = process.runner((event) => void events.push(event));
  const [was, before, touchedBefore] = [
    await everything(store, runId),
    await rowsOf(store, runId),
    touched(),
  ];
  const forecast = await runner.forecast(runId, options);
  const problems: string[] = [];
  if ((await everything(store, runId)) !== was) problems.push("the forecast changed what is stored");
  if (touched() !== touchedBefore) problems.push("the forecast touched something outside");
  if (events.length > 0) problems.push("the forecast emitted events");
  const [outcome] = await Promise.allSettled([runner.resume(runId, options)]);
  const observed: Observed = {
    events,
    result: outcome.status === "fulfilled" ? outcome.value : null,
    error: outcome.status === "rejected" ? (outcome.reason as Error) : null,
    before,
    after: await rowsOf(store, runId),
  };
  problems.push(...differences(forecast, observed));
  see(forecast, saw);
  return { forecast, problems, status: must(await store.getRun(runId)).status };
}

function see(
  { refusal, next, skipped, turn, calls, later, waits }: ResumeForecast,
  saw: (s: Sight) => void,
): void {
  if (refusal !== null) saw(refusal.isQuestion ? "a question about a budget" : `refused ${refusal.code}`);
  if (refusal === null && next === null) saw("nothing left");
  if (next !== null) saw(next.isBegun ? "begun" : "not begun");
  if (next?.step.endsWith("polish") === true) saw("a loop");
  if (skipped.length > 0) saw("skipped");
  if (turn !== null) saw(`model ${turn.response}`);
  if (later.length > 0) saw("later steps");
  if (waits.length > 0) saw("still waiting");
  for (const { action } of calls) saw(action);
}

/** Where the forecast differs from what happened. */
function differences(forecast: ResumeForecast, observed: Observed): string[] {
  return [
    ...refusalProblems(forecast, observed),
    ...stepProblems(forecast, observed),
    ...(forecast.refusal === null ? turnProblems(forecast, observed) : []),
    ...(forecast.refusal === null ? callProblems(forecast, observed) : []),
    ...waitProblems(forecast, observed),
  ];
}

const OUTSIDE = ["tool.started", "tool.reconciled", "tool.deduplicated"];

function refusalProblems(
  { refusal }: ResumeForecast,
  { events, error, result, before, after }: Observed,
): string[] {
  if (refusal === null) {
    // No obstacle was forecast: then something must have been done, or the run has ended.
    const isIdle = !events.some(({ type }) => type === "step.started" || type === "run.finished");
    return error !== null && isIdle ? [`refused with ${String(error)}, and no refusal was forecast`] : [];
  }
  const problems: string[] = [];
  const done = events.filter(({ type }) => OUTSIDE.includes(type));
  if (done.length > 0) problems.push(`forecast a refusal, and it did ${JSON.stringify(done)}`);
  if (after.modelCalls.length > before.modelCalls.length)
    problems.push("forecast a refusal, and asked the model");
  if (refusal.isQuestion) {
    const asked = after.waits.find(({ kind }) => kind === "budget");
    if (result?.status !== "waiting" || asked === undefined)
      problems.push(`forecast a question about a budget, and it ended as ${result?.status ?? String(error)}`);
    return problems;
  }
  if (!PawlError.isInstance(error))
    problems.push(
      `forecast ${refusal.code} (${refusal.message}), and it ended as ${result?.status ?? String(error)}`,
    );
  else if (error.code !== refusal.code || error.message !== refusal.message)
    problems.push(`forecast ${refusal.code}: ${refusal.message}; and it was ${error.code}: ${error.message}`);
  return problems;
}

/** Loops only enclose work: the steps inside of them are compared. */
function stepProblems(
  { skipped, next, later, refusal }: ResumeForecast,
  { events, before, after, result }: Observed,
): string[] {
  const loops = new Set(after.steps.filter(({ kind }) => kind === "loop").map(({ path }) => path));
  const steps = events.flatMap((event) =>
    event.type === "step.started" || event.type === "step.skipped" || event.type === "step.finished"
      ? [event]
      : [],
  );
  const first = steps.findIndex(
    ({ type, step }) => type === "step.finished" || (type === "step.started" && !loops.has(step)),
  );
  const upTo = first === -1 ? steps : steps.slice(0, first + 1);
  const passed = upTo.filter(({ type }) => type === "step.skipped").map(({ step }) => step);
  const started = upTo.filter(({ type }) => type === "step.started").map(({ step }) => step);
  const problems = [...unlike("skipped", skipped, passed)];
  const isLoop = next !== null && loops.has(next.step);
  // Only the loop's own code decides whether another iteration follows.
  if (isLoop ? !started.includes(next.step) : (next?.step ?? null) !== (started.at(-1) ?? null))
    problems.push(`forecast ${next?.step ?? "no step"} next, and it was ${started.at(-1) ?? "none"}`);
  if (next !== null) {
    const known = before.steps.find(({ path }) => path === next.step);
    const isBegun = known !== undefined && known.status !== "skipped";
    if (next.isBegun !== isBegun) problems.push(`forecast isBegun ${next.isBegun} of ${next.step}`);
    const phase = after.steps.find(({ path }) => path === next.step)?.phase;
    if (next.phase !== phase)
      problems.push(`forecast phase ${next.phase} of ${next.step}, and it is ${phase}`);
  }
  if (refusal === null && result?.status === "succeeded") {
    const begun = after.steps.filter(({ status }) => status === "succeeded").map(({ path }) => path);
    const isStopped = after.steps.some(({ status }) => status === "skipped");
    const missing = later.filter((path) => !begun.includes(path));
    if (missing.length > 0 && !isStopped)
      problems.push(`forecast ${missing.join()} for later, which never began`);
  }
  return problems;
}

function turnProblems({ turn, next }: ResumeForecast, { events, before, after }: Observed): string[] {
  const started = events.find((event) => event.type === "turn.started" && event.step === next?.step);
  const at = started?.type === "turn.started" ? started : null;
  if (turn === null || turn.response === "none")
    return at === null ? [] : [`forecast no turn, and turn ${at.turn} of ${at.step} began`];
  if (at === null) return [`forecast turn ${turn.index}, and none began`];
  const problems: string[] = [];
  const isReplayed = turn.response === "replayed";
  if (at.turn !== turn.index || at.replayed !== isReplayed)
    problems.push(
      `forecast turn ${turn.index} ${turn.response}, and it was ${at.turn}, replayed: ${at.replayed}`,
    );
  const ofTurn = ({ stepPath, turnIndex }: ModelCallRecord) =>
    stepPath === next?.step && turnIndex === turn.index;
  const asked = after.modelCalls.filter(ofTurn).slice(before.modelCalls.filter(ofTurn).length);
  if (isReplayed && asked.length > 0)
    problems.push(`forecast turn ${turn.index} replayed, and the model was asked`);
  if (!isReplayed && asked.length === 0)
    problems.push(`forecast turn ${turn.index} asked, and the model was not`);
  const reserved = isReplayed ? null : (asked[0]?.reserved ?? null);
  if (canonicalJson(turn.mayCost) !== canonicalJson(reserved))
    problems.push(
      `forecast a cost of ${JSON.stringify(turn.mayCost)}, and ${JSON.stringify(reserved)} was reserved`,
    );
  return problems;
}

function callProblems({ calls }: ResumeForecast, observed: Observed): string[] {
  const known = new Set(observed.before.calls.map(({ toolCallId }) => toolCallId));
  const forecast = new Set(calls.map(({ toolCallId }) => toolCallId));
  const unforeseen = observed.events.flatMap((event) =>
    "toolCallId" in event && known.has(event.toolCallId) && !forecast.has(event.toolCallId)
      ? [`forecast nothing of ${event.toolCallId}, and it had ${event.type}`]
      : [],
  );
  const wrong = calls.flatMap((call) => {
    const what = outcomeOf(call.toolCallId, observed);
    return isAsForecast(call, what, observed)
      ? []
      : [`forecast ${call.action} of ${call.tool} (${call.toolCallId}), and it was ${JSON.stringify(what)}`];
  });
  return [...unforeseen, ...wrong];
}

type CallOutcome = {
  /** The events about it, in order. */
  readonly events: readonly string[];
  readonly firstAttempt: number | null;
  readonly isAsked: boolean;
  /** True if a later call with the same effect waits for a person because of it. */
  readonly isRepeatAsked: boolean;
  readonly status: string | null;
  readonly hadReceipt: boolean;
};

function outcomeOf(id: string, { events, before, after }: Observed): CallOutcome {
  // The event that it is in doubt shows how it was found, not what happened to it.
  const about = events.filter(
    (event) => "toolCallId" in event && event.toolCallId === id && event.type !== "tool.in_doubt",
  );
  const started = about.find(({ type }) => type === "tool.started");
  return {
    events: about.map(({ type }) => type),
    firstAttempt: started?.type === "tool.started" ? started.attempt : null,
    isAsked: after.waits.some(({ toolCallId }) => toolCallId === id),
    isRepeatAsked: after.waits.some(({ subject }) => subject.earlier === id),
    status: after.calls.find(({ toolCallId }) => toolCallId === id)?.status ?? null,
    hadReceipt: before.calls.find(({ toolCallId }) => toolCallId === id)?.receipt !== null,
  };
}

function isAsForecast(
  { action, toolCallId }: ForecastCall,
  outcome: CallOutcome,
  { events, after, before }: Observed,
): boolean {
  const { events: about, firstAttempt, isAsked, isRepeatAsked, status, hadReceipt } = outcome;
  const isUntouched = about.length === 0;
  switch (action) {
    case "answered":
      return isUntouched && hadReceipt && !isAsked;
    case "run":
      return about[0] === "tool.started" && firstAttempt === 1;
    case "run_again":
      return about[0] === "tool.started" && firstAttempt !== null && firstAttempt > 1;
    case "look_up":
      return about[0] === "tool.reconciled";
    case "ask":
      return isUntouched && (isAsked || isRepeatAsked);
    case "deduplicated":
      return about.join() === "tool.deduplicated" && status === "deduplicated";
    case "refused":
      return isUntouched && !isAsked && !hadReceipt && (status === "cancelled" || status === "failed");
    case "later":
      return !hadReceipt && !isAsked;
    case "dropped":
      // The response in its place may make the same call.
      return !hadReceipt && (after.drops > before.drops || (isUntouched && status === "cancelled"));
    case "requested_again": {
      const same = before.calls.find((call) => call.toolCallId === toolCallId)?.identityHash;
      const fresh = after.calls.filter(
        (call) => call.identityHash === same && call.toolCallId !== toolCallId,
      );
      return (
        isUntouched &&
        events.some(
          (event) =>
            event.type === "tool.started" && fresh.some((call) => call.toolCallId === event.toolCallId),
        )
      );
    }
  }
}

/**
 * A wait that was forecast as open stays open under its id, unless a look-up has answered it; no other stays open.
 */
function waitProblems({ waits, calls }: ResumeForecast, { before, after }: Observed): string[] {
  const isLookedUp = (id: string | null) =>
    calls.some(({ toolCallId, action }) => toolCallId === id && action === "look_up");
  const stillOpen = before.waits.filter(({ waitId }) => after.waits.some((wait) => wait.waitId === waitId));
  const forecast = waits.filter(
    ({ waitId, toolCallId }) => !isLookedUp(toolCallId) || stillOpen.some((wait) => wait.waitId === waitId),
  );
  return unlike(
    "questions",
    forecast.map(({ waitId }) => waitId),
    stillOpen.map(({ waitId }) => waitId),
  );
}

function unlike(what: string, forecast: readonly string[], happened: readonly string[]): string[] {
  return forecast.join() === happened.join()
    ? []
    : [`forecast ${what} [${forecast.join()}], and it was [${happened.join()}]`];
}
