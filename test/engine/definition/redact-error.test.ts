import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { RunSecrets } from "../../../src/engine/definition/run-secrets.ts";

const SECRET = "k-123456-abcdef";
const secrets = new RunSecrets(new Set(["password"]), () => "0".repeat(12), [SECRET]);

/** Everything that a person would see of the error. */
function seen(error: Error): string {
  secrets.redactError(error);
  return inspect(error, { depth: 10, showHidden: true });
}

describe("an error that leaves the run has no secrets", () => {
  it("in its message and stack, its details and those of its causes", () => {
    const cause = new ConfigurationError(`No ${SECRET}.`, { key: SECRET, password: "x1" });
    const error = new Error(`Not with ${SECRET}.`, { cause });
    expect(seen(error)).not.toMatch(/k-123456|x1/);
    expect(error.message).toBe("Not with [secret:000000000000].");
  });

  it.each([
    ["data", { sent: [SECRET] }],
    ["text", SECRET],
    ["code", Number.NaN],
    ["headers", new Map([["authorization", SECRET]])],
    ["list", new Set([SECRET])],
    ["config", Object.assign(Object.create(null), { headers: { password: "x1" } })],
    ["cycle", cyclic()],
    [Symbol("sent"), SECRET],
  ] as const)("in the field %s of its cause", (field, value) => {
    const cause = Object.assign(new Error("Refused."), { [field]: value });
    expect(seen(new Error("It failed.", { cause }))).not.toMatch(/k-123456|x1/);
  });

  it("in causes that are no errors, in nested causes, and in all errors of an aggregate", () => {
    const deep = new Error("a", { cause: new Error("b", { cause: { body: SECRET } }) });
    expect(seen(deep)).not.toContain(SECRET);
    expect(seen(new Error("a", { cause: SECRET }))).not.toContain(SECRET);
    const members = [new Error(SECRET), Object.assign(new Error("c"), { body: SECRET })];
    expect(seen(new AggregateError(members, "Several."))).not.toContain(SECRET);
  });

  it("and keeps everything else unchanged", () => {
    const when = new Date();
    const cause = Object.assign(new Error("Refused."), { status: 503, when, ask: () => 1, more: { a: 1 } });
    const error = new Error("It failed.", { cause });
    secrets.redactError(error);
    expect(error.cause).toBe(cause);
    expect(cause).toMatchObject({ message: "Refused.", status: 503, more: { a: 1 } });
    expect(cause.when).toBe(when);
  });
});

function cyclic(): object {
  const request: { sent: string; self?: object } = { sent: SECRET };
  request.self = request;
  return request;
}
