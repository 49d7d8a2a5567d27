import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import { STORE_INTENTS, type Store } from "../../src/store/store.ts";
import { type OpenConformanceDatabase, storeConformance } from "../../src/testing/store/index.ts";
import { sampled } from "../full-test.ts";
import { captureStatements } from "./sql/captured-statements.ts";
import { FAN_OUT_INTENTS, FAN_OUTS, fanOutOf, oneLine } from "./sql/one-run-statements.ts";

const captured = captureStatements();

/** An empty database, copied for each check: creating its tables takes longer than most checks. */
const empty = join(mkdtempSync(join(tmpdir(), "pawl-conformance-")), "empty.db");
beforeAll(async () => (await openStore(`file:${empty}`)).close());
afterAll(() => rmSync(dirname(empty), { recursive: true }));

const onFile: OpenConformanceDatabase = (clocks) => {
  const folder = mkdtempSync(join(tmpdir(), "pawl-conformance-"));
  copyFileSync(empty, join(folder, "pawl.db"));
  return Promise.resolve({
    open: () => openStore(`file:${folder}/pawl.db`, clocks),
    thread: {
      module: new URL("open-on-thread.ts", import.meta.url).href,
      data: { url: `file:${folder}/pawl.db`, options: {} },
      clock: "process",
    },
    dispose: () => Promise.resolve(rmSync(folder, { recursive: true })),
  });
};

/** Each store has a database of its own, so only the checks that need one store make sense. */
const inMemory: OpenConformanceDatabase = (clocks) =>
  Promise.resolve({ open: () => openStore(":memory:", clocks), dispose: () => Promise.resolve() });

describe("the SQLite store on a file conforms to the contract", () => {
  const checks = storeConformance(onFile);
  for (const check of checks.filter(({ stores }) => stores !== "threads")) it(check.name, () => check.run());
  // Each starts threads, which load the sources again.
  const threaded = sampled(checks.filter(({ stores }) => stores === "threads"));
  for (const check of threaded) it(check.name, () => check.run());
});

describe("the SQLite store in memory conforms to the contract", () => {
  const checks = storeConformance(inMemory).filter(({ stores }) => stores === "one");
  for (const check of sampled(checks, 5)) it(check.name, () => check.run());
});

// The checks above have run every statement of the store.
describe("the statements of the store", () => {
  it("are captured", () => {
    expect(captured.queries.length).toBeGreaterThan(140);
    expect(captured.writes.size).toBeGreaterThan(40);
    // Three have no transaction of their own, and closing is called goodbye.
    const others: readonly string[] = ["attend", "beginEffect", "redactionKey", "close"];
    expect([...captured.intents]).toEqual(
      expect.arrayContaining(STORE_INTENTS.filter((intent) => !others.includes(intent))),
    );
  });

  it("each name their run, or are in the list of those that concern several", () => {
    const fanOuts = captured.queries.filter(({ text }) => fanOutOf(text).length > 0);
    const unlisted = fanOuts.filter(({ text }) => FAN_OUTS.every((each) => !each.text.test(oneLine(text))));
    expect(unlisted.map(({ text }) => [oneLine(text), fanOutOf(text)])).toEqual([]);
    const unused = FAN_OUTS.filter((each) => fanOuts.every(({ text }) => !each.text.test(oneLine(text))));
    expect(unused).toEqual([]);
  });

  it("of an intent concern its own run alone, and are in no turn if they concern several", () => {
    expect([...captured.strangers]).toEqual([]);
    const intents = captured.queries
      .filter(({ text }) => fanOutOf(text).length > 0)
      .flatMap((query) => [...query.intents]);
    expect([...new Set(intents)].sort()).toEqual(FAN_OUT_INTENTS);
  });

  it.each([
    ["a scan", "SELECT * FROM turns"],
    [
      "a join that forgets the run",
      "SELECT * FROM tool_calls JOIN receipts USING (call_no) WHERE tool_calls.run_key = ?",
    ],
    ["an index over runs", "SELECT 1 FROM runs WHERE pipeline = ?"],
    ["a subquery", "SELECT (SELECT count(*) FROM waits) AS n FROM runs WHERE run_key = ?"],
  ])("would be found out by %s", (_, text) => {
    expect(fanOutOf(text)).not.toEqual([]);
  });
});

describe("the conformance suite", () => {
  const checks = storeConformance(onFile);

  it("has checks, each with a name of its own", () => {
    expect(checks.length).toBeGreaterThan(500);
    expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length);
    expect(checks.filter(({ stores }) => stores === "several").length).toBeGreaterThan(8);
    expect(checks.filter(({ stores }) => stores === "threads").length).toBeGreaterThan(4);
  });

  const idleIntents = [
    ["journalResponse", "tool calls"],
    ["recordReceipt", "receipts"],
    ["commitTurn", "turns"],
    ["endToolCallAttempt", "call attempts"],
    ["correlateToolCall", "correlations"],
    ["settle", "settlements"],
    ["answer", "budget waits"],
    ["skipStep", "steps"],
    ["keepArtifact", "artifacts"],
    ["saveCheckpoint", "late checkpoints"],
    ["requestCancel", "cancel"],
    ["acceptDivergence", "divergence"],
    ["dropTurn", "dropped turns"],
    ["forkRun", "forks"],
  ] as const;

  it.for(sampled(idleIntents))(
    "detects a store whose %s reports success and does nothing, by its %s",
    async ([intent, subject]) => {
      const idle = (store: Store) =>
        withIntent(store, intent, () => Promise.resolve({ stepKey: 1, next: null }));
      expect(await failedChecks(subject, idle)).toBeGreaterThan(2);
      expect(await failedChecks("leases", idle)).toBe(0);
    },
  );

  const ignored = [
    ["createRun", "spec", "budgets"],
    ["claimRun", "budgets", "budgets"],
    ["journalResponse", "checkpoint", "checkpoints"],
    ["startToolCalls", "checkpoint", "checkpoints"],
    ["openToolCall", "checkpoint", "checkpoints"],
    ["forkRun", "slices", "forks"],
  ] as const;

  it.for(sampled(ignored))("detects a store whose %s ignores the %s", async ([intent, field, subject]) => {
    const forgetful = (store: Store) =>
      withIntent(store, intent, (...given) => {
        const method = store[intent].bind(store) as (...args: readonly unknown[]) => unknown;
        return method(...given.map((each) => without(field, each)));
      });
    expect(await failedChecks(subject, forgetful)).toBeGreaterThan(0);
  });
});

/** The number of checks of a subject that fail on a broken store. */
async function failedChecks(subject: string, spoil: (store: Store) => Store): Promise<number> {
  const spoilt: OpenConformanceDatabase = (clocks) =>
    Promise.resolve({
      open: async () => spoil(await openStore(":memory:", clocks)),
      dispose: () => Promise.resolve(),
    });
  const checks = storeConformance(spoilt).filter(
    ({ name, stores }) => stores === "one" && name.startsWith(`${subject}: `),
  );
  expect(checks.length).toBeGreaterThan(0);
  const outcomes = await Promise.allSettled(checks.map((check) => check.run()));
  return outcomes.filter(({ status }) => status === "rejected").length;
}

/** The store with one intent replaced. */
function withIntent(
  store: Store,
  intent: keyof Store,
  instead: (...given: readonly unknown[]) => unknown,
): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === intent) return instead;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** The argument of an intent, with one of its fields emptied. */
function without(field: string, given: unknown): unknown {
  if (typeof given !== "object" || given === null || !(field in given)) return given;
  const { [field]: value, ...rest } = given as Record<string, unknown>;
  return Array.isArray(value) ? { ...rest, [field]: [] } : rest;
}
