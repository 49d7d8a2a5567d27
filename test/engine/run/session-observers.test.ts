// Observers of a run's session are notified after the commit and cannot harm it; their own events are in the next
// commit.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  append,
  defineSlice,
  type Json,
  Pipeline,
  Runner,
  type RunnerOptions,
  type Session,
  Step,
  secret,
  tool,
} from "../../../src/index.ts";
import { asking, crashAt, runnerOf } from "../call/call-fixture.ts";
import { memoryStore, must, scriptedAgent } from "../run-fixture.ts";
import {
  runUntilFailure,
  said,
  sayer,
  saying,
  sayTool,
  storedSlice,
  tapped,
  words,
} from "../session-fixture.ts";

/** The number of words, recorded by an observer. */
const counts = defineSlice({
  name: "counts",
  schema: z.number(),
  reducers: { Counted: append(({ n }: { type: "Counted"; n: number }) => n) },
});

const counting = (session: Session) =>
  void session.observe(words, (all) => session.dispatch({ type: "Counted", n: all.length }));

describe("an observer", () => {
  it("is notified of a change after its commit, with the earlier values", async () => {
    const store = await memoryStore();
    const notified: Json[] = [];
    const listening = tapped(store, (intent) => {
      if (intent === "commitTurn") notified.push("commits");
    });
    const { say } = sayTool();
    const { runner } = sayer(listening, { say }, [saying("one"), saying("two")], {
      onSession: (session) => void session.observe(words, (all, before) => notified.push([before, all])),
    });
    await runner.run("Go", { runId: "r-1" });
    expect(notified).toEqual(["commits", [[], ["one"]], "commits", [["one"], ["one", "two"]], "commits"]);
  });

  it("is not notified of a change whose commit is refused", async () => {
    const store = await memoryStore();
    const notified: Json[] = [];
    const refusing = tapped(store, (intent) => {
      if (intent === "commitTurn") throw new Error("No.");
    });
    const { say } = sayTool();
    const onSession = (session: Session) => void session.observe(words, (all) => notified.push(all));
    await runUntilFailure(sayer(refusing, { say }, [saying("one")], { onSession }).runner);
    expect(notified).toEqual([]);
  });

  it("that throws harms nothing, and is reported on the bus", async () => {
    const store = await memoryStore();
    const notified: Json[] = [];
    const { say } = sayTool();
    const { runner } = sayer(store, { say }, [saying("one"), saying("two")], {
      onSession: (session) => {
        session.observe(words, () => {
          throw new Error("The observer broke.");
        });
        session.observe(words, (all) => notified.push(all));
        session.bus.subscribe("ObserverFailed", ({ message }) => notified.push(message));
        session.bus.subscribe("TurnCommitted", () => {
          throw new Error("The handler broke.");
        });
      },
    });
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("succeeded");
    const observer = "An observer of slice words failed: The observer broke.";
    const handler = "A handler of TurnCommitted failed: The handler broke.";
    expect(notified).toEqual([observer, ["one"], handler, observer, ["one", "two"], handler, handler]);
    expect(await storedSlice(store)).toEqual(["one", "two"]);
  });

  it("is not notified after the run has ended, and cannot change its session any more", async () => {
    const store = await memoryStore();
    const sessions: Session[] = [];
    const { say } = sayTool();
    const { runner } = sayer(store, { say }, [saying("one")], {
      onSession: (session) => void sessions.push(session),
    });
    await runner.run("Go", { runId: "r-1" });
    expect(() => must(sessions[0]).dispatch(said("two"))).toThrow(/is closed/);
    expect(must(sessions[0]).query(words).all()).toEqual(["one"]);
  });
});

describe("events that an observer dispatches", () => {
  const options: RunnerOptions = { slices: [words, counts], onSession: counting };

  it("are in the next commit", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const written: Json[] = [];
    const listening = tapped(store, (intent, argument) => {
      const { session } = argument as { session?: { slices: { name: string }[] } };
      written.push([intent, session?.slices.map(({ name }) => name) ?? null]);
    });
    await sayer(listening, { say }, [saying("one"), saying("two")], options).runner.run("Go", {
      runId: "r-1",
    });
    expect(written).toEqual([
      ["commitTurn", ["words"]],
      ["commitTurn", ["words", "counts"]],
      ["commitTurn", ["counts"]],
      ["finishStep", []],
    ]);
    expect(await storedSlice(store, "counts")).toEqual([1, 2]);
  });

  it("before the first step are in the first commit", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const onSession = (session: Session) => session.dispatch(said("zero"));
    await sayer(store, { say }, [saying("one")], { onSession }).runner.run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["zero", "one"]);
  });

  it("in reaction to the last change of a step are in the commit of that step's end", async () => {
    const store = await memoryStore();
    const talk = Step.run("talk", (_input: Json, ctx) => ctx.session.dispatch(said("one")));
    const rest = Step.run("rest", () => null);
    await new Runner(Pipeline.of("p", talk, rest), { store, ...options }).run("Go", { runId: "r-1" });
    expect(await storedSlice(store, "counts")).toEqual([1]);
  });

  it("during a commit are in the commit after it, and not lost", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const sessions: Session[] = [];
    let commits = 0;
    const meanwhile = tapped(store, (intent) => {
      if (intent === "commitTurn" && ++commits === 1) must(sessions[0]).dispatch({ type: "Counted", n: 7 });
    });
    const { runner } = sayer(meanwhile, { say }, [saying("one")], {
      slices: [words, counts],
      onSession: (session) => void sessions.push(session),
    });
    await runner.run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["one"]);
    expect(await storedSlice(store, "counts")).toEqual([7]);
  });

  it("are visible to the tools of the next turn", async () => {
    const store = await memoryStore();
    const seen: unknown[] = [];
    const { say } = sayTool({}, (word, call) => {
      seen.push(call.session.query(counts).all());
      call.session.dispatch(said(word));
    });
    await sayer(store, { say }, [saying("one"), saying("two")], options).runner.run("Go", { runId: "r-1" });
    expect(seen).toEqual([[], [1]]);
  });
});

describe("secrets", () => {
  const token = "s3cr3t-t0k3n";
  const MARK = /^\[secret:[0-9a-f]{12}\]$/;
  const keep = tool({
    name: "keep",
    description: "Keeps a token.",
    inputSchema: z.object({ token: z.string() }),
    effect: "external",
    execute: (input, call) => {
      call.session.dispatch(said(input.token));
      return "kept";
    },
  });

  /** Everything that the store has of the run, except its blobs. */
  async function allOf(store: Awaited<ReturnType<typeof memoryStore>>): Promise<string> {
    return JSON.stringify([
      await store.readSession("r-1"),
      await store.listToolCalls("r-1"),
      await store.listEvents("r-1"),
      await Promise.all(
        (await store.listCheckpoints("r-1")).map((each) => store.readCheckpoint("r-1", each.checkpoint)),
      ),
    ]);
  }

  it("in a tool's session events are hidden in receipts, slices, checkpoints and on the bus", async () => {
    const store = await memoryStore();
    const notified: string[] = [];
    const step = Step.run("code", (_input: Json, ctx) => ctx.call(keep, { token: secret(token) }));
    const onSession = (session: Session) => {
      session.bus.subscribe("ToolInvoked", (event) => notified.push(JSON.stringify(event)));
      session.observe(words, (all) => notified.push(...all));
    };
    await new Runner(step, { store, slices: [words], onSession }).run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual([expect.stringMatching(MARK)]);
    expect(notified).toEqual([expect.stringMatching(MARK)]);
    expect(await allOf(store)).not.toContain(token);
  });

  it("of a tool's operator are hidden in every event", async () => {
    const store = await memoryStore();
    const notified: string[] = [];
    const { runner } = runnerOf(
      store,
      { keep: { ...keep, secrets: [secret(token)] } },
      [asking(["keep", { token }])],
      {
        slices: [words],
        onSession: (session) =>
          void session.bus.subscribe("ToolInvoked", (event) => notified.push(JSON.stringify(event))),
      },
    );
    await runner.run("Go", { runId: "r-1" });
    expect(notified).toHaveLength(1);
    expect(notified.join("")).not.toContain(token);
    expect(await storedSlice(store)).toEqual([expect.stringMatching(MARK)]);
    expect(await allOf(store)).not.toContain(token);
  });

  it("in session events of code are hidden like those in its tools' events", async () => {
    const store = await memoryStore();
    const step = Step.run("code", async (_input: Json, ctx) => {
      await ctx.call(keep, { token: secret(token) });
      ctx.session.dispatch(said(token));
    });
    await new Runner(step, { store, slices: [words] }).run("Go", { runId: "r-1" });
    expect(await allOf(store)).not.toContain(token);
    expect(await storedSlice(store)).toEqual([expect.stringMatching(MARK), expect.stringMatching(MARK)]);
  });
});

it("tags are those of the runner, and in every checkpoint", async () => {
  const store = await memoryStore();
  const { say } = sayTool();
  const { agent } = scriptedAgent([saying("one"), { text: "End." }], { tools: { say }, slices: [words] });
  const seen: unknown[] = [];
  const runner = new Runner(agent, {
    store,
    tags: { team: "blue" },
    onSession: (session) => void seen.push([session.id, session.tags]),
  });
  await runner.run("Go", { runId: "r-1" });
  expect(seen).toEqual([["r-1", { team: "blue" }]]);
  const { snapshot } = must(await store.readCheckpoint("r-1"));
  expect(snapshot).toMatchObject({ version: 1, session: { id: "r-1", tags: { team: "blue" } } });
});

it("each worker gets a new session with the stored values", async () => {
  const store = await memoryStore();
  const { say } = sayTool();
  const sessions: (readonly string[])[] = [];
  const onSession = (session: Session) => void sessions.push(session.query(words).all());
  const script = [saying("one"), saying("two")];
  await runUntilFailure(
    sayer(store, { say }, script, { onSession, probe: crashAt("turn:committed", 2) }).runner,
  );
  await sayer(store, { say }, script, { onSession }).runner.resume("r-1");
  expect(sessions).toEqual([[], ["one", "two"]]);
});
