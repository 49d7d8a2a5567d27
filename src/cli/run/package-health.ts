import { failed, type Health, ok, problem } from "../../account/health/health.ts";
import { loadAiSdk } from "../../adapters/ai-sdk/ai-sdk-package.ts";
import type { PawlConfig } from "../../engine/definition/config.ts";

/**
 * Whether the AI SDK can be loaded, which is an optional peer dependency. `config` is null if it was not executed: then only
 * the user knows whether there are agents.
 */
export async function packageHealth(config: PawlConfig | null): Promise<Health> {
  const pipelines = Object.values(config?.pipelines ?? {});
  try {
    const { loadModels } = await import("../../engine/definition/step.ts");
    const { rootOf } = await import("../../engine/definition/pipeline-root.ts");
    for (const pipeline of pipelines) await loadModels(rootOf(pipeline));
  } catch (error) {
    return failed("packages", error);
  }
  try {
    await loadAiSdk();
    return ok("packages", 'the package "ai" can be loaded, for agents and for jobs with models');
  } catch (error) {
    if (pipelines.length > 0)
      return ok("packages", 'no pipeline of the configuration needs the package "ai", which is not there');
    const { message } = error as Error;
    return problem(
      "packages",
      "warn",
      message,
      "you can ignore this without agents and without jobs with models",
    );
  }
}
