import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import {
  assertRunId,
  assertStepName,
  childPath,
  iterationPath,
  parseToolCallId,
  ROOT_PATH,
  stepId,
  toolCallId,
  withoutIterations,
} from "../../src/core/step-path.ts";

describe("a step name", () => {
  it.each([
    "a",
    "research",
    "Write the report",
    "render-2",
    "schritt_größe",
    "調査",
    "v1.2",
    ".NET migration",
    "...",
    "what? (now)",
    "a:b",
    "😀",
    "x".repeat(100),
    "😀".repeat(100),
  ])("may be %j", (name) => {
    expect(() => assertStepName("step", name)).not.toThrow();
  });

  it.each<[unknown]>([
    [""],
    ["../x"],
    [".."],
    ["."],
    ["a/b"],
    ["/"],
    ["a#1"],
    ["a[1]"],
    ["]"],
    [" a"],
    ["a "],
    [" "],
    ["a\nb"],
    ["a\tb"],
    ["a\u0000"],
    ["\u202ea"],
    ["a\ud800"],
    ["x".repeat(101)],
    ["x".repeat(200)],
    [undefined],
    [null],
    [7],
    [["a"]],
  ])("cannot be %j", (name) => {
    expect(() => assertStepName("step", name)).toThrow(ConfigurationError);
  });

  it("is quoted when it is refused, with the rule for valid names", () => {
    expect(() => assertStepName("pipeline", "a/b")).toThrow(
      '"a/b" cannot name a pipeline: use 1 to 100 characters',
    );
    expect(() => assertStepName("step", undefined)).toThrow("undefined cannot name a step");
  });
});

describe("a run id", () => {
  it.each([
    "q-1",
    "A",
    "0",
    "2026-01-02T03:04:05+01:00",
    "user@example.org",
    "a=b",
    "a.b.c",
    "0197-aaaa",
    "x".repeat(128),
  ])("may be %j", (runId) => {
    expect(() => assertRunId(runId)).not.toThrow();
  });

  it.each<[unknown]>([
    [""],
    ["../x"],
    ["a/b"],
    ["a\\b"],
    [".hidden"],
    [".."],
    ["a..b"],
    ["-rf"],
    ["_x"],
    ["a b"],
    ["a\n"],
    ["ä"],
    ["a#1"],
    ["a%2f"],
    ["a?b"],
    ["a'b"],
    ["x".repeat(129)],
    ["x".repeat(200)],
    [undefined],
    [null],
    [1],
  ])("cannot be %j", (runId) => {
    expect(() => assertRunId(runId)).toThrow(ConfigurationError);
  });

  it("is quoted when it is refused, with the rule for valid ids", () => {
    expect(() => assertRunId("../x")).toThrow('"../x" cannot be a run id: use 1 to 128 letters');
    expect(() => assertRunId(undefined)).toThrow("undefined cannot be a run id");
  });
});

describe("a path", () => {
  it("is built from the root down, iterations included", () => {
    const loop = childPath(ROOT_PATH, "polish");
    const draft = childPath(childPath(iterationPath(loop, 2), "pass"), "draft");
    expect(draft).toBe("polish[2]/pass/draft");
    expect(stepId("q-1", draft)).toBe("q-1/polish[2]/pass/draft");
    expect(toolCallId("q-1", draft, 3, 1)).toBe("q-1/polish[2]/pass/draft#3.1");
  });

  it("without its iterations is the path of the step", () => {
    expect(withoutIterations("polish[2]/pass[10]/draft")).toBe("polish/pass/draft");
    expect(withoutIterations("draft")).toBe("draft");
    expect(withoutIterations(ROOT_PATH)).toBe(ROOT_PATH);
  });

  const name = fc.string({
    unit: fc.constantFrom("a", "1", ".", ":", " ", "(", "é"),
    minLength: 1,
    maxLength: 5,
  });
  const names = name.filter((text) => {
    try {
      assertStepName("step", text);
      return true;
    } catch {
      return false;
    }
  });
  const segments = fc.array(fc.tuple(names, fc.option(fc.nat(20))), { minLength: 1, maxLength: 4 });
  const build = (parts: readonly [string, number | null][]) =>
    parts.reduce((path, [part, iteration]) => {
      const child = childPath(path, part);
      return iteration === null ? child : iterationPath(child, iteration);
    }, ROOT_PATH);

  it("belongs to one instance only", () => {
    fc.assert(
      fc.property(segments, segments, (a, b) => {
        expect(build(a) === build(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
    );
  });

  it("has tool calls with ids of their own", () => {
    const call = fc.tuple(fc.stringMatching(/^[a-z0-9]{1,3}$/), segments, fc.nat(20), fc.nat(20));
    fc.assert(
      fc.property(call, call, (a, b) => {
        const id = ([runId, path, turn, index]: typeof a) => toolCallId(runId, build(path), turn, index);
        expect(id(a) === id(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
    );
  });

  it("returns its names without its iterations", () => {
    fc.assert(
      fc.property(segments, (parts) => {
        expect(withoutIterations(build(parts))).toBe(parts.map(([part]) => part).join("/"));
      }),
    );
  });
});

describe("the id of a tool call", () => {
  it("is parsed back to its parts", () => {
    const place = { runId: "q-1", path: "polish[2]/pass/draft", turnIndex: 3, callIndex: 1 };
    expect(parseToolCallId(toolCallId("q-1", place.path, 3, 1))).toEqual(place);
    expect(parseToolCallId("q-1/code#0.12")).toEqual({
      runId: "q-1",
      path: "code",
      turnIndex: 0,
      callIndex: 12,
    });
  });

  it.each([
    "",
    "q-1",
    "q-1/s",
    "q-1/s#1",
    "q-1/s#1.0",
    "q-1/s#01.1",
    "q-1/s#1.01",
    "/s#1.1",
    "q-1/#1.1",
    "q-1/s#1.1x",
  ])("is not %j", (id) => {
    expect(parseToolCallId(id)).toBeNull();
  });
});
