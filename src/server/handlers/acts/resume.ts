import type { z } from "zod";
import type { Json } from "../../../core/json.ts";
import type { ResumeForecast } from "../../../engine/runner/forecast/forecast.ts";
import { isoTime } from "../../../export/figures.ts";
import type { ResumeOutcome, RunRecord } from "../../../store/store.ts";
import type { forecastRequest, resumeRequest } from "../../api/schemas/story.ts";
import { HttpProblem } from "../../http-problem.ts";
import type { Principal } from "../../principal.ts";
import { personOf } from "../acting-person.ts";
import { requireRunner } from "../known-pipeline.ts";
import type { ServerParts } from "../server-parts.ts";

/** What a resume would do now. The number of the last event is read first: a change during the forecast shows in `ifSeq`. */
export async function forecastRun(
  parts: ServerParts,
  { runId, pipeline }: RunRecord,
  request: z.output<typeof forecastRequest>,
) {
  const runner = requireRunner(parts, pipeline);
  const eventSeq = (await parts.store.readProgress([runId])).get(runId) ?? 0;
  return forecastDocument(await runner.forecast(runId, given(request)), eventSeq);
}

function forecastDocument(forecast: ResumeForecast, eventSeq: number) {
  const { runId, status, refusal, skipped, next, accepts, turn, calls, waits, later } = forecast;
  return {
    runId,
    status,
    eventSeq,
    refusal,
    skipped,
    next,
    accepts,
    turn,
    calls: calls.map(({ toolCallId, tool, action }): Json => ({ toolCallId, tool, action })),
    waits: waits.map(({ waitId }) => waitId),
    later,
  };
}

/** Asks that a worker resumes the run. It is a row: no process is called, and none needs to run. */
export async function requestResume(
  { store }: Pick<ServerParts, "store">,
  principal: Principal,
  runId: string,
  request: z.output<typeof resumeRequest>,
): Promise<RunRecord> {
  const { reason = null, ifSeq = null } = request;
  const asked = { ...given(request), reason, ifSeq };
  return resumed(runId, await store.requestResume(runId, asked, personOf(principal)));
}

function resumed(runId: string, outcome: ResumeOutcome): RunRecord {
  switch (outcome.kind) {
    case "requested":
      return outcome.run;
    case "busy":
      throw new HttpProblem(
        409,
        "run_busy",
        `Run ${runId} is held by ${outcome.owner} until ${isoTime(outcome.until)}: wait for it, or cancel the run.`,
        { details: { owner: outcome.owner, until: isoTime(outcome.until) } },
      );
    case "over":
      throw new HttpProblem(
        409,
        "run_over",
        `Run ${runId} is ${outcome.run.status}: there is nothing to resume. Fork it to continue from one of its turns.`,
        { details: { status: outcome.run.status } },
      );
    case "changed":
      throw new HttpProblem(
        409,
        "forecast_changed",
        `Run ${runId} has changed since the forecast: look at what a resume would do now.`,
        { details: { eventSeq: outcome.seq } },
      );
  }
}

/** True if a worker that has reported takes such runs. */
export async function hasWorkerFor(
  { store }: Pick<ServerParts, "store">,
  { pipeline, queue }: Pick<RunRecord, "pipeline" | "queue">,
): Promise<boolean> {
  const workers = await store.listWorkers();
  return workers.some(({ facts }) => facts.pipelines.includes(pipeline) && facts.queues.includes(queue));
}

type ForecastOptions = z.output<typeof forecastRequest>;

/** What a forecast and a resume have in common, without the fields that were left out. */
function given({ from, redoTurn, acceptDivergence, changesHash, budgets }: ForecastOptions) {
  return {
    ...(from === undefined ? {} : { from }),
    ...(redoTurn === undefined ? {} : { redoTurn }),
    ...(acceptDivergence === undefined ? {} : { acceptDivergence }),
    ...(changesHash === undefined ? {} : { changesHash }),
    ...(budgets === undefined ? {} : { budgets }),
  };
}
