import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import {
  type CompletedTurn,
  type Completion,
  completionRule,
  decideAnswer,
  isTurnComplete,
  saysDone,
} from "../../../src/core/turn/completion.ts";

describe("saysDone recognises that the agent is done in", () => {
  it.each([
    "DONE",
    "COMPLETE",
    "DONE.",
    "DONE!",
    "**DONE**",
    "__DONE__",
    "_COMPLETE_",
    "`DONE`",
    '"DONE"',
    "[DONE]",
    "<DONE/>",
    "(DONE)",
    "# DONE",
    "- DONE",
    "✅ DONE",
    "```\nDONE\n```",
    "TASK COMPLETE",
    "Status: COMPLETE",
    "status=DONE",
    "All files are written.\n\nDONE",
    "Everything is DONE, have a nice day.",
    "DONE: no errors found",
    "DONE--all tests pass",
    "DONE - anything else?",
    "DONE\nShall I go on?",
    "100% COMPLETE",
    "100.0% COMPLETE",
    // A negation in another sentence, clause or line is about something else.
    "I was not sure, but now: DONE",
    "Nothing left. DONE",
    "No errors. COMPLETE",
    "No errors were found. DONE",
    "I could not find X, but the task is DONE",
    "I could not find X but the task is DONE",
    "It is not pretty but COMPLETE",
    "The tests do not fail any more; DONE",
    "Finished without errors - DONE",
    "Finished without errors — DONE",
    "No failures and everything is DONE",
    "There are no bugs so we are DONE",
    "Remaining issues: none\nDONE",
    "Is anything left? No\n\nDONE",
    "Not applicable (DONE)",
    "Tests: not run | Code: DONE",
    "It is not that hard → DONE",
    "NOT DONE before, but DONE now",
    "Everything that had to be DONE is DONE",
    "In short DONE",
    "In summary everything is DONE",
    "This is notable and DONE",
    "Knotted everything, DONE",
    "Willing helpers got it DONE",
    "Together we got it DONE",
    "Iffy at first; COMPLETE",
    "INCOMPLETE yesterday. COMPLETE today.",
    "I'm glad to report that the task is COMPLETE",
  ])("%j", (text) => {
    expect(saysDone(text)).toBe(true);
  });
});

describe("saysDone does not recognise it in", () => {
  it.each([
    "",
    "done",
    "Done.",
    "complete",
    "Complete",
    "I have completed the first part.",
    // Other words.
    "INCOMPLETE",
    "UNDONE",
    "ABANDONED",
    "COMPLETED",
    "COMPLETELY",
    "DONE_FLAG",
    "IS_DONE",
    "AUTO-COMPLETE",
    "IN-COMPLETE",
    "UN-DONE",
    "DONE-ish",
    "DONE2",
    "ÜDONE",
    // Negated.
    "NOT DONE",
    "not yet DONE",
    "not-yet-DONE",
    "NOT-DONE",
    "This is not **DONE**",
    'It is not "DONE"',
    "It is **not** DONE",
    "It is _not_ DONE",
    "isn't COMPLETE",
    "isn’t quite COMPLETE",
    "It isnt DONE",
    "We haven't DONE it",
    "That doesn't look COMPLETE",
    "I don't think that the task is DONE",
    "I do not believe that all of it is DONE",
    "I cannot call this DONE",
    "I was unable to COMPLETE the task",
    "No part of it is DONE",
    "Nothing is DONE",
    "None of them are DONE",
    "neither COMPLETE nor DONE",
    "not COMPLETE or DONE",
    "NOT COMPLETE AND NOT DONE",
    "never DONE",
    "far from COMPLETE",
    // Not yet.
    "almost DONE",
    "Nearly COMPLETE now",
    "partially COMPLETE",
    "half DONE",
    "75% COMPLETE",
    "75 % COMPLETE",
    "I will say DONE when I have finished.",
    "I'll reply with DONE once the files are written.",
    "When everything is DONE, I will tell you.",
    "Let me go on until it is COMPLETE",
    "What remains to be DONE: the tests.",
    "I still have to COMPLETE the second part.",
    "I still have to **COMPLETE** the second part.",
    "75% **COMPLETE**",
    // A question, or a negative answer.
    "DONE?",
    "Is it DONE?",
    "Are we DONE yet?",
    "DONE? Not yet.",
    "DONE: no",
    "COMPLETE: false",
    "**DONE**: No.",
    "DONE = false, going on",
    "COMPLETE: not yet",
  ])("%j", (text) => {
    expect(saysDone(text)).toBe(false);
  });
});

it("saysDone reads a long text full of the words quickly", () => {
  expect(saysDone("it is not DONE ".repeat(20_000))).toBe(false);
  expect(saysDone(`${"not ".repeat(200_000)}`)).toBe(false);
});

const turn = (given: Partial<CompletedTurn>): CompletedTurn => ({
  turnIndex: 1,
  text: "",
  output: null,
  toolCalls: [],
  ...given,
});
const CALL = { name: "search", input: {} };
const schemaWith = (properties: JsonObject): JsonObject => ({ type: "object", properties });

function completes(
  given: { completion?: Completion; instructions?: string; schema?: JsonObject },
  completed: Partial<CompletedTurn>,
): boolean {
  const rule = completionRule(given.completion ?? "auto", given.instructions ?? "", given.schema ?? null);
  return isTurnComplete(rule, turn(completed));
}

describe('"auto"', () => {
  it("treats an answer without tool calls as the end if nothing else was agreed", () => {
    expect(completes({ instructions: "Answer briefly." }, { text: "Paris" })).toBe(true);
    expect(completes({}, { text: "INCOMPLETE" })).toBe(true);
  });

  it("waits for the word if the instructions ask for it", () => {
    const instructions = "Work step by step. Say DONE when you have finished.";
    expect(completes({ instructions }, { text: "First step taken." })).toBe(false);
    expect(completes({ instructions }, { text: "NOT DONE" })).toBe(false);
    expect(completes({ instructions }, { text: "DONE" })).toBe(true);
  });

  it("does not wait for a word if the instructions merely resemble such a request", () => {
    expect(completes({ instructions: "When done, complete the form. DONE_FLAG" }, { text: "Paris" })).toBe(
      true,
    );
  });

  it.each(["isComplete", "is_complete", "done", "finished"])("uses the flag %s of the output", (flag) => {
    const schema = schemaWith({ [flag]: { type: "boolean" } });
    expect(completes({ schema }, { output: { [flag]: true } })).toBe(true);
    expect(completes({ schema }, { output: { [flag]: false } })).toBe(false);
  });

  it("prefers a structured false to any word, and needs no word with a structured true", () => {
    const given = { schema: schemaWith({ done: { type: "boolean" } }), instructions: "Say DONE at the end." };
    expect(completes(given, { text: "DONE", output: { done: false } })).toBe(false);
    expect(completes(given, { text: "NOT DONE", output: { done: true } })).toBe(true);
  });

  it.each<[string, Json]>([
    ["absent", {}],
    ["null", { done: null }],
    ["a string", { done: "true" }],
    ["a number", { done: 1 }],
    ["in an output that does not fit", null],
    ["in a list", [{ done: true }]],
  ])("is not done if the flag is %s", (_, output) => {
    const schema = schemaWith({ done: { type: "boolean" } });
    expect(completes({ schema }, { text: "DONE", output })).toBe(false);
  });

  it("treats a nullable flag or a union as a flag", () => {
    for (const done of [{ type: ["boolean", "null"] }, { anyOf: [{ type: "boolean" }, { type: "null" }] }]) {
      const schema = schemaWith({ done });
      expect(completes({ schema }, { output: { done: false } })).toBe(false);
      expect(completes({ schema }, { output: { done: true } })).toBe(true);
    }
  });

  it("does not treat a list of what is done as a flag: it could never be true", () => {
    const schema = schemaWith({ done: { type: "array" }, finished: { type: "string" } });
    expect(completes({ schema }, { output: { done: ["a"], finished: "today" } })).toBe(true);
    const both = schemaWith({ done: { type: "array" }, finished: { type: "boolean" } });
    expect(completes({ schema: both }, { output: { done: ["a"], finished: false } })).toBe(false);
  });

  it("uses the first flag of its list if a schema has several", () => {
    const schema = schemaWith({ finished: { type: "boolean" }, isComplete: { type: "boolean" } });
    expect(completes({ schema }, { output: { finished: true, isComplete: false } })).toBe(false);
  });

  it("accepts a schema without properties", () => {
    expect(completes({ schema: { type: "string" } }, { text: "Paris" })).toBe(true);
  });
});

describe('"signal"', () => {
  it("waits for the word even if the instructions do not ask for it", () => {
    expect(completes({ completion: "signal" }, { text: "Paris" })).toBe(false);
    expect(completes({ completion: "signal" }, { text: "Paris. DONE" })).toBe(true);
  });

  it("uses a flag first, and the word if the flag has no value", () => {
    const given = { completion: "signal" as const, schema: schemaWith({ done: { type: "boolean" } }) };
    expect(completes(given, { text: "DONE", output: { done: false } })).toBe(false);
    expect(completes(given, { text: "", output: { done: true } })).toBe(true);
    expect(completes(given, { text: "DONE", output: {} })).toBe(true);
    expect(completes(given, { text: "DONE", output: null })).toBe(true);
  });
});

describe('"answer"', () => {
  it("treats any answer without tool calls as the end", () => {
    const schema = schemaWith({ done: { type: "boolean" } });
    expect(completes({ completion: "answer", schema }, { text: "NOT DONE", output: { done: false } })).toBe(
      true,
    );
  });
});

describe("a turn that asks for tools", () => {
  it.each(["auto", "signal", "answer"] as const)("is never the end under %j", (completion) => {
    const schema = schemaWith({ done: { type: "boolean" } });
    const completed = { text: "DONE", output: { done: true }, toolCalls: [CALL] };
    expect(completes({ completion, schema }, completed)).toBe(false);
    expect(completes({ completion }, completed)).toBe(false);
  });

  it("may be the end if a predicate returns true", () => {
    const completion = ({ toolCalls }: CompletedTurn) => toolCalls.some(({ name }) => name === "search");
    expect(completes({ completion }, { toolCalls: [CALL] })).toBe(true);
    expect(completes({ completion }, { text: "DONE" })).toBe(false);
  });
});

describe("a predicate", () => {
  it("gets the turn, and its result decides", () => {
    const shown: CompletedTurn[] = [];
    const completed = turn({ turnIndex: 3, text: "DONE", output: { done: false }, toolCalls: [CALL] });
    const completion = (given: CompletedTurn) => {
      shown.push(given);
      return true;
    };
    expect(isTurnComplete(completionRule(completion, "", null), completed)).toBe(true);
    expect(shown).toEqual([completed]);
  });

  it.each<[string, unknown]>([
    ["undefined", undefined],
    ["string", "yes"],
    ["number", 1],
    ["object", null],
    ["object", Promise.resolve(true)],
  ])("that returns %s is refused", (type, returned) => {
    const completion = () => returned as boolean;
    expect(() => completes({ completion }, { text: "DONE" })).toThrow(
      `The completion predicate returned ${type}: return true or false.`,
    );
  });

  it("that throws passes its error on", () => {
    const completion = () => {
      throw new RangeError("no such turn");
    };
    expect(() => completes({ completion }, {})).toThrow(RangeError);
  });
});

describe("an answer", () => {
  const whole = { isComplete: true, problem: null, isCut: false };
  const cut = { ...whole, isCut: true };

  it("is the last if the agent is done and nothing is wrong", () => {
    expect(decideAnswer(whole, null, 300)).toEqual({ kind: "final" });
    expect(decideAnswer(whole, cut, 300)).toEqual({ kind: "final" });
  });

  it("is followed by what is wrong, or by a request to continue", () => {
    expect(decideAnswer({ ...whole, problem: "No JSON." }, null, 300)).toEqual({
      kind: "ask",
      followUp: "No JSON.",
    });
    for (const isCut of [false, true])
      expect(decideAnswer({ isComplete: false, problem: null, isCut }, cut, 300)).toEqual({
        kind: "ask",
        followUp: "Continue.",
      });
  });

  it("that was cut off is requested again, once in a row", () => {
    for (const answer of [
      cut,
      { ...cut, problem: "No JSON." },
      { isComplete: false, problem: "x", isCut: true },
    ]) {
      for (const before of [null, whole, { ...cut, isComplete: false }])
        expect(decideAnswer(answer, before, 300)).toMatchObject({
          kind: "ask",
          followUp: expect.stringContaining("the limit of 300 output tokens"),
        });
      expect(decideAnswer(answer, cut, 300)).toEqual({ kind: "cut_again" });
    }
  });
});
