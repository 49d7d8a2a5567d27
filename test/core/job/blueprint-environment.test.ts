import { describe, expect, it } from "vitest";
import {
  environmentProblem,
  fillEnvironment,
  withoutVariables,
} from "../../../src/core/job/blueprint-environment.ts";

const environment = { TOKEN: "t-1", OTHER: "o$&{TOKEN}", EMPTY: "" };

describe("an environment variable", () => {
  it("is filled in wherever it is named, once, and its value is returned", () => {
    const given = { env: { A: "Bearer ${TOKEN}", B: "${OTHER}" }, args: ["$${TOKEN}", "$TOKEN", 5, null] };
    expect(fillEnvironment(given, environment)).toEqual({
      value: { env: { A: "Bearer t-1", B: "o$&{TOKEN}" }, args: ["${TOKEN}", "$TOKEN", 5, null] },
      missing: [],
      used: ["t-1", "o$&{TOKEN}"],
    });
  });

  it("that is unset or empty is returned by name, each once", () => {
    const { missing } = fillEnvironment("${NO} ${EMPTY} ${NO} ${toString}", environment);
    expect(missing).toEqual(["NO", "EMPTY", "toString"]);
  });

  it("is removed with its field, and the neighbouring fields stay", () => {
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
