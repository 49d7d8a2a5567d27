import type { LanguageModelV4Content } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { agent, ResumeError, Runner, Step, type Tool } from "../../../src/index.ts";
import { failureAs, failureOf, memoryStore, noteTool } from "../run-fixture.ts";
import { openai, says, search, searchCall, searcher, webSearch } from "./provider-executed-fixture.ts";

describe("a provider-executed tool", () => {
  it("is offered as its provider defines it, and fingerprinted with its settings", async () => {
    const store = await memoryStore();
    const script = [[...search, says("Not yet.")], [says("DONE")]];
    const runnerOf = (size: "low" | "high", maxTurns: number) => {
      const { searcher: agent, asked } = searcher(script, {
        web_search: openai.tools.webSearch({ searchContextSize: size }),
      });
      const step = Step.granular("s", agent, { maxTurns, completion: "signal" });
      return { asked, runner: new Runner(step, { store }) };
    };
    const first = runnerOf("low", 1);
    await failureOf(first.runner.run("Go", { runId: "r-1" }));
    expect(first.asked[0]?.tools).toEqual([
      { type: "provider", name: "web_search", id: "openai.web_search", args: { searchContextSize: "low" } },
    ]);

    const { details } = await failureAs(ResumeError, runnerOf("high", 2).runner.resume("r-1"));
    expect(JSON.stringify(details)).toContain("tools.provider:web_search");
    expect((await runnerOf("low", 2).runner.resume("r-1")).output).toBe("DONE");
  });

  it.each([
    ["the run forbids it", { constraints: { forbiddenActions: ["web_*"] } }],
    ["its namespace is forbidden", { constraints: { forbiddenActions: ["provider:*"] } }],
    ["it needs approval", { policy: { approve: ["read_only"] } }],
  ] as const)("is not offered if %s", async (_, rules) => {
    const store = await memoryStore();
    const { note } = noteTool();
    const { searcher: agent, asked } = searcher([[says("End.")]], { note, web_search: webSearch });
    await new Runner(agent, { store, ...rules }).run("Go", { runId: "r-1" });
    expect(asked[0]?.tools?.map(({ name }) => name)).toEqual(["note"]);
  });

  it("leads to a warning and a marked receipt if the provider runs it although it is forbidden", async () => {
    const store = await memoryStore();
    const warnings: string[] = [];
    const runner = new Runner(searcher([[...search, says("End.")]]).searcher, {
      store,
      constraints: { forbiddenActions: ["Web-Search"] },
      onEvent: (event) => void (event.type === "warning" && warnings.push(event.message)),
    });
    await runner.run("Go", { runId: "r-1" });
    expect(warnings).toEqual([
      expect.stringMatching(/provider ran web_search .+ although it is forbidden.*Web-Search/),
    ]);
    expect((await store.listToolCalls("r-1"))[0]?.receipt).toMatchObject({
      status: "succeeded",
      errorCode: "forbidden",
    });
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("is not run by us when the model makes an ordinary call of it", async () => {
    const store = await memoryStore();
    const { toolCallId, toolName, input } = searchCall as never as { [name: string]: string };
    const ours = { type: "tool-call", toolCallId, toolName, input } as LanguageModelV4Content;
    await new Runner(searcher([[ours], [says("End.")]]).searcher, { store }).run("Go", { runId: "r-1" });
    expect((await store.listToolCalls("r-1"))[0]).toMatchObject({ status: "cancelled", attempt: 0 });
  });

  it("needs a model of the AI SDK", () => {
    const port = { provider: "own", modelId: "own", respond: () => Promise.reject(new Error("no")) };
    const tools: { [name: string]: Tool | typeof webSearch } = { web_search: webSearch };
    expect(() => agent({ name: "a", model: port, tools })).toThrow(
      "Agent a has the provider-defined tool web_search and a custom model port: give it an AI SDK model.",
    );
  });
});
