import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import * as errors from "../../src/core/errors.ts";
import { ERROR_PROBLEMS } from "../../src/server/error-problems.ts";
import { problemOf } from "../../src/server/http/problem-response.ts";

const root = resolve(import.meta.dirname, "../..");

/** Errors of the command line never reach a server. */
const OF_THE_COMMAND_LINE = ["wrong_use", "job_file"];

describe("each error of Pawl", () => {
  const classes = globSync("src/**/*.ts", { cwd: root }).flatMap((file) =>
    [
      ...readFileSync(join(root, file), "utf8").matchAll(
        /extends PawlError[^{]*\{[\s\S]*?readonly code = "(\w+)"/g,
      ),
    ].map(([, code = ""]) => code),
  );
  const codes = classes.filter((code) => !OF_THE_COMMAND_LINE.includes(code));

  it("has a problem, and no problem is without an error", () => {
    expect(codes.length).toBeGreaterThanOrEqual(
      Object.values(errors).filter((each) => each.prototype instanceof errors.PawlError).length,
    );
    expect(Object.keys(ERROR_PROBLEMS).sort()).toEqual([...new Set(codes)].sort());
  });

  it.each(Object.entries(ERROR_PROBLEMS))("%s has a title that is a sentence", (_, { status, title }) => {
    expect(title).toMatch(/^[A-Z].{8,70}\.$/);
    expect([404, 409, 410, 422, 500, 503]).toContain(status);
  });

  it("is answered by its code and not by its class, so that two copies of the package agree", () => {
    const other = Object.assign(new Error("There is no run q."), {
      [Symbol.for("pawl.error")]: true,
      name: "RunNotFoundError",
      code: "run_not_found",
      details: { runId: "q" },
      recoverable: false,
    });
    expect(problemOf(other, "req_1")).toMatchObject({ status: 404, code: "run_not_found" });
    expect(problemOf(Object.assign(other, { code: "constructor" }), "req_1")).toMatchObject({ status: 500 });
  });
});
