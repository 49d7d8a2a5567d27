import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message } from "../../../src/core/message.ts";
import {
  type EarlierMessages,
  firstKept,
  type MessageGroup,
  PLACEHOLDER_TOKENS,
  truncateMiddleOut as truncated,
  truncationPlaceholder,
} from "../../../src/core/turn/history-truncation.ts";
import { estimateMessageTokens } from "../../../src/core/usage/token-estimate.ts";

const truncateMiddleOut = (...given: Parameters<typeof truncated>) => truncated(...given).messages;
const tokensOf = (messages: readonly Message[]) =>
  messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
const group = (messages: readonly Message[]): MessageGroup => ({ messages, tokens: tokensOf(messages) });

const say = (content: string): Message => ({ role: "user", content });
const call = (id: string, result: string): Message[] => [
  { role: "assistant", content: [{ type: "tool-call", toolCallId: id, toolName: "read", input: {} }] },
  {
    role: "tool",
    content: [
      { type: "tool-result", toolCallId: id, toolName: "read", output: { type: "text", value: result } },
    ],
  },
];

const words = fc.string({ unit: fc.constantFrom("word ", "x", "\n", "1"), maxLength: 60 });
const anyGroup = fc
  .oneof(
    words.map((text) => [say(text)]),
    fc.tuple(fc.uuid(), words).map(([id, result]) => call(id, result)),
  )
  .map(group);
const history = fc.record({
  head: words.map((text) => group([say(`You are careful.${text}`)])),
  tail: fc.array(anyGroup, { maxLength: 12 }),
  maxTokens: fc.nat(400),
});

type View = { kept: MessageGroup[]; omitted: number };

/** Parses the view: which groups of the tail are in it, and what it says about the others. */
function readBack(head: MessageGroup, tail: readonly MessageGroup[], view: readonly Message[]): View {
  expect(view.slice(0, head.messages.length)).toEqual(head.messages);
  const rest = view.slice(head.messages.length);
  const [first] = rest;
  if (first?.role !== "system") {
    expect(rest).toEqual(tail.flatMap(({ messages }) => messages));
    return { kept: [...tail], omitted: 0 };
  }
  const keptMessages = rest.slice(1);
  let start = tail.length;
  let length = 0;
  while (length < keptMessages.length) length += tail[--start]?.messages.length ?? Number.NaN;
  const kept = tail.slice(start);
  expect(keptMessages).toEqual(kept.flatMap(({ messages }) => messages));
  const omitted = tail.slice(0, start).flatMap(({ messages }) => messages).length;
  expect(first).toEqual(truncationPlaceholder(omitted));
  return { kept, omitted };
}

const sum = (groups: readonly MessageGroup[]) => groups.reduce((total, { tokens }) => total + tokens, 0);

describe("truncateMiddleOut", () => {
  it("omits the middle and says how many messages it had", () => {
    const head = group([say("Find the papers.")]);
    const tail = [call("1", "old ".repeat(50)), call("2", "older ".repeat(50)), call("3", "new")].map(group);
    const newest = tail[2] ?? group([]);
    const view = truncateMiddleOut(head, tail, head.tokens + PLACEHOLDER_TOKENS + newest.tokens);
    expect(view).toEqual([
      say("Find the papers."),
      { role: "system", content: "... [Context Truncated: 4 messages omitted] ..." },
      ...newest.messages,
    ]);
  });

  it("shows everything if it fits, to the last token", () => {
    const head = group([say("a")]);
    const tail = [group([say("b")]), group([say("c")])];
    const exact = head.tokens + sum(tail);
    expect(truncateMiddleOut(head, tail, exact)).toEqual([say("a"), say("b"), say("c")]);
    expect(truncateMiddleOut(head, tail, exact - 1)).toEqual([say("a"), truncationPlaceholder(1), say("c")]);
  });

  it("keeps the newest group even if it alone exceeds the limit", () => {
    const head = group([say("a")]);
    const newest = group([say("big ".repeat(1000))]);
    expect(truncateMiddleOut(head, [group([say("b")]), newest], 50)).toEqual([
      say("a"),
      truncationPlaceholder(1),
      ...newest.messages,
    ]);
    expect(truncateMiddleOut(head, [newest], 50)).toEqual([say("a"), ...newest.messages]);
  });

  it("shows the head alone if there is nothing else, whatever the limit", () => {
    expect(truncateMiddleOut(group([say("a")]), [], 0)).toEqual([say("a")]);
  });

  it("changes nothing under the limit", () => {
    fc.assert(
      fc.property(history, ({ head, tail }) => {
        const all = [head, ...tail].flatMap(({ messages }) => messages);
        expect(truncateMiddleOut(head, tail, head.tokens + sum(tail))).toEqual(all);
      }),
    );
  });

  it("keeps the head, the exact placeholder and whole groups of the tail, so that every message is accounted for", () => {
    let truncated = 0;
    fc.assert(
      fc.property(history, ({ head, tail, maxTokens }) => {
        const view = truncateMiddleOut(head, tail, maxTokens);
        const { kept, omitted } = readBack(head, tail, view);
        if (omitted > 0) truncated++;
        const all = tail.flatMap(({ messages }) => messages).length;
        expect(omitted + kept.flatMap(({ messages }) => messages).length).toBe(all);
        if (tail.length > 0) expect(kept.at(-1)).toBe(tail.at(-1));
      }),
    );
    expect(truncated).toBeGreaterThan(10);
  });

  it("fits the limit whenever the newest group fits beside head and placeholder", () => {
    fc.assert(
      fc.property(history, ({ head, tail, maxTokens }) => {
        const least = head.tokens + PLACEHOLDER_TOKENS + (tail.at(-1)?.tokens ?? 0);
        fc.pre(least <= maxTokens);
        expect(tokensOf(truncateMiddleOut(head, tail, maxTokens))).toBeLessThanOrEqual(maxTokens);
      }),
    );
  });

  it("keeps the longest tail that fits: one more group would exceed the limit", () => {
    fc.assert(
      fc.property(history, ({ head, tail, maxTokens }) => {
        const { kept, omitted } = readBack(head, tail, truncateMiddleOut(head, tail, maxTokens));
        fc.pre(omitted > 0);
        const oneMore = tail.slice(tail.length - kept.length - 1);
        expect(head.tokens + PLACEHOLDER_TOKENS + sum(oneMore)).toBeGreaterThan(maxTokens);
      }),
    );
  });

  it("returns the same bytes for the same history", () => {
    fc.assert(
      fc.property(history, ({ head, tail, maxTokens }) => {
        const first = JSON.stringify(truncateMiddleOut(head, tail, maxTokens));
        const again = structuredClone({ head, tail });
        expect(JSON.stringify(truncateMiddleOut(again.head, again.tail, maxTokens))).toBe(first);
      }),
    );
  });
});

describe("firstKept", () => {
  const head = { tokens: 10 };
  const groups = (...tokens: number[]) => tokens.map((count) => ({ tokens: count }));

  it("is the first group that stays, counted back from the newest", () => {
    expect(firstKept(head, groups(5, 5, 5), 25)).toBe(0);
    expect(firstKept(head, groups(50, 5, 5), 10 + PLACEHOLDER_TOKENS + 10)).toBe(1);
    expect(firstKept(head, groups(50, 5, 5), 10 + PLACEHOLDER_TOKENS + 9)).toBe(2);
    expect(firstKept(head, groups(50, 5, 5), 0)).toBe(2);
    expect(firstKept(head, groups(), 0)).toBe(0);
  });

  it("does not look past a group that does not fit: a smaller one there would leave a second gap", () => {
    expect(firstKept(head, groups(1, 100, 1), 10 + PLACEHOLDER_TOKENS + 2)).toBe(2);
  });

  it("is where truncateMiddleOut cuts", () => {
    fc.assert(
      fc.property(history, ({ head, tail, maxTokens }) => {
        const { kept } = readBack(head, tail, truncateMiddleOut(head, tail, maxTokens));
        expect(kept).toEqual(tail.slice(firstKept(head, tail, maxTokens)));
      }),
    );
  });

  it("never omits more under a higher limit", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50)), fc.nat(500), fc.nat(100), (tokens, max, more) => {
        const tail = groups(...tokens);
        expect(firstKept(head, tail, max + more)).toBeLessThanOrEqual(firstKept(head, tail, max));
      }),
    );
  });
});

describe("groups that were counted and not read", () => {
  const count = (groups: readonly MessageGroup[]): EarlierMessages => ({
    messages: groups.flatMap(({ messages }) => messages).length,
    tokens: sum(groups),
  });

  it("are omitted from the view as if they had been read", () => {
    let counted = 0;
    fc.assert(
      fc.property(history, fc.nat(), ({ head, tail, maxTokens }, unread) => {
        const first = firstKept(head, tail, maxTokens);
        const at = unread % (first + 1);
        if (at > 0) counted++;
        const view = truncateMiddleOut(head, tail.slice(at), maxTokens, count(tail.slice(0, at)));
        expect(view).toEqual(truncateMiddleOut(head, tail, maxTokens));
      }),
      { numRuns: 300 },
    );
    expect(counted).toBeGreaterThan(10);
  });

  it("make room for the placeholder even if the rest would just fit without it", () => {
    const head = group([say("a")]);
    const tail = [group([say("b")]), group([say("c")])];
    const earlier = { messages: 3, tokens: 100 };
    const view = truncateMiddleOut(head, tail, head.tokens + sum(tail), earlier);
    expect(view).toEqual([say("a"), truncationPlaceholder(4), say("c")]);
  });
});

describe("the placeholder", () => {
  it("never costs more than was set aside for it, up to a million messages", () => {
    let most = 0;
    for (let n = 1; n <= 1_000_000; n = n < 20_000 ? n + 1 : n + 997) {
      most = Math.max(most, estimateMessageTokens(truncationPlaceholder(n)));
    }
    most = Math.max(most, estimateMessageTokens(truncationPlaceholder(999_999)));
    most = Math.max(most, estimateMessageTokens(truncationPlaceholder(1_000_000)));
    expect(most).toBeGreaterThan(10);
    expect(most).toBeLessThanOrEqual(PLACEHOLDER_TOKENS);
  });
});
