import { describe, expect, it } from "vitest";
import {
  environmentProblem,
  fillEnvironment,
  withoutVariables,
} from "../../../src/core/job/blueprint-environment.ts";

const environment = { TOKEN: "t-1", OTHER: "o$&{TOKEN}", EMPTY: "" };

describe("a variable of the environment", () => {
  it("is filled in wherever it is named, once, and what was filled in is told", () => {
    const given = { env: { A: "Bearer ${TOKEN}", B: "${OTHER}" }, args: ["$${TOKEN}", "$TOKEN", 5, null] };
    expect(fillEnvironment(given, environment)).toEqual({
      value: { env: { A: "Bearer t-1", B: "o$&{TOKEN}" }, args: ["${TOKEN}", "$TOKEN", 5, null] },
      missing: [],
      used: ["t-1", "o$&{TOKEN}"],
    });
  });

  it("that is not set, or is empty, is told by its name, each once", () => {
    const { missing } = fillEnvironment("${NO} ${EMPTY} ${NO} ${toString}", environment);
    expect(missing).toEqual(["NO", "EMPTY", "toString"]);
  });

  it("makes a field hold no secret, and its neighbours stay", () => {
    const value = {
      env: { TOKEN: "${TOKEN}", OTHER: "$${x}", KEY: "k" },
      list: [{ a: "Bearer ${B}", n: 1 }],
    };
    expect(withoutVariables(value)).toEqual({ env: { OTHER: "$${x}", KEY: "k" }, list: [{ n: 1 }] });
  });

  it.each(["${}", "${A B}", "a ${OPEN", "${1A}"])("needs a name, unlike in %j", (text) => {
    expect(environmentProblem(text)).toMatch(/^has ".*", which names no variable/);
  });

  it.each(["", "$", "$A", "$${", "$${A B}", "${A_1}", "{A}"])("is no problem in %j", (text) => {
    expect(environmentProblem(text)).toBeNull();
  });
});
