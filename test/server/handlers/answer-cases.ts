// A case for each operation about runs: the table of routes is the list.

import { expect } from "vitest";
import type { RunOperation } from "../../../src/server/handlers/make-handlers.ts";
import { unzippedBody } from "../../export/archive/read-zip.ts";
import { houseAnswerCases, notEmpty } from "./house-answer-cases.ts";
import { ACME_OPERATOR, putRun, type SampleWorld } from "./sample-world.ts";
import type { Answered } from "./server-world.ts";

const CLERK = { params: { runId: "clerk-1" } };
const REPORT = { params: { runId: "report-1" } };

type Case = (world: SampleWorld) => Promise<Answered | undefined>;

export const answerCases: { readonly [Id in RunOperation]: Case } = {
  listRuns: async ({ call }) => {
    const first = await call("listRuns", { query: { limit: "2" } });
    expect(first.body.items).toHaveLength(2);
    const next = await call("listRuns", { query: { limit: "2", cursor: first.body.nextCursor } });
    const ids = new Set([...first.body.items, ...next.body.items].map(({ runId }) => runId));
    expect([...ids]).toEqual(expect.arrayContaining(["clerk-1", "later-1", "report-1", "talk-1"]));
    expect(ids.size).toBe(4);
    expect(next.body.nextCursor).toBeNull();
    await expect(
      call("listRuns", { query: { limit: "2", cursor: first.body.nextCursor, status: "waiting" } }),
    ).rejects.toMatchObject({ status: 400, code: "cursor_of_another_list" });
    const found = await call("listRuns", { query: { q: "repo" } });
    expect(found.body.items).toMatchObject([{ runId: "report-1", status: "interrupted", callsInDoubt: 1 }]);
    return call("listRuns", { query: { where: "tenant=acme", needs: "person", pipeline: "clerk,report" } });
  },
  countRuns: async ({ call }) => {
    const answer = await call("countRuns");
    expect(answer.body).toMatchObject({ total: 4, counts: { waiting: 2 } });
    return answer;
  },
  startRun: async ({ call }) => {
    const asked = {
      headers: { "idempotency-key": "order-7" },
      body: { pipeline: "clerk", input: "Refund 7" },
    };
    const first = await call("startRun", asked);
    expect(first).toMatchObject({ status: 201, body: { existed: false } });
    const again = await call("startRun", asked);
    expect(again).toMatchObject({ status: 200, body: { runId: first.body.runId, existed: true } });
    await expect(
      call("startRun", { ...asked, body: { pipeline: "clerk", input: "Refund 8" } }),
    ).rejects.toMatchObject({ status: 409, code: "run_exists" });
    return again;
  },
  putRun: async (world) => {
    expect(await putRun(world, "clerk-2")).toMatchObject({ status: 201 });
    const answer = await putRun(world, "clerk-2");
    expect(answer).toMatchObject({ status: 200, body: { runId: "clerk-2", existed: true } });
    expect(await world.store.getRun("clerk-2")).toMatchObject({
      metadata: { tenant: "acme" },
      startedBy: { name: "ann", authenticated: { name: "ann", by: "pawl" } },
    });
    return answer;
  },
  getRun: async ({ call }) => {
    const answer = await call("getRun", CLERK);
    expect(answer.body).toMatchObject({ head: { status: "waiting", openWaits: 1 }, turns: 1 });
    expect(answer.body.next[0].acts[0]).toMatchObject({ act: "approve" });
    expect((await call("getRun", REPORT)).body.next).toMatchObject([
      { acts: [{ act: "settle" }, {}, {}] },
      {},
    ]);
    expect((await call("getRun", { params: { runId: "talk-1" } })).body.isConversation).toBe(true);
    return answer;
  },
  getTimeline: async ({ call }) => {
    const answer = await call("getTimeline", CLERK);
    expect(answer.body.lives).not.toHaveLength(0);
    expect(answer.body.slices.map(({ name }: { name: string }) => name)).toContain("find");
    return answer;
  },
  getTranscript: async ({ call }) => {
    const answer = await call("getTranscript", { ...CLERK, query: { limit: "2" } });
    expect(answer.body.items).not.toHaveLength(0);
    const earlier = await call("getTranscript", {
      ...CLERK,
      query: { limit: "200", before: answer.body.before },
    });
    expect(JSON.stringify(earlier.body.items)).toContain("I look it up.");
    return answer;
  },
  listSteps: ({ call }) => notEmpty(call("listSteps", CLERK)),
  listTurns: ({ call }) => notEmpty(call("listTurns", CLERK)),
  listCalls: async ({ call }) => {
    const all = await notEmpty(call("listCalls", { ...CLERK, query: { limit: "1" } }));
    expect(all.body.nextCursor).not.toBeNull();
    const next = await call("listCalls", { ...CLERK, query: { limit: "1", cursor: all.body.nextCursor } });
    expect(next.body).toMatchObject({ items: [{ tool: "refund" }], nextCursor: null });
    const found = await call("listCalls", { ...CLERK, query: { tool: "refund", status: "prepared" } });
    expect(found.body.items).toMatchObject([{ tool: "refund" }]);
    expect((await call("listCalls", { ...CLERK, query: { tool: "none" } })).body.items).toEqual([]);
    return all;
  },
  getCall: async ({ call, inDoubt }) => {
    const answer = await call("getCall", { params: { callId: inDoubt } });
    expect(answer.body.story).not.toBe("");
    return answer;
  },
  listModelCalls: ({ call }) => notEmpty(call("listModelCalls", CLERK)),
  listRunWaits: ({ call }) => notEmpty(call("listRunWaits", CLERK)),
  listMessages: ({ call }) => notEmpty(call("listMessages", { params: { runId: "talk-1" } })),
  listCheckpoints: async ({ call }) => {
    await call("forkRun", { ...CLERK, body: { atTurn: 1, runId: "fork-1" } });
    return notEmpty(call("listCheckpoints", { params: { runId: "fork-1" } }));
  },
  listAttempts: ({ call }) => notEmpty(call("listAttempts", CLERK)),
  getSession: ({ call }) => call("getSession", CLERK),
  listEvents: async ({ call }) => {
    const first = await notEmpty(call("listEvents", { ...CLERK, query: { limit: "3" } }));
    const next = await call("listEvents", { ...CLERK, query: { after: first.body.nextCursor } });
    expect(next.body.items[0].seq).toBe(4);
    return first;
  },
  listArtifacts: ({ call }) => notEmpty(call("listArtifacts", REPORT)),
  getArtifact: async ({ call }) => {
    const answer = await call("getArtifact", { params: { runId: "report-1", name: "report.html" } });
    expect(await answer.response?.text()).toBe("<script>");
    expect(Object.fromEntries(answer.response?.headers ?? [])).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="report.html"; filename*=UTF-8''report.html`,
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
    });
    return answer;
  },
  exportRun: ({ call }) => withFiles(call("exportRun", REPORT), 5),
  exportRuns: ({ call }) => withFiles(call("exportRuns", { body: { runIds: ["report-1", "talk-1"] } }), 10),
  getBlob: async ({ call, blobId }) => {
    const asked = { params: { runId: "clerk-1", blobId } };
    const answer = await call("getBlob", asked);
    expect((await answer.response?.text())?.length).toBeGreaterThan(300_000);
    await expect(call("getBlob", { params: { runId: "report-1", blobId } })).rejects.toMatchObject({
      status: 404,
    });
    return answer;
  },
  watchRun: async ({ call }) => {
    const answer = await call("watchRun", { ...CLERK, query: { live: "false" } });
    const reader = answer.response?.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("event: run.waiting")) text += (await reader?.read())?.value ?? "";
    expect(text).toContain("id: ");
    await reader?.cancel();
    return answer;
  },
  forecastRun: async ({ call }) => {
    const answer = await call("forecastRun", { ...CLERK, body: {} });
    expect(answer.body).toMatchObject({ calls: [{ action: "ask" }], refusal: null });
    await expect(call("forecastRun", { ...REPORT, body: {} })).rejects.toMatchObject({
      status: 422,
      code: "pipeline_unknown",
    });
    return answer;
  },
  verifyRun: async ({ call }) => {
    const both = await Promise.allSettled([call("verifyRun", CLERK), call("verifyRun", CLERK)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const answer = await call("verifyRun", CLERK);
    expect(answer.body.problems).toEqual([]);
    return answer;
  },
  resumeRun: async ({ call, store }) => {
    const { body } = await call("forecastRun", { ...CLERK, body: {} });
    await expect(call("resumeRun", { ...CLERK, body: { ifSeq: body.eventSeq - 1 } })).rejects.toMatchObject({
      status: 409,
      code: "forecast_changed",
    });
    const answer = await call("resumeRun", { ...CLERK, body: { ifSeq: body.eventSeq, reason: "Try." } });
    expect(answer.body.hasWorker).toBe(true);
    expect(await store.getRun("clerk-1")).toMatchObject({
      status: "queued",
      resumeRequest: { reason: "Try." },
    });
    expect((await call("getRun", CLERK)).body.resumeRequested).toMatchObject({ by: "ann" });
    return answer;
  },
  cancelRun: async ({ call }) => {
    expect(await call("cancelRun", CLERK)).toMatchObject({ status: 200, body: { outcome: "cancelled" } });
    return call("cancelRun", CLERK);
  },
  forkRun: async ({ call, store }) => {
    const answer = await call("forkRun", {
      ...CLERK,
      body: { atTurn: 1, runId: "fork-1" },
      as: ACME_OPERATOR,
    });
    expect(answer).toMatchObject({ status: 201, body: { runId: "fork-1" } });
    expect(await store.getRun("fork-1")).toMatchObject({
      metadata: { tenant: "acme" },
      startedBy: { authenticated: { name: "ann", by: "pawl" } },
    });
    await expect(call("forkRun", { ...CLERK, body: { atTurn: 1, runId: "talk-1" } })).rejects.toMatchObject({
      status: 409,
      code: "run_exists",
    });
    return answer;
  },
  sendMessage: async ({ call }) => {
    const asked = { params: { runId: "talk-1" }, body: { id: "m-2", text: "And?" } };
    expect((await call("sendMessage", asked)).body).toMatchObject({ messageId: "m-2", duplicate: false });
    await call("sendMessage", { ...REPORT, body: { event: "paid", data: { amount: 4 } } });
    return call("sendMessage", asked);
  },
  stopRun: ({ call }) => call("stopRun", { params: { runId: "talk-1" } }),
  bulk: async ({ call, store }) => {
    const body = { action: "cancel", runIds: ["clerk-1", "none", "report-1", "clerk-1"] };
    const dry = await call("bulk", { body: { ...body, isDryRun: true } });
    expect(dry.body.results).toMatchObject([
      { runId: "clerk-1", outcome: "cancelled", problem: null },
      { runId: "none", outcome: null, problem: { code: "run_not_found" } },
      { runId: "report-1", outcome: "cancelled" },
    ]);
    expect(await store.getRun("clerk-1")).toMatchObject({ status: "waiting" });
    const answer = await call("bulk", { body });
    expect(answer.body.results.map(({ outcome }: { outcome: string }) => outcome)).toEqual(
      dry.body.results.map(({ outcome }: { outcome: string }) => outcome),
    );
    const resumed = await call("bulk", { body: { action: "resume", runIds: ["clerk-1"] } });
    expect(resumed.body.results).toMatchObject([{ outcome: "requested" }]);
    return answer;
  },
  listWaits: async ({ call, approval, store }) => {
    const answer = await call("listWaits");
    expect(answer.body.items).toMatchObject([{ waitId: approval.waitId, tool: "refund", pipeline: "clerk" }]);
    expect((await call("listWaits", { query: { kind: "message" } })).body.items).toHaveLength(1);
    await store.deny(approval.waitId, "No.");
    expect((await call("listWaits", { query: { status: "answered" } })).body.items).toHaveLength(1);
    return answer;
  },
  getWait: async ({ call, approval }) => {
    const asked = { params: { waitId: approval.waitId } };
    const answer = await call("getWait", asked);
    expect(answer.body).toMatchObject({
      arguments: { order: "7" },
      argumentsBytes: 13,
      turn: { text: "I refund it." },
      mayAnswer: true,
    });
    return answer;
  },
  approveWait: async ({ call, approval }) => {
    const asked = { params: { waitId: approval.waitId } };
    await expect(call("approveWait", { ...asked, body: { argumentsHash: "00" } })).rejects.toMatchObject({
      status: 409,
      code: "arguments_changed",
    });
    const answer = await call("approveWait", { ...asked, body: { argumentsHash: approval.argumentsHash } });
    expect(answer.body).toMatchObject({ status: "answered", people: [{ authenticated: { by: "pawl" } }] });
    return answer;
  },
  denyWait: async ({ call, approval }) => {
    const answer = await call("denyWait", {
      params: { waitId: approval.waitId },
      body: { why: "Too much." },
    });
    expect(answer.body.answer).toEqual({ approved: false, why: "Too much." });
    return answer;
  },
  answerWait: async ({ call, store }) => {
    await store.enqueueRun({
      runId: "asks-1",
      pipeline: "report",
      entrypoint: "test",
      input: null,
      inputHash: new Uint8Array(32),
      shape: [],
      limit: { tokens: null, microDollars: null },
    });
    const claimed = await store.claimRun("asks-1", { leaseMs: 30_000, from: ["queued"] });
    if (claimed.kind !== "claimed") throw new Error("It is not claimed.");
    await store.releaseRun(
      { runId: "asks-1", epoch: claimed.claim.epoch },
      { status: "waiting", error: null, waits: [{ kind: "escalation", question: "Which?", subject: {} }] },
    );
    return call("answerWait", { params: { waitId: "asks-1~1" }, body: { value: "This one." } });
  },
  settleCall: async ({ call, inDoubt }) => {
    const asked = { params: { callId: inDoubt } };
    const answer = await call("settleCall", { ...asked, body: { as: "succeeded", result: { id: 1 } } });
    expect(answer.body).toMatchObject({ status: "succeeded", receipt: { source: "person" } });
    await expect(call("settleCall", { ...asked, body: { as: "retry" } })).rejects.toMatchObject({
      status: 409,
      code: "already_settled",
      details: { answeredBy: "ann" },
    });
    return answer;
  },
  ...houseAnswerCases,
};

async function withFiles(answer: Promise<Answered>, count: number): Promise<Answered> {
  expect((await unzippedBody((await answer).response)).size).toBe(count);
  return answer;
}
