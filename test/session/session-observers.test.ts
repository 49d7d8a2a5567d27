import { setImmediate } from "node:timers/promises";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { ConfigurationError } from "../../src/core/errors.ts";
import { Session } from "../../src/session/session.ts";
import { defineSlice } from "../../src/session/slice.ts";
import { audit, findings, found } from "./session-samples.ts";

function observed(): { readonly session: Session; readonly failures: string[] } {
  const session = new Session({ id: "s-1", createdAt: 0, slices: [findings, audit] });
  const failures: string[] = [];
  session.bus.subscribe("ObserverFailed", ({ message }) => failures.push(message));
  return { session, failures };
}

const files = (values: readonly { readonly file: string }[]) => values.map(({ file }) => file).join("");

const lateBoom: () => unknown = async () => {
  await setImmediate();
  throw new Error("late boom");
};

describe("an observer", () => {
  it("gets the new and the previous values after each change of its slice", () => {
    const { session } = observed();
    const received: string[] = [];
    session.observe(findings, (values, before) => {
      expectTypeOf(values).toEqualTypeOf<readonly { file: string; score: number }[]>();
      expect(session.query(findings).all()).toBe(values);
      received.push(`${files(before)}>${files(values)}`);
    });
    session.dispatch(found("a"));
    session.dispatch(found("b"));
    expect(received).toEqual([">a", "a>ab"]);
  });

  it("is not called if nothing in its slice changed, or the event was refused", () => {
    const { session } = observed();
    let calls = 0;
    session.observe(findings, () => calls++);
    session.dispatch({ type: "Cleared" });
    expect(session.query(audit).all()).toEqual(["cleared"]);
    expect(() => session.dispatch({ type: "Found", file: 7 })).toThrow();
    expect(calls).toBe(0);
  });

  it("is called for values that are adopted, rolled back or reset", () => {
    const { session } = observed();
    const received: string[] = [];
    session.observe(findings, (values, before) => received.push(`${files(before)}>${files(values)}`));
    const empty = session.snapshot();
    session.adopt(session.slices.reduce(session.state, found("a")));
    session.rollback(empty);
    session.dispatch(found("b"));
    session.reset();
    expect(received).toEqual([">a", "a>", ">b", "b>"]);
  });

  it("is not called after it has ended, and may end itself or another while it is being called", () => {
    const { session } = observed();
    const received: string[] = [];
    const endFirst = session.observe(findings, () => {
      received.push("first");
      endFirst();
      endThird();
    });
    session.observe(findings, () => received.push("second"));
    const endThird = session.observe(findings, () => received.push("third"));
    session.dispatch(found("a"));
    session.dispatch(found("b"));
    expect(received).toEqual(["first", "second", "second"]);
  });

  it("that was added while another was being called gets the next change", () => {
    const { session } = observed();
    const received: string[] = [];
    const end = session.observe(findings, () => {
      end();
      session.observe(findings, (values) => received.push(files(values)));
    });
    session.dispatch(found("a"));
    expect(received).toEqual([]);
    session.dispatch(found("b"));
    expect(received).toEqual(["ab"]);
  });

  it("registered twice ends one registration at a time", () => {
    const { session } = observed();
    let calls = 0;
    const observer = () => {
      calls++;
    };
    const end = session.observe(findings, observer);
    session.observe(findings, observer);
    session.dispatch(found("a"));
    end();
    end();
    session.dispatch(found("b"));
    expect(calls).toBe(3);
  });

  it("that throws, now or later, does not affect the others and is reported on the bus", async () => {
    const { session, failures } = observed();
    const received: string[] = [];
    session.observe(findings, () => {
      throw new Error("boom");
    });
    session.observe(findings, lateBoom);
    session.observe(findings, (values) => received.push(files(values)));
    session.dispatch(found("a"));
    expect(received).toEqual(["a"]);
    expect(session.query(findings).all()).toHaveLength(1);
    await setImmediate();
    await setImmediate();
    expect(failures).toEqual([
      "An observer of slice findings failed: boom",
      "An observer of slice findings failed: late boom",
    ]);
  });

  it("ends with the session, even while it is being called", () => {
    const { session } = observed();
    const received: string[] = [];
    session.observe(findings, () => {
      session.dispatch(found("z"));
      session.close();
    });
    session.observe(findings, () => received.push("second"));
    session.dispatch(found("a"));
    expect(received).toEqual([]);
    expect(session.query(findings).all()).toEqual([{ file: "a", score: 1 }]);
  });

  it("cannot watch a slice that the session does not have", () => {
    const { session } = observed();
    const other = defineSlice({ name: "other", schema: z.string() });
    expect(() => session.observe(other, () => undefined)).toThrow(ConfigurationError);
  });
});

describe("a dispatch inside an observer", () => {
  it("takes effect after all observers got the present change", () => {
    const { session } = observed();
    const received: string[] = [];
    session.observe(findings, (values) => {
      if (values.length === 1) {
        session.dispatch(found("b"));
        session.dispatch(found("c"));
      }
      received.push(`first ${files(values)}, sees ${files(session.query(findings).all())}`);
    });
    session.observe(findings, (values) => received.push(`second ${files(values)}`));
    session.dispatch(found("a"));
    expect(received).toEqual([
      "first a, sees a",
      "second a",
      "first ab, sees ab",
      "second ab",
      "first abc, sees abc",
      "second abc",
    ]);
    expect(session.query(audit).all()).toEqual(["a", "b", "c"]);
  });

  it("that is refused is reported on the bus, and those after it take effect", () => {
    const { session, failures } = observed();
    const end = session.observe(findings, () => {
      end();
      session.dispatch({ type: "Found", file: 7 });
      session.dispatch(found("c"));
    });
    session.dispatch(found("a"));
    expect(files(session.query(findings).all())).toBe("ac");
    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatch(/^A change that an observer requested failed: .*findings\.1\.file/);
  });

  it("does not loop forever", () => {
    const { session, failures } = observed();
    session.observe(findings, (values) => session.dispatch(found(`${values.length}`)));
    session.dispatch(found("a"));
    expect(session.query(findings).all()).toHaveLength(1_001);
    expect(failures).toEqual([expect.stringContaining("let them stop answering each other")]);
    session.dispatch(found("b"));
    expect(session.query(findings).where(({ file }) => file === "b")).toHaveLength(1);
  });
});
