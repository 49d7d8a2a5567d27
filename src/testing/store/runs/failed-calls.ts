import type { NewReceipt, NewRun, Store } from "../../../store/store.ts";
import type { Scene } from "../check.ts";
import { FAILED, SampleRun } from "../sample-run.ts";

/** A call of a tool with its receipt; null if it has none yet. */
type Called = readonly [tool: string, receipt: Partial<NewReceipt> | null];

/** A run whose first turn has made these calls. A call that was refused was never dispatched. */
async function calling(
  store: Store,
  runId: string,
  calls: readonly Called[],
  over: Partial<NewRun> = {},
): Promise<SampleRun> {
  const run = await SampleRun.create(store, runId, over);
  await run.open(1);
  const made = calls.map(([tool, receipt], i) =>
    run.call(1, i + 1, { tool, status: receipt?.status === "cancelled" ? "prepared" : "running" }),
  );
  const statuses = made.map(({ status }) => status);
  await store.journalResponse(run.fence, run.journal(1, statuses, { calls: made }));
  for (const [i, [, receipt]] of calls.entries()) if (receipt !== null) await run.receipt(1, i + 1, receipt);
  return run;
}

const BROKEN = { status: "failed", errorCode: "tool_failed" } as const;

/**
 * Runs with calls of every outcome. Returns when each was created.
 *
 * - `both`: a failed call of each of two tools. It failed.
 * - `searches`: one of them failed, and the other one is in doubt.
 * - `fine`, `refused`, `repeated`, `doubtful`: none of theirs failed.
 * - `sends`: two calls of one tool failed.
 * - `settled`: by a person, as failed.
 */
export async function failedCalls({ store, advance, now }: Scene): Promise<(runId: string) => number> {
  const created = new Map<string, number>();
  const made = async (runId: string, calls: readonly Called[], over: Partial<NewRun> = {}) => {
    advance(1);
    created.set(runId, now());
    return calling(store, runId, calls, over);
  };
  const both = await made("both", [
    ["search", BROKEN],
    ["send", BROKEN],
  ]);
  await store.releaseRun(both.fence, FAILED);
  const searches = await made("searches", [
    ["search", BROKEN],
    ["send", null],
  ]);
  await searches.endAttempt(1, 2);
  await made("fine", [["search", {}]]);
  await made("refused", [["send", { status: "cancelled", errorCode: "denied", source: "pawl" }]]);
  const repeated = await made("repeated", [["search", null]]);
  await repeated.endAttempt(1, 1, { inDoubt: false });
  await repeated.start(1, 1);
  await repeated.receipt(1, 1);
  const doubtful = await made("doubtful", [["send", null]]);
  await doubtful.endAttempt(1, 1);
  await made(
    "sends",
    [
      ["send", BROKEN],
      ["search", {}],
      ["send", { ...BROKEN, uncertain: true }],
    ],
    { pipeline: "mail", metadata: { tenant: "acme" } },
  );
  await made("settled", [["send", { ...BROKEN, source: "person" }]], { pipeline: "mail" });
  return (runId) => created.get(runId) ?? 0;
}
