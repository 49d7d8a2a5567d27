// Questions that nobody answers in time.

import { describe, expect, it } from "vitest";
import {
  type CodeStepContext,
  ConfigurationError,
  type Json,
  NeedsHuman,
  type Policy,
  Runner,
  Step,
  type StepNode,
  ToolFailedError,
} from "../../../src/index.ts";
import { actTool, jumpingClock, timedStore } from "../call/call-fixture.ts";
import { failureAs } from "../run-fixture.ts";

const HOUR_MS = 3_600_000;

async function worldOf(step: StepNode, policy: Policy = {}) {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  return { store, clock, make: () => new Runner(step, { store, clock, policy }) };
}

const ask = (onDue: "fail" | "escalate" | { readonly answer: Json }) =>
  Step.human("ask", { question: "Ready?", choices: ["yes", "no"], timeLimit: { afterMs: HOUR_MS, onDue } });

describe("a question with a time limit", () => {
  it("is answered as it says when its time has passed, and not before", async () => {
    const { clock, make } = await worldOf(ask({ answer: "no" }));
    await make().run(null, { runId: "r-1" });
    await clock.advance(HOUR_MS - 1);
    expect((await make().resume("r-1")).status).toBe("waiting");
    await clock.advance(1);
    expect((await make().resume("r-1")).output).toBe("no");
  });

  it("fails its step, and is asked again when the run is resumed", async () => {
    const { store, clock, make } = await worldOf(ask("fail"));
    await make().run(null, { runId: "r-1" });
    await clock.advance(HOUR_MS);
    const { message } = await failureAs(ToolFailedError, make().resume("r-1"));
    expect(message).toBe("Tool ask_human failed: Nobody answered within 1 hour.");
    const { waits } = await make().resume("r-1");
    await store.answer(waits[0]?.waitId ?? "", "yes");
    expect((await make().resume("r-1")).output).toBe("yes");
  });

  it("stays open and is marked, if it is escalated", async () => {
    const { clock, make } = await worldOf(ask("escalate"));
    await make().run(null, { runId: "r-1" });
    await clock.advance(HOUR_MS);
    expect((await make().resume("r-1")).waits).toMatchObject([{ status: "open", escalatedAt: clock.now() }]);
  });

  it("can still be answered by a person in time", async () => {
    const { store, make } = await worldOf(ask({ answer: "no" }));
    const { waits } = await make().run(null, { runId: "r-1" });
    await store.answer(waits[0]?.waitId ?? "", "yes");
    expect((await make().resume("r-1")).output).toBe("yes");
  });

  it("has its own limit, not that of the policy", async () => {
    const { clock, make } = await worldOf(ask({ answer: "no" }), {
      timeLimits: { question: { afterMs: 5, onDue: "fail", remindEveryMs: 1_000 } },
    });
    const { waits } = await make().run(null, { runId: "r-1" });
    expect(waits).toMatchObject([{ dueAt: clock.now() + HOUR_MS, remindAt: null }]);
  });
});

describe("policy.timeLimits", () => {
  const { act, calls } = actTool(undefined, { approval: true });
  const approved = Step.run("code", async (_input: Json, ctx: CodeStepContext) => {
    const { message } = await failureAs(ToolFailedError, ctx.call(act, { what: "a" }));
    return message;
  });

  it("denies an approval that nobody gives, and the code gets the reason", async () => {
    const { clock, make } = await worldOf(approved, {
      timeLimits: { approval: { afterMs: HOUR_MS, onDue: "deny", remindEveryMs: 60_000 } },
    });
    const { waits } = await make().run(null, { runId: "r-1" });
    expect(waits).toMatchObject([{ dueAt: clock.now() + HOUR_MS, remindAt: clock.now() + 60_000 }]);
    await clock.advance(HOUR_MS);
    const { output } = await make().resume("r-1");
    expect(output).toBe("Tool act failed: act was not approved: Nobody allowed it within 1 hour.");
    expect(calls).toEqual([]);
  });

  it("answers the escalation of a tool", async () => {
    const { act: stuck } = actTool(() => {
      throw new NeedsHuman("auth_failure", "Renew the token.");
    });
    const step = Step.run("code", async (_input: Json, ctx: CodeStepContext) => {
      const { message } = await failureAs(ToolFailedError, ctx.call(stuck, { what: "a" }));
      return message;
    });
    const { clock, make } = await worldOf(step, {
      timeLimits: { escalation: { afterMs: 1_000, onDue: { answer: "Continue without it." } } },
    });
    await make().run(null, { runId: "r-1" });
    await clock.advance(1_000);
    expect((await make().resume("r-1")).output).toMatch("Continue without it.");
  });

  it("leaves sleeps and messages alone", async () => {
    const { clock, make } = await worldOf(Step.sleep("pause", 5_000), {
      timeLimits: { question: { afterMs: 5, onDue: "fail" } },
    });
    const { waits } = await make().run(null, { runId: "r-1" });
    expect(waits).toMatchObject([{ dueAt: clock.now() + 5_000 }]);
  });
});

describe("a time limit that is wrong is refused with a sentence", () => {
  it.each([
    [
      { approval: { afterMs: 5, onDue: { answer: true } } },
      'a wait of the kind approval takes "deny" or "escalate".',
    ],
    [{ in_doubt: { afterMs: 5, onDue: "fail" } }, 'a wait of the kind in_doubt takes "escalate".'],
    [{ approval: { afterMs: 5, onDue: "approve" } }, 'policy.timeLimits.approval has onDue "approve"'],
    [{ budget: { afterMs: 5, onDue: "fail" } }, 'takes "deny" or "escalate".'],
    [{ question: { afterMs: -1, onDue: "fail" } }, "policy.timeLimits.question has afterMs -1"],
    [{ question: { ms: 5, onDue: "fail" } }, 'policy.timeLimits.question has no "ms": did you mean afterMs?'],
    [{ question: { afterMs: 5, onDue: "fail", remindEveryMs: 10 } }, "remindEveryMs 10: give at least 1000."],
    [
      { approvals: { afterMs: 5, onDue: "deny" } },
      'policy.timeLimits has no "approvals": did you mean approval?',
    ],
    [{ time: { afterMs: 5, onDue: "deny" } }, "a sleep has a time of its own."],
  ])("%j", (timeLimits, text) => {
    const make = () => new Runner(Step.sleep("pause", 1), { policy: { timeLimits: timeLimits as never } });
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(text);
  });

  it("that answers none of the choices", () => {
    expect(() => ask({ answer: "perhaps" })).toThrow(
      'timeLimit of step ask answers "perhaps", which is none of its choices: use one of yes, no.',
    );
  });
});
