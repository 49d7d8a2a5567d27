import type { LanguageModelV4Content } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { ledgerCallsOf, providerCallsOf } from "../../../src/core/message.ts";
import { renderTranscript } from "../../../src/export/transcript/transcript.ts";
import { Runner, Step } from "../../../src/index.ts";
import { crashAt } from "../call/call-fixture.ts";
import { databaseFile, failureOf, fileStore, memoryStore, must, noteTool } from "../run-fixture.ts";
import { NOWHERE } from "../runner/forecast/forecast-world.ts";
import {
  anthropic,
  found,
  noting,
  resultsIn,
  says,
  search,
  searchCall,
  searcher,
  searchResult,
  webSearch,
  withoutReceipts,
} from "./provider-executed-fixture.ts";

describe("a provider-executed call", () => {
  it("is matched with its result even if the provider gave it no id", async () => {
    const store = await memoryStore();
    const nameless = [
      { ...searchCall, toolCallId: "" },
      { ...searchResult(found), toolCallId: "" },
    ];
    const { searcher: agent } = searcher([[...nameless, says("Found.")]]);
    expect((await new Runner(agent, { store }).run("Go", { runId: "r-1" })).output).toBe("Found.");
    expect(await store.listToolCalls("r-1")).toMatchObject([{ tool: "web_search", status: "succeeded" }]);
  });

  it("is in the transcript like others: request and result, each once", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    const { searcher: agent } = searcher([[noting("a"), ...search], [says("Found.")]], {
      web_search: webSearch,
      note,
    });
    await new Runner(agent, { store }).run("Go", { runId: "r-1" });
    const transcript = await renderTranscript(store, "r-1");
    expect(transcript).toMatch(/\*\*Call 1, `note`\*\* \(/);
    expect(transcript).toMatch(/\*\*Call 2, `web_search`\*\* of `provider` \(/);
    expect(transcript.split("https://example.com/")).toHaveLength(2);
  });

  it("has its own row, with its receipt in the commit of the response, and is never dispatched", async () => {
    const commits: (readonly string[])[] = [];
    const store = await memoryStore({ onCommit: (intents) => commits.push(intents) });
    const events: string[] = [];
    const { searcher: agent } = searcher([[...search, says("Found.")]]);
    const runner = new Runner(agent, { store, onEvent: ({ type }) => events.push(type) });
    const { output } = await runner.run("Go", { runId: "r-1" });

    expect(output).toBe("Found.");
    expect(await store.listToolCalls("r-1")).toMatchObject([
      {
        namespace: "provider",
        tool: "web_search",
        effect: "read_only",
        status: "succeeded",
        attempt: 1,
        receipt: {
          status: "succeeded",
          source: "tool",
          uncertain: false,
          output: { type: "json", value: found },
        },
      },
    ]);
    expect(commits).toContainEqual(["journalResponse"]);
    expect(commits.flat()).not.toContain("recordReceipt");
    expect(events).not.toContain("tool.started");
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("that failed at the provider has a failed receipt", async () => {
    const store = await memoryStore();
    const failing = [searchCall, searchResult({ status: "failed" }, true), says("It failed.")];
    await new Runner(searcher([failing]).searcher, { store }).run("Go", { runId: "r-1" });

    expect((await store.listToolCalls("r-1"))[0]?.receipt).toMatchObject({
      status: "failed",
      errorCode: "tool_error",
      uncertain: false,
      output: { type: "error-text", value: '{"status":"failed"}' },
    });
  });

  it("is shown to the model unchanged, with one result, next to the results of our own calls", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const { searcher: agent, asked } = searcher([[...search, noting("a")], [says("End.")]], {
      note,
      web_search: webSearch,
    });
    await new Runner(agent, { store }).run("Go", { runId: "r-1" });

    expect(done).toEqual(["a"]);
    const results = resultsIn(asked[1]?.prompt);
    expect(results.map(({ role, part }) => [role, "toolName" in part ? part.toolName : ""])).toEqual([
      ["assistant", "web_search"],
      ["tool", "note"],
    ]);
    expect(results[0]?.part).toMatchObject({ toolCallId: "ws_1", output: { type: "json", value: found } });
    expect(
      (await store.listToolCalls("r-1")).map(({ tool, callIndex, namespace }) => [
        callIndex,
        namespace,
        tool,
      ]),
    ).toEqual([
      [1, "local", "note"],
      [2, "provider", "web_search"],
    ]);
  });

  it.each(["turn:journaled", "tool:executed", "turn:before-commit", "turn:committed"] as const)(
    "is neither lost, nor in doubt, nor requested again after a crash at %s",
    async (point) => {
      const file = databaseFile();
      const { note } = noteTool(undefined, { recovery: "repeat" });
      const { searcher: agent, asked } = searcher([[...search, noting("a")], [says("End.")]], {
        note,
        web_search: webSearch,
      });
      const dying = await fileStore(file);
      await failureOf(new Runner(agent, { store: dying, probe: crashAt(point) }).run("Go", { runId: "r-1" }));
      await dying.close();

      const store = await fileStore(file);
      const { output } = await new Runner(agent, { store }).resume("r-1");
      expect(output).toBe("End.");
      expect(asked).toHaveLength(2);
      expect(resultsIn(asked[1]?.prompt)).toHaveLength(2);
      const row = (await store.listToolCalls("r-1")).find(({ namespace }) => namespace === "provider");
      expect(row).toMatchObject({ status: "succeeded", attempt: 1, receipt: { output: { value: found } } });
      expect(
        (await store.listToolCallAttempts("r-1")).filter(({ toolCallId }) => toolCallId === row?.toolCallId),
      ).toEqual([]);
      expect((await store.verify("r-1")).problems).toEqual([]);
    },
  );

  it("without a stored receipt is read from the response again, and not from the provider", async () => {
    const store = await memoryStore();
    const { note } = noteTool(undefined, { recovery: "repeat" });
    const { searcher: agent, asked } = searcher([[...search, noting("a")], [says("End.")]], {
      note,
      web_search: webSearch,
    });
    const dying = { store: withoutReceipts(store), probe: crashAt("turn:journaled") };
    await failureOf(new Runner(agent, dying).run("Go", { runId: "r-1" }));
    expect((await store.listToolCalls("r-1")).map(({ receipt }) => receipt)).toEqual([null, null]);

    expect((await new Runner(agent, { store }).resume("r-1")).output).toBe("End.");
    expect(asked).toHaveLength(2);
    expect((await store.listToolCalls("r-1"))[1]).toMatchObject({
      namespace: "provider",
      attempt: 1,
      receipt: { status: "succeeded", output: { value: found } },
    });
  });

  it("is forecast as answered, stays in an abandoned turn, and is copied to a fork", async () => {
    const store = await memoryStore();
    const { note } = noteTool(undefined, { recovery: "repeat" });
    const { searcher: agent } = searcher([[...search, noting("a")], [says("End.")]], {
      note,
      web_search: webSearch,
    });
    const dying = new Runner(agent, { store, probe: crashAt("turn:journaled") });
    await failureOf(dying.run("Go", { runId: "r-1" }));
    const runner = new Runner(agent, { store });
    const { calls } = await runner.forecast("r-1");
    expect(calls.map(({ tool, action }) => [tool, action])).toEqual([
      ["note", "run_again"],
      ["web_search", "answered"],
    ]);

    expect((await runner.resume("r-1", { from: "milestone" })).output).toBe("End.");
    const ofProvider = (await store.listToolCalls("r-1")).filter(({ tool }) => tool === "web_search");
    expect(ofProvider.map(({ turnIndex, occurrence, status }) => [turnIndex, occurrence, status])).toEqual([
      [1, 1, "succeeded"],
      [2, 2, "succeeded"],
    ]);
    await runner.fork("r-1", { atTurn: 2, runId: "r-2" });
    expect((await store.listToolCalls("r-2")).map(({ tool }) => tool)).toContain("web_search");
    for (const runId of ["r-1", "r-2"]) expect((await store.verify(runId)).problems).toEqual([]);
  });

  it("counts its tokens once: a worker that reads the conversation counts as many as the one that made it", async () => {
    const store = await memoryStore();
    const { searcher: agent } = searcher([[...search, says("Not yet.")], [says("DONE")]]);
    const step = (maxTurns: number) => Step.granular("s", agent, { maxTurns, completion: "signal" });
    await failureOf(new Runner(step(1), { store }).run("Go", { runId: "r-1" }));
    const [turn] = await store.listTurns("r-1");
    const { tokens, tail } = await store.readConversation(
      "r-1",
      must((await store.listSteps("r-1")).find(({ kind }) => kind === "turn-loop")).stepKey,
      1_000,
    );
    const inTail = tail.reduce((sum, each) => sum + each.tokens, 0);
    expect(turn?.calls[0]?.receipt?.tokens).toBe(0);
    expect(tokens).toBeGreaterThanOrEqual(inTail);
    expect(tokens - inTail).toBeLessThan(20);
  });

  it("leaves a large result in the response", async () => {
    const store = await memoryStore();
    const large = { text: "x".repeat(500) };
    const { searcher: agent } = searcher([[searchCall, searchResult(large), says("Found.")]]);
    const step = Step.granular("s", agent, { blobThresholdBytes: 100 });
    await new Runner(step, { store }).run("Go", { runId: "r-1" });

    const [turn] = await store.listTurns("r-1");
    expect(turn?.calls[0]?.receipt).toMatchObject({
      blob: null,
      output: { type: "text", value: "The result is large: it is in the response of this turn." },
    });
    expect(JSON.stringify(turn?.response.content)).toContain(large.text);
  });

  it("counts towards the tool call budget, but its own response is accepted", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const tools = { note, web_search: webSearch };
    const run = (script: Parameters<typeof searcher>[0], runId: string) =>
      new Runner(searcher(script, tools).searcher, { store, workspaceRoot: NOWHERE }).run("Go", {
        runId,
        spec: { objective: "Search.", budgets: { maxToolCalls: 0 } },
      });

    expect((await run([[...search, says("Found.")]], "alone")).output).toBe("Found.");
    expect(await failureOf(run([[...search, noting("a")]], "both"))).toMatchObject({
      details: { budget: "maxToolCalls", used: 2 },
    });
    expect(done).toEqual([]);
  });
});

describe("a result in a later response than its call", () => {
  const codeExecution = anthropic.tools.codeExecution_20260120();
  const execution: LanguageModelV4Content = {
    type: "tool-call",
    toolCallId: "srv_1",
    toolName: "code_execution",
    input: JSON.stringify({ code: "note('a')" }),
    providerExecuted: true,
  };
  const executed: LanguageModelV4Content = {
    type: "tool-result",
    toolCallId: "srv_1",
    toolName: "code_execution",
    result: { type: "code_execution_result", stdout: "1", stderr: "", return_code: 0, content: [] },
  };

  it.each([[[]], [[says("Let me look.")]]])(
    "is awaited without a further user message (%j)",
    async (before) => {
      const store = await memoryStore();
      const { searcher: agent, asked } = searcher(
        [
          [...before, execution],
          [executed, says("Found.")],
        ],
        {
          code_execution: codeExecution,
        },
      );
      const { output, status } = await new Runner(agent, { store }).run("Go", { runId: "r-1" });
      expect({ output, status }).toEqual({ output: "Found.", status: "succeeded" });
      expect(asked.map(({ prompt }) => prompt.map(({ role }) => role))).toEqual([
        ["system", "user"],
        ["system", "user", "assistant"],
      ]);
    },
  );

  it("is stored when it arrives, with a row beside that of its call", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    const { searcher: agent, asked } = searcher(
      [[execution, noting("a")], [executed, noting("b")], [says("End.")]],
      { note, code_execution: codeExecution },
    );
    await new Runner(agent, { store }).run("Go", { runId: "r-1" });

    const rows = (await store.listToolCalls("r-1")).filter(({ namespace }) => namespace === "provider");
    expect(rows.map(({ turnIndex, status, receipt }) => [turnIndex, status, receipt?.errorCode])).toEqual([
      [1, "failed", "no_result"],
      [2, "succeeded", null],
    ]);
    expect(rows[0]?.receipt?.uncertain).toBe(true);
    const ofProvider = resultsIn(asked[2]?.prompt).filter(({ role }) => role === "assistant");
    expect(ofProvider.map(({ part }) => "toolCallId" in part && part.toolCallId)).toEqual(["srv_1"]);
    expect(resultsIn(asked[1]?.prompt).filter(({ role }) => role === "assistant")).toEqual([]);
  });

  it("is distinguished from one in the same response as its call", () => {
    const call = { type: "tool-call", toolCallId: "1", toolName: "s", input: {}, providerExecuted: true };
    const own = { type: "tool-call", toolCallId: "3", toolName: "own", input: {} };
    const result = (toolCallId: string) => ({
      type: "tool-result",
      toolCallId,
      toolName: "s",
      output: { type: "text" },
    });
    const content = [call, own, result("1"), result("2")];
    expect(providerCallsOf(content).map(({ part, output }) => [part.toolCallId, part.input, output])).toEqual(
      [
        ["1", {}, { type: "text" }],
        ["2", null, { type: "text" }],
      ],
    );
    expect(ledgerCallsOf(content).map(({ toolCallId }) => toolCallId)).toEqual(["3", "1", "2"]);
  });
});
