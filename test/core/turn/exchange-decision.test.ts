import { describe, expect, it } from "vitest";
import { type ConversationState, decideConversation } from "../../../src/core/turn/exchange-decision.ts";

/** Two turns are committed; the second one ended its exchange. */
const REST: ConversationState = {
  exchange: { firstTurn: 1, isOpen: false, isStopped: false },
  committed: 2,
  isJournaled: false,
  isComplete: true,
  maxTurns: 4,
  hasInput: false,
  hasText: false,
  isTooLong: false,
  isClosed: false,
};
const OPEN = { firstTurn: 1, isOpen: true, isStopped: false };
const WORKING: ConversationState = { ...REST, exchange: OPEN, isComplete: false };

describe("a conversation whose exchange is open", () => {
  it.each([
    ["asks for the next turn", {}, { kind: "turn" }],
    ["completes a turn that has a response", { isJournaled: true }, { kind: "replay", isStopped: false }],
    [
      "completes such a turn without its waiting calls, if it is to stop",
      { isJournaled: true, exchange: { ...OPEN, isStopped: true } },
      { kind: "replay", isStopped: true },
    ],
    [
      "ends it, if it is to stop",
      { exchange: { ...OPEN, isStopped: true } },
      { kind: "end", outcome: "stopped" },
    ],
    ["ends it after its last turn", { committed: 4 }, { kind: "end", outcome: "max_turns" }],
    [
      "counts the turns of this exchange only",
      { committed: 4, exchange: { ...OPEN, firstTurn: 2 } },
      { kind: "turn" },
    ],
  ] as const)("%s", (_, over, move) => {
    expect(decideConversation({ ...WORKING, ...over })).toEqual(move);
  });

  it.each([
    ["", {}],
    [", also if it is to stop", { exchange: { firstTurn: 3, isOpen: true, isStopped: true } }],
    [", whatever waits", { hasText: true, isTooLong: true }],
  ] as const)("is loaded again, if another worker has begun it since%s", (_, over) => {
    const begunSince = { ...REST, exchange: { ...OPEN, firstTurn: 3 }, ...over };
    expect(decideConversation(begunSince)).toEqual({ kind: "reload" });
  });
});

describe("a conversation between two exchanges", () => {
  it.each([
    ["waits for a text", {}, { kind: "wait" }],
    ["begins an exchange with the text that waits", { hasText: true }, { kind: "begin", with: "text" }],
    ["is compacted before that, if it is too long", { hasText: true, isTooLong: true }, { kind: "compact" }],
    ["begins with its input", { exchange: null, hasInput: true }, { kind: "begin", with: "input" }],
    ["has its input only once", { hasInput: true }, { kind: "wait" }],
    ["is over once nobody has written for too long", { isClosed: true }, { kind: "close" }],
  ] as const)("%s", (_, over, move) => {
    expect(decideConversation({ ...REST, ...over })).toEqual(move);
  });
});
