import { isStepCount, type LanguageModel, Output, tool as sdkTool, type ToolLoopAgentSettings } from "ai";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import type { RefusedSetting } from "../../../src/adapters/ai-sdk/ai-sdk-settings.ts";
import { mcpTools } from "../../../src/adapters/mcp/mcp.ts";
import {
  type Agent,
  type AgentOptions,
  agent,
  ConfigurationError,
  markdown,
  promptTemplate,
  tool,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";

const model: LanguageModel = scriptedModel([{ text: "Done." }]);
const search = sdkTool({
  description: "Searches.",
  inputSchema: z.object({ query: z.string() }),
  contextSchema: z.object({ key: z.string() }),
  execute: ({ query }, { context }) => `${query} with ${context.key}`,
});

describe("the types of agent()", () => {
  it("accept a value that was declared as the settings of a ToolLoopAgent", () => {
    const answer = Output.object({ schema: z.object({ title: z.string() }) });
    const settings: ToolLoopAgentSettings<
      never,
      { search: typeof search },
      Record<string, unknown>,
      typeof answer
    > = {
      id: "searcher",
      model,
      instructions: { role: "system", content: "You search." },
      tools: { search },
      toolsContext: { search: { key: "k" } },
      toolApproval: { search: ({ query }) => (query === "" ? "denied" : "approved") },
      temperature: 0,
      output: answer,
    };
    const made = agent(settings);
    expectTypeOf(made).toEqualTypeOf<Agent<{ title: string }>>();
    expectTypeOf(agent({ ...settings, name: "other" })).toEqualTypeOf<Agent<{ title: string }>>();
    expect(made.name).toBe("searcher");
  });

  it("accept settings without tools and without explicit types", () => {
    const settings: ToolLoopAgentSettings = { model, instructions: "You answer." };
    expectTypeOf(agent({ name: "plain", ...settings })).toEqualTypeOf<Agent<string>>();
  });

  it("infer the input of an approval function from the tools beside it", () => {
    const made = agent({
      name: "asking",
      model,
      tools: { search },
      toolsContext: { search: { key: "k" } },
      toolApproval: {
        search: (input, { toolContext }) => {
          expectTypeOf(input).toEqualTypeOf<{ query: string }>();
          expectTypeOf(toolContext).toEqualTypeOf<{ key: string }>();
          return "approved";
        },
      },
    });
    expect(Object.keys(made.tools)).toEqual(["search"]);
  });

  it("still accept tools of both kinds, templates and zod schemas", () => {
    const note = tool({ description: "Notes.", inputSchema: z.object({}), execute: () => "noted" });
    const prompt = promptTemplate({
      namespace: "test",
      key: "mixed",
      version: 1,
      sections: [markdown({ key: "work", title: "Work", template: "You work." })],
    });
    const made = agent({
      name: "mixed",
      model,
      instructions: prompt,
      tools: { note, search },
      toolsContext: { search: { key: "k" } },
      output: z.object({ count: z.number() }),
      settings: { temperature: 0, topK: 4 },
    });
    expectTypeOf(made).toEqualTypeOf<Agent<{ count: number }>>();
  });

  it("are text without an output schema, whatever else the agent has", () => {
    const note = tool({ description: "Notes.", inputSchema: z.object({}), execute: () => "noted" });
    const files = mcpTools({ command: "files", args: [] });
    const plain = { model, instructions: "You answer.", temperature: 0, stopWhen: isStepCount(3) };
    const agents = [
      agent({ name: "bare", model, instructions: "You answer." }),
      agent({ name: "sdk", model, tools: { search }, toolsContext: { search: { key: "k" } } }),
      agent({ name: "own", model, tools: { note } }),
      agent({ name: "mcp", model, tools: { files }, toolApproval: { files__write: "user-approval" } }),
      agent({ name: "all", model, tools: { search, note, files } }),
      agent({ name: "spread", ...plain }),
      agent({ name: "checked", ...(plain satisfies ToolLoopAgentSettings) }),
      agent({ name: "text", model, output: Output.text() }),
    ];
    expectTypeOf(agents).toEqualTypeOf<Agent<string>[]>();
    // @ts-expect-error A text has no such property: it is not `any`.
    expect(() => agents[0]?.outputType?.foo.bar).toBeTypeOf("function");
  });

  it("are those of the output schema, as JSON stores them", () => {
    const title = z.object({ title: z.string() });
    const made = agent({ name: "titled", model, output: title });
    expectTypeOf(made).toEqualTypeOf<Agent<{ title: string }>>();
    expectTypeOf(agent({ name: "object", model, output: Output.object({ schema: title }) })).toEqualTypeOf(
      made,
    );
    expectTypeOf(agent({ name: "list", model, output: Output.array({ element: title }) })).toEqualTypeOf<
      Agent<{ title: string }[]>
    >();
    const choice = Output.choice({ options: ["a", "b"] });
    expectTypeOf(agent({ name: "choice", model, output: choice })).toEqualTypeOf<Agent<"a" | "b">>();
    const dated = z.object({ at: z.string().transform((text) => new Date(text)) });
    expectTypeOf(agent({ name: "dated", model, output: dated })).toEqualTypeOf<Agent<{ at: string }>>();
    expectTypeOf(agent({ name: "n", model, tools: { search }, output: z.number() })).toEqualTypeOf<
      Agent<number>
    >();
  });

  it("refuse the settings that an agent refuses, where they are written", () => {
    const refused = [
      // @ts-expect-error The settings of a run do not change.
      () => agent({ name: "a", model, prepareStep: () => ({}) }),
      // @ts-expect-error The same.
      () => agent({ name: "a", model, prepareCall: (call) => call }),
      // @ts-expect-error Pawl would never call it.
      () => agent({ name: "a", model, onStepFinish: () => undefined }),
      // @ts-expect-error Pawl would never call it.
      () => agent({ name: "a", model, onFinish: () => undefined }),
      // @ts-expect-error The model gets the error, and calls the tool again.
      () => agent({ name: "a", model, repairToolCall: () => null }),
      // @ts-expect-error Call options are part of the run's input.
      () => agent({ name: "a", model, callOptionsSchema: z.object({}) }),
    ];
    for (const make of refused) expect(make).toThrow(ConfigurationError);
    // @ts-expect-error It is `instructions`.
    expect(() => agent({ name: "a", model, instruction: "You answer." })).toThrow("instruction");
  });

  it("leave every refused setting out of the options", () => {
    expectTypeOf<keyof AgentOptions<string> & RefusedSetting>().toEqualTypeOf<never>();
    expectTypeOf<"prepareStep" | "onStepFinish" | "onError">().toExtend<RefusedSetting>();
    expectTypeOf<"id" | "temperature" | "telemetry">().toExtend<keyof AgentOptions<string>>();
  });

  it("infer the arguments of an approval function for Pawl's tools, too", () => {
    const pay = tool({
      description: "Pays.",
      inputSchema: z.object({ cents: z.number() }),
      execute: () => 1,
    });
    const made = agent({
      name: "paying",
      model,
      tools: { pay },
      toolApproval: { pay: ({ cents }) => (cents > 100 ? "user-approval" : "approved") },
    });
    // @ts-expect-error It has no tool of that name.
    expect(() => agent({ name: "b", model, tools: { pay }, toolApproval: { pya: "denied" } })).toThrow("pya");
    expect(Object.keys(made.tools)).toEqual(["pay"]);
  });

  it("refuse a value that is not a tool", () => {
    // @ts-expect-error A number is not a tool.
    expect(() => agent({ name: "bad", model, tools: { search: 1 } })).toThrow();
  });
});
