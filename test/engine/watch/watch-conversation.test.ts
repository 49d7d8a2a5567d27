import { describe, expect, it } from "vitest";
import {
  agent,
  conversation,
  type JsonObject,
  type LiveEvent,
  Runner,
  type WatchEvent,
  watchRun,
} from "../../../src/index.ts";
import { chat, lastHeard } from "../conversation/conversation-fixture.ts";
import { databaseFile, fileStore } from "../run-fixture.ts";
import { streamingPort, text, typed } from "./streaming-port.ts";

type Talk = Awaited<ReturnType<typeof chat>>;

/** What is durable now, of the conversation. */
async function seen({ store }: Talk, after?: string): Promise<WatchEvent[]> {
  const options = { follow: false, ...(after === undefined ? {} : { after }) };
  const events: WatchEvent[] = [];
  for await (const event of watchRun(store, "chat", options)) events.push(event);
  return events;
}

const OF_EXCHANGES = ["exchange.begun", "message.taken", "turn.committed", "exchange.ended"];

/** The events of exchanges, each with what it says. */
function exchangesIn(events: readonly WatchEvent[]): unknown[] {
  return events
    .filter(({ type }) => OF_EXCHANGES.includes(type))
    .map((event) => {
      if (event.type === "exchange.begun") return [event.type, event.exchange, event.turn, event.sentBy];
      if (event.type === "message.taken")
        return [event.type, event.messageId, event.body, event.exchange, event.sentBy];
      if (event.type === "exchange.ended") return [event.type, event.exchange, event.outcome];
      return [event.type, "text" in event ? event.text : ""];
    });
}

describe("watching a conversation", () => {
  it("shows each exchange: who begins it, what the turns take, and how it ends", async () => {
    const talk = await chat((turn) => ({ text: `You said ${lastHeard(turn)}` }));
    await talk.say("one", { id: "m-1" });
    await talk.work();
    await talk.say("two", { id: "m-2", by: "bob" });
    await talk.work();
    expect(exchangesIn(await seen(talk))).toEqual([
      ["exchange.begun", 1, 1, "ann"],
      ["message.taken", "m-1", "one", 1, "ann"],
      ["turn.committed", "You said one"],
      ["exchange.ended", 1, "complete"],
      ["exchange.begun", 2, 2, "bob"],
      ["message.taken", "m-2", "two", 2, "bob"],
      ["turn.committed", "You said two"],
      ["exchange.ended", 2, "complete"],
    ]);
  });

  it("shows a message that joins the exchange in the turn that takes it", async () => {
    let sent = false;
    const talk: Talk = await chat(async (turn) => {
      if (!sent) await talk.say("and this", { id: "m-2", mode: "steer" });
      sent = true;
      return { text: `You said ${lastHeard(turn)}` };
    });
    await talk.say("one", { id: "m-1" });
    await talk.work();
    expect(exchangesIn(await seen(talk))).toEqual([
      ["exchange.begun", 1, 1, "ann"],
      ["message.taken", "m-1", "one", 1, "ann"],
      ["turn.committed", "You said one"],
      ["message.taken", "m-2", "and this", 1, "ann"],
      ["turn.committed", "You said and this"],
      ["exchange.ended", 1, "complete"],
    ]);
  });

  it("shows an exchange that ends without an answer, with the reason", async () => {
    const talk = await chat(() => ({ text: "never" }), { budget: { tokens: 1 } });
    await talk.say("one", { id: "m-1" });
    await talk.work();
    const events = await seen(talk);
    expect(exchangesIn(events)).toEqual([
      ["exchange.begun", 1, 1, "ann"],
      ["message.taken", "m-1", "one", 1, "ann"],
      ["exchange.ended", 1, "budget"],
    ]);
    const end = events.find(({ type }) => type === "exchange.ended");
    expect(end).toMatchObject({ why: expect.stringContaining("budget") as string });
  });

  it("continues behind a cursor, and ends with what is durable if it is not to follow", async () => {
    const talk = await chat();
    await talk.say("one");
    await talk.work();
    const all = await seen(talk);
    const at = all.findIndex(({ type }) => type === "message.taken");
    const cursor = "cursor" in (all[at] ?? {}) ? (all[at] as { cursor: string }).cursor : "";
    expect(await seen(talk, cursor)).toEqual(all.slice(at + 1));
    expect(all.at(-1)).toMatchObject({ type: "run.waiting" });
  });

  it("shows the end of an exchange also in the log of a version that did not name it there", async () => {
    const talk = await chat();
    await talk.say("one");
    await talk.work();
    const older = new Proxy(talk.store, {
      get: (store, name) => {
        if (name !== "listEvents") return Reflect.get(store, name, store) as unknown;
        return async (...range: Parameters<typeof store.listEvents>) =>
          (await store.listEvents(...range)).map((event) => {
            const { ended: _, ...data } = event.data as JsonObject;
            return { ...event, data };
          });
      },
    });
    const events = await seen({ ...talk, store: older });
    expect(exchangesIn(events).at(-1)).toEqual(["exchange.ended", 1, "complete"]);
  });
});

describe("an answer that is cut short", () => {
  /** Begins an answer, lets `cut` end it, and returns why it was withdrawn. */
  async function whyWithdrawn(cut: (runner: Runner) => Promise<unknown>) {
    const file = databaseFile();
    const [store, viewer] = [await fileStore(file), await fileStore(file)];
    const heard: LiveEvent[] = [];
    const watched: WatchEvent[] = [];
    const begun = Promise.withResolvers<void>();
    const model = streamingPort(async (say, { signal }) => {
      say(text("A long "));
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      });
    }, typed("Well."));
    const runner = new Runner(conversation(agent({ name: "clerk", model, instructions: "Answer." })), {
      store,
      onLive: (event) => heard.push(event),
    });
    await runner.send("chat", "One.", { by: "ann", orStart: {} });
    const leave = new AbortController();
    const watching = (async () => {
      for await (const event of watchRun(viewer, "chat", { signal: leave.signal })) {
        watched.push(event);
        if (event.type === "part") begun.resolve();
      }
    })();
    const working = runner.resume("chat", { wait: true });
    await begun.promise;
    await cut(runner);
    await working;
    await expect.poll(() => watched.some(({ type }) => type === "attempt.withdrawn")).toBe(true);
    leave.abort();
    await watching;
    const whyIn = (events: readonly (LiveEvent | WatchEvent)[]) =>
      events.flatMap((event) => (event.type === "attempt.withdrawn" ? [event.why] : []));
    return { heard: whyIn(heard), watched: whyIn(watched) };
  }

  it.each<[string, (runner: Runner) => Promise<unknown>]>([
    ["by a stop", (runner) => runner.stop("chat", { by: "ann" })],
    ["by a message", (runner) => runner.send("chat", "Now!", { by: "ann", mode: "interrupt" })],
  ])("%s was interrupted, for the viewers of all processes", async (_, cut) => {
    expect(await whyWithdrawn(cut)).toEqual({ heard: ["interrupted"], watched: ["interrupted"] });
  });
});
