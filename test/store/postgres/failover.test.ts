// A server that is replaced by one that has not received its last commits: what was stored and is there no more is
// never mistaken for what is.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, type RecoveryClass, Runner, tool } from "../../../src/index.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Attendance, Store } from "../../../src/store/store.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { newReceipt, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { CuttingProxy } from "./cutting-proxy.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";
import { type StandbyServer, startStandby } from "./standby-server.ts";

const IS_FOREIGN = (process.env.TEST_POSTGRES_URL ?? "") !== "";

let primary: PostgresServer;
let standby: StandbyServer;
let proxy: CuttingProxy;
let url: string;
beforeAll(async () => {
  if (IS_FOREIGN) return;
  primary = await startPostgres();
  standby = await startStandby(primary);
  proxy = await CuttingProxy.start(primary.port ?? 0);
  url = primary.url.replace(`:${primary.port}/`, `:${proxy.port}/`);
}, 120_000);
afterAll(async () => {
  if (IS_FOREIGN) return;
  await proxy.stop();
  await standby.stop();
  await primary.stop();
}, 60_000);

/** The intents of a run, in order: two turns with a call each, and the response of a third. */
const INTENTS: readonly ((run: SampleRun) => Promise<unknown>)[] = [
  (run) => run.open(1),
  (run) => run.store.journalResponse(run.fence, run.journal(1, ["running"])),
  (run) => run.store.recordReceipt(run.fence, { stepKey: run.stepKey, turnIndex: 1, receipt: newReceipt(1) }),
  (run) => run.store.commitTurn(run.fence, run.commit(1, { receipts: [], next: run.opening(2) })),
  (run) => run.store.journalResponse(run.fence, run.journal(2, ["running"])),
  (run) =>
    run.store.commitTurn(run.fence, run.commit(2, { receipts: [newReceipt(1)], next: run.opening(3) })),
  (run) => run.store.journalResponse(run.fence, run.journal(3, ["running"])),
];

const LOST = expect.objectContaining({ code: "store_unavailable", details: { reason: "lost_commits" } });

/** What a promise is rejected with. */
function errorOf(promise: Promise<unknown> | undefined): Promise<unknown> {
  return (promise ?? Promise.resolve()).then(
    () => null,
    (error: unknown) => error,
  );
}

/** An agent that has one effect in each of its turns, and asks what to do before each of them. */
function clerk(
  store: Store,
  recovery: RecoveryClass,
  effects: string[],
  before: (turn: number) => Promise<void>,
) {
  const act = tool({
    name: "act",
    description: "Have an effect.",
    inputSchema: z.object({ turn: z.number() }),
    effect: "external",
    recovery,
    dedupe: "call",
    execute: ({ turn }) => effects.push(`${recovery} ${turn}`),
  });
  const model = scriptedModel(async ({ turn }) => {
    await before(turn);
    return turn < 4 ? { toolCalls: [{ name: "act", input: { turn } }] } : { text: "Done." };
  });
  return new Runner(agent({ name: "clerk", model, tools: { act } }), { store });
}

describe.skipIf(IS_FOREIGN)("a server that has lost commits", () => {
  it("takes nothing from those who know of them, says what is lost, and its runs continue", {
    timeout: 120_000,
  }, async () => {
    const schema = primary.newSchema();
    const [w1, w2] = [await openStore(url, { schema }), await openStore(url, { schema })];
    const [runs, left]: [SampleRun[], Attendance[]] = [[], []];
    for (let kept = 0; kept < INTENTS.length; kept++) {
      const run = await SampleRun.create(w2, `kept-${kept}`);
      // So that the store remembers what this worker has begun.
      left.push(w2.attend(run.fence));
      for (const intent of INTENTS.slice(0, kept)) await intent(run);
      runs.push(run);
    }
    const free = await SampleRun.create(w1, "claimed-twice");
    await free.open(1);
    await w1.interruptRun(free.fence);
    // The agent's turns: the first is kept, the second is lost, the third finds that out.
    const effects: string[] = [];
    const [reached, lost] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const [cut, switched] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const working = errorOf(
      clerk(w2, "opaque", effects, async (turn) => {
        if (turn === 2) {
          reached.resolve();
          await cut.promise;
        } else if (turn === 3) {
          lost.resolve();
          await switched.promise;
        }
      }).run("Go", { runId: "clerk" }),
    );
    await reached.promise;
    await standby.caughtUp();
    await standby.cutOff();
    cut.resolve();
    await lost.promise;
    const stale = await free.takenOver(w2);
    for (const [kept, run] of runs.entries()) for (const intent of INTENTS.slice(kept, -1)) await intent(run);

    // The address leads to the new server before that takes writes: those who connect wait for it.
    proxy.switchTo(standby.port);
    const waiting = INTENTS.at(-1)?.(runs.at(-1) as SampleRun);
    await sleep(300);
    await standby.promote();
    await waiting;

    // The claim was lost: another owner has the same epoch, and the first one is refused.
    const w3 = await openStore(url, { schema });
    const current = await free.takenOver(w3);
    expect(current.fence).toEqual(stale.fence);
    const events = await w3.listEvents("claimed-twice");
    expect(await errorOf(w2.journalResponse(stale.fence, stale.journal(1, ["running"])))).toEqual(LOST);
    expect(await errorOf(w2.renewLease(stale.fence, 30_000))).toEqual(LOST);
    expect(await w3.listEvents("claimed-twice")).toEqual(events);
    await current.open(1);

    // The claim was kept, and later commits were lost: nothing of what follows them is taken.
    for (const [kept, run] of runs.slice(0, -1).entries()) {
      const before = await w3.listEvents(run.runId);
      expect([kept, await errorOf(INTENTS.at(-1)?.(run))]).toEqual([kept, LOST]);
      expect(await w3.listEvents(run.runId)).toEqual(before);
      await w2.interruptRun(run.fence);
      left[kept]?.leave();
      const again = await run.takenOver(w2);
      expect((await w2.verify(run.runId)).problems).toEqual([]);
      // A call that is stored as running may have happened, whatever this process remembers of it.
      if (kept === 2 || kept === 5)
        expect((await w2.listToolCallAttempts(run.runId)).map(({ outcome }) => outcome)).toEqual(["lost"]);
      await w2.interruptRun(again.fence);
    }

    switched.resolve();
    const error = await working;
    expect(error).toEqual(LOST);
    expect(String(error)).toMatch(/no longer has event \d+ of run clerk.*then resume the run/);
    // It is not taken up by itself: somebody has to look at what was done.
    expect(await w3.getRun("clerk")).toMatchObject({
      status: "failed",
      error: { details: { reason: "lost_commits" } },
    });
    // The second turn was lost with its call: the database cannot know that this has happened.
    expect(effects).toEqual(["opaque 1", "opaque 2"]);
    const { status } = await clerk(w3, "opaque", effects, () => Promise.resolve()).resume("clerk");
    expect([status, ...effects]).toEqual(["succeeded", "opaque 1", "opaque 2", "opaque 2", "opaque 3"]);
    expect((await w3.verify("clerk")).problems).toEqual([]);
    for (const each of left) each.leave();
    await Promise.all([w1.close(), w2.close(), w3.close()]);
  });
});
