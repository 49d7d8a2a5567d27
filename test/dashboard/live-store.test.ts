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
