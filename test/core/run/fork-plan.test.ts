import { describe, expect, it } from "vitest";
import {
  type ArtifactVersion,
  type CallOutcome,
  continuesIn,
  isDecided,
  lastVersions,
  uncertainCalls,
} from "../../../src/core/run/fork-plan.ts";

const FORKED = "polish[2]/pass[3]/edit";

describe("a step continues in a fork", () => {
  it("if it is the forked step, or one around it", () => {
    for (const path of [FORKED, "polish", "polish[2]/pass"]) expect(continuesIn(path, FORKED)).toBe(true);
    expect(continuesIn("group", "group/edit")).toBe(true);
  });

  it("and no other one, whatever its name begins with", () => {
    const others = [
      "pol",
      "polish[1]/pass",
      "polish[2]/pas",
      "polish[2]/pass[1]/edit",
      "edit",
      `${FORKED}/x`,
    ];
    for (const path of others) expect(continuesIn(path, FORKED)).toBe(false);
  });
});

describe("a fork has the decision of a loop", () => {
  const decided = (loop: string, forked = FORKED) =>
    [1, 2, 3, 4].filter((iteration) => isDecided(loop, iteration, forked));

  it("of an iteration before the one that the forked step is in", () => {
    expect(decided("polish")).toEqual([1]);
    expect(decided("polish[2]/pass")).toEqual([1, 2]);
    expect(decided("polish", "polish[12]/edit")).toEqual([1, 2, 3, 4]);
  });

  it("if the loop is not around the forked step", () => {
    for (const loop of ["early", "polish[1]/pass", "pol"]) expect(decided(loop)).toEqual([1, 2, 3, 4]);
  });
});

describe("a call of a fork is uncertain", () => {
  const outcome = (
    at: number,
    how: "failed" | "uncertain" | "succeeded",
    identity = "mail",
  ): CallOutcome => ({
    identity,
    at,
    isUncertain: how === "uncertain",
    hasSucceeded: how === "succeeded",
  });

  it("until a call of the same identity succeeds after it", () => {
    const [first, second] = [outcome(1, "uncertain"), outcome(2, "uncertain")];
    expect(uncertainCalls([first, second])).toEqual([first, second]);
    expect(uncertainCalls([first, second, outcome(3, "succeeded")])).toEqual([]);
    expect(uncertainCalls([first, outcome(2, "succeeded", "post")])).toEqual([first]);
  });

  it("again, if it happened after that success", () => {
    const again = outcome(3, "uncertain");
    expect(uncertainCalls([outcome(1, "uncertain"), outcome(2, "succeeded"), again])).toEqual([again]);
  });

  it("by the times of the outcomes, not by the order of the calls", () => {
    const late = outcome(5, "uncertain");
    expect(uncertainCalls([late, outcome(4, "succeeded")])).toEqual([late]);
    expect(uncertainCalls([outcome(6, "succeeded"), late])).toEqual([]);
  });

  it("not if it merely failed", () => {
    expect(uncertainCalls([outcome(1, "failed")])).toEqual([]);
  });
});

describe("a fork has the artifacts", () => {
  const version = (name: string, step: string, at: number): ArtifactVersion => ({
    name,
    step,
    at,
    size: 1,
    hash: `${at}`,
  });
  const isCopied = (step: string) => step !== "send";

  it("of the copied steps, each in its last version", () => {
    const versions = [version("a", "draft", 1), version("b", "draft", 2), version("a", "review", 3)];
    expect(lastVersions(versions, isCopied).map(({ name, at }) => [name, at])).toEqual([
      ["a", 3],
      ["b", 2],
    ]);
  });

  it("in the version of a copied step, if a step that is not copied replaced it", () => {
    const versions = [version("a", "draft", 1), version("a", "send", 2), version("c", "send", 3)];
    expect(lastVersions(versions, isCopied)).toEqual([versions[0]]);
  });
});
