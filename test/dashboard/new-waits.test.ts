import { expect, test } from "vitest";
import { NewWaits } from "../../dashboard/src/browser/new-waits.ts";
import { LiveStore } from "../../dashboard/src/live/live-store.ts";
import { runHead } from "./run-head.ts";

const asking = {
  event: "head",
  data: runHead({ openWaits: 1, firstWait: { waitId: "q-1~1", kind: "approval", question: "May it?" } }),
} as const;
const waits = (open: number) => ({ event: "waits", data: { open } }) as const;

/** What a page with this store says of waits from now on. */
function toldOf(store: LiveStore): number[] {
  const told: number[] = [];
  const noticed = new NewWaits(store.state());
  store.onSignal(({ kind }) => {
    const open = kind === "waits" ? noticed.more(store.state()) : null;
    if (open !== null) told.push(open);
  });
  return told;
}

test("waits that were open when a page was opened are no news, also if a head of their run comes first", () => {
  const store = new LiveStore();
  const told = toldOf(store);
  for (const event of [asking, waits(3), waits(3)]) store.receive(event);
  expect(told).toEqual([]);
});

test("waits that open later are news once each time, also when the page was away meanwhile", () => {
  const store = new LiveStore();
  const told = toldOf(store);
  store.receive(waits(3));
  store.connected({ status: "lost", since: 1, lastSignAt: 1 });
  store.connected({ status: "live" });
  store.receive({ event: "reset", data: { why: "More has changed than is remembered." } });
  for (const open of [3, 4, 4, 2, 3]) store.receive(waits(open));
  expect(told).toEqual([4, 3]);
});

test("a page that is shown again knows what was open before", () => {
  const store = new LiveStore();
  store.receive(waits(3));
  const told = toldOf(store);
  store.receive(waits(4));
  expect(told).toEqual([4]);
});
