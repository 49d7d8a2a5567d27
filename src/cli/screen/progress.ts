import type { Json } from "../../core/json.ts";
import { type Amount, addAmount, NOTHING } from "../../core/usage/usage.ts";
import type { RunEvent } from "../../engine/ports/run-events.ts";

/** What a run is doing now, derived from its events; every `since` is a reading of the monotonic clock. */
export type RunProgress = {
  readonly since: number;
  /** The current steps, outermost first. */
  readonly steps: readonly ActiveStep[];
  readonly model: ModelWait | null;
  readonly tools: readonly ActiveTool[];
  /** The usage of the whole run, including earlier attempts. */
  readonly charged: Amount;
};

type ActiveStep = {
  readonly path: string;
  readonly phase: string | null;
  readonly since: number;
  readonly turn: number | null;
};

/** The model was asked, or will be asked again after a failure. */
type ModelWait = { readonly since: number; readonly failed: boolean; readonly outage: OutageProgress | null };

/** The provider takes no requests. `wallSince` is wall-clock time; the next request is at `until` of the monotonic clock. */
type OutageProgress = { readonly wallSince: number; readonly since: number; readonly until: number };

export type ActiveTool = {
  readonly toolCallId: string;
  readonly tool: string;
  readonly input: Json;
  readonly attempt: number;
  readonly since: number;
  /** `landing`: a lost attempt may still take effect, so the next one waits. */
  readonly state: "running" | "retrying" | "landing";
};

export function progressAt(now: number): RunProgress {
  return { since: now, steps: [], model: null, tools: [], charged: NOTHING };
}

export function withChargedBefore(progress: RunProgress, before: Amount): RunProgress {
  return { ...progress, charged: addAmount(progress.charged, before) };
}

/** The progress after an event. `phaseOf` returns the phase of a step. */
export function progressAfter(
  progress: RunProgress,
  event: RunEvent,
  now: number,
  phaseOf: (path: string) => string | null,
): RunProgress {
  switch (event.type) {
    case "step.started":
      return entered(progress, { path: event.step, phase: phaseOf(event.step), since: now, turn: null });
    case "step.finished":
      return left(progress, event.step);
    case "turn.started":
      return {
        ...inTurn(progress, event.step, event.turn),
        model: event.replayed ? null : { since: now, failed: false, outage: null },
      };
    case "model.failed":
      return { ...progress, model: { since: now, failed: true, outage: outageAfter(progress, event, now) } };
    case "usage.settled":
      return withCharge(progress, event);
    case "turn.committed":
      return { ...progress, model: null, tools: [] };
    case "tool.started":
      return withTool(progress, { ...event, since: now, state: "running" });
    case "tool.retrying":
      return withTool(progress, { ...event, input: null, since: now, state: "retrying" });
    case "tool.waiting":
      return withTool(progress, { ...event, input: null, attempt: 0, since: now, state: "landing" });
    case "tool.finished":
    case "tool.reconciled":
    case "tool.deduplicated":
      return withoutTool(progress, event.toolCallId);
    case "run.started":
      return progressAt(progress.since);
    case "run.finished":
      return { ...progress, steps: [], model: null, tools: [] };
    case "step.skipped":
    case "usage.baseline":
    case "checkpoint.saved":
    case "exchange.ended":
    case "lineage.begun":
    case "tool.in_doubt":
    case "lease.lost":
    case "warning":
      return progress;
  }
}

function outageAfter(
  { model }: RunProgress,
  { outageSince, retryInMs }: Extract<RunEvent, { readonly type: "model.failed" }>,
  now: number,
): OutageProgress | null {
  if (outageSince === null) return null;
  const known = model?.outage?.wallSince === outageSince ? model.outage : null;
  return { wallSince: outageSince, since: known?.since ?? now, until: now + (retryInMs ?? 0) };
}

/** A refused request does not end an outage: the event after this one reports the next attempt. */
function withCharge(
  progress: RunProgress,
  { basis, charged }: Extract<RunEvent, { readonly type: "usage.settled" }>,
): RunProgress {
  const isOutage = basis === "none" && progress.model !== null && progress.model.outage !== null;
  const model = isOutage ? progress.model : null;
  return { ...progress, model, charged: addAmount(progress.charged, charged) };
}

function entered(progress: RunProgress, step: ActiveStep): RunProgress {
  return { ...progress, steps: [...progress.steps, step], model: null };
}

/** Removes a step and everything inside it, even if no event ended those. */
function left(progress: RunProgress, path: string): RunProgress {
  const at = progress.steps.findIndex((step) => step.path === path);
  return at === -1 ? progress : { ...progress, steps: progress.steps.slice(0, at), model: null, tools: [] };
}

function inTurn(progress: RunProgress, path: string, turn: number): RunProgress {
  return {
    ...progress,
    steps: progress.steps.map((step) => (step.path === path ? { ...step, turn } : step)),
  };
}

/** A retried call is the same call: it keeps its input and start time. */
function withTool(progress: RunProgress, tool: ActiveTool): RunProgress {
  const known = progress.tools.find(({ toolCallId }) => toolCallId === tool.toolCallId);
  const { toolCallId, tool: name, attempt, state } = tool;
  const since = known?.since ?? tool.since;
  const input = known?.input ?? tool.input;
  const others = progress.tools.filter((other) => other !== known);
  return { ...progress, tools: [...others, { toolCallId, tool: name, attempt, state, since, input }] };
}

function withoutTool(progress: RunProgress, id: string): RunProgress {
  return { ...progress, tools: progress.tools.filter(({ toolCallId }) => toolCallId !== id) };
}
