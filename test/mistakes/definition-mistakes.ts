// Mistakes in agents, tools, steps and pipelines, made without the help of the types.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { hasToolCall, isStepCount, tool as sdkTool, ToolLoopAgent } from "ai";
import { z } from "zod";
import { agent, defineConfig, Pipeline, promptTemplate, Step, tool } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import type { Mistake } from "./mistake.ts";
import { noTypes } from "./mistaken-worker.ts";

const model = scriptedModel([{ text: "Done." }]);
const made = (options: object) => agent(noTypes({ name: "a", model, ...options }));
const tooled = (options: object) =>
  tool(
    noTypes({
      name: "refund",
      description: "Refunds.",
      inputSchema: z.object({}),
      execute: () => 1,
      ...options,
    }),
  );
const say = tool({ description: "Says.", inputSchema: z.object({}), execute: () => "said" });
const openai = createOpenAICompatible({ name: "local", baseURL: "http://127.0.0.1:1/v1" });

export const definitionMistakes: readonly Mistake[] = [
  {
    what: "an agent without a model",
    make: () => agent(noTypes({ name: "a", instructions: "Help." })),
    says: 'Agent a has no model: give it an AI SDK model, openai("gpt-5.2").',
    grade: "A",
  },
  {
    what: "a model that is undefined, as of a misspelt import",
    make: () => made({ model: undefined }),
    says: 'Agent a has no model: give it an AI SDK model, openai("gpt-5.2").',
    grade: "A",
  },
  {
    what: "a model id without its provider",
    make: () => made({ model: "gpt-5.2" }),
    says: 'Agent a has the model "gpt-5.2": a text is the id of a model at the AI Gateway and begins with its provider, such as "openai/gpt-5.2"; or give an AI SDK model, openai("gpt-5.2").',
    grade: "A",
  },
  {
    what: "a provider instead of a model",
    make: () => made({ model: openai }),
    says: 'Agent a has a function as its model: if it is a provider, call it with the id of a model, openai("gpt-5.2").',
    grade: "A",
  },
  {
    what: "a promise of a model",
    make: () => made({ model: Promise.resolve(model) }),
    says: 'Agent a has a promise as its model: give it an AI SDK model, openai("gpt-5.2").',
    grade: "A",
  },
  {
    what: "an embedding model",
    make: () => made({ model: openai.embeddingModel("e") }),
    says: 'Agent a has a model that is not a language model (an OpenAICompatibleEmbeddingModel): give it an AI SDK model, openai("gpt-5.2"), or an object with provider, modelId and respond.',
    grade: "A",
  },
  {
    what: "an agent without a name",
    make: () => agent(noTypes({ model })),
    says: "An agent needs a name: give it one as `name`, or as the AI SDK's `id`.",
    grade: "A",
  },
  {
    what: "a name with a slash",
    make: () => made({ name: "team/a" }),
    says: '"team/a" cannot name an agent: use 1 to 100 characters without "/", "#", "[", "]" or spaces at the ends, and not "." or "..".',
    grade: "A",
  },
  {
    what: "system, as in other libraries",
    make: () => made({ system: "Help." }),
    says: 'Agent a has no "system": did you mean instructions?',
    grade: "A+",
  },
  {
    what: "maxSteps, as in AI SDK 4",
    make: () => made({ maxSteps: 5 }),
    says: 'Agent a has no "maxSteps": did you mean maxTurns?',
    grade: "A+",
  },
  {
    what: "a misspelt option",
    make: () => made({ instrutions: "Help." }),
    says: 'Agent a has no "instrutions": did you mean instructions?',
    grade: "A+",
  },
  {
    what: "an option of the Runner on the agent",
    make: () => made({ store: {} }),
    says: 'Agent a has no "store": did you mean store of new Runner(agent, { … })?',
    grade: "A",
  },
  {
    what: "a misspelt model setting",
    make: () => made({ settings: { temprature: 0 } }),
    says: '`settings` of an agent has no "temprature": did you mean temperature?',
    grade: "A+",
  },
  {
    what: "maxTurns of 0",
    make: () => made({ maxTurns: 0 }),
    says: "maxTurns of agent a is 0: give a whole number of at least 1.",
    grade: "A",
  },
  {
    what: "prepareStep",
    make: () => made({ prepareStep: () => ({}) }),
    says: "Agent a cannot have prepareStep: the settings of a run do not change: put what changes into a promptTemplate({ … }), or use several steps.",
    grade: "A",
  },
  {
    what: "a ToolLoopAgent instance",
    make: () => agent(noTypes(new ToolLoopAgent({ model }))),
    says: "agent() was given a ToolLoopAgent, whose settings are private: pass the settings that it was made from.",
    grade: "A",
  },
  {
    what: "a tool name that providers refuse",
    make: () => made({ tools: { "send mail!": say } }),
    says: 'Agent a has a tool named "send mail!", which model providers refuse: use 1 to 64 letters, digits, "_" or "-", such as "send_mail".',
    grade: "A",
  },
  {
    what: "a tool name that is too long",
    make: () => made({ tools: { ["t".repeat(70)]: say } }),
    says: 'Agent a has a tool named "tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt", which model providers refuse: use 1 to 64 letters, digits, "_" or "-", such as "tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt".',
    grade: "A",
  },
  {
    what: "two tools with one name",
    make: () => made({ tools: { first: tooled({}), second: tooled({}) } }),
    says: 'Agent a has two tools named "refund", under tools.first and tools.second: rename one of them.',
    grade: "A",
  },
  {
    what: "a function as a tool",
    make: () => made({ tools: { add: () => 1 } }),
    says: "Tool add of agent a is a function: make it with tool({ description, inputSchema, execute }).",
    grade: "A",
  },
  {
    what: "a tool that is undefined, as of a misspelt import",
    make: () => made({ tools: { add: undefined } }),
    says: "Tool add of agent a is undefined: make it with tool({ description, inputSchema, execute }).",
    grade: "A",
  },
  {
    what: "an AI SDK tool without execute",
    make: () => made({ tools: { add: sdkTool({ inputSchema: z.object({}) }) } }),
    says: "Tool add has no execute function, and Pawl runs the tools itself: add one.",
    grade: "A",
  },
  {
    what: "a misspelt tool in activeTools",
    make: () => made({ tools: { say }, activeTools: ["sya"] }),
    says: 'activeTools of agent a names the tool "sya", which it does not have: did you mean say?',
    grade: "A+",
  },
  {
    what: "a tool without a description",
    make: () => tooled({ description: undefined }),
    says: 'The tool "refund" needs a description: say what it does.',
    grade: "A",
  },
  {
    what: "a tool without execute",
    make: () => tooled({ execute: undefined }),
    says: 'The tool "refund" needs an execute function.',
    grade: "A",
  },
  {
    what: "parameters, as in AI SDK 4",
    make: () => tooled({ parameters: z.object({}) }),
    says: 'The tool "refund" has no "parameters": did you mean inputSchema?',
    grade: "A+",
  },
  {
    what: "a misspelt option of a tool",
    make: () => tooled({ recover: "keyed" }),
    says: 'The tool "refund" has no "recover": did you mean recovery?',
    grade: "A+",
  },
  {
    what: "an unknown recovery",
    make: () => tooled({ recovery: "retry" }),
    says: 'The tool "refund" has recovery "retry": use repeat, keyed, reconcile, opaque.',
    grade: "A",
  },
  {
    what: "recovery reconcile without the function",
    make: () => tooled({ recovery: "reconcile" }),
    says: 'The tool "refund" has recovery "reconcile" and no reconcile function: give it one that looks a call up.',
    grade: "A",
  },
  {
    what: "a JSON Schema as the input schema",
    make: () => tooled({ inputSchema: { type: "object" } }),
    says: 'The tool "refund" needs an inputSchema: give it a zod schema, z.object({ … }).',
    grade: "A",
  },
  {
    what: "a schema that has no JSON form",
    make: () => tooled({ inputSchema: z.object({ at: z.date() }) }),
    says: 'The tool "refund": its inputSchema has no JSON Schema: Date cannot be represented in JSON Schema. Use schemas of JSON values, such as z.iso.datetime() for a date.',
    grade: "A",
  },
  {
    what: "a timeout in words",
    make: () => tooled({ timeoutMs: "30s" }),
    says: 'The tool "refund" has timeoutMs "30s": give whole milliseconds from 1 to 2147483647.',
    grade: "A",
  },
  {
    what: "an approval in words",
    make: () => tooled({ approval: "always" }),
    says: 'The tool "refund" has approval "always": give true, or a function of its input, ({ amount }) => amount > 100.',
    grade: "A+",
  },
  {
    what: "a secret as a plain text",
    make: () => tooled({ secrets: ["sk-1"] }),
    says: 'The tool "refund" has secrets that are not secrets: give a list of secret(…).',
    grade: "A",
  },
  {
    what: "an agent as a step",
    make: () => Pipeline.of("p", noTypes(made({}))),
    says: 'Pipeline.of("p", …) has agent a where a step belongs: wrap it, Step.granular("a", agent).',
    grade: "A+",
  },
  {
    what: "a function as a step",
    make: () =>
      Pipeline.of(
        "p",
        noTypes(() => 1),
      ),
    says: 'Pipeline.of("p", …) has a function where a step belongs: make one with Step.granular, Step.conversation, Step.run, Step.human, Step.sleep, Step.receive or Step.loop.',
    grade: "A",
  },
  {
    what: "an empty pipeline",
    make: () => Pipeline.of("p"),
    says: "Pipeline p has no steps: give at least one.",
    grade: "A",
  },
  {
    what: "two steps with one name",
    make: () =>
      Pipeline.of(
        "p",
        Step.run("x", () => 1),
        Step.run("x", () => 2),
      ),
    says: "Pipeline p has two steps named x: rename one of them.",
    grade: "A",
  },
  {
    what: "the arguments of a step swapped",
    make: () => Step.granular(noTypes(made({})), noTypes("x")),
    says: 'An object cannot name a step: use 1 to 100 characters without "/", "#", "[", "]" or spaces at the ends, and not "." or "..".',
    grade: "B",
  },
  {
    what: "a JSON Schema as the output",
    make: () => made({ output: { type: "object" } }),
    says: "The output of agent a is an object and not a schema: give a zod schema, z.object({ … }), or Output.object({ schema }) of the AI SDK.",
    grade: "A",
  },
  {
    what: "maxTurns and stopWhen",
    make: () => made({ maxTurns: 3, stopWhen: isStepCount(3) }),
    says: "Agent a has maxTurns and stopWhen: give one of them.",
    grade: "A",
  },
  {
    what: "a stop condition in code",
    make: () => made({ stopWhen: hasToolCall("say") }),
    says: "Agent a has a stopWhen other than isStepCount(n): define when it is done with Step.granular(name, agent, { maxTurns, completion }).",
    grade: "A",
  },
  {
    what: "a model as the agent of a step",
    make: () => Step.granular("x", noTypes(model)),
    says: 'Step.granular("x", …) has an object where its agent belongs: make one with agent({ … }).',
    grade: "A",
  },
  {
    what: "maxSteps on a step",
    make: () => Step.granular("x", made({}), noTypes({ maxSteps: 3 })),
    says: 'Step.granular("x", …) has no "maxSteps": did you mean maxTurns?',
    grade: "A+",
  },
  {
    what: "a question that was left out",
    make: () => Step.human("x", noTypes({ choices: ["yes", "no"] })),
    says: 'Step.human("x", …) has no question: give it { question: "…" }.',
    grade: "A+",
  },
  {
    what: "tools as a list",
    make: () => agent(noTypes({ name: "a", model: scriptedModel([]), tools: [say] })),
    says: "The tools of agent a are a list: give an object with a name for each, such as tools: { send_mail: … }.",
    grade: "A+",
  },
  {
    what: "a question under another name",
    make: () => Step.human("x", noTypes({ prompt: "Send?" })),
    says: 'Step.human("x", …) has no "prompt": did you mean question?',
    grade: "A+",
  },
  {
    what: "a loop without an end",
    make: () =>
      Step.loop(
        "x",
        Step.run("y", () => 1),
        noTypes({ until: () => true }),
      ),
    says: "maxIterations of step x is undefined: give a whole number of at least 1.",
    grade: "A",
  },
  {
    what: "code that is not a function",
    make: () => Step.run("x", noTypes("echo")),
    says: 'Step.run("x", …) has a string as its code: give a function.',
    grade: "A",
  },
  {
    what: "a prompt template with unknown options",
    make: () => promptTemplate(noTypes({ namespace: "n", key: "k", version: 1, section: [] })),
    says: 'The argument of promptTemplate has no "section": did you mean sections?',
    grade: "A+",
  },
  {
    what: "agents in the configuration",
    make: () => defineConfig(noTypes({ agents: {} })),
    says: 'A configuration has no "agents": did you mean pipelines?',
    grade: "A+",
  },
  {
    what: "a misspelt limit for job files",
    make: () => defineConfig(noTypes({ jobs: { domain: ["x"] } })),
    says: 'jobs has no "domain": did you mean domains?',
    grade: "A+",
  },
  {
    what: "a pipeline that is a function",
    make: () => defineConfig(noTypes({ pipelines: { p: () => 1 } })),
    says: "pipelines.p is a function, neither an agent nor a step: make it with agent({ … }), Step or Pipeline.of(…).",
    grade: "A",
  },
];
