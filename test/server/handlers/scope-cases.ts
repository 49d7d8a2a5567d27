// What a principal of another scope gets of each operation, if it asks for what another tenant has.

import { expect } from "vitest";
import type { RunOperation } from "../../../src/server/handlers/make-handlers.ts";
import type { Principal } from "../../../src/server/principal.ts";
import { unzippedBody } from "../../export/archive/read-zip.ts";
import { failCall, failRun, type SampleWorld } from "./sample-world.ts";
import { type Asked, OTHER, principal } from "./server-world.ts";

const STRANGER: Principal = principal({ name: "eve", id: "token-other", scope: OTHER });

type Case = (world: SampleWorld) => Promise<void>;

const CLERK = { params: { runId: "clerk-1" } };
const NIGHTLY = { params: { name: "nightly" } };

/** It is as if it did not exist, and the answer has nothing of it. */
const missing =
  (id: RunOperation, asked: Asked | ((world: SampleWorld) => Asked)): Case =>
  async (world) => {
    const given = typeof asked === "function" ? asked(world) : asked;
    const error = await world.call(id, { ...given, as: STRANGER }).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ status: 404 });
    expect(JSON.stringify(error)).not.toContain("acme");
    // The same for what does not exist at all, but for the id.
    const nothing = JSON.parse(JSON.stringify(given).replaceAll(/clerk-1|report-1|nightly/g, "no-such"));
    const other = await world.call(id, { ...nothing, as: STRANGER }).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect({ ...(other as object) }).toEqual({ ...(error as object) });
  };

/** There is nothing in the list. */
const empty =
  (id: RunOperation, asked: Asked = {}): Case =>
  async ({ call }) => {
    expect((await call(id, { ...asked, as: principal() })).body.items).not.toEqual([]);
    expect((await call(id, { ...asked, as: STRANGER })).body.items).toEqual([]);
  };

const message = { id: "u-1", role: "user", parts: [{ type: "text", text: "Hello" }] };

export const scopeCases: { readonly [Id in RunOperation]: Case } = {
  listRuns: async (world) => {
    await empty("listRuns")(world);
    for (const query of [{ q: "clerk-1" }, { where: "tenant=acme" }, { pipeline: "clerk" }] as const)
      await empty("listRuns", { query })(world);
  },
  countRuns: async ({ call }) => {
    expect((await call("countRuns", { as: STRANGER })).body).toMatchObject({ total: 0, needsPerson: 0 });
  },
  startRun: async ({ call, store }) => {
    const body = { pipeline: "clerk", input: "Refund 7" };
    const asked = { headers: { "idempotency-key": "order-7" }, body };
    const acme = principal({ scope: { pipelines: null, labels: { tenant: "acme" } } });
    const first = await call("startRun", { ...asked, as: acme });
    const own = await call("startRun", { ...asked, as: STRANGER });
    expect(own).toMatchObject({ status: 201, body: { existed: false } });
    expect(own.body.runId).not.toBe(first.body.runId);
    expect(await store.getRun(own.body.runId)).toMatchObject({ metadata: { tenant: "other" } });
    const stolen = { ...asked, body: { ...body, metadata: { tenant: "acme" } }, as: STRANGER };
    await expect(call("startRun", stolen)).rejects.toMatchObject({ status: 403, code: "outside_scope" });
    const both = { ...asked, body: { ...body, metadata: { tenant: ["acme", "other"] } }, as: STRANGER };
    await expect(call("startRun", both)).rejects.toMatchObject({ status: 403, code: "outside_scope" });
    const narrow = principal({ scope: { pipelines: ["talk"], labels: null } });
    await expect(call("startRun", { ...asked, as: narrow })).rejects.toMatchObject({ status: 403 });
  },
  putRun: async ({ call }) => {
    for (const input of ["Refund 7", "Refund 8"])
      for (const pipeline of ["clerk", "talk"])
        await expect(
          call("putRun", { ...CLERK, body: { pipeline, input }, as: STRANGER }),
        ).rejects.toMatchObject({
          status: 409,
          code: "run_exists",
          message: "The run id clerk-1 is another run's: use another one.",
          details: {},
        });
  },
  getRun: missing("getRun", CLERK),
  getTimeline: missing("getTimeline", CLERK),
  getTranscript: missing("getTranscript", CLERK),
  listSteps: missing("listSteps", CLERK),
  listTurns: missing("listTurns", CLERK),
  listCalls: missing("listCalls", CLERK),
  getCall: missing("getCall", ({ inDoubt }) => ({ params: { callId: inDoubt } })),
  listModelCalls: missing("listModelCalls", CLERK),
  listRunWaits: missing("listRunWaits", CLERK),
  listMessages: missing("listMessages", CLERK),
  listCheckpoints: missing("listCheckpoints", CLERK),
  listAttempts: missing("listAttempts", CLERK),
  getSession: missing("getSession", CLERK),
  listEvents: missing("listEvents", CLERK),
  listArtifacts: missing("listArtifacts", CLERK),
  getArtifact: missing("getArtifact", { params: { runId: "report-1", name: "report.html" } }),
  getBlob: missing("getBlob", ({ blobId }) => ({ params: { runId: "clerk-1", blobId } })),
  exportRun: missing("exportRun", CLERK),
  exportRuns: async (world) => {
    await missing("exportRuns", { body: { runIds: ["clerk-1", "report-1"] } })(world);
    // Beside a run of their own, it is listed as one that does not exist.
    await world.call("putRun", {
      params: { runId: "own-2" },
      body: { pipeline: "clerk", input: "Refund 7" },
      as: STRANGER,
    });
    const asked = { body: { runIds: ["own-2", "clerk-1", "no-such"] }, as: STRANGER };
    const { response } = await world.call("exportRuns", asked);
    const files = await unzippedBody(response);
    const [own, theirs, nothing] = JSON.parse(files.get("export.json")?.toString() ?? "").runs;
    expect(own).toMatchObject({ folder: "own-2", problem: null });
    expect(theirs.problem.code).toBe("run_not_found");
    expect(JSON.parse(JSON.stringify(nothing).replaceAll("no-such", "clerk-1"))).toEqual(theirs);
    expect([...files.keys()].filter((name) => !name.startsWith("own-2/"))).toEqual(["export.json"]);
  },
  watchRun: missing("watchRun", CLERK),
  forecastRun: missing("forecastRun", { ...CLERK, body: {} }),
  verifyRun: missing("verifyRun", CLERK),
  resumeRun: missing("resumeRun", { ...CLERK, body: {} }),
  cancelRun: missing("cancelRun", CLERK),
  forkRun: missing("forkRun", { ...CLERK, body: { atTurn: 1 } }),
  sendMessage: missing("sendMessage", { ...CLERK, body: { text: "Hello" } }),
  stopRun: missing("stopRun", CLERK),
  bulk: async ({ call, store }) => {
    for (const action of ["cancel", "resume"])
      for (const isDryRun of [true, false]) {
        const body = { action, runIds: ["clerk-1"], isDryRun };
        const { results } = (await call("bulk", { body, as: STRANGER })).body;
        expect(results).toMatchObject([{ outcome: null, problem: { code: "run_not_found" } }]);
      }
    expect(await store.getRun("clerk-1")).toMatchObject({ status: "waiting" });
  },
  listWaits: async (world) => {
    await empty("listWaits")(world);
    await empty("listWaits", { query: { runId: "clerk-1" } })(world);
    await world.store.deny(world.approval.waitId, "No.");
    await empty("listWaits", { query: { status: "answered" } })(world);
  },
  getWait: missing("getWait", ({ approval }) => ({ params: { waitId: approval.waitId } })),
  approveWait: missing("approveWait", ({ approval: { waitId, argumentsHash } }) => ({
    params: { waitId },
    body: { argumentsHash },
  })),
  denyWait: missing("denyWait", ({ approval }) => ({
    params: { waitId: approval.waitId },
    body: { why: "No." },
  })),
  answerWait: missing("answerWait", ({ approval }) => ({
    params: { waitId: approval.waitId },
    body: { value: 1 },
  })),
  settleCall: missing("settleCall", ({ inDoubt }) => ({
    params: { callId: inDoubt },
    body: { as: "retry" },
  })),
  compareRuns: async (world) => {
    await world.call("putRun", {
      params: { runId: "own-1" },
      body: { pipeline: "clerk", input: "Refund 7" },
      as: STRANGER,
    });
    await missing("compareRuns", { query: { a: "own-1", b: "clerk-1" } })(world);
    await missing("compareRuns", { query: { a: "clerk-1", b: "own-1" } })(world);
  },
  getSpend: async ({ call }) => {
    expect((await call("getSpend")).body.total.tokens).toBeGreaterThan(0);
    const { body } = await call("getSpend", { as: STRANGER });
    expect(body).toMatchObject({ total: { tokens: 0, microDollars: 0 }, costly: [], nearLimit: [] });
    expect(body.buckets).toEqual([]);
    expect(body.pipelines).toEqual([]);
  },
  listErrors: async (world) => {
    await world.store.requestCancel("report-1");
    await failRun(world, "cancelled");
    await empty("listErrors")(world);
  },
  listToolErrors: async (world) => {
    await failCall(world);
    await empty("listToolErrors")(world);
    await empty("listRuns", { query: { toolError: "*" } })(world);
  },
  listPipelines: async ({ call }) => {
    const own = principal({ scope: { pipelines: ["talk"], labels: null } });
    expect((await call("listPipelines", { as: own })).body.items).toEqual([
      { name: "talk", isKnown: true, isConversation: true },
    ]);
    // Another tenant may start what the server knows, and does not hear of what others have.
    const names = (await call("listPipelines", { as: STRANGER })).body.items.map(
      ({ name }: { name: string }) => name,
    );
    expect(names).toEqual(["clerk", "talk"]);
  },
  getActivity: async ({ call }) => {
    const { asOf: _, ...activity } = (await call("getActivity", { as: STRANGER })).body;
    expect(activity).toEqual({ ready: [], sleeping: [], running: [], held: [], waits: [] });
  },
  listWorkers: empty("listWorkers"),
  listSchedules: empty("listSchedules"),
  listFirings: missing("listFirings", NIGHTLY),
  pauseSchedule: missing("pauseSchedule", NIGHTLY),
  resumeSchedule: missing("resumeSchedule", NIGHTLY),
  fireSchedule: missing("fireSchedule", NIGHTLY),
  getServer: async ({ call }) => {
    const answer = JSON.stringify((await call("getServer", { as: STRANGER })).body);
    for (const theirs of ["acme", "clerk-1", "report-1"]) expect(answer).not.toContain(theirs);
  },
  getDoctor: async ({ call }) => {
    await expect(call("getDoctor", { as: STRANGER })).rejects.toMatchObject({ status: 403 });
  },
  checkIntegrity: async ({ call }) => {
    await expect(call("checkIntegrity", { as: STRANGER })).rejects.toMatchObject({ status: 403 });
  },
  stream: missing("stream", { query: { run: "clerk-1" } }),
  chat: async ({ call, answer, store }) => {
    await call("sendChatMessage", { params: { pipeline: "talk", chatId: "c-1" }, body: message });
    const body = { id: "c-1", messages: [message], trigger: "submit-message" };
    const foreign = await answer("chat", { params: { pipeline: "talk" }, body, as: STRANGER });
    expect(foreign.status).toBe(404);
    expect(await store.listRunSummaries({ metadata: { tenant: "other" } })).toEqual([]);
  },
  streamChat: chatMissing("streamChat"),
  listChatMessages: chatMissing("listChatMessages"),
  sendChatMessage: chatMissing("sendChatMessage", message),
  stopChat: chatMissing("stopChat"),
};

/** The chat of another scope does not exist, and neither does a pipeline outside of it. */
function chatMissing(id: RunOperation, body?: unknown): Case {
  return async (world) => {
    const params = { pipeline: "talk", chatId: "c-1" };
    await world.call("sendChatMessage", { params, body: message });
    const foreign = await world.answer(id, { params, body, as: STRANGER });
    expect(foreign.status).toBe(404);
    const narrow = principal({ scope: { pipelines: ["clerk"], labels: null } });
    await expect(world.call(id, { params, body, as: narrow })).rejects.toMatchObject({ status: 404 });
  };
}
