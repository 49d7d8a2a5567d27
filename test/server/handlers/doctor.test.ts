// What the server checks of its own installation, beside what `pawl doctor` says of the same store.

import { chmodSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { createHandler, type HandlerOptions, type Role } from "../../../src/server/index.ts";
import { SampleRun } from "../../../src/testing/store/sample-run.ts";
import { pawlJson } from "../../cli/recording-context.ts";
import { databaseFile, fileStore } from "../../engine/run-fixture.ts";
import { twoDatabases } from "../two-databases.ts";
import { serverWorld } from "./server-world.ts";

type Check = {
  readonly name: string;
  readonly status: string;
  readonly what: string;
  readonly remedy: string | null;
};

async function ask(
  store: Store,
  role: Role = "admin",
  options: Partial<HandlerOptions> = {},
): Promise<Response> {
  const handler = createHandler({
    store,
    dashboard: false,
    checksAnswers: true,
    authenticate: () => ({ name: "ann", id: "ann", role }),
    ...options,
  });
  try {
    return await handler.fetch(new Request("http://127.0.0.1:4747/v1/doctor"));
  } finally {
    await handler.close();
  }
}

async function checksOf(store: Store, options: Partial<HandlerOptions> = {}): Promise<readonly Check[]> {
  const response = await ask(store, "admin", options);
  expect(response.status).toBe(200);
  const { checks } = (await response.json()) as { readonly checks: readonly Check[] };
  return checks;
}

describe.each(twoDatabases())("on %s", (database, newDatabase) => {
  test("the store is checked, its place, its runs and its queues", async () => {
    const store = await newDatabase()();
    await SampleRun.create(store, "run-1");
    const { body } = await serverWorld(store).call("getDoctor");
    const names = (body.checks as readonly Check[]).map(({ name }) => name);
    expect(names.slice(0, 3)).toEqual(["node", "store", "store id"]);
    expect(names.slice(-5)).toEqual(["integrity", "leases", "waits", "in doubt", "queues"]);
    expect(names).toContain("schema");
    // It executes no configuration, and leaves the whole of a file to checkIntegrity.
    for (const name of ["config", "packages", "database"]) expect(names).not.toContain(name);
    expect(names).toContain(database === "SQLite" ? "disk" : "vacuum");
  });
});

test("only an admin has the installation checked: paths and names of roles are in the answer", async () => {
  const store = await fileStore(databaseFile());
  for (const role of ["viewer", "operator"] as const) expect((await ask(store, role)).status).toBe(403);
  expect((await ask(store, "admin")).status).toBe(200);
  expect((await ask(store, "admin", { readOnly: true })).status).toBe(403);
});

describe("a file", () => {
  test("is described in the words of the command", async () => {
    const file = databaseFile();
    const store = await fileStore(file);
    chmodSync(file, 0o644);
    const run = await SampleRun.create(store, "it's 1");
    await store.interruptRun(run.fence);
    const checks = await checksOf(store);
    const { document } = await pawlJson<{ checks: readonly Check[] }>(["doctor", "--store", file]);
    for (const name of [
      "node",
      "store id",
      "schema",
      "rights",
      "place",
      "durability",
      "integrity",
      "waits",
      "queues",
    ]) {
      const own = checks.find((check) => check.name === name);
      expect(own).toBeDefined();
      expect(own).toEqual(document.checks.find((check) => check.name === name));
    }
    expect(checks).toContainEqual(expect.objectContaining({ name: "rights", status: "warn" }));
    expect(checks).toContainEqual(
      expect.objectContaining({ name: "leases", remedy: "resume with pawl resume 'it'\\''s 1'" }),
    );
  });

  test("in the folder of a run is reported, by the place where the server's own runs work", async () => {
    const root = dirname(databaseFile());
    const own = join(root, "pawl-runs", "run-1");
    const store = await fileStore(join(own, "pawl.db"));
    await SampleRun.create(store, "run-1");
    const placeBelow = async (workspaceRoot: string) =>
      (await checksOf(store, { runnerOptions: { workspaceRoot } })).find(({ name }) => name === "place");
    expect(await placeBelow(root)).toMatchObject({
      status: "warn",
      what: `the store is in ${own}, where run run-1 works`,
    });
    expect(await placeBelow(join(root, "elsewhere"))).toMatchObject({ status: "ok" });
  });

  test("that was deleted fails its own check, and the others are made", async () => {
    const file = databaseFile();
    const { call } = serverWorld(await fileStore(file));
    await call("getDoctor");
    rmSync(file);
    const { body } = await call("getDoctor");
    expect(body.checks).toContainEqual(expect.objectContaining({ name: "rights", status: "fail" }));
    expect(body.checks).toContainEqual(expect.objectContaining({ name: "queues", status: "ok" }));
  });
});
