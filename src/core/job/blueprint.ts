import type { Json, JsonObject } from "../json.ts";
import { AT_ADDRESS, addressField, type BlueprintModel, textsByName } from "./blueprint-model.ts";
import {
  AGENT_NAME,
  ANSWER,
  ARGUMENT,
  COMMAND,
  COUNT,
  DOTTED_PATH,
  DURATION,
  EVENT,
  FOLDER,
  HEADER_NAME,
  INSTRUCTIONS,
  MODEL,
  MODEL_NAME,
  OUTPUT_TOKENS,
  PHASE,
  PIPELINE_NAME,
  PROBABILITY,
  QUESTION,
  REASONING,
  SEED,
  SERVER_NAME,
  STEP_NAME,
  STEP_REFERENCE,
  STOP_SEQUENCE,
  TEMPERATURE,
  TEMPLATE,
  TIMEOUT,
  TOOL_NAME,
  TOOL_REFERENCE,
  VARIABLE_NAME,
} from "./blueprint-rules.ts";
import { anyObject, itemsOf, kindOf, mapOf, orNull } from "./run-spec-collections.ts";
import { addedLater, anything, type Field, laterField, listOf, objectOf, single } from "./run-spec-field.ts";
import { YES_OR_NO } from "./run-spec-rules.ts";

/** A pipeline that is defined in a job file: agents, steps, and the sources of their tools. Every field is filled in. */
export type Blueprint = {
  readonly name: string;
  /** Models at an address, by their names. Absent by default, so that the blueprints of earlier runs stay equal. */
  readonly models?: { readonly [name: string]: BlueprintModel };
  readonly mcpServers: { readonly [name: string]: BlueprintServer };
  /** The settings of tools, by their names. */
  readonly tools: { readonly [name: string]: JsonObject };
  readonly agents: { readonly [name: string]: BlueprintAgent };
  readonly steps: readonly BlueprintStep[];
};

export type BlueprintServer =
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: { readonly [name: string]: string };
      /** Relative to the folder of the configuration; null is the folder in `jobs.commands`, by default that of the configuration. */
      readonly cwd: string | null;
    }
  | {
      readonly url: string;
      readonly headers: { readonly [name: string]: string };
      /** Absent by default, so that the blueprints of earlier runs stay equal. */
      readonly private?: boolean;
    };

export type BlueprintAgent = {
  /** `openai/gpt-5.2`, or a name in `models` of the blueprint or of the configuration. */
  readonly model: string;
  readonly instructions: string;
  /** Names of tools; `server/tool` and `server/*` are tools of an MCP server. */
  readonly tools: readonly string[];
  /** The JSON Schema of its answer; null if the answer is a text. */
  readonly output: JsonObject | null;
  readonly settings: BlueprintSettings;
  /** Absent by default, so that the blueprints of earlier runs stay equal. */
  readonly acceptCutAnswers?: boolean;
};

type BlueprintSettings = {
  readonly maxOutputTokens: number | null;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly seed: number | null;
  readonly stopSequences: readonly string[];
  readonly reasoning: string | null;
  readonly providerOptions: JsonObject | null;
};

export type BlueprintStep =
  | BlueprintAgentStep
  | BlueprintAskStep
  | BlueprintToolStep
  | BlueprintSleepStep
  | BlueprintReceiveStep
  | BlueprintLoopStep;

type StepParts = {
  readonly name: string;
  readonly phase: string | null;
  readonly when: BlueprintWhen | null;
};

export type BlueprintAgentStep = StepParts & {
  readonly agent: string;
  /** A template; null is the output of the previous step. */
  readonly prompt: string | null;
  readonly maxTurns: number;
};

export type BlueprintAskStep = StepParts & { readonly ask: string; readonly choices: readonly string[] };

/** `with` may have templates anywhere in it. */
export type BlueprintToolStep = StepParts & { readonly tool: string; readonly with: JsonObject };

/** A duration such as `3h`. */
export type BlueprintSleepStep = StepParts & { readonly sleep: string };

/** Without a `timeout` it waits without a limit. */
export type BlueprintReceiveStep = StepParts & { readonly receive: string; readonly timeout: string | null };

export type BlueprintLoopStep = StepParts & {
  readonly loop: readonly BlueprintStep[];
  readonly until: BlueprintCondition;
  readonly maxIterations: number;
};

/** True if the output of a step, or the part of it at a path, equals a value. */
export type BlueprintCondition = { readonly output: string | null; readonly equals: Json };

export type BlueprintWhen = BlueprintCondition & { readonly step: string };

const NO_VALUE = { value: null };

const CONDITION = {
  output: single(
    DOTTED_PATH,
    NO_VALUE,
    "The field of that output, with dots between names: is_complete, review.verdict. By default all of it.",
  ),
  equals: anything(true, "The value that it must have; true by default."),
};

const STEP_PARTS = {
  name: single(STEP_NAME, null, "The name of the step, unique in the blueprint."),
  phase: single(PHASE, NO_VALUE, "A name for several steps that belong together, for display."),
  when: orNull(
    objectOf<BlueprintWhen>(
      {
        step: single(STEP_REFERENCE, null, "An earlier step, by its name."),
        ...CONDITION,
      },
      "The step runs only if an earlier step had this output; otherwise it is skipped, and its input is passed on.",
      {},
      "`when`",
    ),
  ),
};

/** A step inside a step: its schema is a reference, since steps are recursive. */
const INNER_STEP: Pick<Field<BlueprintStep>, "schema" | "read"> = {
  schema: () => ({ $ref: "#/$defs/step" }),
  read: (...given) => STEP.read(...given),
};

const STEP: Field<BlueprintStep> = kindOf<BlueprintStep>(
  {
    agent: objectOf<BlueprintAgentStep>(
      {
        ...STEP_PARTS,
        agent: single(AGENT_NAME, null, "The agent of the step, by its name in `agents`."),
        prompt: single(
          TEMPLATE,
          NO_VALUE,
          "The prompt, with {{ input… }}, {{ previous… }} and {{ steps.NAME… }}; by default the output of the previous step.",
        ),
        maxTurns: single(COUNT(1, 10_000), { value: 20 }, "How many turns it may take."),
      },
      "An agent works until it is done.",
      {},
      "a step",
    ),
    ask: objectOf<BlueprintAskStep>(
      {
        ...STEP_PARTS,
        ask: single(QUESTION, null, "The question to a person; it may contain templates."),
        choices: choices(),
      },
      "A person is asked; the run waits, and the answer is the output of the step.",
      {},
      "a step",
    ),
    tool: objectOf<BlueprintToolStep>(
      {
        ...STEP_PARTS,
        tool: single(TOOL_NAME, null, "The name of a tool; server/tool is a tool of an MCP server."),
        with: anyObject("Its arguments; texts in them may contain templates.", { value: {} }),
      },
      "A tool is called once; its result is the output of the step.",
      {},
      "a step",
    ),
    sleep: objectOf<BlueprintSleepStep>(
      {
        ...STEP_PARTS,
        sleep: single(DURATION, null, "How long it waits: 45s, 30m, 3h, 2d."),
      },
      "The run waits for a while; the input of the step is passed on.",
      {},
      "a step",
    ),
    receive: objectOf<BlueprintReceiveStep>(
      {
        ...STEP_PARTS,
        receive: single(
          EVENT,
          null,
          "The event that it waits for: its name, or the beginning of its name and a *.",
        ),
        timeout: single(
          TIMEOUT,
          NO_VALUE,
          "How long it waits before the run fails, such as 3d; by default without a limit.",
        ),
      },
      "The run waits for a message; its output is the message, with its `data`.",
      {},
      "a step",
    ),
    loop: objectOf<BlueprintLoopStep>(
      {
        ...STEP_PARTS,
        loop: itemsOf<BlueprintStep>(
          INNER_STEP,
          "steps",
          1,
          "The steps of an iteration; each iteration gets the output of the previous one.",
        ),
        until: {
          ...objectOf<BlueprintCondition>(
            CONDITION,
            "The condition that ends the loop: the output of its last step.",
            {},
            "`until`",
          ),
          absent: null,
        },
        maxIterations: single(COUNT(1, 10_000), { value: 10 }, "The maximum number of iterations."),
      },
      "Steps that are repeated until the output of the last one meets a condition.",
      {},
      "a step",
    ),
  },
  "a step",
  "One step: an agent, a question to a person, a tool call, a sleep, a wait for a message, or a loop.",
);

/** A choice needs at least two answers. */
function choices(): Field<readonly string[]> {
  const list = listOf(
    ANSWER,
    "answers",
    "The answers to choose from, at least two; without them, any answer is accepted.",
  );
  return {
    ...list,
    read(value, path, reading) {
      const read = list.read(value, path, reading);
      if (read?.length === 1)
        reading.report(path, "has one answer: give two or more, or leave the field out.");
      return read;
    },
  };
}

const SETTINGS = objectOf<BlueprintSettings>(
  {
    maxOutputTokens: single(
      OUTPUT_TOKENS,
      NO_VALUE,
      "The most tokens that one answer may have; 4096 by default.",
    ),
    temperature: single(TEMPERATURE, NO_VALUE, "How much the model varies its answers."),
    topP: single(PROBABILITY, NO_VALUE, "The share of likely words that the model chooses from."),
    seed: single(SEED, NO_VALUE, "Makes answers more reproducible, if the provider supports it."),
    stopSequences: itemsOf(single(STOP_SEQUENCE, null, ""), "texts", 0, "Texts that end an answer."),
    reasoning: single(REASONING, NO_VALUE, "How much the model thinks before it answers."),
    providerOptions: orNull(anyObject("Options of the provider, under its name.", null)),
  },
  "The settings of the model call.",
  {},
  "`settings`",
);

const AGENT = objectOf<BlueprintAgent>(
  {
    model: single(
      MODEL,
      null,
      "provider/model, such as openai/gpt-5.2; or a name in `models` of this blueprint or of pawl.config.ts.",
    ),
    instructions: single(INSTRUCTIONS, { value: "" }, "The system prompt of the agent."),
    tools: listOf(
      TOOL_REFERENCE,
      'names of tools such as "read_file" or "notes/*"',
      "The tools that it may use: built-in ones, those of pawl.config.ts, and server/tool or server/* of an MCP server.",
    ),
    output: orNull(anyObject("The JSON Schema of its answer; by default the answer is a text.", null)),
    settings: SETTINGS,
    acceptCutAnswers: laterField(
      YES_OR_NO,
      "Whether an answer that was cut off at max_output_tokens may be its output; if not, a shorter one is requested.",
    ),
  },
  "A model with its instructions and tools.",
  {},
  "an agent",
);

const SERVER = kindOf<BlueprintServer>(
  {
    command: objectOf<Extract<BlueprintServer, { command: string }>>(
      {
        command: single(COMMAND, null, "The program of the server, which talks over stdin and stdout."),
        args: itemsOf(
          single(ARGUMENT, null, ""),
          "texts",
          0,
          "Its arguments. ${NAME} is an environment variable.",
        ),
        env: textsByName(
          VARIABLE_NAME,
          "Environment variables of the server in addition to the usual ones. ${NAME} is an environment variable.",
        ),
        cwd: single(
          FOLDER,
          NO_VALUE,
          "The folder that it expects to be started in, relative to this file. jobs.commands decides it: by default the folder of pawl.config.ts.",
        ),
      },
      "A server that runs as a local program.",
      {},
      "an MCP server",
    ),
    url: objectOf<Extract<BlueprintServer, { url: string }>>(
      {
        url: addressField("The address of the server. ${NAME} is an environment variable."),
        headers: textsByName(HEADER_NAME, "Headers of every request. ${NAME} is an environment variable."),
        private: laterField(
          YES_OR_NO,
          "Whether its name may resolve to a private address; an IP address, and localhost, may be private anyway.",
        ),
      },
      "A remote server.",
      {},
      "an MCP server",
    ),
  },
  "an MCP server",
  "A source of tools, over the Model Context Protocol.",
);

/** The single definition of a blueprint. References between its parts are checked in blueprint-references.ts. */
export const BLUEPRINT: Field<Blueprint> = objectOf<Blueprint>(
  {
    name: single(PIPELINE_NAME, null, "The name of the pipeline: runs are found by it."),
    models: addedLater(
      mapOf(
        MODEL_NAME,
        AT_ADDRESS,
        "Models at an address, by a name of your choice, for the `model` of agents.",
      ),
    ),
    mcpServers: mapOf(
      SERVER_NAME,
      SERVER,
      "MCP servers by a name of your choice, which prefixes their tools: server/tool.",
    ),
    tools: mapOf(
      TOOL_NAME,
      anyObject("The settings of a tool.", null),
      "The settings of built-in tools that need some, by the tool's name. ${NAME} is an environment variable.",
    ),
    agents: mapOf(AGENT_NAME, AGENT, "Agents by a name of your choice."),
    steps: itemsOf(INNER_STEP, "steps", 1, "The steps, in order; each gets the output of the previous one."),
  },
  "A pipeline that is defined here: agents, steps, and the sources of their tools.",
  {},
  "a blueprint",
);

/** The definitions that the JSON Schema of a document with a blueprint needs. */
export const blueprintDefinitions = (): JsonObject => ({ step: STEP.schema() });
