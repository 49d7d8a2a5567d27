import { describe, expect, it } from "vitest";
import { StoreUnavailableError, StoreUnusableError } from "../../../src/core/errors.ts";
import {
  isConnectionLost,
  isWorthRepeating,
  postgresError,
} from "../../../src/store/postgres-wire/postgres-error.ts";

const errorOf = (code: string, message = "x") => Object.assign(new Error(message), { code });
const NAME = "postgres://db/app";

describe("an error of the server or the network", () => {
  it.for([
    "ECONNREFUSED",
    "ECONNRESET",
    "EPIPE",
    "ETIMEDOUT",
    "08006",
    "08003",
    "57P01",
    "57P02",
    "57P03",
    "57P05",
    "25P03",
    "25P04",
    "40003",
  ])("%s may have lost the answer of a commit", (code) => {
    expect(isConnectionLost(errorOf(code))).toBe(true);
    expect(isWorthRepeating(errorOf(code))).toBe(false);
    expect(postgresError(errorOf(code), NAME)).toMatchObject({ details: { reason: "disconnected" } });
  });

  it.for(["40001", "40P01", "55P03", "22012", "23505"])(
    "%s did not commit, and is repeated on fresh data",
    (code) => {
      expect(isWorthRepeating(errorOf(code))).toBe(true);
      expect(isConnectionLost(errorOf(code))).toBe(false);
    },
  );

  it.for([
    ["53100", "full"],
    ["53300", "full"],
    ["28P01", "refused"],
    ["3D000", "missing"],
    ["42501", "refused"],
    ["25006", "read_only"],
    ["57014", "busy"],
  ] as const)("%s is a store that is not available: %s", ([code, reason]) => {
    const error = postgresError(errorOf(code), NAME);
    expect(StoreUnavailableError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({
      details: { reason },
      message: expect.stringMatching(/^The database postgres:\/\/db\/app .*\.$/),
    });
  });

  it("42P01 is a store whose tables are not there", () => {
    expect(StoreUnusableError.isInstance(postgresError(errorOf("42P01"), NAME))).toBe(true);
  });

  it("of ours, and one of a program, stays as it is", () => {
    const ours = new StoreUnavailableError("Closed.", { reason: "closed" });
    const theirs = new TypeError("undefined is not a function");
    expect([postgresError(ours, NAME), postgresError(theirs, NAME)]).toEqual([ours, theirs]);
    expect([isConnectionLost(ours), isConnectionLost(theirs)]).toEqual([false, false]);
  });
});
