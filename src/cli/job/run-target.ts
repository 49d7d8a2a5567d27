import { extname, resolve } from "node:path";
import { ConfigurationError } from "../../core/errors.ts";
import { withDefaultBudgets } from "../../core/job/default-budgets.ts";
import type { RunSpec } from "../../core/job/run-spec.ts";
import { nearestName } from "../../core/naming/nearest-name.ts";
import type { Agent } from "../../engine/definition/agent.ts";
import { rootOf } from "../../engine/definition/pipeline-root.ts";
import { isAgentStep, type StepNode } from "../../engine/definition/step.ts";
import type { RunRecord } from "../../store/store.ts";
import { type LoadedConfig, projectFolder } from "../config/config-file.ts";
import type { CliContext, CliEnvironment } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";
import { agentOfChat, chatPipeline } from "./chat-pipeline.ts";
import { readJobFile } from "./job-file.ts";
import { assertWithinCeiling } from "./job-limits.ts";
import { assertTrusted } from "./job-trust.ts";

/** What to run: a pipeline of the configuration, with the RunSpec of a job file if one was given. */
export type RunTarget = {
  readonly pipeline: Agent | StepNode;
  /** Null without a job file. */
  readonly spec: RunSpec | null;
};

const JOB_EXTENSIONS = [".yaml", ".yml", ".json"];

/**
 * A pipeline of the configuration by name, or a job file, recognized by its extension or a slash. A job file gets no more access than the
 * configuration allows, and a new one must be confirmed first.
 */
export async function findTarget(
  context: CliContext,
  input: CommandInput,
  loaded: LoadedConfig,
): Promise<RunTarget> {
  const word = input.argument("pipeline");
  const isFile = JOB_EXTENSIONS.includes(extname(word).toLowerCase()) || /[/\\]/.test(word);
  if (!isFile) return { pipeline: pipelineNamed(loaded, word), spec: null };
  // Imported on demand to keep the start of other commands fast.
  const { jobFileTools } = await import("./job-file-tools.ts");
  const tools = await jobFileTools(loaded.config, context.env);
  const { spec: written, path, digest } = await readJobFile(resolve(context.cwd, word), tools);
  const spec = {
    ...written,
    pipeline: await keptPipeline(context, loaded, path, written.pipeline),
    budgets: withDefaultBudgets(written.budgets, loaded.config.budgets ?? {}),
  };
  const access = await assertWithinCeiling(context, loaded, spec, input.text("runId"));
  await assertTrusted(context, input, { path, digest, project: projectFolder(context, loaded), access });
  if (typeof spec.pipeline === "object" && spec.pipeline !== null) {
    const { pipelineOf } = await import("./blueprint-parts.ts");
    return { pipeline: await pipelineOf(context, loaded, spec.pipeline), spec };
  }
  const pipeline = spec.pipeline === null ? onlyPipeline(loaded, word) : pipelineNamed(loaded, spec.pipeline);
  // Runs are found by the pipeline's own name, not by its key in the configuration.
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
 * The pipeline of a run: the one in its RunSpec, or else one of the configuration. The access that its job asked for at the start is
 * checked against what job files may access now.
 */
export async function pipelineOfRun(
  cli: CliEnvironment,
  loaded: LoadedConfig,
  { spec, pipeline: name, runId }: RunRecord,
  { isJob }: { readonly isJob: boolean },
): Promise<Agent | StepNode> {
  const written = spec?.pipeline ?? null;
  if (isJob && spec !== null) await assertWithinCeiling(cli, loaded, spec, runId);
  if (typeof written !== "object" || written === null) return storedPipeline(loaded, name);
  const { pipelineOf } = await import("./blueprint-parts.ts");
  return pipelineOf(cli, loaded, written);
}

/** The pipeline of a run. `pawl chat` makes a conversation of an agent that is none. */
function storedPipeline(loaded: LoadedConfig, name: string): Agent | StepNode {
  const agent = findPipeline(loaded, name) === null ? agentOfChat(name) : null;
  return agent === null ? pipelineNamed(loaded, name) : chatPipeline(pipelineNamed(loaded, agent));
}

/** A pipeline by its key in the configuration, or by its own name, which runs store; null if there is none. */
export function findPipeline({ config }: LoadedConfig, name: string): Agent | StepNode | null {
  const pipelines = config.pipelines ?? {};
  const byKey = Object.hasOwn(pipelines, name) ? pipelines[name] : undefined;
  return byKey ?? Object.values(pipelines).find((pipeline) => pipeline.name === name) ?? null;
}

function pipelineNamed(loaded: LoadedConfig, name: string): Agent | StepNode {
  const { path, config } = loaded;
  const pipelines = config.pipelines ?? {};
  const found = findPipeline(loaded, name);
  if (found !== null) return found;
  const names = Object.keys(pipelines);
  const nearest = nearestName(name, names);
  const meant = nearest === null ? availablePipelines(path, names) : `: did you mean ${nearest}?`;
  throw new ConfigurationError(`There is no pipeline ${JSON.stringify(name)}${meant}`);
}

function availablePipelines(path: string | null, names: readonly string[]): string {
  if (path === null)
    return ": there is no pawl.config.ts here or above; write one, name it with --config, or change to its folder.";
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
      ? `${job} needs a pipeline${availablePipelines(path, names)}`
      : `${job} does not say which pipeline it is for: add \`pipeline:\` with one of ${names.join(", ")}.`,
  );
}

/** True if the pipeline starts with an agent that is given the run's input. */
export function needsInput(target: Agent | StepNode): boolean {
  let step: StepNode = rootOf(target);
  for (let first = step.children?.[0]; first !== undefined; first = step.children?.[0]) step = first;
  return isAgentStep(step) && step.options.input === undefined;
}
