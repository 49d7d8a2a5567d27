import assert from "node:assert/strict";
import type { RunFilter, Store } from "../../../store/store.ts";
import { type Check, check } from "../check.ts";
import { newSpec } from "../sample-contract.ts";
import { FAILED, LEASE_MS, SampleRun, SUCCEEDED, sha256 } from "../sample-run.ts";
import { failedCalls } from "./failed-calls.ts";
import { queuedRun } from "./queue.ts";

async function ids(store: Store, filter: RunFilter): Promise<string[]> {
  const summaries = (await store.listRunSummaries(filter)).map(({ runId }) => runId);
  assert.deepEqual(
    (await store.listRuns(filter)).map(({ runId }) => runId),
    summaries,
    "both lists have the same runs",
  );
  return summaries;
}

/** The same, read in pages of two. */
async function paged(store: Store, filter: RunFilter): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: Pick<RunFilter, "after"> = {}; ; ) {
    const page = await store.listRunSummaries({ ...filter, ...cursor, limit: 2 });
    found.push(...page.map(({ runId }) => runId));
    const after = page.at(-1);
    if (after === undefined || page.length < 2) return found;
    cursor = { after };
  }
}

const HASH = sha256("arguments").toString("hex");

/** A run of each status, the oldest first; two of them in the same millisecond. */
async function runOfEachStatus(store: Store, advance: (ms: number) => void): Promise<void> {
  const lost = await SampleRun.create(store, "lost", { pipeline: "mail", metadata: { tenant: "acme" } });
  await lost.committed(1);
  advance(LEASE_MS);
  await store.enqueueRun(queuedRun("queued", { metadata: { tenant: "acme" } }));
  const waiting = await SampleRun.create(store, "waiting", { metadata: { tenant: "other" } });
  await waiting.journaled(1, ["prepared"]);
  await waiting.waiting(waiting.approval(1, 1, HASH));
  advance(1);
  for (const [runId, end] of [
    ["failed", FAILED],
    ["succeeded", SUCCEEDED],
  ] as const) {
    const run = await SampleRun.create(store, runId, { pipeline: "mail", metadata: { tenant: "acme" } });
    await store.releaseRun(run.fence, end);
    advance(1);
  }
  await store.enqueueRun(queuedRun("cancelled", { pipeline: "other" }));
  await store.requestCancel("cancelled");
  advance(1);
  await store.enqueueRun(queuedRun("moved", { pipeline: "mail" }));
  await store.moveRun("moved", "f".repeat(32));
  advance(1);
  await SampleRun.create(store, "running", { pipeline: "mail" });
}

const NEWEST_FIRST = ["running", "moved", "cancelled", "succeeded", "failed", "waiting", "queued", "lost"];

export const runFilterChecks: readonly Check[] = [
  check("runs are found by one status or several, as people see them", async ({ store, advance }) => {
    await runOfEachStatus(store, advance);
    assert.deepEqual(await ids(store, {}), NEWEST_FIRST);
    for (const status of [
      "queued",
      "running",
      "waiting",
      "succeeded",
      "failed",
      "cancelled",
      "moved",
    ] as const)
      assert.deepEqual(await ids(store, { status }), [status]);
    assert.deepEqual(await ids(store, { status: "interrupted" }), ["lost"]);
    assert.deepEqual(await ids(store, { status: ["interrupted", "running"] }), ["running", "lost"]);
    assert.deepEqual(await ids(store, { status: ["failed", "queued", "waiting"] }), [
      "failed",
      "waiting",
      "queued",
    ]);
    assert.deepEqual(await ids(store, { status: [] }), []);
    const all = [
      "queued",
      "running",
      "interrupted",
      "waiting",
      "succeeded",
      "failed",
      "cancelled",
      "moved",
    ] as const;
    assert.deepEqual(await ids(store, { status: all }), NEWEST_FIRST);
    advance(LEASE_MS);
    assert.deepEqual(
      await ids(store, { status: "interrupted" }),
      ["running", "lost"],
      "its lease has expired",
    );
    assert.deepEqual(await ids(store, { status: "running" }), []);
  }),

  check("several statuses, pipelines and values of metadata are one list, in pages", async (scene) => {
    const { store, advance } = scene;
    await runOfEachStatus(store, advance);
    const unfinished = ["queued", "running", "interrupted", "waiting"] as const;
    const filters: readonly (readonly [RunFilter, readonly string[]])[] = [
      [{ pipelines: ["mail", "other"] }, ["running", "moved", "cancelled", "succeeded", "failed", "lost"]],
      [{ pipelines: ["mail", "mail"], status: unfinished }, ["running", "lost"]],
      [{ pipelines: ["mail", "other", "none"], status: ["failed", "cancelled"] }, ["cancelled", "failed"]],
      [{ pipelines: ["mail"], pipeline: "mail", status: "failed" }, ["failed"]],
      [{ pipelines: ["mail"], pipeline: "report" }, []],
      [{ pipelines: [] }, []],
      [{ metadata: { tenant: "acme" }, status: [...unfinished, "failed"] }, ["failed", "queued", "lost"]],
      [{ metadata: { tenant: "acme" }, status: "interrupted" }, ["lost"]],
      [{ metadata: { tenant: "acme" }, pipelines: ["mail", "other"] }, ["succeeded", "failed", "lost"]],
      [{ metadata: { tenant: "acme" }, pipelines: ["mail"], status: ["queued", "succeeded"] }, ["succeeded"]],
      [{ queue: "default", status: ["queued", "waiting"] }, ["waiting", "queued"]],
      [{ queue: "other", status: ["queued", "waiting"] }, []],
    ];
    for (const [filter, expected] of filters) {
      assert.deepEqual(await ids(store, filter), expected, JSON.stringify(filter));
      assert.deepEqual(await paged(store, filter), expected, `${JSON.stringify(filter)} in pages`);
    }
  }),

  check("runs are found by when they were created, and by the beginning of their id", async (scene) => {
    const { store, advance, now } = scene;
    const start = now();
    for (const runId of ["a-1", "a-2", "a", "b-1", "aé", "A-1"]) {
      await store.enqueueRun(queuedRun(runId, { pipeline: runId.slice(0, 1) }));
      advance(10);
    }
    assert.deepEqual(await ids(store, { createdSince: start + 10, createdBefore: start + 30 }), ["a", "a-2"]);
    assert.deepEqual(await ids(store, { createdSince: start + 41 }), ["A-1"]);
    assert.deepEqual(await ids(store, { idPrefix: "a" }), ["aé", "a", "a-2", "a-1"]);
    assert.deepEqual(await paged(store, { idPrefix: "a" }), ["aé", "a", "a-2", "a-1"]);
    assert.deepEqual(await ids(store, { idPrefix: "a-", createdSince: start + 10 }), ["a-2"]);
    assert.deepEqual(await ids(store, { idPrefix: "a", pipelines: ["b"] }), []);
    assert.deepEqual(await ids(store, { idPrefix: "a%" }), [], "it is no pattern");
    assert.deepEqual((await ids(store, { idPrefix: "" })).length, 6);
  }),

  check("a text is found in objectives, errors and ids, in upper or lower case", async (scene) => {
    const { store, advance } = scene;
    const spec = (objective: string) => ({ spec: { ...newSpec(), objective } });
    await store.enqueueRun(queuedRun("q-1", spec('Write about the "Größe" of the museum.')));
    advance(1);
    await store.enqueueRun(queuedRun("museum-2", { pipeline: "other" }));
    advance(1);
    const run = await SampleRun.create(store, "q-3", spec("Nothing."));
    const error = { code: "tool_failed", message: "The Museum\nis closed.", details: { text: "hidden" } };
    await store.releaseRun(run.fence, { status: "failed", error });
    assert.deepEqual(await ids(store, { text: "MUSEUM" }), ["q-3", "museum-2", "q-1"]);
    assert.deepEqual(await paged(store, { text: "museum" }), ["q-3", "museum-2", "q-1"]);
    assert.deepEqual(await ids(store, { text: 'the "GRÖSSE"' }), [], "other letters");
    assert.deepEqual(await ids(store, { text: 'the "GRÖßE"' }), ["q-1"]);
    assert.deepEqual(await ids(store, { text: "museum\nIS" }), ["q-3"]);
    assert.deepEqual(await ids(store, { text: "tool_FAILED" }), ["q-3"]);
    assert.deepEqual(await ids(store, { text: "hidden" }), [], "only the code and the message");
    assert.deepEqual(await ids(store, { text: "objective" }), [], "nor the name of a member");
    assert.deepEqual(await ids(store, { text: "museum", pipelines: ["report"], status: ["queued"] }), [
      "q-1",
    ]);
    assert.deepEqual(await ids(store, { text: "mus_um" }), [], "it is no pattern");
  }),

  check("runs are found by the tool of a call that failed", async (scene) => {
    const { store } = scene;
    const created = await failedCalls(scene);
    const filters: readonly (readonly [RunFilter, readonly string[]])[] = [
      [{ toolError: "*" }, ["settled", "sends", "searches", "both"]],
      [{ toolError: "send" }, ["settled", "sends", "both"]],
      [{ toolError: "search" }, ["searches", "both"]],
      [{ toolError: "crawl" }, []],
      [{ toolError: "sen%" }, []],
      [{ toolError: "*", status: ["failed", "cancelled"] }, ["both"]],
      [{ toolError: "*", pipelines: ["mail", "other"] }, ["settled", "sends"]],
      [{ toolError: "send", pipeline: "report" }, ["both"]],
      [{ toolError: "send", metadata: { tenant: "acme" } }, ["sends"]],
      [{ toolError: "search", metadata: { tenant: "acme" }, status: "running" }, []],
      [{ toolError: "*", needsPerson: true }, ["searches"]],
      [{ toolError: "*", idPrefix: "se" }, ["settled", "sends", "searches"]],
      [{ toolError: "*", createdSince: created("searches") }, ["settled", "sends", "searches"]],
      [{ toolError: "send", createdBefore: created("searches") }, ["both"]],
      [{ toolError: "send", text: "SE" }, ["settled", "sends"]],
    ];
    for (const [filter, expected] of filters) {
      assert.deepEqual(await ids(store, filter), expected, JSON.stringify(filter));
      assert.deepEqual(await paged(store, filter), expected, `${JSON.stringify(filter)} in pages`);
      assert.equal((await store.countRuns(filter)).total, expected.length, JSON.stringify(filter));
    }
    const { counts, needsPerson } = await store.countRuns({ toolError: "*" });
    assert.deepEqual([counts.failed, counts.running, needsPerson], [1, 3, 1]);
  }),

  check("a summary counts the calls that failed, and a deleted run has none", async (scene) => {
    const { store } = scene;
    await failedCalls(scene);
    const failed = (await store.listRunSummaries()).flatMap(({ runId, failedCalls: calls }) =>
      calls === 0 ? [] : [[runId, calls]],
    );
    const expected = [
      ["settled", 1],
      ["sends", 2],
      ["searches", 1],
      ["both", 2],
    ];
    assert.deepEqual(failed, expected);
    await store.deleteRun("both", { why: "old" });
    assert.deepEqual(await ids(store, { toolError: "search" }), ["searches"]);
  }),

  check("the tools of failed calls are listed by the number of their runs", async (scene) => {
    const { store } = scene;
    assert.deepEqual(await store.listToolErrors(), []);
    await failedCalls(scene);
    const all = [
      { tool: "send", runs: 3 },
      { tool: "search", runs: 2 },
    ];
    assert.deepEqual(await store.listToolErrors(), all);
    assert.deepEqual(await store.listToolErrors({ pipelines: null, labels: null }), all);
    assert.deepEqual(await store.listToolErrors({ pipelines: ["mail"] }), [{ tool: "send", runs: 2 }]);
    assert.deepEqual(await store.listToolErrors({ labels: { tenant: "acme" } }), [{ tool: "send", runs: 1 }]);
    assert.deepEqual(await store.listToolErrors({ pipelines: [] }), []);
  }),
];
