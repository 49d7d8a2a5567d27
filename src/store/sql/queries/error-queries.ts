import type { ErrorGroup, ErrorQuery } from "../../store.ts";
import { all, type SqlScript } from "../script.ts";
import { CURRENT_STEP } from "../tables/run-record.ts";
import { parseJson } from "../tables/run-row.ts";
import { beginningOf, SHOWN_OF_MESSAGE, textIn } from "./listed-runs.ts";
import { MOST_SEEN } from "./run-page.ts";
import { inScope } from "./run-scope.ts";
import { allOf } from "./value-lists.ts";

/** Grouped here and not in SQL: a code is inside the stored error. */
export function* listErrors({ since, limit, ...scope }: ErrorQuery): SqlScript<ErrorGroup[]> {
  const { text, values } = allOf([
    { text: "runs.status = 'failed' AND runs.ended_at >= ?", values: [since] },
    ...inScope(scope),
  ]);
  const rows = yield* all(
    `SELECT runs.run_id, runs.pipeline, runs.ended_at, runs.error, ${CURRENT_STEP} FROM runs WHERE ${text}
      ORDER BY runs.ended_at DESC, runs.run_id DESC LIMIT ?`,
    ...values,
    MOST_SEEN,
  );
  const groups = new Map<string, ErrorGroup>();
  for (const row of rows) {
    const error = parseJson(row.optionalText("error"));
    const [pipeline, code, step] = [
      row.text("pipeline"),
      textIn(error, "code"),
      row.optionalText("current_step"),
    ];
    const key = JSON.stringify([pipeline, code, step]);
    const [at, message] = [row.int("ended_at"), textIn(error, "message")];
    const known = groups.get(key);
    groups.set(
      key,
      known === undefined
        ? {
            pipeline,
            code,
            step,
            runs: 1,
            firstAt: at,
            lastAt: at,
            newestRunId: row.text("run_id"),
            newestMessage: message === null ? null : beginningOf(message, SHOWN_OF_MESSAGE),
          }
        : { ...known, runs: known.runs + 1, firstAt: at },
    );
  }
  return [...groups.values()].sort((a, b) => b.runs - a.runs || b.lastAt - a.lastAt).slice(0, limit);
}
