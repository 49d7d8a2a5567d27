import { describe, expect, it } from "vitest";
import { decideRelease, type ReleaseStatus } from "../../../src/core/run/release-decision.ts";

describe("decideRelease", () => {
  it("withdraws the waits of a run that has succeeded, and leaves its steps as they are", () => {
    expect(decideRelease("succeeded", false)).toEqual({
      status: "succeeded",
      steps: "kept",
      waits: "withdrawn",
    });
  });

  it("fails the steps of a run that has failed, and keeps its waits", () => {
    expect(decideRelease("failed", false)).toEqual({ status: "failed", steps: "failed", waits: "kept" });
  });

  it("leaves the steps of a queued run ready", () => {
    expect(decideRelease("queued", false)).toEqual({ status: "queued", steps: "ready", waits: "kept" });
  });

  it("blocks the steps of a run that waits", () => {
    expect(decideRelease("waiting", false)).toEqual({ status: "waiting", steps: "blocked", waits: "opened" });
  });

  it("keeps the waits of a run that was only interrupted: it may be resumed", () => {
    expect(decideRelease("cancelled", false)).toEqual({
      status: "cancelled",
      steps: "failed",
      waits: "kept",
    });
  });

  it.each<ReleaseStatus>(["queued", "waiting", "cancelled"])(
    "cancels a run that is to be cancelled, if its worker leaves it %s",
    (given) => {
      expect(decideRelease(given, true)).toEqual({
        status: "cancelled",
        steps: "failed",
        waits: "withdrawn",
      });
    },
  );

  it.each<ReleaseStatus>(["succeeded", "failed"])(
    "does not cancel a run that has %s before its worker saw the request",
    (given) => {
      expect(decideRelease(given, true)).toEqual(decideRelease(given, false));
      expect(decideRelease(given, true).status).toBe(given);
    },
  );
});
