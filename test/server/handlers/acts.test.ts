// What people do over HTTP: who is recorded, who was faster, and that no worker has to be there.

import { expect, test } from "vitest";
import { HttpProblem } from "../../../src/server/http-problem.ts";
import { SampleRun } from "../../../src/testing/store/sample-run.ts";
import { databaseFile, failureOf, fileStore, memoryStore } from "../../engine/run-fixture.ts";
import { ACME_OPERATOR, putRun } from "./sample-world.ts";
import { ACME, principal, serverWorld } from "./server-world.ts";

const BEN = principal({ name: "ben", id: "token-ben", role: "operator" });

test("of two people who answer at once, one wins, and the other is told who and how", async () => {
  const file = databaseFile();
  const [first, second] = [serverWorld(await fileStore(file)), serverWorld(await fileStore(file))];
  await putRun(first, "clerk-1");
  await first.work("clerk-1");
  const waitId = "clerk-1~1";
  const { body } = await first.call("getWait", { params: { waitId } });
  const answers = await Promise.allSettled([
    first.call("approveWait", { params: { waitId }, body: { argumentsHash: body.argumentsHash } }),
    second.call("denyWait", { params: { waitId }, body: { why: "Too much." }, as: BEN }),
  ]);
  const won = answers.findIndex(({ status }) => status === "fulfilled");
  const lost = answers[1 - won];
  if (lost?.status !== "rejected") throw new Error("Both have won.");
  expect(lost.reason).toBeInstanceOf(HttpProblem);
  expect(lost.reason).toMatchObject({
    status: 409,
    code: "already_settled",
    details: {
      answeredBy: won === 0 ? "ann" : "ben",
      answer: won === 0 ? { approved: true } : { approved: false, why: "Too much." },
    },
  });
});

test("an approval is a row: the run continues when a worker takes it, and the call runs once", async () => {
  const world = serverWorld(await memoryStore());
  await putRun(world, "clerk-1");
  await world.work("clerk-1");
  const { body } = await world.call("getWait", { params: { waitId: "clerk-1~1" } });
  await world.call("approveWait", {
    params: { waitId: "clerk-1~1" },
    body: { argumentsHash: body.argumentsHash },
    as: BEN,
  });
  expect(world.refunds).toEqual([]);
  expect(await world.store.getRun("clerk-1")).toMatchObject({ status: "queued" });
  expect(await world.work("clerk-1")).toBe("ended");
  expect(world.refunds).toEqual(["7"]);
  expect((await world.call("getCall", { params: { callId: "clerk-1/clerk#2.1" } })).body).toMatchObject({
    status: "succeeded",
    waitId: null,
  });
  const [wait] = await world.store.listWaits("clerk-1");
  expect(wait?.people).toMatchObject([{ name: "ben", authenticated: { name: "ben", by: "pawl" } }]);
});

test("a call that takes two people is not approved by one of them twice, nor by the starter of the run", async () => {
  const store = await memoryStore();
  const world = serverWorld(store);
  const run = await SampleRun.create(store, "run-1", {
    startedBy: { authenticated: { name: "ann", by: "pawl" } },
  });
  await run.journaled(1, ["prepared"]);
  const approval = run.approval(1, 1, "ab");
  await run.waiting({ ...approval, subject: { ...approval.subject, people: 2, notStarter: true } });
  const asked = { params: { waitId: "run-1~1" } };
  const approve = (as: typeof BEN) =>
    world.call("approveWait", { ...asked, body: { argumentsHash: "ab" }, as });

  const starter = await world.call("getWait", asked);
  expect(starter.body).toMatchObject({ mayAnswer: false, peopleNeeded: 2, notStarter: true });
  expect(starter.body.whyNot).toContain("another person than ann");
  expect(await failureOf(approve(principal()))).toMatchObject({
    status: 403,
    code: "another_person_needed",
    message: expect.stringContaining("it takes another person than ann, who started the run"),
  });

  expect((await world.call("getWait", { ...asked, as: BEN })).body).toMatchObject({ mayAnswer: true });
  expect((await approve(BEN)).body).toMatchObject({ status: "open", people: [{ name: "ben" }] });
  const again = await world.call("getWait", { ...asked, as: BEN });
  expect(again.body.whyNot).toContain("ben has approved it already");
  expect(again.body.stillNeeded).toContain("1 person more");
  expect(await failureOf(approve(BEN))).toMatchObject({ status: 409, code: "already_settled" });

  const cleo = principal({ name: "cleo", id: "token-cleo", role: "operator" });
  expect((await approve(cleo)).body).toMatchObject({ status: "answered" });
});

test("who approves a question is told that it is one", async () => {
  const store = await memoryStore();
  const world = serverWorld(store);
  const run = await SampleRun.create(store, "run-1");
  await run.journaled(1, ["prepared"]);
  await run.waiting({ ...run.approval(1, 1, "ab"), kind: "question" });
  const asked = { params: { waitId: "run-1~1" }, body: { argumentsHash: "ab" } };
  expect(await failureOf(world.call("approveWait", asked))).toMatchObject({
    status: 422,
    code: "not_an_approval",
    message: expect.stringContaining("question"),
  });
});

test("a viewer is told that they may not answer", async () => {
  const world = serverWorld(await memoryStore());
  await putRun(world, "clerk-1");
  await world.work("clerk-1");
  const viewer = principal({ role: "viewer" });
  const { body } = await world.call("getWait", { params: { waitId: "clerk-1~1" }, as: viewer });
  expect(body).toMatchObject({ mayAnswer: false, whyNot: expect.stringContaining("viewer") });
});

test("what a forecast says is what a resume does, unless somebody has acted meanwhile", async () => {
  const world = serverWorld(await memoryStore());
  await putRun(world, "clerk-1");
  await world.work("clerk-1");
  const run = { params: { runId: "clerk-1" } };
  const { body } = await world.call("forecastRun", { ...run, body: {} });
  await world.call("denyWait", { params: { waitId: "clerk-1~1" }, body: { why: "No." } });
  expect(await failureOf(world.call("resumeRun", { ...run, body: { ifSeq: body.eventSeq } }))).toMatchObject({
    status: 409,
    code: "forecast_changed",
  });
  await world.call("cancelRun", run);
  const again = await world.call("forecastRun", { ...run, body: {} });
  await world.call("resumeRun", { ...run, body: { ifSeq: again.body.eventSeq } });
  expect(await world.work("clerk-1")).toBe("ended");
  expect((await world.call("getRun", run)).body).toMatchObject({ head: { status: "succeeded" }, next: [] });
  expect(await failureOf(world.call("resumeRun", { ...run, body: {} }))).toMatchObject({ code: "run_over" });
});

test("a run that a worker holds is not resumed by another, and its worker is asked to cancel it", async () => {
  const file = databaseFile();
  const [served, store] = [await fileStore(file), await fileStore(file)];
  const world = serverWorld(served);
  await SampleRun.create(store, "run-1", { metadata: { tenant: "acme" } });
  const run = { params: { runId: "run-1" }, as: ACME_OPERATOR };
  expect(await failureOf(world.call("resumeRun", { ...run, body: {} }))).toMatchObject({
    status: 409,
    code: "run_busy",
  });
  const body = { action: "cancel", runIds: ["run-1"], isDryRun: true };
  expect((await world.call("bulk", { body, as: ACME_OPERATOR })).body.results).toMatchObject([
    { outcome: "requested", callsRunning: 0 },
  ]);
  expect(await world.call("cancelRun", run)).toMatchObject({ status: 202, body: { outcome: "requested" } });
});

test("the id of a run that was deleted is not free, and another tenant does not hear why", async () => {
  const world = serverWorld(await memoryStore());
  await putRun(world, "clerk-1");
  await world.store.requestCancel("clerk-1");
  await world.store.deleteRun("clerk-1", { why: "It is old." });
  const stranger = principal({ scope: { pipelines: null, labels: { tenant: "other" } } });
  expect(await failureOf(putRun(world, "clerk-1", stranger))).toMatchObject({
    code: "run_exists",
    message: "The run id clerk-1 is another run's: use another one.",
  });
  expect(await failureOf(putRun(world, "clerk-1", principal()))).toMatchObject({ code: "run_deleted" });
  expect(await failureOf(world.call("getRun", { params: { runId: "clerk-1" }, as: stranger }))).toMatchObject(
    {
      status: 404,
    },
  );
  const seen = world.call("getRun", { params: { runId: "clerk-1" }, as: principal() });
  expect(await failureOf(seen)).toMatchObject({ code: "run_deleted" });
});

test("bytes that were deleted are gone, and not unknown", async () => {
  const world = serverWorld(await memoryStore());
  await putRun(world, "clerk-1");
  await world.work("clerk-1");
  const [call] = await world.store.listToolCalls("clerk-1");
  const asked = { params: { runId: "clerk-1", blobId: call?.receipt?.blob?.blobId ?? "" } };
  expect((await world.call("getBlob", { ...asked, as: principal({ scope: ACME }) })).status).toBe(200);
  await world.store.requestCancel("clerk-1");
  await world.store.collectBlobs({ olderThanMs: -1, maxBytes: 0 });
  expect(await failureOf(world.call("getBlob", asked))).toMatchObject({ status: 410, code: "bytes_deleted" });
  const none = { params: { runId: "clerk-1", blobId: "00" } };
  expect(await failureOf(world.call("getBlob", none))).toMatchObject({ status: 404 });
});
