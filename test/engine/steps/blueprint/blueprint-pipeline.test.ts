import { describe, expect, it } from "vitest";
import { z } from "zod";
import { aiSdkModel } from "../../../../src/adapters/ai-sdk/ai-sdk.ts";
import { checkAnswer } from "../../../../src/adapters/net/foreign-schema.ts";
import { assertRunSpec } from "../../../../src/core/job/run-spec.ts";
import type { Json, JsonObject } from "../../../../src/core/json.ts";
import { makeToolSource } from "../../../../src/engine/definition/tool-source.ts";
import { buildPipeline } from "../../../../src/engine/steps/blueprint/blueprint-pipeline.ts";
import { whenExecutor } from "../../../../src/engine/steps/blueprint/blueprint-when.ts";
import { Runner, type StepNode, type Store, tool } from "../../../../src/index.ts";
import { scriptedModel } from "../../../../src/testing/index.ts";
import { watchEventLoop } from "../../../watch-event-loop.ts";
import { memoryStore } from "../../run-fixture.ts";

type World = {
  readonly pipeline: StepNode;
  /** The model requests and tool inputs, in order. */
  readonly log: string[];
};

/** A pipeline whose models answer by a function of the prompt, and whose tools return their input. */
function build(blueprint: JsonObject, answer: (asked: string) => string = (asked) => `re: ${asked}`): World {
  const log: string[] = [];
  const { pipeline } = assertRunSpec({ objective: "Do it", pipeline: blueprint });
  if (typeof pipeline !== "object" || pipeline === null) throw new Error("There is no blueprint.");
  const echoTool = (name: string) =>
    tool({
      description: name,
      inputSchema: z.looseObject({}),
      effect: "read_only",
      execute: (given) => {
        log.push(`${name} ${JSON.stringify(given)}`);
        return given;
      },
    });
  const made = buildPipeline(pipeline, {
    check: checkAnswer,
    model: (modelId) =>
      aiSdkModel(
        scriptedModel(
          ({ options }) => {
            const last = options.prompt.findLast(({ role }) => role === "user");
            const asked = JSON.stringify(last?.content).replace(/^.*"text":"(.*?)".*$/, "$1");
            log.push(`${modelId} ${asked} [${(options.tools ?? []).map(({ name }) => name).join(" ")}]`);
            const text = answer(asked);
            return text.endsWith("…") ? { text, finishReason: "length" } : { text };
          },
          { modelId },
        ),
      ),
    tool: echoTool,
    source: (server) =>
      makeToolSource({
        name: server,
        open: async (name) => {
          log.push(`open ${name}`);
          const own = ["find", "find_all", "disk_usage"].map(
            (each) => [`${name}__${each}`, echoTool(each)] as const,
          );
          return { tools: Object.fromEntries(own), close: async () => void log.push(`close ${name}`) };
        },
      }),
  });
  return { pipeline: made, log };
}

function runnerOf({ pipeline }: World, store: Store): Runner {
  return new Runner(pipeline, { store, executors: { when: whenExecutor } });
}

const agents = { w: { model: "m" } };

async function outputOf(blueprint: JsonObject, input: Json, answer?: (asked: string) => string) {
  const world = build(blueprint, answer);
  const store = await memoryStore();
  const { output } = await runnerOf(world, store).run(input);
  return { output, log: world.log };
}

describe("the pipeline of a blueprint", () => {
  it("accepts a cut-off answer only from an agent with accept_cut_answers", async () => {
    const answer = (asked: string) => (asked.startsWith("Your answer was cut off") ? "short" : "long…");
    const of = (w: JsonObject) => ({ name: "p", agents: { w }, steps: [{ name: "one", agent: "w" }] });
    expect((await outputOf(of({ model: "m" }), "Go", answer)).output).toBe("short");
    const accepting = of({ model: "m", accept_cut_answers: true });
    expect((await outputOf(accepting, "Go", answer)).output).toBe("long…");
  });

  it("passes each step the previous output, or its rendered template", async () => {
    const steps = [
      { name: "one", agent: "w", prompt: "About {{ input.topic }}" },
      { name: "two", agent: "w" },
      {
        name: "three",
        tool: "echo",
        with: { a: "{{ steps.one }}", b: ["{{ input }}", { c: "{{ previous }}!" }], d: 4 },
      },
      { name: "four", tool: "echo", with: { all: "{{ steps.three.b.0.topic }} of {{ input }}" } },
    ];
    const { output, log } = await outputOf({ name: "p", agents, steps }, { topic: "pawls" });
    expect(log[0]).toBe("m About pawls []");
    expect(log[1]).toBe("m re: About pawls []");
    expect(log[2]).toBe(
      'echo {"a":"re: About pawls","b":[{"topic":"pawls"},{"c":"re: re: About pawls!"}],"d":4}',
    );
    expect(output).toEqual({ all: 'pawls of {"topic":"pawls"}' });
  });

  it("fails a step in one sentence if a template refers to a missing value", async () => {
    const world = build({
      name: "p",
      steps: [
        { name: "one", tool: "echo", with: { a: 1 } },
        { name: "two", tool: "echo", with: { b: "{{ steps.one.b }}" } },
      ],
    });
    await expect(runnerOf(world, await memoryStore()).run(null)).rejects.toThrow(
      "Step two failed: {{ steps.one.b }} has no value: there is no b in an object with a.",
    );
    const asking = build({
      name: "p",
      agents,
      steps: [{ name: "one", agent: "w", prompt: "{{ input.x }}" }],
    });
    await expect(runnerOf(asking, await memoryStore()).run("text")).rejects.toThrow(
      "Step one failed: {{ input.x }} has no value: there is no x in a text.",
    );
    expect(asking.log).toEqual([]);
  });

  it("repeats a loop on its own output until its last step returns the expected value", async () => {
    const next: { readonly [asked: string]: string } = { zero: "one", one: "two", two: "three" };
    const loop = [
      { name: "count", agent: "w" },
      { name: "same", tool: "echo", with: { n: "{{ steps.count }}", of: "{{ steps.start.s }}" } },
      { name: "judge", agent: "j", prompt: "judged {{ steps.same.n }}" },
    ];
    const { log, output } = await outputOf(
      {
        name: "p",
        agents: { ...agents, j: { model: "judge" } },
        steps: [
          { name: "start", tool: "echo", with: { s: "{{ input }}" } },
          { name: "first", agent: "w", prompt: "{{ steps.start.s }}" },
          { name: "l", loop, until: { equals: "three" }, max_iterations: 5 },
          { name: "end", tool: "echo", with: { said: "{{ steps.l }}" } },
        ],
      },
      "zero",
      (asked) => (asked.startsWith("judged ") ? asked.slice("judged ".length) : (next[asked] ?? asked)),
    );
    expect(output).toEqual({ said: "three" });
    expect(log.filter((line) => line.startsWith("echo"))).toEqual([
      'echo {"s":"zero"}',
      'echo {"n":"two","of":"zero"}',
      'echo {"n":"three","of":"zero"}',
      'echo {"said":"three"}',
    ]);
    expect(log.filter((line) => line.startsWith("judge"))).toEqual([
      "judge judged two []",
      "judge judged three []",
    ]);
  });

  it("stops a loop at max_iterations", async () => {
    const loop = [{ name: "a", tool: "echo", with: { done: false } }];
    const world = build({
      name: "p",
      steps: [{ name: "l", loop, until: { output: "done" }, max_iterations: 2 }],
    });
    await expect(runnerOf(world, await memoryStore()).run(null)).rejects.toThrow(
      "Loop l was not done after 2 iterations",
    );
    expect(world.log).toHaveLength(2);
  });

  it("asks a person, waits, and continues with the answer", async () => {
    const world = build({
      name: "p",
      steps: [
        { name: "check", ask: "Send {{ input }}?", choices: ["send", "stop"] },
        { name: "mail", tool: "echo", with: { answer: "{{ previous }}" } },
      ],
    });
    const store = await memoryStore();
    const runner = runnerOf(world, store);
    const waiting = await runner.run("it", { runId: "q-1" });
    expect(waiting).toMatchObject({ status: "waiting", waits: [{ question: "Send it?" }] });
    const [wait] = waiting.waits;
    await store.answer(wait?.waitId ?? "", "send");
    expect((await runner.resume("q-1")).output).toEqual({ answer: "send" });
  });

  it.each([
    ["send", ["mail"], ["sorry", "again"]],
    ["stop", ["sorry", "again"], ["mail"]],
  ])(
    "runs the steps for the answer %j, skips the others, and decides the same on resume",
    async (answer, done, skipped) => {
      const when = (equals: string) => ({ when: { step: "check", equals } });
      const world = build({
        name: "p",
        agents,
        steps: [
          { name: "check", ask: "Send it?", choices: ["send", "stop"] },
          { name: "mail", agent: "w", prompt: "Mail", ...when("send") },
          { name: "sorry", agent: "w", prompt: "Sorry", ...when("stop") },
          { name: "again", loop: [{ name: "inner", tool: "echo" }], until: { equals: {} }, ...when("stop") },
          { name: "last", ask: "Done?" },
        ],
      });
      const store = await memoryStore();
      const runner = runnerOf(world, store);
      for (let result = await runner.run(null, { runId: "q-1" }); result.status === "waiting"; ) {
        const [wait] = result.waits;
        await store.answer(wait?.waitId ?? "", answer);
        result = await runner.resume("q-1");
      }
      const steps = await store.listSteps("q-1");
      const named = (status: string) => steps.flatMap((step) => (step.status === status ? [step.path] : []));
      expect(named("skipped")).toEqual(skipped);
      expect(named("succeeded")).toEqual(expect.arrayContaining(["check", ...done, "last"]));
      expect(world.log.filter((line) => line.startsWith("m "))).toHaveLength(1);
    },
  );

  it("cannot use the output of a skipped step", async () => {
    const world = build({
      name: "p",
      steps: [
        { name: "a", tool: "echo", with: { x: 1 } },
        { name: "b", tool: "echo", when: { step: "a", output: "x", equals: 2 } },
        { name: "c", tool: "echo", with: { passed: "{{ previous.x }}" } },
        { name: "d", tool: "echo", with: { y: "{{ steps.b }}" } },
      ],
    });
    await expect(runnerOf(world, await memoryStore()).run(null)).rejects.toThrow(
      "Step d failed: {{ steps.b }} has no value: step b was skipped.",
    );
    expect(world.log).toEqual(['echo {"x":1}', 'echo {"passed":1}']);
  });

  it("gives agents and steps the server tools that they name, and opens the server for each selection", async () => {
    const { log } = await outputOf(
      {
        name: "p",
        mcp_servers: { s: { command: "x" } },
        agents: {
          w: { model: "m", tools: ["echo", "s/find"] },
          v: { model: "n", tools: ["s/*"] },
        },
        steps: [
          { name: "a", agent: "w" },
          { name: "b", agent: "v" },
          { name: "c", agent: "w" },
          { name: "d", tool: "s/disk.usage", with: { q: 1 } },
        ],
      },
      "go",
    );
    expect(log.filter((line) => !/^(?:open|close)/.test(line))).toEqual([
      "m go [s__find echo]",
      "n re: go [s__find s__find_all s__disk_usage]",
      "m re: re: go [s__find echo]",
      'disk_usage {"q":1}',
    ]);
    expect(log.filter((line) => line.startsWith("open"))).toHaveLength(3);
    expect(log.filter((line) => line.startsWith("close"))).toHaveLength(3);
  });

  it("names the tool that a server does not have, and closes the server", async () => {
    const world = build({
      name: "p",
      mcp_servers: { s: { command: "x" } },
      steps: [{ name: "a", tool: "s/fnd" }],
    });
    await expect(runnerOf(world, await memoryStore()).run(null)).rejects.toThrow(
      'MCP server s has no tool "fnd": did you mean s/find?',
    );
    expect(world.log).toEqual(["open s", "close s"]);
  });

  it("passes the agents' settings to their models, and requests an answer that fits", async () => {
    const seen: unknown[] = [];
    const { pipeline } = assertRunSpec({
      objective: "Do it",
      pipeline: {
        name: "p",
        agents: {
          w: {
            model: "m",
            instructions: "Be brief.",
            output: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
            settings: { temperature: 0, max_output_tokens: 99, seed: 7, stop_sequences: ["END"] },
          },
        },
        steps: [{ name: "a", agent: "w", max_turns: 3 }],
      },
    });
    if (typeof pipeline !== "object" || pipeline === null) throw new Error("There is no blueprint.");
    const model = scriptedModel(({ turn, options }) => {
      const { temperature, maxOutputTokens, seed, stopSequences } = options;
      seen.push({ temperature, maxOutputTokens, seed, stopSequences });
      return { text: turn === 1 ? '{"txt":1}' : '{"text":"fits"}' };
    });
    const none = () => {
      throw new Error("It is not needed.");
    };
    const parts = { model: () => aiSdkModel(model), tool: none, source: none, check: checkAnswer };
    const made = buildPipeline(pipeline, parts);
    const { output } = await new Runner(made, { store: await memoryStore() }).run("go");
    expect(output).toEqual({ text: "fits" });
    expect(seen[0]).toEqual({ temperature: 0, maxOutputTokens: 99, seed: 7, stopSequences: ["END"] });
    expect(seen).toHaveLength(2);
  });

  it("survives an expensive pattern in an output schema: the model is asked for another answer", async () => {
    const { pipeline } = assertRunSpec({
      objective: "Do it",
      pipeline: {
        name: "p",
        agents: { w: { model: "m", instructions: "Go.", output: { type: "string", pattern: "^(a+)+$" } } },
        steps: [{ name: "a", agent: "w", max_turns: 3 }],
      },
    });
    if (typeof pipeline !== "object" || pipeline === null) throw new Error("There is no blueprint.");
    const model = scriptedModel([{ text: `"${"a".repeat(40)}!"` }, { text: '"aaaa"' }]);
    const none = () => {
      throw new Error("It is not needed.");
    };
    const parts = { model: () => aiSdkModel(model), tool: none, source: none, check: checkAnswer };
    const runner = new Runner(buildPipeline(pipeline, parts), { store: await memoryStore() });
    const { result, longestBlockMs } = await watchEventLoop(() => runner.run("go"));
    expect(result.output).toBe("aaaa");
    expect(longestBlockMs).toBeLessThan(3_000);
  });
});
