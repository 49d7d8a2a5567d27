import { ConfigurationError } from "../../core/errors.ts";
import type { Budgets } from "../../core/job/budgets.ts";
import { readBudgets } from "../../core/job/default-budgets.ts";
import { parseDuration } from "../../core/job/duration.ts";
import type { Json } from "../../core/json.ts";
import { nearestName } from "../../core/naming/nearest-name.ts";
import { assertOptions, kindOf, type OptionNames } from "../../core/naming/option-names.ts";
import { assertScheduleSpec, type ScheduleSpec } from "../../core/schedule/schedule-spec.ts";
import { assertPricing, type Pricing } from "../../core/usage/usage.ts";
import type { ModelPort } from "../ports/model-port.ts";
import type { Telemetry } from "../ports/telemetry-port.ts";
import { type Agent, isAgent } from "./agent.ts";
import { assertJobCeiling, type JobCeiling } from "./job-ceiling.ts";
import { type Constraints, makeRules, type Policy } from "./run-rules.ts";
import type { StepNode } from "./step.ts";
import type { StopCondition } from "./stop-conditions.ts";
import { isTool, type Tool, type ToolCallContext } from "./tool.ts";
import { assertDivergencePolicies, type DivergencePolicy } from "./waiting/divergence-policy.ts";

/** A model for blueprints: an AI SDK model, or your own port. */
export type ConfiguredModel = ModelPort | { readonly provider: string; readonly modelId: string };

/** A tool for blueprints: made with `tool({ … })`, or an AI SDK tool. */
export type ConfiguredTool = Tool | { readonly inputSchema: unknown };

/** Options of `crashExplorer` of `pawl/testing/crash`. `pawl crashtest` checks the values: the engine does not import tests. */
export type ConfiguredCrashtest = {
  readonly input?: Json;
  /** A stand-in such as `scriptedModel([…])`; `"real"` calls the agents' own models, in every schedule. */
  readonly model?: unknown;
  /** A stand-in for each tool that changes something; `"real"` runs the tool itself, in every schedule. */
  readonly tools?: {
    readonly [name: string]:
      | "real"
      | ConfiguredStandIn
      | { readonly execute: ConfiguredStandIn; readonly reconcile?: ConfiguredStandIn };
  };
  readonly person?: { readonly [question: string]: unknown };
  readonly invariants?: { readonly [name: string]: unknown };
  /** The run is meant to fail even without a crash. Otherwise such a test exits with 1: usually a stand-in is wrong. */
  readonly mayFail?: true;
};

type ConfiguredStandIn = (input: never, call: ToolCallContext, outside: never) => unknown;

/** The contents of `pawl.config.ts`: the pipelines, the store of their runs, and the rules for all of them. */
export type PawlConfig = {
  /** The address of the store; `file:./.pawl/pawl.db` by default. Relative to the folder of the configuration. */
  readonly store?: string;
  /** The pipelines that `pawl run <name>` can start. A run is resumed by its pipeline's own name. */
  readonly pipelines?: { readonly [name: string]: Agent | StepNode };
  /** Rules for tools, approvals, secrets and the network. */
  readonly policy?: Policy;
  /** Limits on the actions of all runs. */
  readonly constraints?: Constraints;
  /** The budgets of runs that set none themselves, also of those that are enqueued or that a schedule starts. */
  readonly budgets?: Partial<Budgets>;
  /** The prices of models, for budgets in dollars. By default those of `pawl/prices`. */
  readonly pricing?: Pricing;
  /** The models that a blueprint may name as an agent's `model`. They take precedence over provider packages. */
  readonly models?: { readonly [name: string]: ConfiguredModel };
  /** The tools that a blueprint may name in an agent's `tools` and as the `tool` of a step. */
  readonly tools?: { readonly [name: string]: ConfiguredTool };
  /** The conditions that the `stopConditions` of a job may name. */
  readonly stopConditions?: { readonly [name: string]: StopCondition };
  /** Streams every answer (true) or none (false); by default those of runs that somebody watches. */
  readonly live?: boolean;
  /** Receives traces and metrics: `otel()` of `pawl/otel`. */
  readonly telemetry?: Telemetry;
  /** The stand-ins for `pawl crashtest`, by the pipeline's name. */
  readonly crashtests?: { readonly [pipeline: string]: ConfiguredCrashtest };
  /**
   * Pipelines that are started at planned times, by name: `{ nightly: { pipeline: "report", cron: "0 2 * * *" } }`. A
   * worker stores and fires them. `{}` removes the stored ones; by default they stay as they are.
   */
  readonly schedules?: { readonly [name: string]: ScheduleSpec };
  /**
   * A number that grows with each version of `schedules`: only a higher one changes what is stored. By default the time at
   * which the configuration file was last written.
   */
  readonly scheduleRevision?: number;
  /** The parent folder of the runs' workspaces; by default the folder of the configuration. */
  readonly workspaceRoot?: string;
  /** What workers do with runs whose prompt, model or tools have changed: for all, or by the pipeline's key; `wait` by default. */
  readonly onDivergence?: DivergencePolicy | { readonly [pipeline: string]: DivergencePolicy };
  /** How long workers keep runs that have ended; by default for ever. */
  readonly retention?: Retention;
  /** Limits on job files; `{}` by default: no programs, no environment variables, no private hosts, a workspace of its own here. */
  readonly jobs?: JobCeiling;
};

const CHECKS: { readonly [K in keyof Required<PawlConfig>]: (value: unknown) => void } = {
  store: (value) => assertText("store", value, "file:./pawl.db"),
  pipelines: assertPipelines,
  policy: (value) => makeRules(value as Policy),
  constraints: (value) => makeRules({}, value as Constraints),
  budgets: (value) => void readBudgets(value),
  pricing: assertPricing,
  models: assertModels,
  tools: assertTools,
  stopConditions: assertStopConditions,
  live: assertLive,
  telemetry: assertTelemetry,
  crashtests: assertCrashtests,
  schedules: assertSchedules,
  scheduleRevision: assertRevision,
  workspaceRoot: (value) => assertText("workspaceRoot", value, "./work"),
  onDivergence: assertDivergencePolicies,
  retention: assertRetention,
  jobs: assertJobCeiling,
};

/**
 * Checks a configuration and returns it, for the default export of `pawl.config.ts`.
 *
 * @example
 * export default defineConfig({ store: "file:./pawl.db", pipelines: { report } });
 */
export function defineConfig(config: PawlConfig): PawlConfig {
  const given: unknown = config;
  if (!isPlain(given))
    throw new ConfigurationError(
      `The configuration is ${kindOf(given)}: give an object, \`defineConfig({ pipelines: { … } })\`.`,
    );
  assertOptions("A configuration", given, CHECKS, OTHER_NAMES);
  for (const [name, check] of Object.entries(CHECKS)) if (given[name] !== undefined) check(given[name]);
  assertScheduledPipelines(config);
  return config.budgets === undefined ? config : { ...config, budgets: readBudgets(config.budgets) };
}

/** Which runs workers delete, some at a time. What is left of a run is its tombstone. */
export type Retention = {
  /** Runs that ended longer ago, as `30d`, `12h` or `45m`. */
  readonly runsOlderThan: string;
  /** Only runs that ended in one of these ways; all of them by default. */
  readonly statuses?: readonly ("succeeded" | "failed" | "cancelled")[];
};

function assertLive(live: unknown): void {
  if (typeof live !== "boolean") throw new ConfigurationError(`live is ${kindOf(live)}: give true or false.`);
}

const RETENTION_NAMES = { runsOlderThan: true, statuses: true } satisfies OptionNames<Retention>;
const ENDS: readonly unknown[] = ["succeeded", "failed", "cancelled"];

export function assertRetention(retention: unknown): void {
  entriesOf("retention", retention, 'an age, `{ runsOlderThan: "30d" }`');
  assertOptions("retention", retention, RETENTION_NAMES, {
    olderThan: "runsOlderThan",
    days: "runsOlderThan",
  });
  const { runsOlderThan, statuses } = retention as { runsOlderThan?: unknown; statuses?: unknown };
  if (typeof runsOlderThan !== "string" || parseDuration(runsOlderThan) === null)
    throw new ConfigurationError(
      `retention.runsOlderThan is ${JSON.stringify(runsOlderThan)}: give an age such as "30d", "12h" or "45m".`,
    );
  if (statuses === undefined || (Array.isArray(statuses) && statuses.every((each) => ENDS.includes(each))))
    return;
  throw new ConfigurationError(
    `retention.statuses is ${JSON.stringify(statuses)}: give a list of ${ENDS.join(", ")}.`,
  );
}

/** An agent under `agents` is a pipeline like any other. */
const OTHER_NAMES = {
  agents: "pipelines",
  agent: "pipelines",
  database: "store",
  db: "store",
  cron: "schedules",
  crons: "schedules",
};

function assertText(name: string, value: unknown, example: string): void {
  if (typeof value === "string" && value.trim() !== "" && !value.includes("\0")) return;
  throw new ConfigurationError(
    `${name} is ${typeof value === "string" ? JSON.stringify(value) : kindOf(value)}: give a text such as ${JSON.stringify(example)}.`,
  );
}

/** A run is resumed by its pipeline's name, so each name must be unique, as a key or as a pipeline's own name. */
function assertPipelines(pipelines: unknown): void {
  const owners = new Map<string, string>();
  for (const [key, pipeline] of entriesOf("pipelines", pipelines, "pipelines by name, `{ report }`")) {
    if (!isAgent(pipeline) && !isStep(pipeline))
      throw new ConfigurationError(
        `pipelines.${key} is ${kindOf(pipeline)}, neither an agent nor a step: make it with agent({ … }), Step or Pipeline.of(…).`,
      );
    for (const name of new Set([key, pipeline.name])) {
      const other = owners.get(name);
      if (other !== undefined)
        throw new ConfigurationError(
          `pipelines.${other} and pipelines.${key} both have the name ${JSON.stringify(name)}, and a run is resumed by its name: rename one of them.`,
        );
      owners.set(name, key);
    }
  }
}

function isStep(value: unknown): value is StepNode {
  if (!isPlain(value) || typeof value.kind !== "string" || typeof value.name !== "string") return false;
  return value.children === undefined || (Array.isArray(value.children) && value.children.every(isStep));
}

function assertModels(models: unknown): void {
  const entries = entriesOf("models", models, 'models by name, `{ "openai/gpt-5.2": openai("gpt-5.2") }`');
  const wrong = entries.find(
    ([, model]) => !isPlain(model) || typeof model.provider !== "string" || typeof model.modelId !== "string",
  );
  if (wrong === undefined) return;
  throw new ConfigurationError(
    `models.${wrong[0]} is ${kindOf(wrong[1])}, not a model: give an AI SDK model, \`openai("gpt-5.2")\`.`,
  );
}

/** No slash: `server/tool` names a tool of an MCP server. */
function assertTools(tools: unknown): void {
  for (const [name, tool] of entriesOf("tools", tools, "tools by name, `{ search }`")) {
    if (!/^[A-Za-z][\w.:-]*$/.test(name))
      throw new ConfigurationError(
        `tools has ${JSON.stringify(name)}, which no blueprint can name: use letters, digits, "_" or "-", beginning with a letter.`,
      );
    if (isTool(tool) || (isPlain(tool) && "inputSchema" in tool)) continue;
    throw new ConfigurationError(`tools.${name} is ${kindOf(tool)}, not a tool: make it with tool({ … }).`);
  }
}

function assertStopConditions(conditions: unknown): void {
  const entries = entriesOf("stopConditions", conditions, "functions by name");
  const wrong = entries.find(([, condition]) => typeof condition !== "function");
  if (wrong === undefined) return;
  throw new ConfigurationError(
    `stopConditions.${wrong[0]} is ${kindOf(wrong[1])}: give a function of the run, \`({ calls }) => calls.some(…)\`.`,
  );
}

function assertTelemetry(telemetry: unknown): void {
  if (isPlain(telemetry) && typeof telemetry.begin === "function") return;
  throw new ConfigurationError(`telemetry is ${kindOf(telemetry)}: give \`otel()\` of "pawl/otel".`);
}

const CRASHTEST_NAMES = {
  input: true,
  model: true,
  tools: true,
  person: true,
  invariants: true,
  mayFail: true,
} satisfies OptionNames<ConfiguredCrashtest>;

function assertCrashtests(crashtests: unknown): void {
  const wanted = "stand-ins by pipeline, `{ report: { input, model, tools } }`";
  for (const [name, crashtest] of entriesOf("crashtests", crashtests, wanted)) {
    entriesOf(`crashtests.${name}`, crashtest, Object.keys(CRASHTEST_NAMES).join(", "));
    assertOptions(`crashtests.${name}`, crashtest, CRASHTEST_NAMES);
  }
}

function assertSchedules(schedules: unknown): void {
  const wanted = "schedules by name, `{ nightly: { pipeline, cron } }`";
  for (const [name, spec] of entriesOf("schedules", schedules, wanted)) assertScheduleSpec(name, spec);
}

/** A schedule names a pipeline as `pawl run` does: by its key, or by its own name. */
function assertScheduledPipelines({ schedules = {}, pipelines = {} }: PawlConfig): void {
  const names = Object.entries(pipelines).flatMap(([key, { name }]) => [key, name]);
  const wrong = Object.entries(schedules).find(([, { pipeline }]) => !names.includes(pipeline));
  if (wrong === undefined) return;
  const near = nearestName(wrong[1].pipeline, names);
  throw new ConfigurationError(
    `schedules.${wrong[0]} starts the pipeline ${JSON.stringify(wrong[1].pipeline)}, which pipelines does not have: ${near === null ? "add it there" : `did you mean ${JSON.stringify(near)}`}.`,
  );
}

function assertRevision(revision: unknown): void {
  if (Number.isSafeInteger(revision) && Number(revision) >= 0) return;
  throw new ConfigurationError(
    `scheduleRevision is ${typeof revision === "number" ? revision : kindOf(revision)}: give a whole number that grows with each version of the schedules.`,
  );
}

function entriesOf(name: string, value: unknown, wanted: string): [string, unknown][] {
  if (isPlain(value)) return Object.entries(value);
  throw new ConfigurationError(`${name} is ${kindOf(value)}: give an object with ${wanted}.`);
}

function isPlain(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Promise);
}
