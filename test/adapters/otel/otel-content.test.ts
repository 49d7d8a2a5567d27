// The content of a run: in its spans if that is enabled, and its secrets never.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { otel } from "../../../src/adapters/otel/otel.ts";
import {
  Pipeline,
  Runner,
  type RunnerOptions,
  Step,
  type StepNode,
  secret,
  tool,
} from "../../../src/index.ts";
import { failureOf, memoryStore, scriptedAgent, sleeplessClock } from "../../engine/run-fixture.ts";
import { leaksIn, SECRET } from "../../engine/secret-fixture.ts";
import { exported, measuring, spanNamed, tracing } from "./otel-fixture.ts";
import { asking, readOnlyTool } from "./otel-tools.ts";

/** An agent with instructions and an input that calls a tool, gets its result and answers. */
function conversation({ result = "harvest" } = {}) {
  const look = readOnlyTool("look", () => ({ found: result }));
  const script = [{ text: "thinking", ...asking(["look", "orchard"]) }, { text: "blossom" }];
  const { agent } = scriptedAgent(script, { instructions: "You are a gardener.", tools: { look } });
  return Step.granular("work", agent);
}

const SAID = ["gardener", "meadow", "thinking", "orchard", "harvest", "blossom"];

async function conversed(content: boolean, options: Parameters<typeof conversation>[0] = {}) {
  const { spans } = tracing();
  const store = await memoryStore();
  await new Runner(conversation(options), { store, telemetry: otel({ content }) }).run("meadow", {
    runId: "r-1",
  });
  return spans();
}

describe("content", () => {
  it("is in no span by default", async () => {
    const text = exported(await conversed(false));
    expect(SAID.filter((word) => text.includes(word))).toEqual([]);
  });

  it("is in the spans in the format of the conventions, if enabled", async () => {
    const spans = await conversed(true);
    expect(SAID.filter((word) => exported(spans).includes(word))).toEqual(SAID);
    const [first, second] = spans.filter(({ name }) => name === "chat scripted-model");
    const contentOf = (span: typeof first) =>
      ["gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"].map(
        (name) => JSON.parse(String(span?.attributes[name])) as unknown,
      );
    const asked = {
      type: "tool_call",
      id: "call-1-1",
      name: "look",
      arguments: { q: "orchard" },
    };
    const parts = [{ type: "text", content: "thinking" }, asked];
    const task = { role: "user", parts: [{ type: "text", content: "meadow" }] };
    const instructions = [{ type: "text", content: "You are a gardener." }];
    expect(contentOf(first)).toEqual([
      instructions,
      [task],
      [{ role: "assistant", parts, finish_reason: "tool-calls" }],
    ]);
    const response = { type: "tool_call_response", id: "call-1-1", response: { found: "harvest" } };
    expect(contentOf(second)).toEqual([
      instructions,
      [task, { role: "assistant", parts }, { role: "tool", parts: [response] }],
      [{ role: "assistant", parts: [{ type: "text", content: "blossom" }], finish_reason: "stop" }],
    ]);
    expect(spanNamed(spans, "execute_tool look").attributes).toMatchObject({
      "gen_ai.tool.call.arguments": '{"q":"orchard"}',
      "gen_ai.tool.call.result": '{"found":"harvest"}',
    });
    expect(exported(spans)).not.toContain("pawl.content.cut");
  });

  it("is cut if it is long, stays JSON, and the span is marked", async () => {
    const spans = await conversed(true, { result: "x".repeat(100_000) });
    const texts = spans.flatMap(({ attributes }) =>
      Object.entries(attributes).filter(([name]) => /messages|instructions|arguments|result$/.test(name)),
    );
    expect(texts.length).toBeGreaterThanOrEqual(8);
    for (const [, text] of texts) {
      expect(String(text).length).toBeLessThan(70_000);
      expect(() => JSON.parse(String(text)) as unknown).not.toThrow();
    }
    const [first, second] = spans.filter(({ name }) => name === "chat scripted-model");
    expect(first?.attributes).not.toHaveProperty("pawl.content.cut");
    expect(second?.attributes).toMatchObject({ "pawl.content.cut": true });
    expect(spanNamed(spans, "execute_tool look").attributes).toMatchObject({ "pawl.content.cut": true });
  });
});

describe("a secret is in no span and in no metric, with content or without,", () => {
  const policy = { secretKeys: ["password"] };
  const signIn = tool({
    name: "sign_in",
    description: "Signs in.",
    inputSchema: z.object({ key: z.string() }),
    effect: "read_only",
    execute: ({ key }) => ({ token: `of ${key}` }),
  });
  const fail = tool({
    name: "fail",
    description: "Fails.",
    inputSchema: z.object({ key: z.string() }),
    effect: "read_only",
    execute: ({ key }) => {
      throw new Error(`The key ${key} is refused.`);
    },
  });
  const logIn = tool({
    name: "log_in",
    description: "Logs in.",
    inputSchema: z.object({ password: z.string() }),
    effect: "read_only",
    execute: ({ password }) => ({ password }),
  });
  /** From here on the run knows the secret. */
  const withSecret = Step.run("sign-in", (_input, ctx) => ctx.call(signIn, { key: secret(SECRET) }));
  const speaking = (script: Parameters<typeof scriptedAgent>[0], instructions = "You speak.") =>
    Step.granular("speak", scriptedAgent(script, { instructions, tools: { log_in: logIn } }).agent);

  const places: readonly [string, StepNode, RunnerOptions?][] = [
    ["in the arguments of a tool and in its result", withSecret],
    [
      "in what a tool throws",
      Step.run("try", async (_input, ctx) => {
        await failureOf(ctx.call(fail, { key: secret(SECRET) }));
        return 1;
      }),
    ],
    [
      "in what a step throws",
      Pipeline.of(
        "p",
        withSecret,
        Step.run("throw", () => Promise.reject(new Error(SECRET))),
      ),
    ],
    [
      "under a secret key in the arguments of a call",
      speaking([{ toolCalls: [{ name: "log_in", input: { password: SECRET } }] }, { text: "Done." }]),
      { policy },
    ],
    [
      "in the instructions of a model",
      Pipeline.of("p", withSecret, speaking([{ text: "Done." }], `Never say ${SECRET}.`)),
    ],
    ["in the answer of a model", Pipeline.of("p", withSecret, speaking([{ text: `It is ${SECRET}.` }]))],
    [
      "in the error of a model",
      Pipeline.of(
        "p",
        withSecret,
        speaking(() => {
          throw new Error(`401 for ${SECRET}`);
        }),
      ),
    ],
  ];

  it.each(places)("%s", async (_where, step, options = {}) => {
    const { spans } = tracing();
    const { collect } = measuring();
    const store = await memoryStore();
    const runner = new Runner(step, {
      store,
      clock: sleeplessClock(),
      telemetry: otel({ content: true }),
      ...options,
    });
    await runner.run("Go", { runId: "r-1" }).catch(() => undefined);
    const text = exported(spans()) + JSON.stringify(await collect());
    expect(text).toMatch(/\[secret(?::[0-9a-f]{12}[^"]*)?\]/);
    expect(text).toContain("pawl.tool_calls");
    expect(leaksIn(text)).toEqual([]);
  });
});
