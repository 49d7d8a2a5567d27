import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import type { Store } from "../../src/store/store.ts";
import { type OpenConformanceDatabase, storeConformance } from "../../src/testing/index.ts";

const onFile: OpenConformanceDatabase = ({ now }) => {
  const folder = mkdtempSync(join(tmpdir(), "pawl-conformance-"));
  return Promise.resolve({
    open: () => openStore(`file:${folder}/pawl.db`, { now }),
    dispose: () => Promise.resolve(rmSync(folder, { recursive: true })),
  });
};

/** Each store has a database of its own, so only the checks that need one store make sense. */
const inMemory: OpenConformanceDatabase = ({ now }) =>
  Promise.resolve({ open: () => openStore(":memory:", { now }), dispose: () => Promise.resolve() });

describe("the SQLite store on a file keeps to the contract", () => {
  for (const check of storeConformance(onFile)) it(check.name, () => check.run());
});

describe("the SQLite store in memory keeps to the contract", () => {
  const checks = storeConformance(inMemory).filter(({ stores }) => stores === "one");
  for (const check of checks) it(check.name, () => check.run());
});

describe("the conformance suite", () => {
  const checks = storeConformance(onFile);

  it("has checks, each with a name of its own", () => {
    expect(checks.length).toBeGreaterThan(250);
    expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length);
    expect(checks.filter(({ stores }) => stores === "several").length).toBeGreaterThan(8);
  });

  it.each(["journalResponse", "recordReceipt", "commitTurn", "endToolCallTry", "settle"] as const)(
    "finds out a store whose %s says done and does nothing",
    async (intent) => {
      const idle: OpenConformanceDatabase = ({ now }) =>
        Promise.resolve({
          open: async () => without(intent, await openStore(":memory:", { now })),
          dispose: () => Promise.resolve(),
        });
      const checks = storeConformance(idle).filter(({ stores }) => stores === "one");
      const outcomes = await Promise.allSettled(checks.map((check) => check.run()));
      const found = outcomes.filter(({ status }) => status === "rejected");
      expect(found.length).toBeGreaterThan(10);
      expect(found.length).toBeLessThan((checks.length * 2) / 3);
    },
  );
});

/** The store, but for one intent, which resolves and changes nothing. */
function without(intent: keyof Store, store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === intent) return () => Promise.resolve({ stepKey: 1, next: null });
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
