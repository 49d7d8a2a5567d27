import { describe, expect, it } from "vitest";
import { StoreUnavailableError } from "../../../src/core/errors.ts";
import { auditKind, auditTargets } from "../../../src/server/access/audited-operations.ts";
import { OPERATIONS, type OperationId } from "../../../src/server/api/operations.ts";
import { memoryStore } from "../../engine/run-fixture.ts";
import { sampleWorld } from "../handlers/sample-world.ts";
import { bearer, json, testServer } from "../test-server.ts";

const stops = { stopRun: async () => ({ status: 200 as const, body: { stopped: true } }) };

describe("an act", () => {
  it("is on record before it is acknowledged, with who, what, on what and how it ended", async () => {
    const server = testServer({ handlers: stops });
    const headers = bearer(await server.token("operator", { name: "bo" }));
    const response = await server.request("/v1/runs/q%2F1/stop", { method: "POST", headers });
    expect(server.store.audit).toEqual([
      {
        who: { name: "bo", id: "acc_1", role: "operator" },
        act: "stopRun",
        target: "q/1",
        status: 200,
        problem: null,
        requestId: response.headers.get("x-request-id"),
      },
    ]);
  });

  it("that is refused is on record too", async () => {
    const server = testServer();
    const headers = bearer(await server.token("viewer"));
    await server.request("/v1/runs/q/stop", { method: "POST", headers });
    expect(server.store.audit).toMatchObject([
      { act: "stopRun", target: "q", status: 403, problem: "role_too_low" },
    ]);
  });

  it("whose record cannot be written is not acknowledged", async () => {
    const server = testServer({ handlers: stops });
    const headers = bearer(await server.token("operator"));
    server.store.recordAudit = () =>
      Promise.reject(new StoreUnavailableError("The disk is full.", { reason: "full" }));
    const response = await server.request("/v1/runs/q/stop", { method: "POST", headers });
    expect(response.status).toBe(503);
  });

  it("on many runs is on record for each of them, with what became of it", async () => {
    const store = await memoryStore();
    const { handlers } = await sampleWorld(store);
    const server = testServer({ handlers });
    const headers = bearer(await server.token("operator"));
    const bulk = async (body: unknown) => {
      server.store.audit.length = 0;
      const response = await server.request("/v1/bulk", json(body, headers));
      const requestId = response.headers.get("x-request-id");
      return server.store.audit.map((entry) => {
        expect(entry.requestId).toBe(requestId);
        return [entry.act, entry.target, entry.status, entry.problem];
      });
    };
    const runIds = ["later-1", "nothing", "report-1", "later-1"];
    const isDryRun = true;
    expect(await bulk({ action: "cancel", runIds, isDryRun })).toEqual([
      ["bulk.dryRun", "later-1", 200, null],
      ["bulk.dryRun", "nothing", 404, "run_not_found"],
      ["bulk.dryRun", "report-1", 200, null],
    ]);
    expect(await bulk({ action: "resume", runIds })).toEqual([
      ["resumeRun", "later-1", 202, null],
      ["resumeRun", "nothing", 404, "run_not_found"],
      ["resumeRun", "report-1", 202, null],
    ]);
    expect(await bulk({ action: "cancel", runIds: ["later-1"] })).toEqual([
      ["cancelRun", "later-1", 200, null],
    ]);
    expect(await bulk({ action: "cancel" })).toEqual([["bulk", null, 422, "invalid_request"]]);
  });
});

describe("an act on many runs", () => {
  it("in which the server fails has the true outcome of each run, in the log and in its answer", async () => {
    const store = await memoryStore();
    const { handlers } = await sampleWorld(store);
    const server = testServer({ handlers });
    const headers = bearer(await server.token("operator"));
    const fault = new Error("A fault of the server.");
    const cancel = store.requestCancel.bind(store);
    store.requestCancel = (runId, by) => (runId === "report-1" ? Promise.reject(fault) : cancel(runId, by));
    const runIds = ["later-1", "report-1", "nothing"];
    const response = await server.request("/v1/bulk", json({ action: "cancel", runIds }, headers));
    expect(
      server.store.audit.map(({ act, target, status, problem }) => [act, target, status, problem]),
    ).toEqual([
      ["cancelRun", "later-1", 200, null],
      ["cancelRun", "report-1", 500, "internal"],
      ["cancelRun", "nothing", 404, "run_not_found"],
    ]);
    expect((await store.getRun("later-1"))?.status).toBe("cancelled");
    expect(await response.json()).toMatchObject({
      results: [
        { runId: "later-1", outcome: "cancelled", problem: null },
        { runId: "report-1", outcome: null, problem: { code: "internal" } },
        { runId: "nothing", outcome: null, problem: { code: "run_not_found" } },
      ],
    });
    expect(server.reported, "the log of the server has the error").toEqual([fault]);
  });
});

describe("a sign-in", () => {
  it("is on record, and so is one that failed", async () => {
    const server = testServer();
    const { secret: code } = await server.access.newCode({ name: "ana", role: "admin" });
    await server.request("/v1/session", json({ code }));
    await server.request("/v1/session", json({ code }));
    expect(server.store.audit.map(({ who, status }) => [who.name, status])).toEqual([
      ["ana", 200],
      ["unknown", 401],
    ]);
  });
});

describe("a read", () => {
  const reads = { listWorkers: async () => EMPTY, listAttempts: async () => EMPTY };
  const EMPTY = { status: 200 as const, body: { items: [], asOf: "2026-01-01T00:00:00.000Z" } };

  it("of a run is one row, however often the page asks, and another one for another run", async () => {
    const server = testServer({ handlers: reads, checksAnswers: false });
    const headers = bearer(await server.token("viewer"));
    for (const run of ["a", "a", "b", "a"]) await server.request(`/v1/runs/${run}/attempts`, { headers });
    expect(server.store.audit).toEqual([]);
    await server.audit.close();
    expect(server.store.audit.map(({ act, target }) => [act, target])).toEqual([
      ["listAttempts", "a"],
      ["listAttempts", "b"],
    ]);
  });

  it("that shows nothing of a run is not on record", async () => {
    const server = testServer({ handlers: reads });
    const headers = bearer(await server.token("viewer"));
    await server.request("/v1/workers", { headers });
    await server.audit.close();
    expect(server.store.audit).toEqual([]);
  });
});

describe("every operation", () => {
  const kinds = Map.groupBy(Object.keys(OPERATIONS) as OperationId[], auditKind);

  it("that takes an operator is an act, unless it only looks", () => {
    const acts = Object.entries(OPERATIONS).filter(
      ([, { role, method }]) => role !== "viewer" && method !== "GET",
    );
    const without = acts.map(([id]) => id).filter((id) => !kinds.get("act")?.includes(id as OperationId));
    expect(without).toEqual(["createSession"]);
  });

  it("that names a run is on record", () => {
    const named = Object.entries(OPERATIONS).filter(([, { path }]) =>
      /\{(runId|callId|waitId|chatId)\}/.test(path),
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(([id]) => kinds.get("none")?.includes(id as OperationId))).toEqual([]);
  });

  it("names what it is about", () => {
    expect(auditTargets({ params: { runId: "q", name: "a.txt" } })).toEqual(["q/a.txt"]);
    expect(auditTargets({ params: {}, query: { a: "x", b: "y" } })).toEqual(["x", "y"]);
    expect(auditTargets({ params: {}, body: { runIds: ["x", "x"] } })).toEqual(["x"]);
    expect(auditTargets({ params: {}, answer: { runId: "q" } })).toEqual(["q"]);
    expect(auditTargets({ params: {}, answer: { token: { id: "acc_1" } } })).toEqual(["acc_1"]);
    expect(auditTargets({ params: {} })).toEqual([null]);
  });
});
