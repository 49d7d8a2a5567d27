import { setImmediate } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { LiveStore } from "../../dashboard/src/live/live-store.ts";
import {
  SharedStream,
  type StreamListeners,
  type TabMessage,
} from "../../dashboard/src/live/shared-stream.ts";
import { runHead } from "./run-head.ts";

// Tabs of a browser in one process: they share the locks of Node, which are those of browsers, and a channel.

const head = (eventSeq: number) => ({ event: "head", data: runHead({ eventSeq }) }) as const;
const waits = { event: "waits", data: { open: 3 } } as const;

class Tab {
  readonly store: LiveStore;
  readonly stream: SharedStream;
  readonly signedOut = new AbortController();
  readonly heard: string[] = [];
  /** It neither hears nor sends, but its browser knows what it holds. */
  hangs = false;
  /** Where each of its streams began. */
  readonly began: (string | null)[] = [];
  #others: StreamListeners | null = null;
  #reading: AbortSignal | null = null;

  constructor(browser: Browser, name: string) {
    this.store = new LiveStore(() => browser.now);
    this.store.onSignal(({ kind }) => this.heard.push(kind));
    this.stream = new SharedStream({
      store: this.store,
      now: () => browser.now,
      tab: name,
      signal: this.signedOut.signal,
      send: (message) => browser.send(this, message),
      lock: (how, work) => navigator.locks.request(browser.lockName, how, work),
      read: (cursor, signal, others) => this.#read(cursor, signal, others),
    });
    this.stream.join();
  }

  get isReading(): boolean {
    return this.#reading !== null && !this.#reading.aborted;
  }

  /** The server sends something to the stream of this tab. */
  receive(event: Parameters<LiveStore["receive"]>[0], id: string | null = null): void {
    this.store.receive(event);
    this.#others?.onEvent(event, id);
  }

  #read(cursor: string | null, signal: AbortSignal, others: StreamListeners): Promise<void> {
    this.began.push(cursor);
    [this.#reading, this.#others] = [signal, others];
    this.store.connected({ status: "live" });
    others.onConnection({ status: "live" });
    return new Promise(() => undefined);
  }
}

class Browser {
  static made = 0;
  readonly lockName = `browser-${(Browser.made += 1)}`;
  readonly tabs: Tab[] = [];
  now = 1_000_000;

  async open(name: string): Promise<Tab> {
    const tab = new Tab(this, name);
    this.tabs.push(tab);
    await settled();
    return tab;
  }

  send(from: Tab, message: TabMessage): void {
    if (from.hangs) return;
    // Later, as the real one: and a tab is made before it is listed.
    queueMicrotask(() => {
      for (const tab of this.tabs) if (tab !== from && !tab.hangs) tab.stream.hear(structuredClone(message));
    });
  }

  /** Time passes, in which tabs look as often as they do. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 5_000) {
      this.now += 5_000;
      for (const tab of this.tabs) if (!tab.hangs) tab.stream.look();
      await settled();
    }
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await setImmediate();
}

let browser = new Browser();
afterEach(() => {
  for (const tab of browser.tabs) tab.signedOut.abort();
  browser = new Browser();
});

test("one tab reads the stream, and the next one from its last event when it closes", async () => {
  const [first, second] = [await browser.open("1"), await browser.open("2")];
  first.receive(head(4), "event-4");
  await settled();
  expect([second.began, second.store.head("q-1")?.eventSeq]).toEqual([[], 4]);
  expect(second.store.state().connection.status).toBe("live");
  first.signedOut.abort();
  await settled();
  expect(second.began).toEqual(["event-4"]);
});

test("a quiet tab that leads is left alone for as long as it answers", async () => {
  const [first, second] = [await browser.open("1"), await browser.open("2")];
  await browser.pass(300_000);
  expect([first.isReading, second.isReading]).toEqual([true, false]);
  expect(second.heard).toEqual([]);
});

test("of a tab that leads and hangs, another one takes the lock within 40 seconds, and says that it was lost", async () => {
  const [first, second, third] = [await browser.open("1"), await browser.open("2"), await browser.open("3")];
  first.receive(head(4), "event-4");
  await settled();
  first.hangs = true;
  const words: string[] = [];
  second.store.onState(() => words.push(second.store.state().connection.status));
  await browser.pass(30_000);
  expect(second.began).toEqual([]);
  await browser.pass(10_000);
  const reading = browser.tabs.filter(({ isReading }) => isReading);
  expect(reading).toHaveLength(1);
  expect(reading).not.toContain(first);
  expect(reading[0]?.began).toEqual(["event-4"]);
  expect([words[0], words.at(-1)]).toEqual(["lost", "live"]);
  reading[0]?.receive(head(5), "event-5");
  await settled();
  for (const tab of [second, third]) expect(tab.store.head("q-1")?.eventSeq).toBe(5);
});

test("a tab that hung follows when it moves again, and nothing old that it sends stays", async () => {
  const [first, second, third] = [await browser.open("1"), await browser.open("2"), await browser.open("3")];
  first.hangs = true;
  await browser.pass(40_000);
  const leader = browser.tabs.find((tab) => tab !== first && tab.isReading);
  leader?.receive(waits);
  await settled();
  expect(first.isReading).toBe(false);
  // It moves before it hears that the lock is not its own any more.
  first.hangs = false;
  first.receive({ event: "waits", data: { open: 1 } });
  await settled();
  for (const tab of [second, third]) expect(tab.store.state().openWaits).toBe(3);
  leader?.receive(head(9), "event-9");
  await settled();
  expect(first.store.head("q-1")?.eventSeq).toBe(9);
  for (const tab of [second, third]) tab.signedOut.abort();
  await settled();
  expect(first.isReading, "and leads when no other tab is left").toBe(true);
});

test("a tab that is being frozen lets another one lead, and follows when it is back", async () => {
  const [first, second] = [await browser.open("1"), await browser.open("2")];
  first.receive(head(4), "event-4");
  first.stream.leave();
  await settled();
  expect([first.isReading, second.began]).toEqual([false, ["event-4"]]);
  first.stream.join();
  second.receive(head(5), "event-5");
  await settled();
  expect([first.isReading, first.store.head("q-1")?.eventSeq]).toEqual([false, 5]);
  second.signedOut.abort();
  await settled();
  expect(first.began).toEqual([null, "event-5"]);
});

test("a tab that waits is not given the lock while it is frozen", async () => {
  const [first, second, third] = [await browser.open("1"), await browser.open("2"), await browser.open("3")];
  second.stream.leave();
  first.signedOut.abort();
  await settled();
  expect([second.isReading, third.isReading]).toEqual([false, true]);
});

test("what a tab asks for when it is opened makes no other tab read again", async () => {
  const [first, second] = [await browser.open("1"), await browser.open("2")];
  first.receive(waits);
  await settled();
  const before = second.store.state();
  second.heard.length = 0;
  const third = await browser.open("3");
  expect(third.store.state().openWaits).toBe(3);
  expect(second.store.state()).toBe(before);
  expect(second.heard).toEqual([]);
});

test("a browser whose person was signed out asks the server no more", async () => {
  const tab = await browser.open("1");
  tab.stream.leave();
  tab.store.connected({ status: "signed_out" });
  await browser.pass(120_000);
  expect(tab.began).toEqual([null]);
});
