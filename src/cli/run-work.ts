import { resolve } from "node:path";
import { pricesFor } from "../adapters/genai-prices.ts";
import type { Agent } from "../engine/agent.ts";
import { rootOf } from "../engine/pipeline-root.ts";
import type { RunnerOptions } from "../engine/runner-options.ts";
import { modelsOf, type StepNode } from "../engine/step.ts";
import type { Store } from "../store/store.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommandInput } from "./command.ts";
import { type LoadedConfig, projectFolder } from "./config-file.ts";
import { userOf } from "./person.ts";
import type { Tone } from "./progress-lines.ts";

/** One command that works on one run: what it was given, and with what. */
export type RunWork = {
  readonly context: CliContext;
  readonly input: CommandInput;
  readonly store: Store;
  readonly loaded: LoadedConfig;
  readonly pipeline: Agent | StepNode;
  /** Where a log was asked for: takes what would be told to a person beside it. */
  readonly log?: (tone: Tone, text: string) => void;
};

/** The runner that the configuration asks for. */
export function runnerOptions({ context, store, loaded, pipeline }: RunWork): RunnerOptions {
  const {
    policy,
    constraints,
    pipelines = {},
    stopConditions,
    telemetry,
    workspaceRoot = ".",
  } = loaded.config;
  // What a model costs is known for the usual ones; one that is not known has no price, and none is made up.
  const { pricing = pricesFor(modelsOf(rootOf(pipeline))).pricing } = loaded.config;
  const folder = projectFolder(context, loaded);
  return {
    store,
    entrypoint: "cli",
    clock: context.clock,
    workspaceRoot: resolve(folder, workspaceRoot),
    ...(policy === undefined ? {} : { policy }),
    ...(constraints === undefined ? {} : { constraints }),
    pricing,
    ...(stopConditions === undefined ? {} : { stopConditions }),
    ...(telemetry === undefined ? {} : { telemetry }),
    otherPipelines: Object.values(pipelines).filter((each) => each !== pipeline),
    startedBy: userOf(context),
  };
}
