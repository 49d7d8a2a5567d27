import { describe, expect, it } from "vitest";
import { decideClaim, type RunToClaim } from "../../../src/core/run/claim-decision.ts";

const LEFT: RunToClaim = { status: "running", isHeld: false, isCancelRequested: false, isEarly: false };
const FROM = ["queued", "running"];

describe("decideClaim", () => {
  it("claims a run in a status that the worker asked for", () => {
    expect(decideClaim(LEFT, FROM)).toEqual({ kind: "claim" });
    expect(decideClaim({ ...LEFT, status: "queued" }, FROM)).toEqual({ kind: "claim" });
  });

  it("refuses a run in any other status", () => {
    expect(decideClaim({ ...LEFT, status: "succeeded" }, FROM)).toEqual({ kind: "refused" });
    expect(decideClaim(LEFT, [])).toEqual({ kind: "refused" });
  });

  it("leaves a run to the worker that holds it, whatever else is true of it", () => {
    const held = { ...LEFT, isHeld: true };
    expect(decideClaim(held, FROM)).toEqual({ kind: "busy" });
    expect(decideClaim({ ...held, status: "waiting" }, FROM)).toEqual({ kind: "busy" });
    expect(decideClaim({ ...held, isCancelRequested: true }, FROM)).toEqual({ kind: "busy" });
  });

  it("ends a run whose worker died before it saw the cancel request", () => {
    expect(decideClaim({ ...LEFT, isCancelRequested: true }, FROM)).toEqual({ kind: "end_abandoned" });
  });

  it("resumes such a run for a worker that accepts cancelled runs", () => {
    const from = ["running", "cancelled"];
    expect(decideClaim({ ...LEFT, isCancelRequested: true }, from)).toEqual({ kind: "claim" });
  });

  it("is not claimed before its time by a worker that wants ready runs", () => {
    expect(decideClaim({ ...LEFT, status: "queued", isEarly: true }, FROM)).toEqual({ kind: "refused" });
  });
});
