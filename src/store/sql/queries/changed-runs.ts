import type { RunChangeCursor, RunChanges } from "../../store.ts";
import type { ChangeLog } from "../change-log.ts";
import type { SqlScript } from "../script.ts";
import { summariesOf } from "./listed-runs.ts";

/** A reader that is further behind reads its lists again, which is cheaper. */
const MOST_EVENTS = 10_000;
const MOST_RUNS = 1_000;

export function* listChangedRuns(
  log: ChangeLog,
  after: RunChangeCursor | null,
  limit: number,
): SqlScript<RunChanges> {
  const cursor = yield* log.end();
  if (after === cursor) return { runs: [], cursor, isReset: false };
  const changed = after === null ? null : yield* log.since(after, MOST_EVENTS);
  const events = changed?.reduce((sum, run) => sum + run.events, 0) ?? 0;
  if (changed === null || changed.length > Math.min(limit, MOST_RUNS) || events === MOST_EVENTS)
    return { runs: [], cursor, isReset: true };
  return { runs: yield* summariesOf(changed), cursor, isReset: false };
}
