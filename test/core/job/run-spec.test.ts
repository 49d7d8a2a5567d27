import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../../src/core/canonical-json.ts";
import { ConfigurationError } from "../../../src/core/errors.ts";
import {
  assertRunSpec,
  describeSpecChanges,
  parseRunSpec,
  type RunSpec,
  runDirectory,
} from "../../../src/core/job/run-spec.ts";
import { seedExample } from "./run-spec-example.ts";

function specOf(value: unknown): RunSpec {
  const parsed = parseRunSpec(value);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.spec;
}

/** `path: message` of every problem. */
function problemsOf(value: unknown): readonly string[] {
  const parsed = parseRunSpec(value);
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path.join("/")}: ${message}`);
}

const bare: RunSpec = {
  objective: "Do it",
  pipeline: null,
  input: null,
  constraints: {
    mustCiteSources: false,
    noDuplicateExternalActions: false,
    allowedDomains: [],
    forbiddenActions: [],
  },
  budgets: {
    maxWallclockMinutes: null,
    maxSteps: null,
    maxToolCalls: null,
    maxRetriesPerToolCall: null,
    maxSameErrorRepeats: null,
    maxTokens: null,
    maxCostUsd: null,
    countWaitingTime: false,
  },
  stopConditions: [],
  escalation: {
    askHumanOnAmbiguousRecipient: true,
    askHumanOnAuthFailure: true,
    askHumanOnRepeatedFailures: true,
    askHumanOnBudgetReached: false,
  },
  artifacts: { workspaceDir: null, expectedOutputs: [], finalOutput: null },
};

describe("a RunSpec", () => {
  it("needs an objective and nothing else", () => {
    expect(specOf({ objective: "Do it" })).toEqual(bare);
    expect(
      specOf({ objective: "Do it", constraints: {}, budgets: {}, escalation: {}, artifacts: {} }),
    ).toEqual(bare);
    expect(problemsOf({})).toEqual(["objective: is missing: a RunSpec needs it."]);
  });

  it("may be the example of the requirements", () => {
    expect(specOf(seedExample)).toEqual({
      ...bare,
      objective: "Create a research report from N URLs and email it to X",
      constraints: { ...bare.constraints, mustCiteSources: true, noDuplicateExternalActions: true },
      budgets: {
        ...bare.budgets,
        maxWallclockMinutes: 90,
        maxSteps: 50,
        maxToolCalls: 250,
        maxRetriesPerToolCall: 5,
        maxSameErrorRepeats: 3,
      },
      stopConditions: ["report_pdf_created", "email_sent_once", "final_notification_sent"],
      artifacts: {
        workspaceDir: "AGENT_RUN_WORKSPACES/session_<id>/",
        expectedOutputs: ["report.html", "report.pdf", "transcript.md"],
        finalOutput: null,
      },
    });
  });

  it("may be written in either spelling, and in both at once", () => {
    const budgets = { max_steps: 5, maxToolCalls: 6, max_cost_usd: 0.25, countWaitingTime: true };
    const spec = specOf({ objective: "Do it", budgets, stop_conditions: ["done"] });
    expect(spec.budgets).toEqual({
      ...bare.budgets,
      maxSteps: 5,
      maxToolCalls: 6,
      maxCostUsd: 0.25,
      countWaitingTime: true,
    });
    expect(spec.stopConditions).toEqual(["done"]);
  });

  it("may have any JSON as its input, and a schema address for an editor", () => {
    for (const input of [null, 0, "", [], {}, [{ "": null }], { objective: 1, max_steps: [] }]) {
      expect(specOf({ $schema: "./run-spec.schema.json", objective: "Do it", input })).toEqual({
        ...bare,
        input,
      });
    }
  });

  it("may forbid tool calls and retries entirely, but not steps", () => {
    const { budgets } = specOf({
      objective: "Do it",
      budgets: { maxToolCalls: 0, maxRetriesPerToolCall: -0 },
    });
    expect(budgets.maxToolCalls).toBe(0);
    expect(budgets.maxRetriesPerToolCall).toBe(0);
    expect(problemsOf({ objective: "Do it", budgets: { maxSteps: 0 } })).toHaveLength(1);
  });

  it.each([
    ["/srv/runs/<run_id>", "/srv/runs/<run_id>"],
    ["../elsewhere", "../elsewhere"],
    ["C:\\runs", "C:\\runs"],
  ])("may choose the directory %s", (workspaceDir, chosen) => {
    expect(specOf({ objective: "Do it", artifacts: { workspaceDir } }).artifacts.workspaceDir).toBe(chosen);
  });
});

function cycle(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}

describe("a RunSpec with mistakes", () => {
  it("is refused with all of them at once, each with its place as it was written", () => {
    const parsed = parseRunSpec({
      objective: " ",
      pipline: "report",
      budgets: { max_steps: 1.5, maxSteps: 2 },
      constraints: { allowed_domains: ["example.com", "http://example.com"] },
    });
    expect(parsed).toEqual({
      ok: false,
      problems: [
        { path: ["pipline"], message: "is no field of a RunSpec: did you mean pipeline?" },
        {
          path: ["objective"],
          message: 'must be a text of 1 to 100000 characters that says what to do, not the text " ".',
        },
        {
          path: ["constraints", "allowed_domains", 1],
          message:
            'must be a host such as "example.com", "*.example.com", "example.com:8443" or, where its address is private, "example.com!private", not the text "http://example.com".',
        },
        { path: ["budgets", "maxSteps"], message: "is the same field as max_steps: leave one of them out." },
        {
          path: ["budgets", "max_steps"],
          message: "must be a whole number from 1 to 1000000, or null for no limit, not 1.5.",
        },
      ],
    });
  });

  it.each<[string, unknown, string]>([
    ["a function", () => 1, "input: is a function."],
    ["a date", new Date(0), "input: is a Date (pass its ISO string or its milliseconds)."],
    ["an undefined value", { a: [undefined] }, "input/a/0: is undefined."],
    ["a hole in an array", { "a b": Object.assign([], { length: 1 }) }, "input/a b/0: is undefined."],
    ["NaN", [1, { x: Number.NaN }], "input/1/x: is NaN."],
    ["a lone surrogate", { 'q"\\': "\ud800" }, 'input/q"\\: is a string with a lone surrogate.'],
    ["a cycle", cycle(), "input/self: is a cycle."],
    ["a BigInt", { $a: 1n }, "input/$a: is a BigInt."],
  ])("is refused with the place of %s in its input", (_, input, problem) => {
    expect(problemsOf({ objective: "Do it", input })).toEqual([problem]);
  });

  it("is refused if it is not a plain object, even if it looks right", () => {
    class Spec {
      readonly objective = "Do it";
    }
    expect(problemsOf(new Spec())).toEqual([": is an instance of Spec (pass a plain object)."]);
    expect(problemsOf({ objective: "Do it", constraints: new Map() })).toEqual([
      "constraints: is an instance of Map (pass a plain object).",
    ]);
    expect(problemsOf({ objective: "Do it", [Symbol("s")]: 1 })).toEqual([
      ": is an object with symbol keys.",
    ]);
  });

  it("is refused once for a field that is wrong in two ways", () => {
    expect(problemsOf({ objective: "Do it", budgets: { maxSteps: Number.NaN, x: undefined } })).toEqual([
      "budgets/x: is no field of budgets: it has maxWallclockMinutes, maxSteps, maxToolCalls, maxRetriesPerToolCall, maxSameErrorRepeats, maxTokens, maxCostUsd, countWaitingTime.",
      "budgets/maxSteps: must be a whole number from 1 to 1000000, or null for no limit, not NaN.",
    ]);
  });

  it("is refused if a list has a hole", () => {
    expect(
      problemsOf({ objective: "Do it", stopConditions: Object.assign(["done"], { length: 2 }) }),
    ).toEqual([
      'stopConditions/1: must be a name of 1 to 100 letters, digits, "_", "-" or ".", beginning with a letter, not undefined.',
    ]);
  });

  it("is refused if a list is too long", () => {
    const stopConditions = Array.from({ length: 1_001 }, (_, index) => `done${index}`);
    expect(problemsOf({ objective: "Do it", stopConditions })).toEqual([
      "stopConditions: must be a list of at most 1000 names of conditions, not one of 1001.",
    ]);
    expect(problemsOf({ objective: "Do it", stopConditions: stopConditions.slice(1) })).toEqual([]);
  });

  it("is refused if a text is too long", () => {
    expect(problemsOf({ objective: "x".repeat(100_001) })).toEqual([
      "objective: must be a text of 1 to 100000 characters that says what to do, not a text of 100001 characters.",
    ]);
  });

  it("gets no suggestion for a name that is near none", () => {
    for (const name of ["x", "", "zzzzzzzzz", "s".repeat(1_000)]) {
      expect(problemsOf({ objective: "Do it", [name]: 1 })[0]).toContain("it has objective, pipeline");
    }
  });

  it("gets a suggestion if letters were swapped, left out, added or replaced", () => {
    for (const name of ["objetcive", "objectve", "objectivee", "objektive", "OBJECTIVE", "objective_"]) {
      expect(problemsOf({ [name]: "Do it" })[0]).toContain("did you mean objective?");
    }
  });
});

describe("assertRunSpec", () => {
  it("returns the RunSpec", () => {
    expect(assertRunSpec({ objective: "Do it" })).toEqual(bare);
  });

  it("throws one error with every mistake on its own line", () => {
    const value = { objective: "Do it", budgets: { maxSteps: 0 }, stopConditions: ["a b"] };
    let thrown: unknown;
    try {
      assertRunSpec(value);
    } catch (error) {
      thrown = error;
    }
    if (!ConfigurationError.isInstance(thrown)) throw new Error("Nothing was thrown.");
    expect(thrown.message.split("\n")).toEqual([
      "The RunSpec has 2 mistakes:",
      "budgets.maxSteps: must be a whole number from 1 to 1000000, or null for no limit, not 0.",
      'stopConditions[0]: must be a name of 1 to 100 letters, digits, "_", "-" or ".", beginning with a letter, not the text "a b".',
    ]);
    expect(thrown.details).toEqual({
      problems: [
        expect.objectContaining({ path: ["budgets", "maxSteps"] }),
        expect.objectContaining({ path: ["stopConditions", 0] }),
      ],
    });
    expect(() => assertRunSpec("x")).toThrow(
      /^The RunSpec has a mistake:\nthe RunSpec: must be an object, not the text "x": its fields are objective/,
    );
  });
});

describe("the difference between two RunSpecs", () => {
  it("is empty for the same one, however its input is ordered", () => {
    const was = specOf({ ...seedExample, input: { a: 1, b: [2] } });
    expect(describeSpecChanges(was, specOf({ ...seedExample, input: { b: [2], a: 1 } }))).toEqual([]);
  });

  it("is listed field by field, with the old and the new value", () => {
    const was = specOf({ ...seedExample, input: { to: "a@example.com", "per page": { size: 1 } } });
    const is = specOf({
      ...seedExample,
      objective: "Something else",
      budgets: { ...seedExample.budgets, max_steps: 60 },
      stop_conditions: [],
      input: { to: "b@example.com", "per page": { size: 2 } },
    });
    expect(describeSpecChanges(was, is)).toEqual([
      { path: "objective", was: was.objective, is: "Something else" },
      { path: "input.to", was: "a@example.com", is: "b@example.com" },
      { path: 'input["per page"].size', was: 1, is: 2 },
      { path: "budgets.maxSteps", was: 50, is: 60 },
      { path: "stopConditions", was: was.stopConditions, is: [] },
    ]);
  });

  it("is the whole object if a field of the input was added or removed", () => {
    const was = specOf({ objective: "Do it", input: { a: { b: null } } });
    const is = specOf({ objective: "Do it", input: { a: { c: null } } });
    expect(describeSpecChanges(was, is)).toEqual([{ path: "input.a", was: { b: null }, is: { c: null } }]);
    expect(describeSpecChanges(is, bare)).toEqual([{ path: "input", was: { a: { c: null } }, is: null }]);
  });
});

describe("the directory of a run", () => {
  it("has the run's id in place of each placeholder", () => {
    expect(runDirectory("runs/<id>", "q-1")).toBe("runs/q-1");
    expect(runDirectory("<run_id>/<id>/x", "q-1")).toBe("q-1/q-1/x");
    expect(runDirectory("runs/<id>", "$&")).toBe("runs/$&");
    expect(runDirectory("runs", "q-1")).toBe("runs");
  });
});

describe("any value", () => {
  /** Values that are nearly a RunSpec: the right names, with any values. */
  const names = fc.constantFrom(
    ...Object.entries(bare).flatMap(([name, value]) =>
      typeof value === "object" && value !== null ? [name, ...Object.keys(value)] : [name],
    ),
    "max_steps",
    "stop_conditions",
    "__proto__",
    "constructor",
    "toString",
  );
  const nearly = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<unknown>(null, true, "done", "", 1, 0, -1, 2.5, 1e99),
      fc.array(tie("value"), { maxLength: 3 }),
      tie("object"),
    ),
    object: fc
      .array(fc.tuple(names, tie("value")), { maxLength: 5 })
      .map((entries) => JSON.parse(`{${entries.map(toMember).join(",")}}`) as unknown),
  }));

  function toMember([name, value]: readonly [string, unknown]): string {
    return `${JSON.stringify(name)}:${JSON.stringify(value)}`;
  }

  it("is a RunSpec or is refused with reasons, and nothing is ever thrown", () => {
    let accepted = 0;
    fc.assert(
      fc.property(
        fc.oneof(fc.jsonValue(), fc.anything(), nearly.object),
        fc.boolean(),
        (value, withObjective) => {
          const parsed = parseRunSpec(
            withObjective && typeof value === "object" ? { ...value, objective: "Do it" } : value,
          );
          if (!parsed.ok) expect(parsed.problems.length).toBeGreaterThan(0);
          else {
            accepted++;
            expect(parseRunSpec(JSON.parse(canonicalJson(parsed.spec)))).toEqual(parsed);
          }
        },
      ),
      { numRuns: 1_500 },
    );
    expect(accepted).toBeGreaterThan(50);
  });
});
