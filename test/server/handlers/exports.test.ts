// Runs as archives: who gets them, what is on record, and what becomes of one that fails or whose reader leaves.

import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../../src/client/client.ts";
import type { Store } from "../../../src/index.ts";
import { servePawl } from "../../../src/server/http/serve-pawl.ts";
import type { StoreReader } from "../../../src/store/store.ts";
import { SampleRun } from "../../../src/testing/store/sample-run.ts";
import { memoryStore } from "../../engine/run-fixture.ts";
import { unzippedBody } from "../../export/archive/read-zip.ts";
import { bearer, json, testServer } from "../test-server.ts";
import { sampleWorld } from "./sample-world.ts";
import { ACME, OTHER } from "./server-world.ts";

const HIDES = { hidesContent: ({ role }: { readonly role: string }) => role === "viewer" };

async function sampleServer(options: Parameters<typeof testServer>[0] = {}) {
  const { handlers } = await sampleWorld(await memoryStore());
  const server = testServer({ handlers, ...options });
  const recorded = async () => {
    await server.audit.close();
    return server.store.audit.map(({ act, target, status, problem }) => [act, target, status, problem]);
  };
  return { ...server, recorded };
}

async function filesOf(response: Response): Promise<ReadonlyMap<string, Buffer>> {
  expect(response.status).toBe(200);
  return unzippedBody(response);
}

test("a viewer gets a run as an archive to save, which is on record", async () => {
  const server = await sampleServer();
  const headers = bearer(await server.token("viewer", { scope: ACME }));
  const response = await server.request("/v1/runs/report-1/export", { headers });
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "application/octet-stream",
    "content-disposition": `attachment; filename="report-1.zip"; filename*=UTF-8''report-1.zip`,
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "private, no-store",
  });
  const files = await filesOf(response);
  expect([...files.keys()]).toEqual([
    "report-1/trace.json",
    "report-1/transcript.md",
    "report-1/run.log",
    "report-1/receipts.json",
    "report-1/artifacts/report.html",
  ]);
  expect(files.get("report-1/artifacts/report.html")?.toString()).toBe("<script>");
  expect(await server.recorded()).toEqual([["exportRun", "report-1", 200, null]]);
});

test("a request for the headers alone has no body", async () => {
  const server = await sampleServer();
  const headers = bearer(await server.token("viewer"));
  const response = await server.request("/v1/runs/report-1/export", { method: "HEAD", headers });
  expect([response.status, await response.text()]).toEqual([200, ""]);
});

test("several runs are one archive, each on record as if it had been asked for alone", async () => {
  const server = await sampleServer();
  const headers = bearer(await server.token("viewer"));
  const runIds = ["report-1", "nothing", "clerk-1", "report-1"];
  const response = await server.request("/v1/export", json({ runIds }, headers));
  expect(response.headers.get("content-disposition")).toContain(`filename="runs.zip"`);
  const files = await filesOf(response);
  expect(JSON.parse(files.get("export.json")?.toString() ?? "").runs).toMatchObject([
    { runId: "report-1", folder: "report-1", problem: null },
    { runId: "nothing", folder: null, problem: { code: "run_not_found" } },
    { runId: "clerk-1", folder: "clerk-1", problem: null },
  ]);
  expect(files.has("report-1/artifacts/report.html")).toBe(true);
  expect(files.has("clerk-1/transcript.md")).toBe(true);
  // A read is on record once in a while, as those of pages.
  await filesOf(await server.request("/v1/export", json({ runIds }, headers)));
  expect(await server.recorded()).toEqual([
    ["exportRun", "report-1", 200, null],
    ["exportRun", "nothing", 404, "run_not_found"],
    ["exportRun", "clerk-1", 200, null],
  ]);
});

test("of several runs, those of another tenant are as if they did not exist", async () => {
  const server = await sampleServer();
  const headers = bearer(await server.token("viewer", { scope: OTHER }));
  const ask = (...runIds: string[]) => server.request("/v1/export", json({ runIds }, headers));
  const [theirs, nothing] = [await ask("clerk-1"), await ask("no-such")];
  expect([theirs.status, nothing.status]).toEqual([404, 404]);
  const { instance: _, ...problem } = (await theirs.json()) as { instance: string };
  expect(await nothing.json()).toMatchObject(problem);
});

test("what becomes of a run while the archive is read is in its list, and not more than is on record", async () => {
  const store = await memoryStore();
  const { handlers } = await sampleWorld(store);
  const server = testServer({ handlers });
  const headers = bearer(await server.token("viewer"));
  const runIds = ["report-1", "talk-1", "new-1"];
  const response = await server.request("/v1/export", json({ runIds }, headers));
  // Nothing was read yet.
  await SampleRun.create(store, "new-1");
  await store.requestCancel("talk-1");
  await store.deleteRun("talk-1", { why: "It is over." });
  const files = await filesOf(response);
  expect(JSON.parse(files.get("export.json")?.toString() ?? "").runs).toMatchObject([
    { runId: "report-1", problem: null },
    { runId: "talk-1", problem: { code: "run_deleted" } },
    { runId: "new-1", problem: { code: "run_not_found" } },
  ]);
  expect([...files.keys()].filter((name) => /^(?:new|talk)-1/.test(name))).toEqual([]);
});

test("at most 500 runs are exported at once", async () => {
  const server = await sampleServer();
  const headers = bearer(await server.token("viewer"));
  const ask = (length: number) =>
    server.request("/v1/export", json({ runIds: Array.from({ length }, (_, i) => `r-${i}`) }, headers));
  expect((await ask(500)).status).toBe(404);
  expect([(await ask(501)).status, (await ask(0)).status]).toEqual([422, 422]);
});

test("people from whom contents are hidden get no archive, and a clear answer", async () => {
  const server = await sampleServer(HIDES);
  const [viewer, operator] = [bearer(await server.token("viewer")), bearer(await server.token("operator"))];
  const single = (headers: Record<string, string>) => server.request("/v1/runs/report-1/export", { headers });
  const many = (headers: Record<string, string>) =>
    server.request("/v1/export", json({ runIds: ["report-1"] }, headers));
  for (const ask of [single, many]) {
    const refused = await ask(viewer);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ code: "content_hidden" });
    expect((await filesOf(await ask(operator))).has("report-1/transcript.md")).toBe(true);
  }
});

test("pawl/client has them as responses", async () => {
  const server = await sampleServer();
  const client = createClient({
    baseUrl: "http://127.0.0.1:4747",
    token: await server.token("viewer"),
    fetch: (url, init) => server.request(url.replace("http://127.0.0.1:4747", ""), init),
  });
  expect((await filesOf(await client.exportRun({ runId: "report-1" }))).size).toBe(5);
  expect((await filesOf(await client.exportRuns({}, { runIds: ["report-1"] }))).size).toBe(6);
  await expect(client.exportRun({ runId: "nothing" })).rejects.toMatchObject({ code: "run_not_found" });
});

/** A server with sockets over a store with one run, some of whose reads a test replaces. */
async function served(over: Partial<StoreReader>): Promise<string> {
  const store = await memoryStore();
  await (await SampleRun.create(store, "run-1")).committedWithCall(1);
  const changed = new Proxy<Store>(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(over, name) ?? Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  const server = await servePawl({
    store: changed,
    port: 0,
    dashboard: false,
    authenticate: () => ({ id: "ana", name: "ana", role: "viewer" }),
  });
  onTestFinished(() => server.close());
  return `${server.url}/v1/runs/run-1/export`;
}

/** Artifacts that no machine would keep in memory. */
function manyArtifacts(readArtifact: StoreReader["readArtifact"]): Partial<StoreReader> {
  const records = Array.from({ length: 500 }, (_, i) => ({
    name: `${i}.bin`,
    size: 2 ** 21,
    hash: "00",
    stepPath: "",
    at: 0,
  }));
  return { listArtifacts: async () => records, readArtifact };
}

test("an archive that fails in the middle breaks its connection, and never ends as if it were whole", async () => {
  const noise = randomBytes(2 ** 21);
  let reads = 0;
  const address = await served(
    manyArtifacts(async () => {
      reads += 1;
      if (reads > 3) throw new Error("The disk is gone.");
      return noise;
    }),
  );
  const response = await fetch(address);
  expect(response.status).toBe(200);
  await expect(response.arrayBuffer()).rejects.toThrow();
  expect(reads).toBe(4);
});

test("an archive is read from the store as fast as it is taken, and no more once its reader has left", async () => {
  const noise = randomBytes(2 ** 21);
  let reads = 0;
  const address = await served(
    manyArtifacts(async () => {
      reads += 1;
      return noise;
    }),
  );
  const leaving = new AbortController();
  const response = await fetch(address, { signal: leaving.signal });
  await response.body?.getReader().read();
  const settled = async () => {
    let before = -1;
    while (before !== reads) {
      before = reads;
      await sleep(200);
    }
    return reads;
  };
  const held = await settled();
  // What fits into the buffers of two sockets.
  expect(held).toBeLessThan(20);
  leaving.abort();
  expect(await settled()).toBeLessThanOrEqual(held + 1);
});
