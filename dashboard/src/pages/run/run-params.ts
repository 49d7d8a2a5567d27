import { runPath } from "../../browser/places.ts";
import { flag, oneOf, optional } from "../../browser/search-params.ts";
import { useSearchParams } from "../../browser/use-search-params.ts";

export const VIEWS = ["timeline", "transcript", "ledger", "money", "log"] as const;
export type RunView = (typeof VIEWS)[number];

const PARAMS = {
  view: oneOf(VIEWS, "timeline"),
  /** What is selected: a slice or wait, an item, a call, the number of an event. */
  at: optional,
  /** Of the event at `at`, when the link was made. */
  hash: optional,
  zoom: optional,
  table: flag,
  raw: flag,
  /** Filters of the ledger. */
  status: optional,
  tool: optional,
  /** What stands out in the timeline: see `filterChoices`. */
  show: optional,
};

/** The address of a run's page. */
export function useRunParams() {
  return useSearchParams(PARAMS);
}

/** The path of a view of a run. */
export function viewPath(
  runId: string,
  given: { readonly view: RunView; readonly at?: string; readonly hash?: string },
): string {
  const { view, ...rest } = given;
  const query = new URLSearchParams({ ...(view === "timeline" ? {} : { view }), ...rest }).toString();
  return query === "" ? runPath(runId) : `${runPath(runId)}?${query}`;
}
