import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TamperedStore, writeRuns } from "./tampered-store.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-verify-log-"));
const template = join(folder, "template.db");
beforeAll(() => writeRuns(template));
afterAll(() => rmSync(folder, { recursive: true }));

function tampered(sql: string, ...values: readonly number[]): TamperedStore {
  return new TamperedStore(template).change(sql, ...values);
}

it("an event whose hash was changed is named, with the one that follows it", async () => {
  const change = "UPDATE events SET hash = zeroblob(32) WHERE run_key = 1 AND seq =";
  expect(await tampered(`${change} 9`).named()).toEqual(["event 9", "event 10"]);
  expect(new Set(await tampered(`${change} 33`).named())).toEqual(new Set(["event 33"]));
});

describe("a missing event is named", () => {
  it.for([
    ["the first", 1, ["event 1", "event 2", "run input", "attempt 1"]],
    ["one that covers an attempt", 9, ["event 9", "event 10", "attempt 2 of ledger/draft#1.3"]],
    ["one that covers a receipt", 5, ["event 5", "event 6", "receipt ledger/draft#1.2"]],
    ["the last", 33, ["event 33", "counters of the run", "run", "attempt 3"]],
  ] as const)("%s", async ([, seq, rows]) => {
    const store = tampered("DELETE FROM events WHERE run_key = 1 AND seq = ?", seq);
    expect([...new Set(await store.named())]).toEqual(rows);
    expect((await store.verify()).problems[0]).toEqual({ row: `event ${seq}`, what: "is missing" });
  });

  it("several events: each one", async () => {
    const named = await tampered("DELETE FROM events WHERE run_key = 1 AND seq IN (18, 19, 20, 22)").named();
    expect([...new Set(named)]).toEqual([
      ...[18, 19, 20, 21, 22, 23].map((seq) => `event ${seq}`),
      "doubt about ledger/code#0.2",
      "attempt 2",
      "receipt ledger/draft#1.1",
    ]);
  });

  it("more than were written, by a forged number: at once", async () => {
    const store = tampered("UPDATE runs SET event_seq = 9007199254740000 WHERE run_key = 1");
    const { problems } = await store.verify();
    expect(problems.length).toBeLessThan(120);
    expect(problems).toContainEqual({
      row: "event 134",
      what: "is missing, and so are all up to 9007199254740000",
    });
  });

  it("all of them", async () => {
    const named = await tampered("DELETE FROM events WHERE run_key = 1").named();
    expect(named).toContain("event 1");
    expect(named).toContain("event 33");
  });
});

describe("an added event is named", () => {
  it("although its hash is correct", async () => {
    const store = new TamperedStore(template).addEvent("ledger", "run.claimed");
    expect(await store.named()).toEqual(["event 34"]);
    expect((await store.verify()).problems[0]?.what).toBe("was not written by Pawl");
  });

  it("before the first one", async () => {
    const store = tampered(
      "INSERT INTO events SELECT 1, 0, 1, 'run.claimed', '{}', hash, 0 FROM events WHERE seq = 1 AND run_key = 1",
    );
    expect(await store.named()).toContain("event 0");
  });
});

describe("events in another order", () => {
  it("are named, with the one that follows them", async () => {
    const store = tampered("UPDATE events SET seq = seq + 1000 WHERE run_key = 1 AND seq IN (8, 9)")
      .change("UPDATE events SET seq = 1017 - seq WHERE run_key = 1 AND seq = 1008")
      .change("UPDATE events SET seq = 1017 - seq WHERE run_key = 1 AND seq = 1009");
    expect(await store.named()).toEqual(["event 8", "event 9", "event 10"]);
  });

  it("of two runs are not mixed up", async () => {
    const store = new TamperedStore(template);
    store.withDatabase((database) => {
      database.exec(`UPDATE events SET run_key = run_key + 100 WHERE seq = 3 AND run_key IN (1, 2);
                     UPDATE events SET run_key = 103 - run_key WHERE run_key IN (101, 102);`);
    });
    expect(await store.named()).toContain("event 3");
    expect(await store.named("run-1")).toContain("event 3");
  });
});
