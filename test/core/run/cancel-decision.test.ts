import { describe, expect, it } from "vitest";
import { decideCancel } from "../../../src/core/run/cancel-decision.ts";

describe("decideCancel", () => {
  it.each(["succeeded", "failed", "cancelled"])("does nothing to a run that has %s", (status) => {
    expect(decideCancel(status, false)).toEqual({ kind: "over" });
    expect(decideCancel(status, true)).toEqual({ kind: "over" });
  });

  it.each(["queued", "running", "waiting"])("ends a run that is %s and that no worker holds", (status) => {
    expect(decideCancel(status, false)).toEqual({ kind: "ended" });
  });

  it.each(["queued", "running", "waiting"])("asks the worker that holds a run that is %s", (status) => {
    expect(decideCancel(status, true)).toEqual({ kind: "requested" });
  });
});
