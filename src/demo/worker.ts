/**
 * The program that gets killed: it works on the job in its folder, or goes on with it, and knows nothing of having been
 * killed before. Run by the demo, which gives it its order as its one argument.
 */
import { writeSync } from "node:fs";
import { join } from "node:path";
import { readJobFile } from "../cli/job/job-file.ts";
import type { CodeStep, StepNode } from "../engine/definition/step.ts";
import type { CrashProbe } from "../engine/ports/crash-points.ts";
import type { ModelPort } from "../engine/ports/model-port.ts";
import { Runner } from "../engine/runner/runner.ts";
import { openStore } from "../store/open-store.ts";
import type { JobModels } from "./job-agents.ts";
import { jobPipeline, jobStopConditions } from "./job-pipeline.ts";
import { loadModels } from "./model-choice.ts";
import { jobInput } from "./research.ts";
import {
  RUN_ID,
  type StopPlace,
  TELLING_DESCRIPTOR,
  type WorkerMessage,
  type WorkerOrder,
} from "./worker-order.ts";

const parent = process.ppid;
const order = JSON.parse(process.argv[2] ?? "null") as WorkerOrder;
try {
  tell(await work(order));
} catch (error) {
  tell({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
  process.exitCode = 1;
}

async function work({ folder, outside, stop }: WorkerOrder): Promise<WorkerMessage> {
  const { spec } = await readJobFile(join(folder, "job.yaml"));
  const { recipient } = jobInput.parse(spec.input);
  const pipeline = jobPipeline(witnessedModels(await loadModels(process.env)), outside, recipient);
  const store = await openStore(`file:${join(folder, "pawl.db")}`);
  try {
    const runner = new Runner(witnessedSteps(pipeline), {
      store,
      workspaceRoot: folder,
      stopConditions: jobStopConditions,
      probe: stop === null ? () => undefined : standStillAt(stop),
      onEvent: (event) => {
        if (event.type !== "run.finished") tell({ kind: "event", event });
      },
    });
    // Starts the run, or goes on with it where a killed process left it: the same line for both.
    const { status, output, waits } = await runner.run(spec.input, { runId: RUN_ID, spec });
    const questions = waits.map(({ question }) => question).join(" ");
    return { kind: "ended", status, output: status === "waiting" ? questions : String(output) };
  } finally {
    await store.close();
  }
}

/** Written at once and by the system: whoever is killed right after has said it. */
function tell(message: WorkerMessage): void {
  writeSync(TELLING_DESCRIPTOR, `${JSON.stringify(message)}\n`);
}

function witnessedModels({ planner, crawler, writer }: JobModels): JobModels {
  return {
    planner: witnessedModel("plan", planner),
    crawler: witnessedModel("crawl", crawler),
    writer: witnessedModel("synthesise", writer),
  };
}

function witnessedModel(phase: string, model: ModelPort): ModelPort {
  const { provider, modelId } = model;
  return {
    provider,
    modelId,
    respond: (request) => {
      const turn = request.messages.filter(({ role }) => role === "assistant").length + 1;
      tell({ kind: "asked", phase, turn });
      return model.respond(request);
    },
  };
}

/** Has the code of each step say that it was entered: a finished one must not be. */
function witnessedSteps<S extends StepNode>(pipeline: S): S {
  return { ...pipeline, children: pipeline.children?.map(witnessedStep) };
}

function witnessedStep(step: StepNode): StepNode {
  if (!isCodeStep(step)) return step;
  const { code, name } = step;
  return {
    ...step,
    code: (input: never, context: Parameters<typeof code>[1]) => {
      tell({ kind: "entered", phase: name });
      return code(input, context);
    },
  } as CodeStep;
}

function isCodeStep(step: StepNode): step is CodeStep {
  return step.kind === "run" && "code" in step;
}

function standStillAt({ phase, nth }: StopPlace): CrashProbe {
  let reached = 0;
  return (point, { stepPath, turnIndex }) => {
    if (stepPath !== phase) return;
    reached += 1;
    if (reached < nth && point !== "step:finished") return;
    tell({ kind: "stands", point, phase, turn: turnIndex });
    standStill();
  };
}

/** Nothing of this process goes on, no timer and no socket, until it is killed; nor when there is nobody left to do that. */
function standStill(): never {
  const nobody = new Int32Array(new SharedArrayBuffer(4));
  while (process.ppid === parent) Atomics.wait(nobody, 0, 0, 250);
  process.exit(1);
}
