import { describe, expect, it } from "vitest";

import { pairedCalls } from "../../../dashboard/src/pages/compare/compared-calls.ts";
import { runCandidates } from "../../../dashboard/src/pages/compare/run-candidates.ts";
import { sharedWords } from "../../../dashboard/src/pages/compare/shared-words.ts";
import { turnSide } from "../../../dashboard/src/pages/compare/turn-side.ts";
import { changedFields } from "../../../dashboard/src/parts/text/value-change.ts";
import { runHead } from "../run-head.ts";

const head = (runId: string, forkedFrom: string | null = null) => runHead({ runId, forkedFrom });

describe("the calls of a compared turn", () => {
  it("have changed where both runs called a tool with another effect, in their order", () => {
    const paired = pairedCalls([
      { match: "same", tool: "fetch", a: "a1", b: "b1" },
      { match: "only_a", tool: "send", a: "a2", b: null },
      { match: "only_a", tool: "send", a: "a3", b: null },
      { match: "only_b", tool: "send", a: null, b: "b2" },
      { match: "only_b", tool: "file", a: null, b: "b3" },
    ]);
    expect(paired.map(({ match, a, b }) => [match, a, b])).toEqual([
      ["same", "a1", "b1"],
      ["changed", "a2", "b2"],
      ["only_a", "a3", null],
      ["only_b", null, "b3"],
    ]);
  });
});

describe("a side of a compared turn", () => {
  it("has its texts, and the arguments of its calls by their ids", () => {
    const side = turnSide({
      parts: [
        { kind: "text", text: { text: "First.", characters: 6 } },
        { kind: "call", call: { toolCallId: "r/s#1.1", request: { kind: "whole", value: { to: "x" } } } },
        { kind: "text", text: { text: "Second.", characters: 7 } },
        { kind: "reasoning", text: { text: "Hm.", characters: 3 } },
      ],
      tookMs: 12,
    });
    expect(side).toEqual({
      text: "First.\n\nSecond.",
      reasoning: "Hm.",
      requests: new Map([["r/s#1.1", { to: "x" }]]),
      tookMs: 12,
    });
  });

  it("is nothing where the run does not have the turn, and empty where it is not understood", () => {
    expect(turnSide(null)).toBeNull();
    expect(turnSide({ parts: "?", __proto__: { tookMs: 1 } })).toMatchObject({ text: "", tookMs: null });
  });
});

describe("fields that differ", () => {
  it("are named, and values that are no objects are compared whole", () => {
    expect(changedFields({ a: 1, b: "x", c: 1 }, { a: 1, b: "y", d: 2 })).toEqual([
      { path: "b", a: "x", b: "y", isText: true },
      { path: "c", a: "1", b: null, isText: false },
      { path: "d", a: null, b: "2", isText: false },
    ]);
    expect(changedFields("x", ["y"])).toEqual([{ path: "", a: "x", b: '[\n  "y"\n]', isText: false }]);
  });

  it("may have the names of what every object has", () => {
    expect(changedFields({ constructor: "x" }, { toString: "y" })).toEqual([
      { path: "constructor", a: "x", b: null, isText: false },
      { path: "toString", a: null, b: "y", isText: false },
    ]);
  });

  it("have changed where a text took the place of the same number", () => {
    expect(changedFields({ a: "1" }, { a: 1 })).toEqual([{ path: "a", a: '"1"', b: "1", isText: false }]);
  });
});

describe("runs to compare with", () => {
  it("are the relatives of the run first, and never the run itself", () => {
    const candidates = runCandidates(head("r", "parent"), [
      head("other"),
      head("r", "parent"),
      head("sibling", "parent"),
      head("fork", "r"),
      head("parent"),
      head("parent"),
    ]);
    expect(candidates.map(({ head: { runId }, why }) => [runId, why])).toEqual([
      ["parent", "its parent"],
      ["fork", "its fork"],
      ["sibling", "a sibling"],
      ["other", "the same pipeline"],
    ]);
  });

  it("say what they have in common", () => {
    const words = (a: ReturnType<typeof head>, b: ReturnType<typeof head>) =>
      sharedWords({ hasSameInput: true }, { a, b });
    expect(words(head("a"), head("b", "a"))).toBe("b is a fork of a.");
    expect(words(head("a", "x"), head("b", "x"))).toBe("Both are forks of the same run.");
    expect(words(head("a"), head("b"))).toBe("The same pipeline, with the same input.");
  });
});
