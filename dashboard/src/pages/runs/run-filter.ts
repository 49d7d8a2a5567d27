import { ANY_TOOL } from "../../../../src/core/call/any-tool.ts";
import type { RunCounts, RunHead } from "../../api/documents.ts";
import {
  changedSearch,
  flag,
  maybeOneOf,
  optional,
  type ParamValues,
  readParams,
  someOf,
  text,
  words,
} from "../../browser/search-params.ts";
import { PERIODS, periodStart, periodStartText } from "../../words/periods.ts";
import { STATUSES } from "../../words/statuses.ts";

/** What the list shows. A view is nothing but a name for some of these. */
const FILTER_PARAMS = {
  needs: flag,
  status: someOf(STATUSES),
  pipeline: words,
  since: maybeOneOf(PERIODS),
  toolError: optional,
  q: text,
} as const;

/** Everything that the address of the page has: `view=all` says that no filter is meant, and `at` is the row with the cursor. */
export const RUN_PARAMS = {
  ...FILTER_PARAMS,
  view: maybeOneOf(["all"]),
  groups: flag,
  at: optional,
} as const;

export type RunFilter = ParamValues<typeof FILTER_PARAMS>;

export const NO_FILTER: RunFilter = readParams(FILTER_PARAMS, "");

/** The filters alone, as they are compared and saved. */
export function filterSearch(filter: RunFilter): string {
  return changedSearch(FILTER_PARAMS, "", filter).replace(/^\?/, "");
}

export function filterOf(search: string): RunFilter {
  return readParams(FILTER_PARAMS, search);
}

export type RunView = { readonly name: string; readonly filter: RunFilter };

export const VIEWS = {
  all: { name: "all", filter: NO_FILTER },
  needs: { name: "needs me", filter: { ...NO_FILTER, needs: true } },
  running: { name: "running", filter: { ...NO_FILTER, status: ["running"] } },
  failed: { name: "failed 24 h", filter: { ...NO_FILTER, status: ["failed"], since: "24h" } },
} as const satisfies { readonly [id: string]: RunView };

/** What an address without filters means: what needs a person, where something does, for those who may act on it. */
export function usualFilter(counts: RunCounts, mayAct: boolean): RunFilter {
  return mayAct && counts.needsPerson > 0 ? VIEWS.needs.filter : NO_FILTER;
}

/** The query of the API. */
export function runQuery(filter: RunFilter, now: number) {
  return {
    ...(filter.needs ? { needs: "person" as const } : {}),
    ...(filter.status.length === 0 ? {} : { status: [...filter.status] }),
    ...(filter.pipeline.length === 0 ? {} : { pipeline: [...filter.pipeline] }),
    ...(filter.since === null ? {} : { since: periodStartText(filter.since, now) }),
    ...(filter.toolError === null ? {} : { toolError: filter.toolError }),
    ...(filter.q.trim() === "" ? {} : { q: filter.q.trim() }),
  };
}

/** Whether a run that the stream brought belongs to the list. Only the server looks for words, and for the tools of failed calls. */
export function isInFilter(head: RunHead, filter: RunFilter, now: number): boolean {
  const since = filter.since === null ? 0 : periodStart(filter.since, now);
  return (
    (!filter.needs || needsPerson(head)) &&
    (filter.status.length === 0 || filter.status.includes(head.status)) &&
    (filter.pipeline.length === 0 || filter.pipeline.includes(head.pipeline)) &&
    Date.parse(head.createdAt) >= since &&
    (filter.toolError === null || (filter.toolError === ANY_TOOL && head.failedCalls > 0)) &&
    (filter.q.trim() === "" || head.runId.startsWith(filter.q.trim()))
  );
}

export function needsPerson(head: RunHead): boolean {
  return head.openWaits > 0 || head.status === "interrupted" || head.callsInDoubt > 0;
}

export function toolWords(tool: string): string {
  return tool === ANY_TOOL ? "any tool" : tool;
}

/** Each filter by itself, in words, with what is left without it. */
export function partsOf(
  filter: RunFilter,
): readonly { readonly words: string; readonly without: RunFilter }[] {
  return [
    ...(filter.needs ? [{ words: "needs me", without: { ...filter, needs: false } }] : []),
    ...(filter.status.length > 0
      ? [{ words: `status ${filter.status.join(", ")}`, without: { ...filter, status: [] } }]
      : []),
    ...(filter.pipeline.length > 0
      ? [{ words: `pipeline ${filter.pipeline.join(", ")}`, without: { ...filter, pipeline: [] } }]
      : []),
    ...(filter.since === null
      ? []
      : [{ words: `since ${filter.since}`, without: { ...filter, since: null } }]),
    ...(filter.toolError === null
      ? []
      : [{ words: `error of ${toolWords(filter.toolError)}`, without: { ...filter, toolError: null } }]),
    ...(filter.q.trim() === "" ? [] : [{ words: `“${filter.q.trim()}”`, without: { ...filter, q: "" } }]),
  ];
}
