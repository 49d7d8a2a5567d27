import { shownStatus } from "../../account/run-status.ts";
import { isoTime } from "../../export/figures.ts";
import { bucketDocument, joinedBuckets, pipelineSpends, sumOf } from "../documents/spend-document.ts";
import { HttpProblem } from "../http-problem.ts";
import type { Principal } from "../principal.ts";
import { pipelinesIn } from "../scope/run-filter.ts";
import type { ServerParts } from "./server-parts.ts";

type SpendRequest = {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly bucketMs?: number | undefined;
  readonly by?: "pipeline" | undefined;
  readonly pipeline?: readonly string[] | undefined;
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const USUAL_DAYS = 30;
const MOST_BUCKETS = 1_000;
const MOST_RUNS = 20;

/** What requests to models have cost, over time. */
export async function readSpend({ store, clock }: ServerParts, { scope }: Principal, request: SpendRequest) {
  const now = clock.now();
  const { since, until, bucketMs } = spanOf(request, now);
  const runs = { labels: scope.labels, pipelines: pipelinesIn(scope, request.pipeline) ?? null };
  const buckets = await store.readSpend({ ...runs, since, until, bucketMs, by: "pipeline" });
  const shown = request.by === "pipeline" ? buckets : joinedBuckets(buckets);
  const costly = await store.listCostlyRuns({ ...runs, since, limit: MOST_RUNS });
  const near = await store.listRunsNearBudget({ ...runs, limit: MOST_RUNS });
  const pipelines = pipelineSpends(buckets);
  return {
    since: isoTime(since),
    until: isoTime(until),
    bucketMs,
    buckets: shown.map(bucketDocument),
    pipelines,
    costly: costly.map((run) => ({
      runId: run.runId,
      pipeline: run.pipeline,
      status: shownStatus(run, now),
      charged: run.charged,
    })),
    nearLimit: near.map(({ run: { runId, pipeline, charged, reserved }, fullest }) => ({
      runId,
      pipeline,
      charged,
      reserved,
      budget: fullest.budget,
      share: fullest.share,
    })),
    lostWork: sumOf(buckets.map(({ lost }) => lost)),
    total: sumOf(pipelines.map(({ charged }) => charged)),
  };
}

/** The last thirty days in days, or a shorter span in hours. Buckets begin at whole hours or days. */
function spanOf(request: SpendRequest, now: number) {
  const until = request.until === undefined ? now : Date.parse(request.until);
  const from = request.since === undefined ? until - USUAL_DAYS * DAY_MS : Date.parse(request.since);
  const bucketMs = request.bucketMs ?? (until - from > 3 * DAY_MS ? DAY_MS : HOUR_MS);
  const since = Math.floor(from / bucketMs) * bucketMs;
  if (since >= until || (until - since) / bucketMs > MOST_BUCKETS)
    throw new HttpProblem(
      400,
      "span_invalid",
      `The time from ${isoTime(from)} to ${isoTime(until)} has no buckets, or more than ${MOST_BUCKETS}: give a later since, an earlier until, or a longer bucketMs.`,
    );
  return { since, until, bucketMs };
}
