// docs/configuration.md: every option, with its type, its default and its meaning.

import { z } from "zod";
import { builtInToolSettings } from "../../src/adapters/tools/settings.ts";
import { type Declaration, findDeclarations, type TypeNode } from "./declarations.ts";
import type { Entry } from "./entries.ts";
import { ENVIRONMENT } from "./environment.ts";
import { GENERATED, table, wrapped } from "./markdown.ts";
import { statedDefault } from "./option-default.ts";
import { type OptionEntry, optionsIn, optionsOf } from "./options.ts";

/** Where the options of a section are declared: a type, or a parameter of a function, method or constructor. */
type Source = { readonly entry: string; readonly type: string } | ParameterSource;
type ParameterSource = {
  readonly entry: string;
  readonly value: string;
  readonly method: string;
  readonly parameter: number;
};

type Section = {
  readonly title: string;
  readonly about: string;
  readonly source: Source;
  /** Leaves out the options of another type, which have their own section. */
  readonly without?: string;
  /** True if each option may be left out, whatever the type says. */
  readonly isPartial?: boolean;
};

const step = (method: string, parameter: number): ParameterSource => ({
  entry: "pawl",
  value: "Step",
  method,
  parameter,
});
const type = (name: string, entry = "pawl"): Source => ({ entry, type: name });

/** The sections of the page, in order. */
export const SECTIONS: readonly Section[] = [
  {
    title: "`new Runner(target, options)`",
    about: "For all runs of a runner.",
    source: type("RunnerOptions"),
  },
  { title: "`runner.run` and `runner.stream`", about: "For one run.", source: type("RunOptions") },
  { title: "`runner.resume` and `runner.forecast`", about: "For one resume.", source: type("ResumeOptions") },
  { title: "`runner.fork`", about: "For a fork.", source: type("ForkOptions") },
  { title: "`policy`", about: "Of a runner, or of the configuration file.", source: type("Policy") },
  { title: "`policy.approve`", about: "A rule among its entries.", source: type("ApprovalRule") },
  {
    title: "`constraints`",
    about: "Of a runner, or of the configuration file.",
    source: type("Constraints"),
  },
  {
    title: "`agent({ … })`",
    about:
      "The settings of the AI SDK's `ToolLoopAgent` are taken too: [ai-sdk.md](ai-sdk.md#settings-of-a-toolloopagent) says which of them, and what they do.",
    source: type("AgentOptions"),
  },
  {
    title: "`settings` of an agent",
    about: "Sent with each request.",
    source: type("ModelSettings"),
    isPartial: true,
  },
  { title: "`tool({ … })`", about: "See [tools.md](tools.md).", source: type("ToolDefinition") },
  { title: "`Step.granular`", about: "An agent as a step.", source: step("granular", 2) },
  {
    title: "`conversation(agent, { … })`, `Step.conversation`",
    about:
      "An agent that talks with people, with the options of `Step.granular` besides. See [conversations.md](conversations.md).",
    source: type("ConversationOptions"),
    without: "GranularOptions",
  },
  { title: "`Step.run`", about: "Code as a step.", source: step("run", 2) },
  { title: "`Step.human`", about: "A question as a step.", source: step("human", 1) },
  { title: "`Step.loop`", about: "A loop over a step.", source: step("loop", 2) },
  {
    title: "`new DurableMainLoop(target, options)`",
    about: "A worker: see [sessions.md](sessions.md#workers). It also takes most options of a runner.",
    source: type("DurableMainLoopOptions"),
    without: "RunnerOptions",
  },
  { title: "`loop.execute`", about: "For one request of a worker.", source: type("ExecuteOptions") },
  {
    title: "`openStore(url, options)`",
    about: "The url is `file:./.pawl/pawl.db` by default.",
    source: type("OpenStoreOptions"),
  },
  { title: "`pawl.config.ts`", about: "The argument of `defineConfig`.", source: type("PawlConfig") },
  {
    title: "`jobs` in `pawl.config.ts`",
    about: "Limits on job files: see [jobs.md](jobs.md).",
    source: type("JobCeiling"),
  },
  {
    title: "`budgets`",
    about: "Of a RunSpec, or of the configuration file. Each is optional.",
    source: type("Budgets"),
    isPartial: true,
  },
  {
    title: "`mcpTools({ … })`: the server",
    about: "A command or an address.",
    source: type("McpServer", "pawl/mcp"),
  },
  {
    title: "`mcpTools({ … })`: its tools",
    about: "See [mcp.md](mcp.md).",
    source: type("McpOptions", "pawl/mcp"),
  },
  {
    title: "`otel({ … })`",
    about: "See [telemetry.md](telemetry.md).",
    source: type("OtelOptions", "pawl/otel"),
  },
  {
    title: "`chatHandler(runner, { … })`",
    about: "See [chat.md](chat.md).",
    source: type("ChatHandlerOptions", "pawl/ai-sdk"),
  },
  {
    title: "`new PawlChatTransport({ … })`",
    about: "See [chat.md](chat.md).",
    source: type("PawlChatTransportOptions", "pawl/chat"),
  },
  {
    title: "`restateRun(restate, runner, { … })`",
    about: "See [restate.md](restate.md).",
    source: type("RestateRunOptions", "pawl/restate"),
  },
  {
    title: "`sweepReady(store, ingress, { … })`",
    about: "See [restate.md](restate.md).",
    source: type("SweepOptions", "pawl/restate"),
  },
];

const INTRODUCTION = `Every option, with its type, its default and its meaning. A dash means that an option has no default: nothing
happens without it.`;

/** The page, from the entries of a built package. */
export function configurationPage(entries: readonly Entry[]): string {
  const sections = SECTIONS.map((section) =>
    [`## ${section.title}`, wrapped(section.about), optionTable(sectionOptions(section, entries))].join(
      "\n\n",
    ),
  );
  const parts = [
    GENERATED,
    "# Configuration",
    INTRODUCTION,
    ...sections,
    builtInSection(),
    environmentSection(),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** The options of a section. None at all means that the types have changed their form. */
export function sectionOptions(
  { source, without, isPartial = false }: Section,
  entries: readonly Entry[],
): readonly OptionEntry[] {
  const entry = entries.find(({ path }) => path === source.entry);
  const name = "type" in source ? source.type : source.value;
  const [declaration] = entry === undefined ? [] : findDeclarations(entry.file, name);
  if (declaration === undefined) throw new Error(`${source.entry} has no ${name}: correct scripts/docs.`);
  const options = "type" in source ? optionsOf(declaration) : parameterOptions(declaration, source);
  const elsewhere =
    without === undefined ? [] : sectionOptions({ ...NO_TEXT, source: type(without) }, entries);
  if (options.length === 0)
    throw new Error(`${name} of ${source.entry} has no options that the script can read.`);
  return options
    .filter(({ name: option }) => !elsewhere.some((other) => other.name === option))
    .map((option) => (isPartial ? { ...option, isOptional: true } : option));
}

const NO_TEXT = { title: "", about: "" };

function parameterOptions(
  { node, file }: Declaration,
  { method, parameter }: ParameterSource,
): readonly OptionEntry[] {
  const value = node.type === "VariableDeclaration" ? node.declarations[0]?.id : undefined;
  const literal: TypeNode | undefined = value?.typeAnnotation?.typeAnnotation;
  if (literal?.type !== "TSTypeLiteral") return [];
  return literal.members.flatMap((member) => {
    if (member.type !== "TSMethodSignature" || member.key.type !== "Identifier") return [];
    const given = member.key.name === method ? member.params[parameter] : undefined;
    const annotation = given !== undefined && "typeAnnotation" in given ? given.typeAnnotation : undefined;
    return annotation?.type === "TSTypeAnnotation" ? optionsIn(annotation.typeAnnotation, file) : [];
  });
}

function optionTable(options: readonly OptionEntry[]): string {
  const rows = options.map(({ name, type, isOptional, text }) => [
    `\`${name}\``,
    `\`${type}\``,
    isOptional ? optionDefault(type, text) : "required",
    text,
  ]);
  return table(["option", "type", "default", "meaning"], rows);
}

/** A switch that states nothing else is off. */
function optionDefault(type: string, text: string): string {
  return statedDefault(text) ?? (type === "boolean" ? "false" : "–");
}

type JsonProperty = { readonly type?: string; readonly description?: string };

function builtInSection(): string {
  const rows = Object.entries(builtInToolSettings).flatMap(([tool, schema]) => {
    const { properties = {}, required = [] } = z.toJSONSchema(schema) as {
      readonly properties?: { readonly [name: string]: JsonProperty };
      readonly required?: readonly string[];
    };
    return Object.entries(properties).map(([name, { type = "", description = "" }]) => [
      `\`${tool}.${name}\``,
      `\`${type}\``,
      required.includes(name) ? "required" : optionDefault(type, description),
      description,
    ]);
  });
  const about =
    "The argument of `builtInTools`, and `tools` of a blueprint: see [built-in-tools.md](built-in-tools.md).";
  return [
    "## Settings of built-in tools",
    about,
    table(["setting", "type", "default", "meaning"], rows),
  ].join("\n\n");
}

function environmentSection(): string {
  const rows = ENVIRONMENT.map(({ name, absent, meaning }) => [`\`${name}\``, absent, meaning]);
  const about = "Only the command line reads the environment. The library reads none of these.";
  return ["## Environment variables", about, table(["variable", "default", "meaning"], rows)].join("\n\n");
}
