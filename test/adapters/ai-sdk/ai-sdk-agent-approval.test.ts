import { createOpenAI } from "@ai-sdk/openai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { aiSdkTool } from "../../../src/adapters/ai-sdk/ai-sdk-tool.ts";
import { makeToolSource } from "../../../src/engine/definition/tool-source.ts";
import { type AgentOptions, Runner, tool } from "../../../src/index.ts";
import { memoryStore } from "../../engine/run-fixture.ts";
import { made, pay, text } from "./tool-loop-agent.ts";

const paying = [{ toolCalls: [{ name: "pay", input: { text: "ann" } }] }, { text: "End." }];

describe("toolApproval", () => {
  type Approval = NonNullable<AgentOptions<unknown>["toolApproval"]>;
  const asks: typeof pay = Object.assign({}, pay, { needsApproval: true });

  async function endOf(toolApproval: Approval, more: Partial<AgentOptions<unknown>> = {}) {
    const store = await memoryStore();
    const { agent: worker } = made({ tools: { pay }, toolApproval, ...more }, paying);
    const { status } = await new Runner(worker, { store }).run("Go", { runId: "r-1" });
    const [call] = await store.listToolCalls("r-1");
    return [status, call?.status, call?.receipt?.output.value ?? null];
  }

  const done = ["succeeded", "succeeded", "paid ann"];
  const waits = ["waiting", "prepared", null];
  const refused = (why: string) => ["succeeded", "cancelled", `pay may not run: ${why}`];

  it.each<[string, Approval, unknown]>([
    ["approved", { pay: "approved" }, done],
    ["not-applicable", { pay: { type: "not-applicable" } }, done],
    ["user-approval", { pay: "user-approval" }, waits],
    ["user-approval with a reason", { pay: { type: "user-approval", reason: "much" } }, waits],
    ["denied", { pay: "denied" }, refused("the agent's toolApproval denies it.")],
    ["denied with a reason", { pay: { type: "denied", reason: "too much" } }, refused("too much")],
    [
      "a function of the input",
      { pay: ({ text: to }) => (to === "ann" ? "user-approval" : "approved") },
      waits,
    ],
    ["an asynchronous function", { pay: async () => Promise.resolve("approved" as const) }, done],
    ["a function that returns undefined", { pay: () => undefined }, done],
    [
      "a function for all",
      ({ toolCall }) => (toolCall.toolName === "pay" ? "denied" : "approved"),
      refused("the agent's toolApproval denies it."),
    ],
    [
      "one that throws",
      {
        pay: () => {
          throw new Error("who knows");
        },
      },
      waits,
    ],
    ["nothing about this tool", { other: "denied" }, done],
  ])("of %s", async (_, toolApproval, end) => {
    expect(await endOf(toolApproval, { tools: { pay, other: pay } })).toEqual(end);
  });

  it("overrides the tool's own setting, and leaves the decision to the tool if it has none", async () => {
    expect(await endOf({ pay: "approved" }, { tools: { pay: asks } })).toEqual(done);
    expect(await endOf({ other: "approved" }, { tools: { pay: asks, other: pay } })).toEqual(waits);
  });

  it("of a tool that the agent does not have is refused, like every setting that names one", () => {
    const settings = {
      toolApproval: { pya: "user-approval" },
      activeTools: ["pya"],
      toolOrder: ["pya"],
      timeout: { tools: { pyaMs: 5 } },
    };
    for (const [setting, value] of Object.entries(settings))
      expect(() => made({ tools: { pay }, [setting]: value })).toThrow(
        /of agent worker names the tool "pya", which it does not have: did you mean pay\?/,
      );
  });

  it("of a tool that a server does not have is refused when the server is opened, and the server is closed", async () => {
    let closed = 0;
    const bank = makeToolSource({
      name: null,
      open: (name) =>
        Promise.resolve({
          tools: { [`${name}__pay`]: aiSdkTool("pay", pay) },
          close: () => {
            closed++;
            return Promise.resolve();
          },
        }),
    });
    const { agent: worker } = made({
      tools: { bank },
      toolApproval: { bank__pya: "user-approval" },
    } as never);
    await expect(new Runner(worker, { store: await memoryStore() }).run("Go")).rejects.toThrow(
      'toolApproval of agent worker names the tool "bank__pya", which it does not have: did you mean bank__pay?',
    );
    expect(closed).toBe(1);
  });

  it("by a function for all tools is refused for a tool that the provider runs", () => {
    const search = createOpenAI({ apiKey: "none" }).tools.webSearch({});
    expect(() => made({ tools: { search }, toolApproval: () => "user-approval" } as never)).toThrow(
      "Tool search is run by the provider, within its answer, so no toolApproval function can be called first",
    );
  });

  it("gets the contexts of the agent", async () => {
    const seen: unknown[] = [];
    const more = { toolsContext: { pay: { limit: 5 } }, runtimeContext: { user: "ann" } };
    await endOf(
      {
        pay: (_, { toolContext, runtimeContext }) => {
          seen.push(toolContext, runtimeContext);
          return "approved";
        },
      },
      more,
    );
    await endOf(({ toolsContext, runtimeContext }) => void seen.push(toolsContext, runtimeContext), more);
    expect(seen).toEqual([{ limit: 5 }, { user: "ann" }, { pay: { limit: 5 } }, { user: "ann" }]);
  });

  it("applies to Pawl's own tools and to those of a server", async () => {
    const own = tool({ description: "Pays.", inputSchema: text, execute: ({ text: to }) => `paid ${to}` });
    expect(await endOf({ pay: "user-approval" }, { tools: { pay: own } })).toEqual(waits);
    const server = makeToolSource({
      name: null,
      open: () => Promise.resolve({ tools: { pay: own, drop: own }, close: () => Promise.resolve() }),
    });
    expect(await endOf(() => "user-approval", { tools: { server } })).toEqual(waits);
    const { agent: worker, asked } = made({ tools: { server }, activeTools: ["pay"] });
    await new Runner(worker, { store: await memoryStore() }).run("Go");
    expect(asked[0]?.tools?.map(({ name }) => name)).toEqual(["pay"]);
  });

  it("is refused for a tool that the provider runs", () => {
    const search = {
      type: "provider",
      id: "p.search",
      args: {},
      isProviderExecuted: true,
      inputSchema: z.object({}),
    } as const;
    expect(() => made({ tools: { search }, toolApproval: { search: "user-approval" } })).toThrow(
      "Tool search is run by the provider, within its answer, so it cannot be approved first: leave it out of toolApproval, or out of the tools.",
    );
    expect(() => made({ tools: { search }, toolApproval: { search: "approved" } })).not.toThrow();
  });
});
