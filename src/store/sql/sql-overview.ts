import { StoreUnavailableError } from "../../core/errors.ts";
import type * as contract from "../store.ts";
import type { Driver } from "./driver.ts";
import { readActivity } from "./queries/activity-queries.ts";
import { listChangedRuns } from "./queries/changed-runs.ts";
import * as costly from "./queries/costly-runs.ts";
import * as errors from "./queries/error-queries.ts";
import * as listed from "./queries/listed-runs.ts";
import { countRuns } from "./queries/run-counts.ts";
import { readSpend } from "./queries/spend-queries.ts";
import { listAnsweredWaits } from "./queries/wait-queries.ts";
import type { SqlScript } from "./script.ts";
import { listWorkers } from "./tables/live-worker-rows.ts";
import { listTrustedWaits } from "./verify/verify-open.ts";
import { hasWebhookNews } from "./webhooks/webhook-news.ts";
import * as webhooks from "./webhooks/webhook-rows.ts";

export type Listed<List extends `list${string}` & keyof contract.StoreReader> = ReturnType<
  contract.StoreReader[List]
>;

/** The reads that are about many runs, for people. */
export abstract class SqlOverview {
  protected readonly driver: Driver;

  constructor(driver: Driver) {
    this.driver = driver;
  }

  /** True if the store is closed and no worker is left that may still read. */
  protected abstract get isOver(): boolean;

  listRuns(filter: contract.RunFilter = {}): Promise<readonly contract.RunRecord[]> {
    return this.read(() => listed.listRuns(this.driver.now(), filter));
  }

  listRunSummaries(filter: contract.RunFilter = {}): Listed<"listRunSummaries"> {
    const list = () => listed.listRunSummaries(this.driver.now(), filter);
    // A text is looked for in the texts of thousands of runs, and a failed call in the ledgers of all of them.
    const isLong = filter.text !== undefined || filter.toolError !== undefined;
    return isLong ? this.readLong(list) : this.read(list);
  }

  countRuns(filter: contract.RunFilter = {}): Promise<contract.RunCounts> {
    return this.read(() => countRuns(this.driver.now(), filter));
  }

  readRunHead(runId: string): Promise<contract.RunSummary | null> {
    return this.read(() => listed.readRunHead(runId));
  }

  listChangedRuns({ after, limit }: contract.RunChangeQuery): Promise<contract.RunChanges> {
    return this.read(() => listChangedRuns(this.driver.changeLog, after, limit));
  }

  listWorkers(): Promise<readonly contract.LiveWorker[]> {
    return this.read(() => listWorkers(this.driver.now()));
  }

  readActivity(query: contract.ActivityQuery): Promise<contract.QueueActivity> {
    return this.read(() => readActivity(this.driver.now(), query));
  }

  readSpend(query: contract.SpendQuery): Promise<readonly contract.SpendBucket[]> {
    return this.readLong(() => readSpend(query));
  }

  listCostlyRuns(query: contract.CostlyQuery): Listed<"listCostlyRuns"> {
    return this.readLong(() => costly.listCostlyRuns(query));
  }

  listRunsNearBudget(query: contract.RunScope & { readonly limit: number }): Listed<"listRunsNearBudget"> {
    return this.readLong(() => costly.listRunsNearBudget(query));
  }

  listErrors(query: contract.ErrorQuery): Listed<"listErrors"> {
    return this.read(() => errors.listErrors(query));
  }

  listToolErrors(scope: contract.RunScope = {}): Listed<"listToolErrors"> {
    return this.readLong(() => errors.listToolErrors(scope));
  }

  describeStore(): Promise<contract.StoreDescription> {
    if (this.isOver) return Promise.reject(closedError(this.driver.name));
    return this.driver.describe();
  }

  inspectDatabase(): Promise<contract.DatabaseReport> {
    if (this.isOver) return Promise.reject(closedError(this.driver.name));
    return this.driver.inspect();
  }

  listOpenWaits(range?: contract.OpenWaitRange): Listed<"listOpenWaits"> {
    return this.read(() => listTrustedWaits(range));
  }

  listAnsweredWaits(range: contract.AnsweredWaitRange): Listed<"listAnsweredWaits"> {
    return this.read(() => listAnsweredWaits(range));
  }

  listWebhooks(): Listed<"listWebhooks"> {
    return this.read(() => webhooks.listWebhooks());
  }

  getWebhook(webhookId: string): Promise<contract.WebhookRecord | null> {
    return this.read(() => webhooks.getWebhook(webhookId));
  }

  listDeliveries(webhookId: string): Listed<"listDeliveries"> {
    return this.read(() => webhooks.listDeliveries(webhookId));
  }

  hasWebhookNews(): Promise<boolean> {
    const { driver } = this;
    return this.read(() => hasWebhookNews(driver.changeLog, driver.now()));
  }

  listDueWebhooks(): Listed<"listDueWebhooks"> {
    return this.read(() => webhooks.dueWebhooks(this.driver.now()));
  }

  protected read<T>(script: () => SqlScript<T>): Promise<T> {
    if (this.isOver) return Promise.reject(closedError(this.driver.name));
    return this.driver.read(script);
  }

  /** For what reads all rows of a run, or of many. */
  protected readLong<T>(script: () => SqlScript<T>, isLong?: () => SqlScript<boolean>): Promise<T> {
    if (this.isOver) return Promise.reject(closedError(this.driver.name));
    return this.driver.readLong(script, isLong);
  }
}

export function closedError(name: string): StoreUnavailableError {
  return new StoreUnavailableError(`The store ${name} is closed: open it again with openStore.`, {
    reason: "closed",
  });
}
