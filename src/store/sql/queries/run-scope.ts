import type { RunScope } from "../../store.ts";
import { oneOf, type SqlCondition } from "./sql-condition.ts";

/**
 * The conditions under which a run is in the scope, for a query that has the table `runs` and an index of its own to read.
 * Not by the column itself: SQLite would read the index of all runs of these pipelines.
 */
export function inScope({ pipelines, labels }: RunScope): readonly SqlCondition[] {
  return [
    ...(pipelines === null || pipelines === undefined ? [] : [oneOf("(runs.pipeline || '')", pipelines)]),
    ...Object.entries(labels ?? {}).map(hasLabel),
  ];
}

export function hasLabel([name, value]: readonly [string, string]): SqlCondition {
  return {
    text: "EXISTS (SELECT 1 FROM run_labels WHERE run_labels.run_key = runs.run_key AND name = ? AND value = ?)",
    values: [name, value],
  };
}
