import { z } from "zod";
import { KEY_PROPERTIES } from "../../../core/call/tool-call-key.ts";
import type {
  Blueprint,
  BlueprintAgent,
  BlueprintAgentStep,
  BlueprintAskStep,
  BlueprintLoopStep,
  BlueprintReceiveStep,
  BlueprintSleepStep,
  BlueprintStep,
  BlueprintToolStep,
} from "../../../core/job/blueprint.ts";
import { argumentProblems } from "../../../core/job/blueprint-arguments.ts";
import { asText } from "../../../core/job/blueprint-template.ts";
import { parseDuration } from "../../../core/job/duration.ts";
import type { Json, JsonObject } from "../../../core/json.ts";
import type { SchemaCheck } from "../../../core/json-schema-check.ts";
import { ownProperty } from "../../../core/own-property.ts";
import { type Agent, defineAgent } from "../../definition/agent.ts";
import type { CodeStepContext } from "../../definition/code-step-context.ts";
import { Pipeline, type PipelineStep, Step, type StepNode } from "../../definition/step.ts";
import type { Tool } from "../../definition/tool.ts";
import type { ToolSource } from "../../definition/tool-source.ts";
import { assertJsonSchema, type ValueSchema, zodInput } from "../../definition/value-schema.ts";
import { askAt, askHuman } from "../../definition/waiting/ask-human.ts";
import type { ModelPort, ModelSettings } from "../../ports/model-port.ts";
import { someToolsOf } from "./blueprint-tool-choice.ts";
import { fillJson, fillText, holds } from "./blueprint-values.ts";
import { whenStep } from "./blueprint-when.ts";

/** The models, tools and sources that a blueprint refers to by name. */
export type BlueprintParts = {
  readonly model: (name: string) => ModelPort;
  /** A tool that does not come from an MCP server, with its settings. */
  readonly tool: (name: string) => Tool;
  readonly source: (server: string) => ToolSource;
  /** Checks an answer against an output schema. */
  readonly check: (schema: JsonObject, answer: Json) => Promise<SchemaCheck>;
};

/** The pipeline that a blueprint describes. Its references are valid: `parseRunSpec` has checked them. */
export function buildPipeline(blueprint: Blueprint, parts: BlueprintParts): PipelineStep {
  const builder = new PipelineBuilder(blueprint, parts);
  return Pipeline.of(blueprint.name, ...blueprint.steps.map((step) => builder.step(step)));
}

class PipelineBuilder {
  readonly #blueprint: Blueprint;
  readonly #parts: BlueprintParts;
  readonly #agents = new Map<string, Agent>();
  readonly #sources = new Map<string, ToolSource>();

  constructor(blueprint: Blueprint, parts: BlueprintParts) {
    this.#blueprint = blueprint;
    this.#parts = parts;
  }

  step(step: BlueprintStep): StepNode {
    const built = this.#unconditional(step);
    return step.when === null ? built : whenStep(built, step.when);
  }

  #unconditional(step: BlueprintStep): StepNode {
    if ("agent" in step) return this.#agentStep(step);
    if ("ask" in step) return askStep(step);
    if ("tool" in step) return this.#toolStep(step);
    if ("sleep" in step) return sleepStep(step);
    if ("receive" in step) return receiveStep(step);
    return this.#loop(step);
  }

  #agentStep({ name, agent, prompt, maxTurns, ...rest }: BlueprintAgentStep): StepNode {
    return Step.granular(name, this.#agent(agent), {
      maxTurns,
      ...phaseOf(rest),
      ...(prompt === null ? {} : { input: (given, earlier) => fillText(prompt, given, earlier) }),
    });
  }

  #toolStep({ name, tool: reference, with: args, ...rest }: BlueprintToolStep): StepNode {
    const toolIn = this.#toolFor(reference);
    const step = Step.run<Json, Json>(
      name,
      async (given, context) => {
        const input = await fillJson(args, given, context);
        return context.call(await toolIn((source) => context.tools(source)), input);
      },
      phaseOf(rest),
    );
    return {
      ...step,
      tools: async (sources) => {
        const found = await toolIn((source) => sources.toolsOf({ [source.name ?? reference]: source }));
        return { [found.name ?? reference]: found };
      },
      // Checked here because the tools of a server are known only now, and a blueprint need not come from a file.
      problems: async (sources) => {
        const { input } = await toolIn((source) => sources.toolsOf({ [source.name ?? reference]: source }));
        const problems = argumentProblems(reference, await input.jsonSchema(), args, KEY_PROPERTIES);
        return problems.map(({ path, message }) => `Step ${name}: ${["with", ...path].join(".")} ${message}`);
      },
    };
  }

  /** Returns a function that looks the tool up: tools of a server are known only once the server is open. */
  #toolFor(reference: string): (tools: CodeStepContext["tools"]) => Promise<Tool> {
    const { server, tool } = partsOf(reference);
    if (server === null) {
      const found = this.#parts.tool(reference);
      const named = { ...found, name: found.name ?? reference };
      return async () => named;
    }
    const source = someToolsOf(server, this.#source(server), [tool]);
    return async (tools) => {
      const [[name, found] = []] = Object.entries(await tools(source));
      // A source that was reduced to one tool has that tool, or fails to open.
      if (name === undefined || found === undefined) throw new Error(`There is no tool ${reference}.`);
      return { ...found, name };
    };
  }

  #loop({ name, loop, until, maxIterations, ...rest }: BlueprintLoopStep): StepNode {
    const steps = loop.map((each) => this.step(each));
    const [only, second] = steps;
    const all: PipelineStep = { kind: "pipeline", name, children: steps, inline: true };
    const body = only !== undefined && second === undefined ? only : all;
    return Step.loop(name, body, {
      until: (output) => holds(until, output as Json),
      maxIterations,
      ...phaseOf(rest),
    });
  }

  #source(server: string): ToolSource {
    const source = this.#sources.get(server) ?? this.#parts.source(server);
    this.#sources.set(server, source);
    return source;
  }

  #agent(name: string): Agent {
    const known = this.#agents.get(name);
    if (known !== undefined) return known;
    const definition = ownProperty(this.#blueprint.agents, name);
    if (definition === undefined) throw new Error(`There is no agent ${name}.`);
    const defined = this.#define(name, definition);
    this.#agents.set(name, defined);
    return defined;
  }

  #define(name: string, definition: BlueprintAgent): Agent {
    const { model, instructions, tools, output, settings, acceptCutAnswers = false } = definition;
    return defineAgent<unknown>({
      name,
      model: this.#parts.model(model),
      instructions,
      tools: this.#toolsOf(tools),
      ...(output === null ? {} : this.#outputOf(name, output)),
      settings: settingsOf(settings),
      acceptCutAnswers,
    });
  }

  /** A regular expression in the schema may take any time, so `check` decides where the answer is checked. */
  #outputOf(agent: string, schema: JsonObject): { readonly output: ValueSchema } {
    const { check } = this.#parts;
    const read = zodInput(z.fromJSONSchema(schema), `The output schema of agent ${agent}`);
    assertJsonSchema(read);
    return { output: { ...read, parse: (answer) => check(schema, answer as Json) } };
  }

  #toolsOf(references: readonly string[]): { readonly [name: string]: Tool | ToolSource } {
    const all = references.map(partsOf);
    const own = all.flatMap(({ server, tool }) => (server === null ? [tool] : []));
    const servers = Map.groupBy(
      all.filter(({ server }) => server !== null),
      ({ server }) => server ?? "",
    );
    return Object.fromEntries<Tool | ToolSource>([
      ...own.map((tool) => [tool, this.#parts.tool(tool)] as const),
      ...[...servers].map(
        ([server, some]) =>
          [
            server,
            someToolsOf(
              server,
              this.#source(server),
              some.map(({ tool }) => tool),
            ),
          ] as const,
      ),
    ]);
  }
}

function askStep({ name, ask, choices, ...rest }: BlueprintAskStep): StepNode {
  const step = Step.run<Json, Json>(
    name,
    async (given, context) =>
      context.call(askAt(name), {
        question: asText(await fillText(ask, given, context)),
        ...(choices.length === 0 ? {} : { choices: [...choices] }),
      }),
    phaseOf(rest),
  );
  return { ...step, tools: async () => ({ ask_human: askHuman }) };
}

function sleepStep({ name, sleep, ...rest }: BlueprintSleepStep): StepNode {
  return { ...Step.sleep<Json>(name, msOf(sleep)), ...phaseOf(rest) };
}

function receiveStep({ name, receive, timeout, ...rest }: BlueprintReceiveStep): StepNode {
  const limit = timeout === null ? {} : { timeoutMs: msOf(timeout) };
  return Step.receive<Json>(name, { event: receive, ...limit, ...phaseOf(rest) });
}

/** `parseRunSpec` has checked it. */
function msOf(duration: string): number {
  const ms = parseDuration(duration);
  if (ms === null) throw new Error(`${duration} is not a duration.`);
  return ms;
}

function phaseOf({ phase }: Pick<BlueprintStep, "phase">): { readonly phase?: string } {
  return phase === null ? {} : { phase };
}

function partsOf(reference: string): { readonly server: string | null; readonly tool: string } {
  const slash = reference.indexOf("/");
  return slash === -1
    ? { server: null, tool: reference }
    : { server: reference.slice(0, slash), tool: reference.slice(slash + 1) };
}

/** Settings that the blueprint does not give are left to the agent and its provider. */
function settingsOf({ stopSequences, ...rest }: BlueprintAgent["settings"]): Partial<ModelSettings> {
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
  return { ...given, ...(stopSequences.length === 0 ? {} : { stopSequences }) };
}
