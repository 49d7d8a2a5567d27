import { describe, expect, it } from "vitest";
import { ChatView } from "../../../src/cli/chat/chat-view.ts";
import type { WatchEvent } from "../../../src/index.ts";

const OF_TURN = { runId: "c-1", step: "clerk", turn: 1 };
const DURABLE = { ...OF_TURN, cursor: "", at: 1_000 };
const part = (delta: string, attempt = 1): WatchEvent => ({
  ...OF_TURN,
  type: "part",
  attempt,
  part: 0,
  kind: "text",
  delta,
});
const COMMITTED: WatchEvent = { ...DURABLE, type: "turn.committed", text: "Hello.", isComplete: true };

function taking(...events: readonly WatchEvent[]) {
  const view = new ChatView();
  return { view, lines: events.flatMap((event) => view.take(event, 2_000)) };
}

describe("an answer", () => {
  it("is kept aside while it is written, and stays once it is whole", () => {
    const { view, lines } = taking(part("Hel"), part("lo."));
    expect([view.answer?.text, lines]).toEqual(["Hello.", []]);
    expect(view.take(COMMITTED, 2_000)).toEqual([{ kind: "answer", text: "Hello." }]);
    expect(view.answer).toBeNull();
  });

  it("is taken back when its attempt is withdrawn, and that is said", () => {
    const { view, lines } = taking(part("Hel"), {
      ...OF_TURN,
      type: "attempt.withdrawn",
      attempt: 1,
      why: "failed",
    });
    expect(view.answer).toBeNull();
    expect(lines).toMatchObject([
      { kind: "note", line: { text: "(answer withdrawn: the request to the model failed)" } },
    ]);
  });

  it("of which nothing was shown is withdrawn without a word", () => {
    const withdrawn = { ...OF_TURN, type: "attempt.withdrawn", attempt: 1, why: "lost" } as const;
    expect(taking(withdrawn).lines).toEqual([]);
  });

  it("that was journaled and is committed later is shown once", () => {
    const content = [{ type: "text" as const, text: "Hello." }];
    const journaled: WatchEvent = { ...DURABLE, type: "turn.journaled", content, calls: [] };
    expect(taking(journaled, COMMITTED).lines).toEqual([{ kind: "answer", text: "Hello." }]);
    // After a crash, only the commit is left to be seen.
    expect(taking(COMMITTED).lines).toEqual([{ kind: "answer", text: "Hello." }]);
  });
});

it("shows the answer that a turn gets after another one was dropped", () => {
  const journaled = (text: string): WatchEvent => ({
    ...DURABLE,
    type: "turn.journaled",
    content: [{ type: "text", text }],
    calls: [],
  });
  const dropped: WatchEvent = { ...DURABLE, type: "turn.dropped" };
  expect(taking(journaled("Old."), dropped, journaled("Hello."), COMMITTED).lines).toMatchObject([
    { kind: "answer", text: "Old." },
    { kind: "note", line: { text: "(answer dropped: the model is asked again)" } },
    { kind: "answer", text: "Hello." },
  ]);
  // Nothing of it was on the screen.
  expect(taking(journaled(""), dropped, COMMITTED).lines).toEqual([{ kind: "answer", text: "Hello." }]);
});

describe("a message", () => {
  it("waits until a turn takes it; those of others have their names", () => {
    const view = new ChatView();
    view.sends({ messageId: "m-1", text: "mine" });
    expect([view.isBusy, view.waiting.length]).toEqual([true, 1]);
    const taken = { ...DURABLE, type: "message.taken", exchange: 1, sentAt: 1 } as const;
    expect([
      ...view.take({ ...taken, messageId: "m-1", body: "mine", sentBy: "ann" }, 1),
      ...view.take({ ...taken, messageId: "m-2", body: "theirs", sentBy: "bob" }, 1),
    ]).toEqual([
      { kind: "said", by: null, text: "mine" },
      { kind: "said", by: "bob", text: "theirs" },
    ]);
    expect(view.isBusy).toBe(false);
  });
});
