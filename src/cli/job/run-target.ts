import { extname, resolve } from "node:path";
import { ConfigurationError } from "../../core/errors.ts";
import type { Budgets, RunSpec } from "../../core/job/run-spec.ts";
import type { RunSpecInput } from "../../core/job/run-spec-input.ts";
import { nearestName } from "../../core/job/run-spec-spelling.ts";
import type { Json } from "../../core/json.ts";
import type { Agent } from "../../engine/definition/agent.ts";
import type { PawlConfig } from "../../engine/definition/config.ts";
import { rootOf } from "../../engine/definition/pipeline-root.ts";
import { isAgentStep, type StepNode } from "../../engine/definition/step.ts";
import type { RunRecord } from "../../store/store.ts";
import { type LoadedConfig, projectFolder } from "../config/config-file.ts";
import type { CliContext, Surroundings } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";
import { readJobFile } from "./job-file.ts";
import { assertWithinCeiling } from "./job-limits.ts";
import { assertTrusted } from "./job-trust.ts";

/** What is to be run: a pipeline of the configuration, with the contract of a job file where one was given. */
export type RunTarget = {
  readonly pipeline: Agent | StepNode;
  /** Null where no job file was given. */
  readonly spec: RunSpec | null;
};

const JOB_EXTENSIONS = [".yaml", ".yml", ".json"];

/**
 * A name from the configuration; or a job file, told by its ending or its slash. A job file gets no more than the configuration lets
 * job files have, and one that was not seen before is agreed to first.
 */
export async function findTarget(
  context: CliContext,
  input: CommandInput,
  loaded: LoadedConfig,
): Promise<RunTarget> {
  const word = input.argument("pipeline");
  const isFile = JOB_EXTENSIONS.includes(extname(word).toLowerCase()) || /[/\\]/.test(word);
  if (!isFile) return { pipeline: pipelineNamed(loaded, word), spec: null };
  // Loaded when they are needed: every command would take longer to start otherwise.
  const { knownTools } = await import("./blueprint-tools.ts");
  const tools = await knownTools(loaded.config, context.env);
  const { spec: written, path, digest } = await readJobFile(resolve(context.cwd, word), tools);
  const spec = {
    ...written,
    pipeline: await keptPipeline(context, loaded, path, written.pipeline),
    budgets: withDefaults(written.budgets, loaded.config.budgets ?? {}),
  };
  const wants = await assertWithinCeiling(context, loaded, spec, input.text("runId"));
  await assertTrusted(context, input, { path, digest, project: projectFolder(context, loaded), wants });
  if (typeof spec.pipeline === "object" && spec.pipeline !== null) {
    const { pipelineOf } = await import("./blueprint-parts.ts");
    return { pipeline: await pipelineOf(context, loaded, spec.pipeline), spec };
  }
  const pipeline = spec.pipeline === null ? onlyPipeline(loaded, word) : pipelineNamed(loaded, spec.pipeline);
  // A run is found again by the name of its pipeline, whatever the configuration calls it.
  return { pipeline, spec: { ...spec, pipeline: pipeline.name } };
}

async function keptPipeline(
  context: CliContext,
  loaded: LoadedConfig,
  jobFile: string,
  pipeline: RunSpec["pipeline"],
): Promise<RunSpec["pipeline"]> {
  if (typeof pipeline !== "object" || pipeline === null) return pipeline;
  const { keepFolders } = await import("./blueprint-parts.ts");
  return keepFolders(context, loaded, jobFile, pipeline);
}

/**
 * The pipeline that a run is of: the one that is written down in its contract, or else one of the configuration. What a job asked
 * for when the run began is held against what job files may have now.
 */
export async function pipelineOfRun(
  surroundings: Surroundings,
  loaded: LoadedConfig,
  { spec, pipeline: name, runId }: RunRecord,
  isJob: boolean,
): Promise<Agent | StepNode> {
  const written = spec?.pipeline ?? null;
  if (isJob && spec !== null) await assertWithinCeiling(surroundings, loaded, spec, runId);
  if (typeof written !== "object" || written === null) return pipelineNamed(loaded, name);
  const { pipelineOf } = await import("./blueprint-parts.ts");
  return pipelineOf(surroundings, loaded, written);
}

/** By its key in the configuration, or by the name that it has itself, which is what a run keeps. */
export function pipelineNamed({ path, config }: LoadedConfig, name: string): Agent | StepNode {
  const pipelines = config.pipelines ?? {};
  const byKey = Object.hasOwn(pipelines, name) ? pipelines[name] : undefined;
  const found = byKey ?? Object.values(pipelines).find((pipeline) => pipeline.name === name);
  if (found !== undefined) return found;
  const names = Object.keys(pipelines);
  const nearest = nearestName(name, names);
  const meant = nearest === null ? whatThereIs(path, names) : `: did you mean ${nearest}?`;
  throw new ConfigurationError(`There is no pipeline ${JSON.stringify(name)}${meant}`);
}

function whatThereIs(path: string | null, names: readonly string[]): string {
  if (path === null)
    return ", for there is no pawl.config.ts here or above: write one, name it with --config, or go to its folder.";
  return names.length === 0
    ? `: ${path} has no pipelines; add it there.`
    : ` in ${path}: it has ${names.join(", ")}.`;
}

function onlyPipeline({ path, config }: LoadedConfig, job: string): Agent | StepNode {
  const [only, second] = Object.entries(config.pipelines ?? {});
  if (only !== undefined && second === undefined) return only[1];
  const names = Object.keys(config.pipelines ?? {});
  throw new ConfigurationError(
    path === null || names.length === 0
      ? `${job} needs a pipeline${whatThereIs(path, names)}`
      : `${job} does not say which pipeline it is for: add \`pipeline:\` with one of ${names.join(", ")}.`,
  );
}

/** The run's own budgets stand; the configuration's hold where it has none. */
export function withDefaults(own: Budgets, defaults: Partial<Budgets>): Budgets {
  const given = Object.fromEntries(
    Object.entries(own).filter(([, value]) => value !== null && value !== false),
  );
  return { ...own, ...defaults, ...given };
}

/** Whether the first thing that the pipeline does is to ask a model about what it was given. */
export function needsInput(target: Agent | StepNode): boolean {
  let step: StepNode = rootOf(target);
  for (let first = step.children?.[0]; first !== undefined; first = step.children?.[0]) step = first;
  return isAgentStep(step) && step.options.input === undefined;
}

/** A run without a job has a contract all the same where the configuration limits what runs may use. */
export function specOf(
  { budgets }: Pick<PawlConfig, "budgets">,
  { spec, pipeline }: RunTarget,
  given: Json,
): RunSpecInput | null {
  if (spec !== null || budgets === undefined) return spec;
  const isText = typeof given === "string" && given.trim() !== "";
  return {
    objective: isText ? given : `Run ${pipeline.name}.`,
    pipeline: pipeline.name,
    budgets,
  };
}
