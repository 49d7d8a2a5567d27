import assert from "node:assert/strict";
import { type Check, check } from "../check.ts";
import { queuedRun } from "../runs/queue.ts";
import { FAILED, SampleRun, sha256 } from "../sample-run.ts";

export const overviewChecks: readonly Check[] = [
  check("failed runs are grouped by pipeline, code and step", async ({ store, now, advance }) => {
    const start = now();
    const fail = async (runId: string, pipeline: string, code: string, message = "It broke.") => {
      const run = await SampleRun.create(store, runId, { pipeline, metadata: { tenant: pipeline } });
      if (code === "late") await run.at("send");
      await store.releaseRun(run.fence, { status: "failed", error: { code, message, details: {} } });
      advance(10);
      return run;
    };
    await fail("run-1", "mail", "tool_failed");
    await fail("run-2", "mail", "tool_failed", "x".repeat(400));
    await fail("run-3", "report", "tool_failed");
    await fail("run-4", "mail", "late");
    await store.releaseRun((await fail("run-5", "mail", "other").then((run) => run.takenOver())).fence, {
      status: "succeeded",
      output: null,
      context: null,
    });
    const group = { pipeline: "mail", code: "tool_failed", step: "draft" };
    const first = {
      ...group,
      runs: 2,
      firstAt: start,
      lastAt: start + 10,
      newestRunId: "run-2",
      newestMessage: "x".repeat(300),
      buckets: [{ at: start, runs: 2 }],
    };
    const query = { since: start, bucketMs: 1_000 };
    const groups = await store.listErrors({ ...query, limit: 10 });
    assert.deepEqual(groups[0], first, "the largest group, and the newest run of it");
    assert.deepEqual(
      groups.slice(1).map(({ pipeline, code, step, newestRunId }) => [pipeline, code, step, newestRunId]),
      [
        ["mail", "late", "send", "run-4"],
        ["report", "tool_failed", "draft", "run-3"],
      ],
      "the last one first",
    );
    assert.equal((await store.listErrors({ ...query, limit: 1 })).length, 1);
    assert.equal((await store.listErrors({ ...query, since: start + 30, limit: 9 })).length, 1);
    assert.equal((await store.listErrors({ ...query, limit: 9, pipelines: ["mail"] })).length, 2);
    assert.equal((await store.listErrors({ ...query, limit: 9, labels: { tenant: "report" } })).length, 1);
  }),

  check("a group of errors says how many runs failed when", async ({ store, now, advance }) => {
    const since = now();
    for (const [i, waitMs] of [5, 4, 1, 0, 25].entries()) {
      advance(waitMs);
      const run = await SampleRun.create(store, `run-${i}`, { pipeline: i === 3 ? "mail" : "report" });
      await store.releaseRun(run.fence, FAILED);
    }
    const query = { since, bucketMs: 10, limit: 9 };
    const buckets = async (more: object = {}) =>
      (await store.listErrors({ ...query, ...more })).map((group) => [group.pipeline, group.buckets]);
    const report = [
      { at: since, runs: 2 },
      { at: since + 10, runs: 1 },
      { at: since + 30, runs: 1 },
    ];
    assert.deepEqual(await buckets(), [
      ["report", report],
      ["mail", [{ at: since + 10, runs: 1 }]],
    ]);
    const later = { since: since + 6, pipelines: ["report"] };
    const [of6, of26] = [
      { at: since + 6, runs: 2 },
      { at: since + 26, runs: 1 },
    ];
    assert.deepEqual(await buckets(later), [["report", [of6, of26]]], "the first one begins at `since`");
    for (const bucketMs of [0, 1.5, Number.NaN])
      await assert.rejects(store.listErrors({ ...query, bucketMs }), { code: "configuration" });
  }),

  check("the activity of a scope has its runs alone", async ({ store, now, advance }) => {
    const argumentsHash = sha256("arguments").toString("hex");
    for (const pipeline of ["mail", "report"]) {
      const place = { pipeline, metadata: { tenant: pipeline } };
      await store.enqueueRun(queuedRun(`${pipeline}-ready`, place));
      await store.enqueueRun(queuedRun(`${pipeline}-asleep`, { ...place, notBefore: now() + 5_000 }));
      await SampleRun.create(store, `${pipeline}-held`, place);
      const run = await SampleRun.create(store, `${pipeline}-asks`, place);
      await run.journaled(1, ["prepared"]);
      await run.waiting(run.approval(1, 1, argumentsHash));
      advance(1);
    }
    const all = await store.readActivity({ limit: 9 });
    assert.deepEqual([all.held.length, all.firstWaits.length, all.sleeping[0]?.sleeping], [2, 2, 2]);
    for (const scope of [{ pipelines: ["mail", "none"] }, { pipelines: null, labels: { tenant: "mail" } }]) {
      const { ready, sleeping, running, held, waits, firstWaits } = await store.readActivity({
        limit: 9,
        ...scope,
      });
      assert.deepEqual(
        ready.map((each) => [each.pipeline, each.ready]),
        [["mail", 1]],
      );
      assert.deepEqual(
        sleeping.map((each) => each.sleeping),
        [1],
      );
      assert.deepEqual(running, [{ queue: "default", running: 1 }]);
      assert.deepEqual(
        held.map(({ runId }) => runId),
        ["mail-held"],
      );
      assert.deepEqual(waits, [{ kind: "approval", open: 1, oldestMs: 2 }]);
      assert.deepEqual(
        firstWaits.map(({ waitId }) => waitId),
        ["mail-asks~1"],
      );
    }
    assert.deepEqual((await store.readActivity({ limit: 9, pipelines: [] })).waits, []);
  }),

  check("a store says which database it is, and how large", async ({ store }) => {
    const { database, schemaVersion, sizeBytes, logBytes } = await store.describeStore();
    assert.ok(database === "sqlite" || database === "postgres");
    assert.ok(schemaVersion >= 200, `schema ${schemaVersion}`);
    assert.ok(sizeBytes > 10_000, `${sizeBytes} bytes`);
    assert.ok(logBytes === null || logBytes >= 0);
    const report = await store.inspectDatabase();
    const known = report.database === "sqlite" ? report : report.server;
    assert.deepEqual([report.database, known.schemaVersion], [database, schemaVersion]);
    assert.equal(known.knownVersion, schemaVersion, "an open store has the schema of its program");
    const run = await SampleRun.create(store);
    await store.keepArtifact(run.fence, {
      stepKey: run.stepKey,
      name: "a",
      bytes: Buffer.alloc(200_000, "a"),
    });
    await store.releaseRun(run.fence, FAILED);
    const after = await store.describeStore();
    assert.ok(after.sizeBytes + (after.logBytes ?? 0) > sizeBytes + (logBytes ?? 0), "it has grown");
  }),
];
