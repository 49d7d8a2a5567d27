// Calls that need a person's approval: asked with the final arguments, bound to them, for one call.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  AlreadySettledError,
  ConfigurationError,
  NotApplied,
  type Policy,
  RunNotBegunError,
  type RunnerOptions,
  type ToolDefinition,
  tool,
} from "../../../src/index.ts";
import {
  acting,
  actTool,
  asking,
  crashAt,
  jumpingClock,
  ledger,
  runnerOf,
  timedStore,
} from "../call/call-fixture.ts";
import {
  collect,
  databaseFile,
  failureAs,
  failureOf,
  fileStore,
  memoryStore,
  must,
  toolResults,
} from "../run-fixture.ts";

type Options = NonNullable<Parameters<typeof actTool>[1]>;

/** A run that waits before a call which needs approval. */
async function waiting(
  options: Options = { approval: true },
  turns = [acting("a")],
  execute?: (n: number) => unknown,
) {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  const { act, calls, whats } = actTool(execute, options);
  const make = (more: RunnerOptions = {}) => runnerOf(store, { act }, turns, { clock, ...more });
  const result = await make().runner.run("Go", { runId: "r-1" });
  return { store, result, act, calls, whats, make, ...make() };
}

describe("who approves", () => {
  const approverIn = async (options: Options, policy: Policy = {}) => {
    const store = await memoryStore();
    const { act } = actTool(undefined, { approval: true, ...options });
    await runnerOf(store, { act }, [acting("a")], { policy }).runner.run("Go", { runId: "r-1" });
    const [wait] = await store.listWaits("r-1");
    return must(wait).subject.approver;
  };

  it("is an operator, unless the tool says that it is the user", async () => {
    expect(await approverIn({})).toBeUndefined();
    expect(await approverIn({ approver: "operator" })).toBeUndefined();
    expect(await approverIn({ approver: "user" })).toBe("user");
  });

  it("is an operator for what the policy asks about, whatever the tool says", async () => {
    expect(await approverIn({ approver: "user" }, { approve: [{ match: "act" }] })).toBeUndefined();
    expect(await approverIn({ approver: "user" }, { approve: [{ match: "other_*" }] })).toBe("user");
  });

  it("is refused for any other word", () => {
    expect(() => actTool(undefined, { approver: "boss" as never })).toThrow(/use operator, user/);
  });
});

describe("whether approval is needed", () => {
  const asks = async (options: Options, policy: Policy = {}, what = "a") => {
    const store = await memoryStore();
    const { act, whats } = actTool(undefined, options);
    const { status } = await runnerOf(store, { act }, [acting(what)], { policy }).runner.run("Go");
    expect(whats).toHaveLength(status === "waiting" ? 0 : 1);
    return status === "waiting";
  };

  it("is declared by the tool, always or depending on the arguments", async () => {
    expect(await asks({ approval: true })).toBe(true);
    expect(await asks({ approval: false })).toBe(false);
    const approval: Options["approval"] = ({ what }) => what === "dear";
    expect(await asks({ approval }, {}, "dear")).toBe(true);
    expect(await asks({ approval }, {}, "cheap")).toBe(false);
  });

  it("is assumed if the tool's function throws", async () => {
    const approval = () => must<boolean>(null);
    expect(await asks({ approval })).toBe(true);
  });

  it("is also decided by the policy, by the tool's effect", async () => {
    expect(await asks({ effect: "external" }, { approve: ["external", "memory"] })).toBe(true);
    expect(await asks({ effect: "memory", dedupe: "call" }, { approve: ["external", "memory"] })).toBe(true);
    expect(await asks({ effect: "local" }, { approve: ["external", "memory"] })).toBe(false);
    expect(await asks({ effect: "read_only" }, { approve: ["external"] })).toBe(false);
    expect(await asks({ effect: "external" }, { approve: [] })).toBe(false);
    // The tool's own setting cannot loosen the policy.
    expect(await asks({ effect: "external", approval: false }, { approve: ["external"] })).toBe(true);
  });
});

describe("the subject of an approval", () => {
  it("is the tool and its exact final arguments, with defaults and key", async () => {
    const store = await memoryStore();
    const pay = tool({
      name: "pay",
      description: "Pays.",
      inputSchema: z.object({
        amount: z.number(),
        currency: z.string().default("EUR"),
        idempotencyKey: z.string(),
      }),
      effect: "external",
      recovery: "keyed",
      approval: true,
      execute: () => "paid",
    });
    const { runner } = runnerOf(store, { pay }, [asking(["pay", { amount: 5 }])]);
    const { status, output, waits } = await runner.run("Go", { runId: "r-1" });
    const [call] = await store.listToolCalls("r-1");
    const key = must(call).idempotencyKey;
    expect([status, output, call?.status, call?.attempt]).toEqual(["waiting", null, "prepared", 0]);
    expect(waits).toEqual([
      {
        waitId: "r-1~1",
        matches: null,
        dueAt: null,
        onDue: null,
        remindAt: null,
        reminders: 0,
        escalatedAt: null,
        runId: "r-1",
        kind: "approval",
        toolCallId: "r-1/worker#1.1",
        attempt: 0,
        question: "May pay run with these arguments?",
        subject: {
          tool: "pay",
          effect: "external",
          recovery: "keyed",
          arguments: { amount: 5, currency: "EUR", idempotencyKey: key },
          requested: { amount: 5 },
          idempotencyKey: key,
        },
        argumentsHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        status: "open",
        createdAt: expect.any(Number) as number,
        answeredAt: null,
        answeredBy: null,
        people: [],
        answer: null,
      },
    ]);
    expect(await store.listWaits("r-1")).toEqual(waits);
  });

  it("has both the JSON form of the final arguments and the requested ones if the schema transforms them", async () => {
    const store = await memoryStore();
    const book = tool({
      name: "book",
      description: "Books.",
      inputSchema: z.object({ day: z.iso.date().transform((text) => new Date(text)) }),
      approval: true,
      execute: () => "booked",
    });
    const { runner } = runnerOf(store, { book }, [asking(["book", { day: "2026-05-01" }])]);
    const { waits } = await runner.run("Go", { runId: "r-1" });
    expect(waits[0]?.subject).toMatchObject({
      arguments: { day: "2026-05-01T00:00:00.000Z" },
      requested: { day: "2026-05-01" },
    });
    await store.approve("r-1~1");
    expect((await runner.resume("r-1")).output).toBe("End.");
  });
});

describe("an approved call", () => {
  it("runs once in another process, and the model gets its result", async () => {
    const file = databaseFile();
    const { act, calls } = actTool(undefined, { approval: true });
    const first = await fileStore(file);
    const { waits } = await runnerOf(first, { act }, [acting("a")]).runner.run("Go", { runId: "r-1" });
    expect(calls).toEqual([]);
    await first.close();

    const office = await fileStore(file);
    await office.approve(must(waits[0]).waitId, { by: "ann" });
    await office.close();

    const second = await fileStore(file);
    const { runner, prompts } = runnerOf(second, { act }, [acting("a")]);
    expect(await runner.resume("r-1")).toMatchObject({ output: "End.", waits: [] });
    expect(toolResults(prompts[0])).toEqual([{ type: "text", value: "done 1" }]);
    expect(calls).toHaveLength(1);
    expect(await second.listWaits("r-1")).toMatchObject([
      { status: "answered", answeredBy: "ann", answer: { approved: true } },
    ]);
  });

  it("cannot be approved or denied a second time, and the first decision counts", async () => {
    const { store, runner, calls } = await waiting();
    await store.approve("r-1~1");
    await failureAs(AlreadySettledError, store.approve("r-1~1"));
    await failureAs(AlreadySettledError, store.deny("r-1~1", "No."));
    expect((await runner.resume("r-1")).output).toBe("End.");
    await failureAs(AlreadySettledError, store.approve("r-1~1"));
    expect(calls).toHaveLength(1);
  });

  it("covers all attempts of that call", async () => {
    const { store, calls, make } = await waiting(
      { approval: true, recovery: "keyed" },
      [acting("a")],
      (n) => {
        if (n === 1) throw new NotApplied("Busy.");
        return "done";
      },
    );
    await store.approve("r-1~1");
    await failureOf(make({ probe: crashAt("tool:executed", 2) }).runner.resume("r-1"));
    expect((await make().runner.resume("r-1")).output).toBe("End.");
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(await store.listWaits("r-1")).toHaveLength(1);
  });

  it("covers no other call, not even an equal one", async () => {
    const { store, runner, calls } = await waiting({ approval: true }, [acting("a"), acting("a")]);
    await store.approve("r-1~1");
    const { status, waits } = await runner.resume("r-1");
    expect([status, calls.length]).toEqual(["waiting", 1]);
    expect(waits).toMatchObject([{ waitId: "r-1~2", toolCallId: "r-1/worker#2.1" }]);
  });
});

describe("a denied call", () => {
  it("never runs: the model gets the reason, and the turn continues", async () => {
    const { store, runner, calls, prompts } = await waiting();
    await store.deny("r-1~1", "Too dear.", { by: "ann" });
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls).toEqual([]);
    expect(toolResults(prompts[0])).toEqual([
      { type: "error-text", value: "A person denied act: Too dear." },
    ]);
    expect(await store.listToolCalls("r-1")).toMatchObject([
      { status: "cancelled", attempt: 0, receipt: { errorCode: "denied", source: "pawl", uncertain: false } },
    ]);
  });
});

describe("arguments that differ from the approved ones", () => {
  /** A tool whose arguments depend on the current day. */
  async function dependsOnDay() {
    const store = await memoryStore();
    const sent: string[] = [];
    let day = "Monday";
    const given: { text: string }[] = [];
    const definition: ToolDefinition<{ text: string }, string> = {
      name: "post",
      description: "Posts.",
      inputSchema: z.object({ text: z.string().transform((text) => `${text} on ${day}`) }),
      recovery: "keyed",
      approval: (input) => given.push(input) > 0,
      execute: ({ text }) => {
        sent.push(text);
        return "posted";
      },
    };
    const turns = [asking(["post", { text: "Hi" }])];
    const make = (more: RunnerOptions = {}) =>
      runnerOf(store, { post: tool(definition) }, turns, more).runner;
    await make().run("Go", { runId: "r-1" });
    return { store, sent, given, make, setDay: (to: string) => void (day = to) };
  }

  it("do not run: they need a new approval, and then run", async () => {
    const { store, sent, make, setDay } = await dependsOnDay();
    await store.approve("r-1~1");
    setDay("Tuesday");
    const { status, waits } = await make().resume("r-1");
    expect([status, sent]).toEqual(["waiting", []]);
    expect(waits).toMatchObject([
      {
        waitId: "r-1~2",
        question: "The arguments of post are not those that were approved. May it run with these?",
        subject: { arguments: { text: "Hi on Tuesday" } },
      },
    ]);
    await store.approve("r-1~2");
    expect((await make().resume("r-1")).output).toBe("End.");
    expect(sent).toEqual(["Hi on Tuesday"]);
  });

  it("of an interrupted call are not sent either: a person is asked", async () => {
    const { store, sent, make, setDay } = await dependsOnDay();
    await store.approve("r-1~1");
    await failureOf(make({ probe: crashAt("tool:executed") }).resume("r-1"));
    expect(sent).toEqual(["Hi on Monday"]);
    setDay("Tuesday");
    expect((await make().resume("r-1")).status).toBe("waiting");
    expect(sent).toEqual(["Hi on Monday"]);
  });

  it("replace a question that is still open", async () => {
    const { store, make, setDay } = await dependsOnDay();
    setDay("Tuesday");
    const { waits } = await make().resume("r-1");
    expect(waits).toMatchObject([{ waitId: "r-1~2", subject: { arguments: { text: "Hi on Tuesday" } } }]);
    await failureAs(AlreadySettledError, store.approve("r-1~1"));
  });

  it("through a late mutation are not sent; the approved ones still can be", async () => {
    const { store, sent, given, make } = await dependsOnDay();
    await store.approve("r-1~1");
    const mutating = make({
      probe: (point) => {
        if (point === "tool:started") must(given.at(-1)).text = "All is free";
      },
    });
    const error = await failureAs(ConfigurationError, mutating.resume("r-1"));
    expect(error.message).toMatch(/changed after they were approved: nothing was sent/);
    expect(sent).toEqual([]);
    expect((await make().resume("r-1")).output).toBe("End.");
    expect(sent).toEqual(["Hi on Monday"]);
  });
});

describe("while an approval is pending", () => {
  it("the other calls of the turn run, and are not run again", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(undefined, { approval: ({ what }) => what === "b" });
    const make = () => runnerOf(store, { act }, [acting("a", "b", "c")]);
    expect((await make().runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect(await ledger(store)).toEqual([
      ["succeeded", 1, "tool"],
      ["prepared", 0, null],
      ["succeeded", 1, "tool"],
    ]);
    await store.approve("r-1~1");
    const { runner, prompts } = make();
    await runner.resume("r-1");
    expect(whats).toEqual(["a", "c", "b"]);
    expect(toolResults(prompts[0]).map((seen) => (seen as { value: string }).value)).toEqual([
      "done 1",
      "done 3",
      "done 2",
    ]);
  });

  it("for two calls, each has its own answer, and the run is ready after the last", async () => {
    const { store, result, whats, make } = await waiting({ approval: true }, [acting("a", "b")]);
    expect(result.waits.map(({ toolCallId }) => toolCallId)).toEqual(["r-1/worker#1.1", "r-1/worker#1.2"]);
    await store.approve("r-1~2");
    expect((await store.getRun("r-1"))?.status).toBe("waiting");
    // An early resume does what is already approved and asks no third question.
    expect((await make().runner.resume("r-1")).waits).toMatchObject([{ waitId: "r-1~1" }]);
    expect(whats).toEqual(["b"]);
    await store.deny("r-1~1", "Not that.");
    expect((await store.getRun("r-1"))?.status).toBe("queued");
    const { runner, prompts } = make();
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(toolResults(prompts[0])).toMatchObject([{ type: "error-text" }, { value: "done 1" }]);
    expect(whats).toEqual(["b"]);
  });

  it("no other run of the same input is started; after the answer the run is resumed", async () => {
    const { store, runner, calls } = await waiting();
    for (const again of [runner.run("Go"), collect(runner.stream("Go"))]) {
      const error = await failureAs(RunNotBegunError, again);
      expect(error.details).toEqual({ why: "waiting", runIds: ["r-1"] });
      expect(error.message).toContain("fresh: true");
    }
    expect(await store.listRuns()).toHaveLength(1);
    await store.approve("r-1~1");
    const { runId, output, resumed } = await runner.run("Go");
    expect([runId, output, resumed, calls.length]).toEqual(["r-1", "End.", true, 1]);
    expect(await store.listRuns()).toHaveLength(1);
  });

  it("a fresh run is separate and asks for its own approval", async () => {
    const { store, runner } = await waiting();
    const { runId, status } = await runner.run("Go", { fresh: true });
    expect([runId === "r-1", status]).toEqual([false, "waiting"]);
    expect(await store.listRuns()).toHaveLength(2);
  });
});
