import { isInScope } from "../../core/access/scope.ts";
import { isoTime } from "../../export/figures.ts";
import type { ErrorGroup } from "../../store/store.ts";
import type { Handlers } from "../handler.ts";
import type { AccessScope } from "../principal.ts";
import { runFilterIn } from "../scope/run-filter.ts";
import { hasPipeline, scopeKey } from "../scope/run-scope.ts";
import { KeptReads } from "./kept-reads.ts";
import { isConversation } from "./known-pipeline.ts";
import type { ServerParts } from "./server-parts.ts";
import { readSpend } from "./spend.ts";

const WEEK_MS = 7 * 24 * 3_600_000;
/** The parts of the time that failed runs are counted in. */
const ERROR_BUCKETS = 24;

/** Figures about many runs. */
export function reportHandlers(
  parts: ServerParts,
): Handlers<"getSpend" | "listErrors" | "listToolErrors" | "listPipelines"> {
  const { store, clock, pipelines } = parts;
  const figures = new KeptReads(clock);
  return {
    getSpend: async ({ query }, { principal }) => {
      const what = JSON.stringify([scopeKey(principal.scope), query]);
      return { status: 200, body: await figures.read(what, () => readSpend(parts, principal, query)) };
    },

    listErrors: async ({ query: { since, limit } }, { principal }) => {
      const now = clock.now();
      const from = since === undefined ? now - WEEK_MS : Date.parse(since);
      // A little longer than a part, so that the last one has this moment.
      const bucketMs = 1 + Math.floor(Math.max(0, now - from) / ERROR_BUCKETS);
      const groups = await store.listErrors({ ...principal.scope, since: from, bucketMs, limit });
      const items = groups.map(errorGroupDocument);
      return { status: 200, body: { since: isoTime(from), bucketMs, items, asOf: isoTime(now) } };
    },

    listToolErrors: async ({ query: { limit } }, { principal: { scope } }) => {
      const what = JSON.stringify(["tool errors", scopeKey(scope)]);
      const tools = await figures.read(what, () => store.listToolErrors(scope));
      return { status: 200, body: { items: tools.slice(0, limit), asOf: isoTime(clock.now()) } };
    },

    listPipelines: async (_, { principal: { scope } }) => {
      const known = [...pipelines.keys()].filter((name) => hasPipeline(scope, name));
      const names = new Set([...known, ...(await storedPipelines(parts, scope))]);
      const items = [...names].sort().map((name) => {
        const runner = pipelines.get(name);
        return {
          name,
          isKnown: runner !== undefined,
          isConversation: runner !== undefined && isConversation(runner),
        };
      });
      return { status: 200, body: { items } };
    },
  };
}

/** The pipelines of the newest runs and of the schedules in the scope. */
async function storedPipelines({ store }: ServerParts, scope: AccessScope): Promise<readonly string[]> {
  const filter = runFilterIn(scope);
  const runs = filter === null ? [] : await store.listRunSummaries(filter);
  const schedules = (await store.listSchedules()).filter(({ schedule }) =>
    isInScope(scope, { pipeline: schedule.pipeline, metadata: schedule.metadata ?? null }),
  );
  return [...runs.map(({ pipeline }) => pipeline), ...schedules.map(({ schedule }) => schedule.pipeline)];
}

function errorGroupDocument({
  pipeline,
  code,
  step,
  runs,
  firstAt,
  lastAt,
  newestRunId,
  newestMessage,
  buckets,
}: ErrorGroup) {
  return {
    pipeline,
    code,
    step,
    count: runs,
    firstAt: isoTime(firstAt),
    lastAt: isoTime(lastAt),
    newestRunId,
    newestMessage,
    buckets: buckets.map((bucket) => ({ at: isoTime(bucket.at), count: bucket.runs })),
  };
}
