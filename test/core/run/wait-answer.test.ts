import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import {
  type AnsweredWait,
  decideChoice,
  decideSettlement,
  decideWaitAnswer,
  receiptOfAnswer,
  receiptOfEscalation,
} from "../../../src/core/run/wait-answer.ts";
import type { Settlement, WaitKind } from "../../../src/core/wait.ts";

const OPEN: AnsweredWait = { id: "q-1~2", kind: "approval", status: "open", people: [] };
const ann = { name: "Ann", at: 1, authenticated: null };
const bob = { name: "Bob", at: 2, authenticated: null };

describe("decideWaitAnswer", () => {
  it("accepts an answer to an open wait of one of the kinds", () => {
    expect(decideWaitAnswer(OPEN, ["approval"])).toEqual({ kind: "accepted" });
    expect(decideWaitAnswer({ ...OPEN, kind: "budget" }, ["approval", "budget"])).toEqual({
      kind: "accepted",
    });
  });

  it("names the people who were faster", () => {
    expect(decideWaitAnswer({ ...OPEN, status: "answered", people: [ann, bob] }, ["approval"])).toEqual({
      kind: "settled",
      why: "Wait q-1~2 was already answered by Ann and Bob: the answer stays as it is.",
    });
  });

  it("leaves a withdrawn wait as it is", () => {
    expect(decideWaitAnswer({ ...OPEN, status: "withdrawn" }, ["approval"])).toEqual({
      kind: "settled",
      why: "Wait q-1~2 is withdrawn: it stays as it is.",
    });
  });

  it("reports that a wait is over before it reports the wrong kind of answer", () => {
    expect(decideWaitAnswer({ ...OPEN, status: "withdrawn" }, ["question"]).kind).toBe("settled");
  });

  it.each<[WaitKind, string]>([
    ["approval", "the approval of a call: approve or deny it."],
    ["in_doubt", "a call in doubt: settle its call."],
    ["escalation", "a call that needs a person: answer it, or settle its call."],
    ["question", "a question: answer it."],
    ["budget", "a budget that is used up: answer it with the new limit, or deny it."],
  ])("explains how a wait of kind %s is answered", (kind, how) => {
    expect(decideWaitAnswer({ ...OPEN, kind }, [])).toEqual({
      kind: "refused",
      why: `Wait q-1~2 is about ${how}`,
    });
  });
});

describe("decideChoice", () => {
  const asked = { arguments: { choices: ["yes", 2] } };

  it("accepts one of the choices", () => {
    expect(decideChoice("q-1~1", asked, "yes")).toEqual({ kind: "accepted" });
    expect(decideChoice("q-1~1", asked, 2)).toEqual({ kind: "accepted" });
  });

  it("refuses anything else, and shows the choices", () => {
    expect(decideChoice("q-1~1", asked, "2")).toEqual({
      kind: "refused",
      why: '"2" is none of the answers to q-1~1: use one of "yes", 2.',
    });
  });

  it.each([{}, { arguments: null }, { arguments: {} }, { arguments: { choices: "yes" } }])(
    "accepts any value for a question without choices: %j",
    (subject) => {
      expect(decideChoice("q-1~1", subject, { a: 1 })).toEqual({ kind: "accepted" });
    },
  );
});

describe("the receipt of an answer", () => {
  it("has the answer as the result, as if a tool had returned it", () => {
    const receipt = { status: "succeeded", errorCode: null, uncertain: false };
    expect(receiptOfAnswer("blue")).toEqual({ ...receipt, output: { type: "text", value: "blue" } });
    expect(receiptOfAnswer({ a: 1 })).toEqual({ ...receipt, output: { type: "json", value: { a: 1 } } });
  });

  it("is a failure if the tool needed a person, and as uncertain as its attempts are", () => {
    expect(receiptOfEscalation("not now", true)).toEqual({
      status: "failed",
      output: { type: "error-text", value: "It needed a person, who answered: not now" },
      errorCode: "answered",
      uncertain: true,
    });
    expect(receiptOfEscalation({ b: 1, a: 2 }, false)).toMatchObject({
      output: { value: 'It needed a person, who answered: {"a":2,"b":1}' },
      uncertain: false,
    });
  });
});

describe("decideSettlement", () => {
  it("takes the result that a person reports", () => {
    expect(decideSettlement("q-1/a#1.1", { as: "succeeded", result: 7 })).toEqual({
      kind: "receipt",
      receipt: receiptOfAnswer(7),
    });
  });

  it("gives the reason of a failure to the model", () => {
    expect(decideSettlement("q-1/a#1.1", { as: "failed", why: "the bank said no" })).toEqual({
      kind: "receipt",
      receipt: {
        status: "failed",
        output: { type: "error-text", value: "It was settled as failed: the bank said no" },
        errorCode: "settled_failed",
        uncertain: false,
      },
    });
  });

  it("lets a call run again without a receipt", () => {
    expect(decideSettlement("q-1/a#1.1", { as: "retry" })).toEqual({ kind: "retry" });
  });

  it("refuses a failure without a reason", () => {
    expect(() => decideSettlement("q-1/a#1.1", { as: "failed", why: "  " })).toThrow(
      "Give the reason in a sentence: the model, or the code that made the call, gets it.",
    );
  });

  it("refuses a settlement that it does not know", () => {
    const unknown = { as: "maybe" } as unknown as Settlement;
    expect(() => decideSettlement("q-1/a#1.1", unknown)).toThrow(
      new ConfigurationError('Call q-1/a#1.1 cannot be settled as "maybe": use succeeded, retry or failed.'),
    );
  });
});
