// Whoever watches a run's session is told after the commit, and cannot harm it; what an observer dispatches is committed next.

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

/** How many words there were, told by an observer. */
const counts = defineSlice({
  name: "counts",
  schema: z.number(),
  reducers: { Counted: append(({ n }: { type: "Counted"; n: number }) => n) },
});

const counting = (session: Session) =>
  void session.observe(words, (all) => session.dispatch({ type: "Counted", n: all.length }));

describe("an observer", () => {
  it("is told of a change after its commit, with what was there before", async () => {
    const store = await memoryStore();
    const heard: Json[] = [];
    const listening = tapped(store, (intent) => {
      if (intent === "commitTurn") heard.push("commits");
    });
    const { say } = sayTool();
    const { runner } = sayer(listening, { say }, [saying("one"), saying("two")], {
      onSession: (session) => void session.observe(words, (all, before) => heard.push([before, all])),
    });
    await runner.run("Go", { runId: "r-1" });
    expect(heard).toEqual(["commits", [[], ["one"]], "commits", [["one"], ["one", "two"]], "commits"]);
  });

  it("is not told of what a commit that is refused would have changed", async () => {
    const store = await memoryStore();
    const heard: Json[] = [];
    const refusing = tapped(store, (intent) => {
      if (intent === "commitTurn") throw new Error("No.");
    });
    const { say } = sayTool();
    const onSession = (session: Session) => void session.observe(words, (all) => heard.push(all));
    await runUntilFailure(sayer(refusing, { say }, [saying("one")], { onSession }).runner);
    expect(heard).toEqual([]);
  });

  it("that throws harms nobody, and is told of", async () => {
    const store = await memoryStore();
    const heard: Json[] = [];
    const { say } = sayTool();
    const { runner } = sayer(store, { say }, [saying("one"), saying("two")], {
      onSession: (session) => {
        session.observe(words, () => {
          throw new Error("I fell over.");
        });
        session.observe(words, (all) => heard.push(all));
        session.bus.subscribe("ObserverFailed", ({ message }) => heard.push(message));
        session.bus.subscribe("TurnCommitted", () => {
          throw new Error("So did I.");
        });
      },
    });
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("succeeded");
    const fell = "An observer of slice words failed: I fell over.";
    const handler = "A handler of TurnCommitted failed: So did I.";
    expect(heard).toEqual([fell, ["one"], handler, fell, ["one", "two"], handler, handler]);
    expect(await storedSlice(store)).toEqual(["one", "two"]);
  });

  it("is told of nothing once the run is over, and cannot change its session any more", async () => {
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

describe("what an observer dispatches", () => {
  const options: RunnerOptions = { slices: [words, counts], onSession: counting };

  it("is in the next commit", async () => {
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

  it("before the first step is in the first commit", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const onSession = (session: Session) => session.dispatch(said("zero"));
    await sayer(store, { say }, [saying("one")], { onSession }).runner.run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual(["zero", "one"]);
  });

  it("in answer to the last change of a step is in the commit of that step's end", async () => {
    const store = await memoryStore();
    const talk = Step.run("talk", (_input: Json, ctx) => ctx.session.dispatch(said("one")));
    const rest = Step.run("rest", () => null);
    await new Runner(Pipeline.of("p", talk, rest), { store, ...options }).run("Go", { runId: "r-1" });
    expect(await storedSlice(store, "counts")).toEqual([1]);
  });

  it("while a commit is under way is in the commit after it, and not lost", async () => {
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

  it("is seen by the tools of the next turn", async () => {
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

  /** Everything that the store has of the run, but for its blobs. */
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

  it("in what a tool tells the session are hidden in receipts, slices, checkpoints and on the bus", async () => {
    const store = await memoryStore();
    const heard: string[] = [];
    const step = Step.run("code", (_input: Json, ctx) => ctx.call(keep, { token: secret(token) }));
    const onSession = (session: Session) => {
      session.bus.subscribe("ToolInvoked", (event) => heard.push(JSON.stringify(event)));
      session.observe(words, (all) => heard.push(...all));
    };
    await new Runner(step, { store, slices: [words], onSession }).run("Go", { runId: "r-1" });
    expect(await storedSlice(store)).toEqual([expect.stringMatching(MARK)]);
    expect(heard).toEqual([expect.stringMatching(MARK)]);
    expect(await allOf(store)).not.toContain(token);
  });

  it("of a tool's operator are hidden whoever says them", async () => {
    const store = await memoryStore();
    const heard: string[] = [];
    const { runner } = runnerOf(
      store,
      { keep: { ...keep, secrets: [secret(token)] } },
      [asking(["keep", { token }])],
      {
        slices: [words],
        onSession: (session) =>
          void session.bus.subscribe("ToolInvoked", (event) => heard.push(JSON.stringify(event))),
      },
    );
    await runner.run("Go", { runId: "r-1" });
    expect(heard).toHaveLength(1);
    expect(heard.join("")).not.toContain(token);
    expect(await storedSlice(store)).toEqual([expect.stringMatching(MARK)]);
    expect(await allOf(store)).not.toContain(token);
  });

  it("that code tells the session itself are hidden like what its tools tell", async () => {
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

it("a session is given anew to each worker, with what the store has of it", async () => {
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
