import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { LiveStore } from "../../dashboard/src/live/live-store.ts";
import { runHead } from "./run-head.ts";

const head = (given: Parameters<typeof runHead>[0]) => ({ event: "head", data: runHead(given) }) as const;

test("heads in any order, and any of them twice, end in the newest one", () => {
  const seqs = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 });
  fc.assert(
    fc.property(seqs, (order) => {
      const store = new LiveStore();
      for (const eventSeq of [...order, ...order]) store.receive(head({ eventSeq }));
      expect(store.head("q-1")?.eventSeq).toBe(Math.max(...order));
    }),
  );
});

test("a fetched page does not undo what the stream brought meanwhile", () => {
  const store = new LiveStore();
  store.receive(head({ eventSeq: 9, status: "succeeded" }));
  store.learn([runHead({ eventSeq: 7 })]);
  expect(store.head("q-1")?.status).toBe("succeeded");
});

test("a run that is interrupted without an event of its own is shown so", () => {
  const store = new LiveStore();
  store.receive(head({ eventSeq: 9 }));
  store.receive(head({ eventSeq: 9, status: "interrupted" }));
  expect(store.head("q-1")?.status).toBe("interrupted");
});

test("heads with the same number end in the newest one too, in any order", () => {
  const leases = ["2026-11-18T12:00:20.000Z", "2026-11-18T12:00:40.000Z"];
  const inTime = leases.flatMap((leaseUntil) =>
    (["running", "interrupted"] as const).map((status) => runHead({ status, leaseUntil })),
  );
  const orders = fc.array(fc.integer({ min: 0, max: inTime.length - 1 }), { minLength: 1 });
  fc.assert(
    fc.property(orders, (order) => {
      const store = new LiveStore();
      for (const at of order) store.learn(inTime.slice(at, at + 1));
      expect(store.head("q-1")).toEqual(inTime[Math.max(...order)]);
    }),
  );
});

test("after a reset, what is fetched counts although it seems older: it may be another store", () => {
  const store = new LiveStore();
  const signals: string[] = [];
  store.onSignal(({ kind }) => signals.push(kind));
  store.receive(head({ eventSeq: 9, status: "succeeded" }));
  store.receive({ event: "reset", data: { why: "The cursor is unknown." } });
  expect(signals).toEqual(["head", "reset"]);
  expect(store.head("q-1")?.eventSeq, "stays on screen until it is read again").toBe(9);
  expect(store.seqOf("q-1"), "but is no reason not to read").toBe(0);
  store.learn([runHead({ eventSeq: 4 })]);
  expect([store.head("q-1")?.eventSeq, store.seqOf("q-1")]).toEqual([4, 4]);
  store.learn([runHead({ eventSeq: 3 })]);
  expect(store.head("q-1")?.eventSeq, "an older page does not count any more").toBe(4);
});

test("a row hears of its own run alone", () => {
  const store = new LiveStore();
  const [mine, another] = [vi.fn<() => void>(), vi.fn<() => void>()];
  store.onRun("q-1", mine);
  store.onRun("q-2", another)();
  store.receive(head({ runId: "q-1" }));
  store.receive(head({ runId: "q-2" }));
  expect(mine).toHaveBeenCalledTimes(1);
  expect(another).not.toHaveBeenCalled();
});

test("after 100,000 heads the store keeps a few thousand, and those that are shown", () => {
  const store = new LiveStore();
  store.receive(head({ runId: "shown" }));
  store.onRun("shown", () => undefined);
  for (let at = 0; at < 100_000; at += 1) store.receive(head({ runId: `q-${at}` }));
  expect(store.head("shown")).toBeDefined();
  expect(store.head("q-0")).toBeUndefined();
  expect(store.head("q-99999")).toBeDefined();
});

test("the first version stays known, so that an old page can say that it is old", () => {
  const store = new LiveStore(() => Date.parse("2026-11-18T12:00:00Z"));
  const hello = (version: string) =>
    ({ event: "hello", data: { version, instance: "pawl.db", asOf: "2026-11-18T12:00:05Z" } }) as const;
  store.receive(hello("1.0.0"));
  store.receive(hello("1.1.0"));
  expect(store.state().version).toEqual({ first: "1.0.0", now: "1.1.0" });
  expect(store.state().skewMs).toBe(5_000);
});

test("a tab that is opened after the server was replaced is not old, whatever another tab met first", () => {
  const store = new LiveStore();
  store.adopt({ version: "1.1.0", skewMs: 0 });
  expect(store.state().version).toEqual({ first: "1.1.0", now: "1.1.0" });
});

test("pages hear that the server is back, and not that it is there at first", () => {
  const store = new LiveStore();
  const heard: string[] = [];
  store.onSignal(({ kind }) => heard.push(kind));
  const lost = { status: "lost", since: 1, lastSignAt: null } as const;
  store.connected({ status: "live" });
  for (const connection of [lost, lost, { status: "live" }, { status: "live" }] as const)
    store.connected(connection);
  expect(heard).toEqual(["back"]);
});

test("the waits have changed where a run waits for something else, however many there are", () => {
  const store = new LiveStore();
  const heard: string[] = [];
  const asks = (eventSeq: number, waitId: string) =>
    head({ eventSeq, openWaits: 1, firstWait: { waitId, kind: "approval", question: "May it?" } });
  store.onSignal(({ kind }) => heard.push(kind));
  for (const event of [head({}), asks(2, "q-1~1"), asks(3, "q-1~1"), asks(4, "q-1~2")]) store.receive(event);
  expect(heard).toEqual(["head", "head", "waits", "head", "head", "waits"]);
});
