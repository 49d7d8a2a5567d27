import { conversationsOf } from "../../engine/definition/conversation-step.ts";
import { type Runner, runnerSetup } from "../../engine/runner/runner.ts";
import { HttpProblem } from "../http-problem.ts";
import type { ServerParts } from "./server-parts.ts";

/** The runner of a pipeline. The store knows runs of pipelines whose code only their workers have. */
export function requireRunner({ pipelines }: Pick<ServerParts, "pipelines">, pipeline: string): Runner {
  const runner = pipelines.get(pipeline);
  if (runner !== undefined) return runner;
  throw new HttpProblem(
    422,
    "pipeline_unknown",
    `This server does not have the code of pipeline ${pipeline}: add it to the configuration of the server.`,
    { details: { pipeline } },
  );
}

/** True if people talk with an agent in runs of it. */
export function isConversation(runner: Runner): boolean {
  return conversationsOf(runnerSetup(runner).root).length > 0;
}
