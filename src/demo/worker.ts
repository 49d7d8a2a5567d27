/**
 * The program that gets killed: it starts or resumes the job in its folder, and does not know that it was killed before.
 * Run by the demo, which passes its order as the only argument.
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
  MESSAGE_DESCRIPTOR,
  RUN_ID,
  type StopPoint,
  type WorkerMessage,
  type WorkerOrder,
} from "./worker-order.ts";

const parent = process.ppid;
const order = JSON.parse(process.argv[2] ?? "null") as WorkerOrder;
try {
  send(await work(order));
} catch (error) {
  send({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
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
      probe: stop === null ? () => undefined : haltAt(stop),
      onEvent: (event) => {
        if (event.type !== "run.finished") send({ kind: "event", event });
      },
    });
    // Starts the run, or resumes it where a killed process left it: the same line for both.
    const { status, output, waits } = await runner.run(spec.input, { runId: RUN_ID, spec });
    const questions = waits.map(({ question }) => question).join(" ");
    return { kind: "ended", status, output: status === "waiting" ? questions : String(output) };
  } finally {
    await store.close();
  }
}

/** Written synchronously, so that a message survives a kill right after it. */
function send(message: WorkerMessage): void {
  writeSync(MESSAGE_DESCRIPTOR, `${JSON.stringify(message)}\n`);
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
      send({ kind: "asked", phase, turn });
      return model.respond(request);
    },
  };
}

/** Makes the code of each step report that it was entered: a finished one must not be. */
function witnessedSteps<S extends StepNode>(pipeline: S): S {
  return { ...pipeline, children: pipeline.children?.map(witnessedStep) };
}

function witnessedStep(step: StepNode): StepNode {
  if (!isCodeStep(step)) return step;
  const { code, name } = step;
  return {
    ...step,
    code: (input: never, context: Parameters<typeof code>[1]) => {
      send({ kind: "entered", phase: name });
      return code(input, context);
    },
  } as CodeStep;
}

function isCodeStep(step: StepNode): step is CodeStep {
  return step.kind === "run" && "code" in step;
}

function haltAt({ phase, nth }: StopPoint): CrashProbe {
  let reached = 0;
  return (point, { stepPath, turnIndex }) => {
    if (stepPath !== phase) return;
    reached += 1;
    if (reached < nth && point !== "step:finished") return;
    send({ kind: "halted", point, phase, turn: turnIndex });
    halt();
  };
}

/** Blocks the whole process, timers and sockets included, until it is killed; exits if its parent is gone. */
function halt(): never {
  const neverNotified = new Int32Array(new SharedArrayBuffer(4));
  while (process.ppid === parent) Atomics.wait(neverNotified, 0, 0, 250);
  process.exit(1);
}
