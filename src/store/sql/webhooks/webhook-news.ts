import { isInScope } from "../../../core/access/scope.ts";
import { factsOf } from "../../../core/event-chain.ts";
import { type WaitKind, waitId } from "../../../core/wait.ts";
import {
  type AskedDelivery,
  deliveriesAsked,
  interruptionOf,
  thresholdsReached,
  waitsIn,
} from "../../../core/webhook/webhook-events.ts";
import type { RunSummary, WebhookRecord } from "../../store.ts";
import type { ChangeLog, LogEntry } from "../change-log.ts";
import { summariesOf } from "../queries/listed-runs.ts";
import { inScope } from "../queries/run-scope.ts";
import { allOf, oneOf } from "../queries/sql-condition.ts";
import { all, exists, type SqlScript } from "../script.ts";
import { WAIT_KINDS } from "../stored-words.ts";
import { hasNextPage, KEPT_MS, nextPage, readFeed, type WebhookFeed } from "./webhook-feed.ts";
import { activeWebhooks, listWebhooks } from "./webhook-rows.ts";

/** What a webhook is to get, and has no row for. */
export type NewDelivery = AskedDelivery & {
  readonly webhookId: string;
  readonly runId: string;
  readonly at: number;
};

export type WebhookNews = {
  /** Some may be recorded already. */
  readonly deliveries: readonly NewDelivery[];
  /** The feed behind them; null if it stays where it is. */
  readonly feed: WebhookFeed | null;
  /** There may be more. */
  readonly hasMore: boolean;
};

/** A worker that finds a run takes it before that. */
const INTERRUPTED_MS = 60_000;
const INTERRUPTED_AT_ONCE = 50;

/** The next page of what has happened since the log was read last. */
export function* webhookNews(log: ChangeLog, now: number): SqlScript<WebhookNews> {
  const webhooks = yield* activeWebhooks();
  const feed = webhooks.length === 0 ? null : yield* readFeed();
  if (feed === null) return { deliveries: [], feed: null, hasMore: false };
  const { entries, next } = yield* nextPage(log, feed, now);
  const deliveries = yield* askedByLog(entries, webhooks);
  let hasMore = next !== null;
  for (const webhook of webhooks) {
    const interrupted = yield* interruptedRuns(webhook, now, INTERRUPTED_AT_ONCE);
    deliveries.push(...interrupted);
    hasMore ||= interrupted.length === INTERRUPTED_AT_ONCE;
  }
  return { deliveries, feed: next, hasMore };
}

const HAS_OLD = "SELECT 1 AS found FROM webhook_deliveries WHERE webhook_id = ? AND created_at < ? LIMIT 1";

/** True if there is something to record, or to remove of a webhook that is off. Looks at no more than it has to: it is asked once a second. */
export function* hasWebhookNews(log: ChangeLog, now: number): SqlScript<boolean> {
  const known = yield* listWebhooks();
  for (const { webhookId } of known.filter(({ disabledAt }) => disabledAt !== null))
    if (yield* exists(HAS_OLD, webhookId, now - KEPT_MS)) return true;
  const webhooks = known.filter(({ disabledAt }) => disabledAt === null);
  const feed = webhooks.length === 0 ? null : yield* readFeed();
  if (feed === null) return false;
  if (yield* hasNextPage(log, feed)) return true;
  for (const webhook of webhooks) if ((yield* interruptedRuns(webhook, now, 1)).length > 0) return true;
  return false;
}

/** What events say, and the budgets of the runs that have any. */
function* askedByLog(
  entries: readonly LogEntry[],
  webhooks: readonly WebhookRecord[],
): SqlScript<NewDelivery[]> {
  const asked = (yield* askedBy(entries)).filter(({ deliveries }) => deliveries.length > 0);
  const hasBudgets = webhooks.some(({ events }) => events.includes("budget.threshold"));
  const lastOf = new Map(entries.map((entry) => [entry.runId, entry.at]));
  const named = hasBudgets ? [...lastOf.keys()] : asked.map(({ entry }) => entry.runId);
  const runs = yield* summariesOf([...new Set(named)].map((runId) => ({ runId })));
  const byId = new Map(runs.map((run) => [run.runId, run]));
  return [
    ...asked.flatMap(({ entry, deliveries }) =>
      forWebhooks(webhooks, byId.get(entry.runId), entry.at, deliveries),
    ),
    ...(hasBudgets ? runs : []).flatMap((run) =>
      forWebhooks(webhooks, run, lastOf.get(run.runId) ?? run.updatedAt, thresholdsOf(run)),
    ),
  ];
}

type AskedBy = { readonly entry: LogEntry; readonly deliveries: readonly AskedDelivery[] };

function* askedBy(entries: readonly LogEntry[]): SqlScript<readonly AskedBy[]> {
  const events = entries.map((entry) => ({ entry, event: { ...entry, data: factsOf(entry.data) } }));
  const named = events.flatMap(({ event }) => {
    const { opened, answered } = waitsIn(event);
    return [...opened, ...answered].map((wait) => ({ runId: event.runId, wait }));
  });
  const kinds = yield* kindsOfWaits(named);
  return events.map(({ entry, event }) => ({
    entry,
    deliveries: deliveriesAsked(event, (wait) => kinds.get(waitId(event.runId, wait)) ?? null),
  }));
}

/** In one query: this is asked in the transaction that records, which others wait for. */
function* kindsOfWaits(
  named: readonly { readonly runId: string; readonly wait: number }[],
): SqlScript<ReadonlyMap<string, WaitKind>> {
  if (named.length === 0) return new Map();
  const { text, values } = allOf([
    oneOf("run_id", [...new Set(named.map(({ runId }) => runId))]),
    oneOf("wait_index", [...new Set(named.map(({ wait }) => wait))]),
  ]);
  const rows = yield* all(
    `SELECT run_id, wait_index, kind FROM waits JOIN runs USING (run_key) WHERE ${text}`,
    ...values,
  );
  return new Map(
    rows.map((row) => [waitId(row.text("run_id"), row.int("wait_index")), row.oneOf("kind", WAIT_KINDS)]),
  );
}

/** What is only reserved may be returned, and the number of steps is not in the summary of a run. */
function thresholdsOf({ runId, limit, budgets, charged, toolCalls }: RunSummary): readonly AskedDelivery[] {
  return thresholdsReached(runId, {
    limit,
    budgets: budgets === null ? null : { ...budgets, maxSteps: null },
    charged,
    reserved: { tokens: 0, microDollars: 0 },
    toolCalls,
    steps: 0,
  });
}

/** The id is the one of `interruptionOf`. */
const interrupted = (scope: string) => `SELECT run_id, pipeline, event_seq, lease_until, updated_at FROM runs
   WHERE status = 'running' AND lease_until <= ? AND updated_at <= ? AND (lease_until >= ? OR updated_at >= ?) AND ${scope}
     AND NOT EXISTS (SELECT 1 FROM webhook_deliveries
       WHERE webhook_id = ? AND delivery_id = runs.run_id || ':' || runs.event_seq || ':interrupted')
   ORDER BY run_id LIMIT ?`;

/** Runs that nobody works on, and that are not recorded for the webhook: only the clock says so. */
function* interruptedRuns(
  { webhookId, events, scope, createdAt }: WebhookRecord,
  now: number,
  limit: number,
): SqlScript<NewDelivery[]> {
  if (!events.includes("run.interrupted")) return [];
  const before = now - INTERRUPTED_MS;
  const { text, values } = allOf(inScope(scope));
  const times = [before, before, createdAt, createdAt];
  const rows = yield* all(interrupted(text), ...times, ...values, webhookId, limit);
  return rows.map((row) => {
    const runId = row.text("run_id");
    const { facts, ...delivery } = interruptionOf(runId, row.int("event_seq"));
    const at = Math.max(row.int("lease_until"), row.int("updated_at"));
    return { ...delivery, webhookId, runId, at, facts: { pipeline: row.text("pipeline"), ...facts } };
  });
}

/** What was before a webhook is not for it. */
function forWebhooks(
  webhooks: readonly WebhookRecord[],
  run: RunSummary | undefined,
  at: number,
  deliveries: readonly AskedDelivery[],
): readonly NewDelivery[] {
  if (run === undefined) return [];
  const { runId, pipeline } = run;
  return webhooks
    .filter(({ scope, createdAt }) => createdAt <= at && isInScope(scope, run))
    .flatMap(({ webhookId, events }) =>
      deliveries
        .filter(({ event }) => events.includes(event))
        .map(({ facts, ...each }) => ({ ...each, webhookId, runId, at, facts: { pipeline, ...facts } })),
    );
}
