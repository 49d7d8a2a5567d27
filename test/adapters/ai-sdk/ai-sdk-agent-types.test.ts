import { type LanguageModel, Output, tool as sdkTool, type ToolLoopAgentSettings } from "ai";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { type Agent, agent, markdown, promptTemplate, tool } from "../../../src/index.ts";
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

  it("refuse a value that is not a tool", () => {
    // @ts-expect-error A number is not a tool.
    expect(() => agent({ name: "bad", model, tools: { search: 1 } })).toThrow();
  });
});
