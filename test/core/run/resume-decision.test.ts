import { describe, expect, it } from "vitest";
import { decideResume, resumeLeft, takenResume } from "../../../src/core/run/resume-decision.ts";
import type { RequestedResume } from "../../../src/core/run/resume-request.ts";

const asked: RequestedResume = {
  from: "milestone",
  redoTurn: true,
  acceptDivergence: "A better prompt.",
  changesHash: "4f2a",
  allowance: { budgets: { maxToolCalls: 7 } },
  reason: "failed",
  by: { name: "Ann", at: 1, authenticated: null },
  takenSeq: 10,
};

describe("decideResume", () => {
  it.each(["succeeded", "moved"])("has nothing to resume of a run that is %s", (status) => {
    expect(decideResume({ status, isHeld: false, seq: 3 }, null)).toEqual({ kind: "over" });
    expect(decideResume({ status, isHeld: false, seq: 3 }, 2)).toEqual({ kind: "over" });
  });

  it.each(["queued", "running", "waiting", "failed", "cancelled"])(
    "queues a run that is %s, unless a process holds it or it has changed",
    (status) => {
      const run = { status, isHeld: false, seq: 3 };
      expect(decideResume(run, null)).toEqual({ kind: "requested" });
      expect(decideResume(run, 3)).toEqual({ kind: "requested" });
      expect(decideResume(run, 2)).toEqual({ kind: "changed" });
      expect(decideResume({ ...run, isHeld: true }, 3)).toEqual({ kind: "busy" });
    },
  );
});

describe("what is left of a resume", () => {
  it.each([[[]], [["call.receipt", "step.resumed", "artifact.kept"]]])(
    "is all of it before its worker has done any of it",
    (since) => {
      expect(resumeLeft(asked, since)).toEqual(asked);
    },
  );

  it("is not the response again, once it was dropped", () => {
    expect(resumeLeft(asked, ["turn.dropped"])).toEqual({ ...asked, redoTurn: false });
  });

  it("is not the consent to a change, once a change was accepted", () => {
    expect(resumeLeft(asked, ["divergence.accepted"])).toEqual({ ...asked, acceptDivergence: null });
    const since = ["turn.dropped", "divergence.accepted"];
    expect(resumeLeft(asked, since)).toEqual({ ...asked, redoTurn: false, acceptDivergence: null });
  });

  it.each(["lineage.begun", "turn.opened", "turn.denied", "summary.opened"])(
    "is only that a person has asked for it, after %s",
    (type) => {
      const left = { ...asked, from: "turn", redoTurn: false, acceptDivergence: null };
      expect(resumeLeft(asked, [type, "turn.dropped"])).toEqual(left);
    },
  );

  it.each(["turn.journaled", "turn.committed", "exchange.ended", "step.finished"])(
    "is nothing after %s",
    (type) => {
      expect(resumeLeft(asked, ["lineage.begun", type])).toBeNull();
    },
  );

  it("no longer has the limits that the claim has changed", () => {
    expect(takenResume(asked, 12)).toEqual({ ...asked, allowance: {}, takenSeq: 12 });
  });
});
