import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { type ResumeRequest, readResumeRequest } from "../../../src/core/run/resume-request.ts";

describe("a resume request", () => {
  it("continues after the last turn if it says nothing", () => {
    expect(readResumeRequest({})).toEqual({
      work: { from: "turn", redoTurn: false, acceptDivergence: null, changesHash: null },
      allowance: {},
      reason: null,
      ifSeq: null,
    });
  });

  it("keeps a deadline that is taken away apart from one that stays", () => {
    expect(readResumeRequest({ deadline: null }).allowance).toEqual({ deadline: null });
    expect(readResumeRequest({ budget: { tokens: 9 } }).allowance).toEqual({
      limit: { tokens: 9, microDollars: null },
    });
  });

  it.each([
    [
      { from: "checkpoint" },
      'A run cannot be resumed from "checkpoint": use "turn", "milestone" or "beginning".',
    ],
    [{ redoTurn: 1 }, "redoTurn is a number: give true or false."],
    [
      { changesHash: "4f2a" },
      "changesHash says which changes are accepted: give acceptDivergence too, and say why.",
    ],
    [{ acceptDivergence: "" }, 'acceptDivergence is "": give a sentence, or leave it out.'],
    [{ deadline: 1.5 }, "deadline is 1.5: give a whole number, or leave it out."],
    [{ budgets: { maxFun: 1 } }, '1 is no limit for "maxFun"'],
    [{ ifseq: 1 }, 'A resume request has no "ifseq": did you mean ifSeq?'],
  ])("is refused with a sentence: %j", (request, message) => {
    const read = () => readResumeRequest(request as ResumeRequest);
    expect(read).toThrow(ConfigurationError);
    expect(read).toThrow(message);
  });
});
