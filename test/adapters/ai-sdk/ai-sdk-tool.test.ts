import { dynamicTool, jsonSchema, type Tool as SdkTool, tool as sdkTool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentOptions, agent, ConfigurationError, Runner, Step } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { crashAt } from "../../engine/call/call-fixture.ts";
import {
  databaseFile,
  failureAs,
  failureOf,
  fileStore,
  memoryStore,
  recordingModel,
  toolResults,
} from "../../engine/run-fixture.ts";

type Options = Partial<Omit<AgentOptions<string>, "tools">>;

/** An agent that calls the tool `act` once, with this input, and then answers. */
function acting(act: SdkTool, options: Options = {}, input: unknown = { text: "a" }) {
  const { model, prompts } = recordingModel([{ toolCalls: [{ name: "act", input }] }, { text: "End." }]);
  return { prompts, actor: agent({ name: "actor", model, ...options, tools: { act } }) };
}

/** The result of the one call, as the model sees it. */
async function shownBy(act: SdkTool, options: Options = {}, input?: unknown): Promise<unknown> {
  const store = await memoryStore();
  const { actor, prompts } = acting(act, options, input);
  await new Runner(actor, { store }).run("Go", { runId: "r-1" });
  return toolResults(prompts[1])[0];
}

const text = z.object({ text: z.string() });

describe("the result of an AI SDK tool", () => {
  it.each([
    ["a value", () => "done"],
    ["a promise", () => Promise.resolve("done")],
    [
      "the last value of a generator",
      async function* () {
        yield "half";
        await Promise.resolve();
        yield "done";
      },
    ],
  ])("is %s", async (_, execute) => {
    const act = sdkTool({ inputSchema: text, execute });
    expect(await shownBy(act)).toEqual({ type: "text", value: "done" });
  });

  it("may be that of a dynamic tool with a JSON Schema", async () => {
    const act = dynamicTool({
      description: "Acts.",
      inputSchema: jsonSchema({ type: "object", properties: { text: { type: "string" } } }),
      execute: (input) => Promise.resolve({ got: input }),
    });
    expect(await shownBy(act)).toEqual({ type: "json", value: { got: { text: "a" } } });
  });

  it("is not awaited any longer when the call is abandoned", async () => {
    const store = await memoryStore();
    const seen: string[] = [];
    const act = sdkTool({
      inputSchema: text,
      execute: async function* (_, { abortSignal }) {
        yield "one";
        await new Promise((resolve) => abortSignal?.addEventListener("abort", resolve));
        seen.push("aborted");
        yield "two";
        seen.push("asked again");
      },
    });
    const { actor } = acting(act, { timeout: { toolMs: 20 } });
    expect((await new Runner(actor, { store }).run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect(seen).toEqual(["aborted"]);
  });
});

describe("toModelOutput", () => {
  const shownAs = (toModelOutput: NonNullable<SdkTool["toModelOutput"]>) =>
    shownBy(sdkTool({ inputSchema: text, execute: ({ text: given }) => ({ given }), toModelOutput }));

  it("gets the call's id, its input and its result", async () => {
    const shown = await shownAs(({ toolCallId, input, output }) => ({
      type: "json",
      value: { toolCallId, input, output } as never,
    }));
    expect(shown).toEqual({
      type: "json",
      value: { toolCallId: "r-1/actor#1.1", input: { text: "a" }, output: { given: "a" } },
    });
  });

  it.each([
    [
      { type: "text", value: "seen" },
      { type: "text", value: "seen" },
    ],
    [
      { type: "error-text", value: "bad" },
      { type: "error-text", value: "bad" },
    ],
    [
      { type: "error-json", value: { code: 7 } },
      { type: "error-text", value: '{"code":7}' },
    ],
    [
      { type: "execution-denied", reason: "not today" },
      { type: "error-text", value: "not today" },
    ],
    [{ type: "execution-denied" }, { type: "error-text", value: "It was not allowed to run." }],
  ] as const)("shows %j as %j", async (output, shown) => {
    expect(await shownAs(() => output)).toEqual(shown);
  });

  const picture = {
    type: "content" as const,
    value: [
      { type: "text" as const, text: "A chart." },
      {
        type: "file" as const,
        mediaType: "image/png",
        data: { type: "data" as const, data: new Uint8Array([1, 2, 3]) },
        providerOptions: { openai: { imageDetail: "low" } },
      },
      {
        type: "file" as const,
        mediaType: "image/png",
        data: { type: "url" as const, url: new URL("https://example.com/a.png") },
      },
    ],
  };
  const sent = {
    type: "content",
    value: [
      { type: "text", text: "A chart." },
      {
        type: "file",
        mediaType: "image/png",
        data: { type: "data", data: "AQID" },
        providerOptions: { openai: { imageDetail: "low" } },
      },
      {
        type: "file",
        mediaType: "image/png",
        data: { type: "url", url: new URL("https://example.com/a.png") },
      },
    ],
  };

  it("shows images, and shows them again after a kill and from a blob", async () => {
    const file = databaseFile();
    const act = sdkTool({ inputSchema: text, execute: () => "drawn", toModelOutput: () => picture });
    const dying = await fileStore(file);
    // Nothing is fetched: the model gets the URL unchanged.
    const options: Options = {
      experimental_download: (files) => Promise.resolve(files.map(() => null)),
    };
    const stepOf = (actor: Parameters<typeof Step.granular>[1]) =>
      Step.granular("act", actor, { blobThresholdBytes: 50 });
    const first = acting(act, options);
    const runner = new Runner(stepOf(first.actor), { store: dying, probe: crashAt("turn:committed") });
    await failureOf(runner.run("Go", { runId: "r-1" }));
    await dying.close();

    const store = await fileStore(file);
    const shown: unknown[] = [];
    const model = scriptedModel((turn) => {
      shown.push(...toolResults(turn.options.prompt));
      return { text: "End." };
    });
    const actor = agent({ name: "actor", model, ...options, tools: { act } });
    await new Runner(stepOf(actor), { store }).resume("r-1");
    expect(shown).toEqual([sent]);
    const [call] = await store.listToolCalls("r-1");
    expect([call?.receipt?.output.type, call?.receipt?.blob === null]).toEqual(["content", false]);
  });

  it("that throws is reported to the model, and the effect is not repeated", async () => {
    const shown = await shownAs(() => {
      throw new Error("no such shape");
    });
    expect(shown).toEqual({
      type: "error-text",
      value:
        "act ran, but its result cannot be shown (no such shape). Its effect has happened: do not call it again for that.",
    });
  });
});

describe("the context of a tool", () => {
  const act = sdkTool({
    description: ({ context }) => `Acts for ${context.user}.`,
    inputSchema: text,
    contextSchema: z.object({ user: z.string(), level: z.number().default(1) }),
    execute: (_, { context }) => `${context.user} at ${context.level}`,
  });

  it("is toolsContext as its schema parses it, and the tool's description may depend on it", async () => {
    const store = await memoryStore();
    const { actor, prompts } = acting(act, { toolsContext: { act: { user: "ann" } } });
    await new Runner(actor, { store }).run("Go", { runId: "r-1" });
    expect(toolResults(prompts[1])).toEqual([{ type: "text", value: "ann at 1" }]);
    expect(actor.tools.act?.description).toBe("Acts for ann.");
  });

  it("that does not fit ends the run before the model is called", async () => {
    const store = await memoryStore();
    const { actor, prompts } = acting(act, { toolsContext: { act: { user: 1 } } });
    const error = await failureAs(ConfigurationError, new Runner(actor, { store }).run("Go"));
    expect(error.message).toBe(
      "The context of tool act does not fit its contextSchema: user: Invalid input: expected string, received number. Give it in toolsContext.act.",
    );
    expect(prompts).toEqual([]);
  });
});

describe("needsApproval", () => {
  const asks = (needsApproval: unknown, input?: unknown) => {
    const done: string[] = [];
    const act = {
      inputSchema: text,
      contextSchema: z.object({ limit: z.string() }),
      needsApproval,
      execute: ({ text: given }: { text: string }) => done.push(given),
    } as never as SdkTool;
    return { done, ...acting(act, { toolsContext: { act: { limit: "b" } } }, input) };
  };

  it.each([
    ["true", true, "waiting"],
    ["false", false, "succeeded"],
    ["a function that requires it", () => true, "waiting"],
    ["an asynchronous function", async () => Promise.resolve(false), "succeeded"],
    ["a function of the input", ({ text: given }: { text: string }) => given === "a", "waiting"],
    [
      "a function of the context",
      ({ text: given }: { text: string }, { context }: { context: { limit: string } }) =>
        given === context.limit,
      "succeeded",
    ],
  ] as const)("of %s", async (_, needsApproval, status) => {
    const store = await memoryStore();
    const { actor, done } = asks(needsApproval);
    const runner = new Runner(actor, { store });
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe(status);
    expect(done).toEqual(status === "waiting" ? [] : ["a"]);
    if (status === "succeeded") return;
    const [wait] = await store.listWaits("r-1");
    await store.approve(wait?.waitId ?? "");
    expect((await runner.resume("r-1")).status).toBe("succeeded");
    expect(done).toEqual(["a"]);
  });
});
