import { describe, expect, it } from "vitest";
import { type JsonObject, type WatchEvent, watchRun } from "../../../src/index.ts";
import { chat, lastHeard } from "../conversation/conversation-fixture.ts";

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
