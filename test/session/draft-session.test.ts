import { describe, expect, it } from "vitest";
import { ConfigurationError, NotJsonError, SliceValueError } from "../../src/core/errors.ts";
import { DraftSession } from "../../src/session/draft-session.ts";
import { Session } from "../../src/session/session.ts";
import { EMPTY_STATE } from "../../src/session/slice-set.ts";
import { audit, findings, found } from "./session-samples.ts";

function newSession(): Session {
  return new Session({ id: "s-1", createdAt: 7, slices: [findings, audit], tags: { team: "red" } });
}

describe("a draft of a session", () => {
  it("sees the given state plus its own dispatched events, and leaves the session unchanged", () => {
    const session = newSession();
    session.dispatch(found("a"));
    const draft = new DraftSession(session, () => session.state);
    draft.dispatch(found("b"));
    expect(
      draft
        .query(findings)
        .all()
        .map(({ file }) => file),
    ).toEqual(["a", "b"]);
    expect(
      session
        .query(findings)
        .all()
        .map(({ file }) => file),
    ).toEqual(["a"]);
  });

  it("has the session's id, time and tags", () => {
    const draft = new DraftSession(newSession(), () => EMPTY_STATE);
    expect([draft.id, draft.createdAt, draft.tags]).toEqual(["s-1", 7, { team: "red" }]);
  });

  it("reads its state on first use, and only once", () => {
    const session = newSession();
    let reads = 0;
    const draft = new DraftSession(session, () => {
      reads++;
      return session.state;
    });
    const query = draft.query(findings);
    expect(reads).toBe(0);
    expect(query.all()).toEqual([]);
    session.dispatch(found("late"));
    draft.dispatch(found("a"));
    expect(query.all()).toEqual([{ file: "a", score: 1 }]);
    expect(reads).toBe(1);
  });

  it("keeps its events in order, as they were when dispatched", () => {
    const draft = new DraftSession(newSession(), () => EMPTY_STATE);
    const event = found("a");
    draft.dispatch(event);
    event.file = "changed";
    draft.dispatch(found("b"));
    expect(draft.events).toEqual([found("a"), found("b")]);
    expect(() => Object.assign(draft.events[0] ?? {}, { file: "c" })).toThrow(TypeError);
  });

  it("reaches the same state as a session with the same events", () => {
    const session = newSession();
    const draft = new DraftSession(session, () => session.state);
    draft.dispatch(found("a"));
    draft.dispatch(found("a", 2));
    for (const event of draft.events) session.dispatch(event);
    expect(draft.state).toEqual(session.state);
  });

  it("keeps no refused event", () => {
    const draft = new DraftSession(newSession(), () => EMPTY_STATE);
    expect(() => draft.dispatch({ type: "Found", file: 7 })).toThrow(SliceValueError);
    expect(() => draft.dispatch({ type: "Lost" })).toThrow(ConfigurationError);
    expect(() => draft.dispatch({ type: "Found", file: new Date(0) } as never)).toThrow(NotJsonError);
    expect(draft.events).toEqual([]);
    expect(draft.state).toBe(EMPTY_STATE);
  });

  it("takes no more events once it has ended, and can still be read", () => {
    const draft = new DraftSession(newSession(), () => EMPTY_STATE);
    draft.dispatch(found("a"));
    draft.end();
    expect(() => draft.dispatch(found("b"))).toThrow(ConfigurationError);
    expect(() => draft.dispatch(found("b"))).toThrow(/Found came after its tool call had ended/);
    expect(draft.events).toEqual([found("a")]);
    expect(draft.query(findings).all()).toHaveLength(1);
  });
});
