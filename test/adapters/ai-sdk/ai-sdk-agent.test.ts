import { hasToolCall, isStepCount, jsonSchema, Output, tool as sdkTool, ToolLoopAgent } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentOptions, agent, ResumeError, Runner, Step } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { failureAs, failureOf, memoryStore, must } from "../../engine/run-fixture.ts";
import { made, pay, text } from "./tool-loop-agent.ts";

describe("the settings of a ToolLoopAgent", () => {
  it("shape the request as in the AI SDK", async () => {
    const { agent: worker, asked } = made({
      instructions: [
        {
          role: "system",
          content: "You work.",
          providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
        },
        { role: "system", content: "You are kind." },
      ],
      maxOutputTokens: 77,
      temperature: 0.5,
      topP: 0.9,
      topK: 4,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      stopSequences: ["STOP"],
      seed: 7,
      reasoning: "low",
      providerOptions: { openai: { store: false } },
      headers: { "x-team": "blue" },
      tools: {
        pay: sdkTool({
          description: "Pays.",
          inputSchema: text,
          execute: () => "paid",
          strict: true,
          inputExamples: [{ input: { text: "bob" } }],
          providerOptions: { anthropic: { eager: true } },
        }),
        find: sdkTool({ inputSchema: text, execute: () => "found" }),
        hide: sdkTool({ inputSchema: text, execute: () => "hidden" }),
      },
      activeTools: ["pay", "find"],
      toolOrder: ["find"],
      toolChoice: { type: "tool", toolName: "pay" },
    });
    await new Runner(worker, { store: await memoryStore() }).run("Go");

    expect(asked[0]).toMatchObject({
      maxOutputTokens: 77,
      temperature: 0.5,
      topP: 0.9,
      topK: 4,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      stopSequences: ["STOP"],
      seed: 7,
      reasoning: "low",
      providerOptions: { openai: { store: false } },
      headers: { "x-team": "blue" },
      toolChoice: { type: "tool", toolName: "pay" },
      tools: [
        { name: "find" },
        {
          name: "pay",
          strict: true,
          inputExamples: [{ input: { text: "bob" } }],
          providerOptions: { anthropic: { eager: true } },
        },
      ],
    });
    expect(asked[0]?.tools).toHaveLength(2);
    expect(asked[0]?.prompt[0]).toEqual({
      role: "system",
      content: "You work.\n\nYou are kind.",
      providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
    });
  });

  it.each([
    ["topK", { topK: 4 }],
    ["toolChoice", { toolChoice: "required" }],
    ["toolOptions", { tools: { pay: { ...pay, strict: true } } }],
    [
      "instructionOptions",
      { instructions: { role: "system", content: "Work.", providerOptions: { a: { b: 1 } } } },
    ],
  ] as const)("are pinned with the run: %s", async (setting, change) => {
    const store = await memoryStore();
    const step = (options: Partial<AgentOptions<unknown>>, maxTurns: number) => {
      const worker = made({ instructions: "Work.", tools: { pay }, ...options }, () => ({
        text: "Not yet.",
      })).agent;
      return new Runner(Step.granular("s", worker, { maxTurns, completion: "signal" }), { store });
    };
    await failureOf(step({}, 1).run("Go", { runId: "r-1" }));
    const { details } = await failureAs(ResumeError, step(change as never, 2).resume("r-1"));
    expect(JSON.stringify(details)).toContain(`settings.${setting}`);
  });

  it("may name a tool that the model does not call: its answer is paid for, and kept", async () => {
    const { agent: worker } = made({ tools: { pay }, toolChoice: "required" });
    expect((await new Runner(worker, { store: await memoryStore() }).run("Go")).output).toBe("End.");
  });

  it("may contain headers, which are stored nowhere", async () => {
    const store = await memoryStore();
    const { agent: worker } = made({ headers: { authorization: "Bearer tok-1" } });
    expect(JSON.stringify(worker)).not.toContain("tok-1");
    await new Runner(worker, { store }).run("Go", { runId: "r-1" });
    expect(JSON.stringify(await store.listEvents("r-1"))).not.toContain("tok-1");
  });

  it("name the agent by `id` unless there is a `name`", () => {
    const model = scriptedModel([]);
    expect(agent({ id: "by-id", model }).name).toBe("by-id");
    expect(agent({ id: "by-id", name: "by-name", model }).name).toBe("by-name");
    expect(() => agent({ model })).toThrow(
      "An agent needs a name: give it one as `name`, or as the AI SDK's `id`.",
    );
  });

  it("that do not affect the agent's work are accepted and ignored", () => {
    const { agent: worker } = made({
      maxRetries: 5,
      telemetry: { isEnabled: true },
      include: { requestBody: false },
      allowSystemInMessages: true,
    });
    expect(worker.settings).toEqual({ maxOutputTokens: 4_096 });
  });

  it.each([
    ["prepareStep", () => ({}), "promptTemplate"],
    ["prepareCall", () => ({}), "promptTemplate"],
    ["callOptionsSchema", z.object({}), "runner.run(input)"],
    ["repairToolCall", () => null, "gets the error and calls the tool again"],
    ["experimental_refineToolInput", {}, "inputSchema"],
    ["experimental_toolCallers", {}, "ctx.call"],
    ["onStepEnd", () => undefined, "runner.stream"],
    ["onFinish", () => undefined, "runner.stream"],
  ])("that cannot be supported are refused with an alternative: %s", (setting, value, instead) => {
    const refused = () => made({ [setting]: value });
    expect(refused).toThrow(`Agent worker cannot have ${setting}: `);
    expect(refused).toThrow(instead);
  });

  it("limit the number of turns by stopWhen, and nothing else", () => {
    const turns = (stopWhen: unknown) => made({ stopWhen } as never).agent.maxTurns;
    expect(turns(isStepCount(5))).toBe(5);
    expect(turns([isStepCount(30), isStepCount(7)])).toBe(7);
    expect(turns(undefined)).toBeNull();
    const refused =
      "Agent worker has a stopWhen other than isStepCount(n): define when it is done with Step.granular";
    for (const stopWhen of [
      hasToolCall("finish"),
      ({ steps }: { steps: { text: string }[] }) => steps.length === 3 || steps[0]?.text === "x",
      () => true,
      () => false,
      () => Promise.resolve(true),
      [isStepCount(5), hasToolCall("finish")],
    ])
      expect(() => turns(stopWhen)).toThrow(refused);
  });

  it("that are unknown are refused, and undefined ones are ignored", () => {
    expect(() => made({ temprature: 0 } as never)).toThrow(
      'Agent worker has no "temprature": did you mean temperature?',
    );
    expect(() => made({ stopWhen: undefined, onEnd: undefined } as never)).not.toThrow();
  });

  it("are private to an instance, which is refused", () => {
    const instance = new ToolLoopAgent({ id: "loop", model: new MockLanguageModelV4() });
    expect(() => agent(instance as never)).toThrow(
      "agent() was given a ToolLoopAgent, whose settings are private: pass the settings that it was made from.",
    );
  });
});

describe("limits on tools", () => {
  it("of one call at a time run calls one after the other", async () => {
    const running: number[] = [];
    let now = 0;
    const slow = sdkTool({
      inputSchema: text,
      execute: async () => {
        running.push(++now);
        await new Promise((resolve) => setImmediate(resolve));
        now--;
      },
    });
    const calls = ["a", "b", "c"].map((each) => ({ name: "slow", input: { text: each } }));
    const { agent: worker } = made({ tools: { slow }, toolCallConcurrency: 1 }, [
      { toolCalls: calls },
      { text: "End." },
    ]);
    await new Runner(worker, { store: await memoryStore() }).run("Go");
    expect(running).toEqual([1, 1, 1]);
  });

  it("of another number belong to the Runner", () => {
    expect(() => made({ toolCallConcurrency: 3 })).toThrow("set maxParallelToolCalls of the Runner");
  });

  it("in time become the timeouts of each tool", () => {
    const { tools } = made({
      tools: { pay, find: pay },
      timeout: { toolMs: 2_000, tools: { findMs: 3_000 } },
    }).agent;
    expect([tools.pay?.timeoutMs, tools.find?.timeoutMs]).toEqual([2_000, 3_000]);
  });

  it.each([[5_000], [{ totalMs: 5_000 }], [{ stepMs: 1 }]])(
    "in time for the whole run belong to the Runner: %j",
    (timeout) => {
      expect(() => made({ timeout })).toThrow("set modelTimeoutMs of the Runner");
    },
  );
});

describe("an output whose schema is a promise", () => {
  it("is awaited: the first request has it, and the run keeps its fingerprint", async () => {
    const late = Promise.withResolvers<void>();
    const known = { type: "object", properties: { said: { type: "string" } }, required: ["said"] } as const;
    const schema = jsonSchema<{ said: string }>(() => late.promise.then(() => known));
    const { agent: worker, asked } = made({ output: Output.object({ schema }) }, () => ({
      text: '{"said":"yes"}',
    }));
    const running = new Runner(worker, { store: await memoryStore() }).run("Go");
    setImmediate(() => late.resolve());
    expect((await running).output).toEqual({ said: "yes" });
    expect(asked[0]?.responseFormat).toMatchObject({ schema: { properties: { said: { type: "string" } } } });
  });

  it("that rejects fails the run before the model is called", async () => {
    const schema = jsonSchema<never>(() => Promise.reject(new Error("The schema server is down.")));
    const { agent: worker, asked } = made({ output: Output.object({ schema }) });
    await expect(new Runner(worker, { store: await memoryStore() }).run("Go")).rejects.toThrow(
      "schema server is down",
    );
    expect(asked).toEqual([]);
  });
});

describe("an output of the AI SDK", () => {
  const answered = async (output: unknown, answers: string[]) => {
    const { agent: worker, asked } = made({ output } as never, ({ turn }) => ({
      text: must(answers[turn - 1]),
    }));
    const result = await new Runner(worker, { store: await memoryStore() }).run("Go");
    return { output: result.output, format: asked[0]?.responseFormat, asked };
  };

  it("is an object that fits its schema", async () => {
    const output = Output.object({
      schema: z.object({ n: z.number() }),
      name: "count",
      description: "How many.",
    });
    const end = await answered(output, ['{"n":"many"}', '{"n":3}']);
    expect(end.output).toEqual({ n: 3 });
    expect(end.format).toMatchObject({
      type: "json",
      schema: { title: "count", description: "How many.", properties: { n: { type: "number" } } },
    });
    expect(JSON.stringify(end.asked[1]?.prompt.at(-1))).toContain("Your answer does not fit the schema");
  });

  it.each([
    ["text", Output.text(), "plain", "plain"],
    ["a list", Output.array({ element: z.string() }), '{"elements":["a","b"]}', ["a", "b"]],
    ["a choice", Output.choice({ options: ["yes", "no"] }), '{"result":"no"}', "no"],
    ["any JSON", Output.json(), "[1]", [1]],
  ])("is %s", async (_, output, answer, read) => {
    expect((await answered(output, [answer])).output).toEqual(read);
  });

  it("is pinned by its schema", async () => {
    const store = await memoryStore();
    const step = (schema: z.ZodType, maxTurns: number) => {
      const options = { output: Output.object({ schema }) } as never;
      const worker = made(options, () => ({ text: '{"n":1,"done":false}' })).agent;
      return new Runner(Step.granular("s", worker, { maxTurns }), { store });
    };
    const count = z.object({ n: z.number(), done: z.boolean() });
    await failureOf(step(count, 1).run("Go", { runId: "r-1" }));
    const { details } = await failureAs(ResumeError, step(count.extend({ m: z.number() }), 2).resume("r-1"));
    expect(JSON.stringify(details)).toContain("switches.outputSchema");
  });
});
