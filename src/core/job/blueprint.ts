import type { Json, JsonObject } from "../json.ts";
import {
  AGENT_NAME,
  ANSWER,
  ARGUMENT,
  COMMAND,
  COUNT,
  DOTTED_PATH,
  FOLDER,
  HEADER_NAME,
  hasCredentials,
  INSTRUCTIONS,
  MODEL,
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
  TOOL_NAME,
  TOOL_REFERENCE,
  URL_TEXT,
  VARIABLE_NAME,
} from "./blueprint-rules.ts";
import { anyObject, itemsOf, kindOf, mapOf, orNull } from "./run-spec-collections.ts";
import { anything, type Field, laterField, listOf, objectOf, single } from "./run-spec-field.ts";
import { YES_OR_NO } from "./run-spec-rules.ts";

/** A pipeline that is written down in a job file: agents, steps, and where their tools come from. Every field is there. */
export type Blueprint = {
  readonly name: string;
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
      /** Relative to the folder of the configuration; null is where `jobs.commands` has it start, which is that folder unless said. */
      readonly cwd: string | null;
    }
  | {
      readonly url: string;
      readonly headers: { readonly [name: string]: string };
      /** Absent unless it is written: runs that began before it could be keep their blueprint. */
      readonly private?: boolean;
    };

export type BlueprintAgent = {
  /** `openai/gpt-5.2`, or a name that the configuration has for one. */
  readonly model: string;
  readonly instructions: string;
  /** Names of tools; `server/tool` and `server/*` are those of an MCP server. */
  readonly tools: readonly string[];
  /** The JSON Schema of its answer; null where that is a text. */
  readonly output: JsonObject | null;
  readonly settings: BlueprintSettings;
  /** Absent unless it is written: runs that began before it could be keep their blueprint. */
  readonly acceptCutAnswers?: boolean;
};

export type BlueprintSettings = {
  readonly maxOutputTokens: number | null;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly seed: number | null;
  readonly stopSequences: readonly string[];
  readonly reasoning: string | null;
  readonly providerOptions: JsonObject | null;
};

export type BlueprintStep = BlueprintAgentStep | BlueprintAskStep | BlueprintToolStep | BlueprintLoopStep;

type StepParts = {
  readonly name: string;
  readonly phase: string | null;
  readonly when: BlueprintWhen | null;
};

export type BlueprintAgentStep = StepParts & {
  readonly agent: string;
  /** A template; null: what the step before came to. */
  readonly prompt: string | null;
  readonly maxTurns: number;
};

export type BlueprintAskStep = StepParts & { readonly ask: string; readonly choices: readonly string[] };

/** `with` may have templates anywhere in it. */
export type BlueprintToolStep = StepParts & { readonly tool: string; readonly with: JsonObject };

export type BlueprintLoopStep = StepParts & {
  readonly loop: readonly BlueprintStep[];
  readonly until: BlueprintCondition;
  readonly maxIterations: number;
};

/** Whether what a step came to, or the part of it at a path, is a value. */
export type BlueprintCondition = { readonly output: string | null; readonly equals: Json };

export type BlueprintWhen = BlueprintCondition & { readonly step: string };

const NO_VALUE = { value: null };

const CONDITION = {
  output: single(
    DOTTED_PATH,
    NO_VALUE,
    "Where in that output to look, with dots between names: is_complete, review.verdict. All of it, where nothing is said.",
  ),
  equals: anything(true, "The value that has to be there; true, where nothing is said."),
};

const STEP_PARTS = {
  name: single(STEP_NAME, null, "The name of the step; no other step has it."),
  phase: single(PHASE, NO_VALUE, "A name for several steps that belong together, for people."),
  when: orNull(
    objectOf<BlueprintWhen>(
      {
        step: single(STEP_REFERENCE, null, "An earlier step, by its name."),
        ...CONDITION,
      },
      "The step is done only if an earlier step came to this; otherwise it is skipped, and what came in is passed on.",
      {},
      "`when`",
    ),
  ),
};

/** A step by where its schema is: there may be steps inside of it. */
const INNER_STEP: Pick<Field<BlueprintStep>, "schema" | "read"> = {
  schema: { $ref: "#/$defs/step" },
  read: (...given) => STEP.read(...given),
};

const STEP: Field<BlueprintStep> = kindOf<BlueprintStep>(
  {
    agent: objectOf<BlueprintAgentStep>(
      {
        ...STEP_PARTS,
        agent: single(AGENT_NAME, null, "The agent that does it, by its name in `agents`."),
        prompt: single(
          TEMPLATE,
          NO_VALUE,
          "What it is asked, with {{ input… }}, {{ previous… }} and {{ steps.NAME… }}; what the step before came to, where nothing is said.",
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
        ask: single(QUESTION, null, "The question to a person; it may have templates in it."),
        choices: choices(),
      },
      "A person is asked; the run waits, and the answer is what the step comes to.",
      {},
      "a step",
    ),
    tool: objectOf<BlueprintToolStep>(
      {
        ...STEP_PARTS,
        tool: single(TOOL_NAME, null, "A tool by its name; server/tool is one of an MCP server."),
        with: anyObject("Its arguments; texts in them may have templates.", { value: {} }),
      },
      "A tool is called once; its result is what the step comes to.",
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
          "The steps that are done again and again, each time on what they came to before.",
        ),
        until: {
          ...objectOf<BlueprintCondition>(
            CONDITION,
            "When it is done: what its last step has come to.",
            {},
            "`until`",
          ),
          absent: null,
        },
        maxIterations: single(COUNT(1, 10_000), { value: 10 }, "How often it may be done."),
      },
      "Steps that are done again and again until the last of them comes to something.",
      {},
      "a step",
    ),
  },
  "a step",
  "One step: an agent, a question to a person, a call of a tool, or a loop.",
);

/** Whoever may choose has two answers to choose from. */
function choices(): Field<readonly string[]> {
  const list = listOf(
    ANSWER,
    "answers",
    "The answers to choose from, at least two; any answer will do, where none are given.",
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
    maxOutputTokens: single(OUTPUT_TOKENS, NO_VALUE, "The most that one answer may have; 4096 unless said."),
    temperature: single(TEMPERATURE, NO_VALUE, "How much the model varies what it says."),
    topP: single(PROBABILITY, NO_VALUE, "The share of likely words that the model chooses from."),
    seed: single(SEED, NO_VALUE, "Makes answers more alike, where the provider knows how."),
    stopSequences: itemsOf(single(STOP_SEQUENCE, null, ""), "texts", 0, "Texts that end an answer."),
    reasoning: single(REASONING, NO_VALUE, "How much the model thinks before it answers."),
    providerOptions: orNull(anyObject("Options of the provider, under its name.", null)),
  },
  "How the model is asked.",
  {},
  "`settings`",
);

const AGENT = objectOf<BlueprintAgent>(
  {
    model: single(
      MODEL,
      null,
      "provider/model, such as openai/gpt-5.2; or a name in `models` of pawl.config.ts.",
    ),
    instructions: single(INSTRUCTIONS, { value: "" }, "What the agent is told before anything else."),
    tools: listOf(
      TOOL_REFERENCE,
      'names of tools such as "read_file" or "notes/*"',
      "What it may use: built-in tools, tools of pawl.config.ts, and server/tool or server/* of an MCP server.",
    ),
    output: orNull(
      anyObject("The JSON Schema that its answer has to fit; a text, where nothing is said.", null),
    ),
    settings: SETTINGS,
    acceptCutAnswers: laterField(
      YES_OR_NO,
      "Whether an answer that was cut off at max_output_tokens may be its output; if not, a shorter one is asked for.",
    ),
  },
  "A model with its instructions and tools.",
  {},
  "an agent",
);

const texts = (name: Parameters<typeof mapOf>[0], description: string) =>
  mapOf(name, single(ARGUMENT, null, ""), description);

/** What is in an address is stored, and shown to people. */
function address(description: string): Field<string> {
  const field = single(URL_TEXT, null, description);
  return {
    ...field,
    read(value, path, reading) {
      if (typeof value !== "string" || !hasCredentials(value)) return field.read(value, path, reading);
      reading.report(
        path,
        "has a name or a password in it, and is stored: use headers, with ${NAME} for a variable.",
      );
      return undefined;
    },
  };
}

const SERVER = kindOf<BlueprintServer>(
  {
    command: objectOf<Extract<BlueprintServer, { command: string }>>(
      {
        command: single(COMMAND, null, "The program that is the server, spoken to over stdin and stdout."),
        args: itemsOf(
          single(ARGUMENT, null, ""),
          "texts",
          0,
          "Its arguments. ${NAME} is a variable of the environment.",
        ),
        env: texts(
          VARIABLE_NAME,
          "Variables that it is given beside the usual ones. ${NAME} is a variable of the environment.",
        ),
        cwd: single(
          FOLDER,
          NO_VALUE,
          "The folder that it expects to be started in, from that of this file. jobs.commands says which it is: that of pawl.config.ts unless said.",
        ),
      },
      "A server that is a program here.",
      {},
      "an MCP server",
    ),
    url: objectOf<Extract<BlueprintServer, { url: string }>>(
      {
        url: address("The address of the server. ${NAME} is a variable of the environment."),
        headers: texts(HEADER_NAME, "Headers of every request. ${NAME} is a variable of the environment."),
        private: laterField(
          YES_OR_NO,
          "Whether its name may have a private address; an address, and localhost, may be private anyway.",
        ),
      },
      "A server elsewhere.",
      {},
      "an MCP server",
    ),
  },
  "an MCP server",
  "Where tools come from, over the Model Context Protocol.",
);

/** The one table of what a blueprint has. What it refers to is checked in blueprint-references.ts. */
export const BLUEPRINT: Field<Blueprint> = objectOf<Blueprint>(
  {
    name: single(PIPELINE_NAME, null, "The name of the pipeline: a run is found again by it."),
    mcpServers: mapOf(
      SERVER_NAME,
      SERVER,
      "MCP servers by a name of your own, which their tools are named with: server/tool.",
    ),
    tools: mapOf(
      TOOL_NAME,
      anyObject("The settings of a tool.", null),
      "The settings of built-in tools that need some, by the tool's name. ${NAME} is a variable of the environment.",
    ),
    agents: mapOf(AGENT_NAME, AGENT, "Agents by a name of your own."),
    steps: itemsOf(INNER_STEP, "steps", 1, "The steps, in order; each is given what the one before came to."),
  },
  "A pipeline that is written down here: agents, steps, and where their tools come from.",
  {},
  "a blueprint",
);

/** For the JSON Schema of whatever holds a blueprint. */
export const BLUEPRINT_DEFINITIONS: JsonObject = { step: STEP.schema };
