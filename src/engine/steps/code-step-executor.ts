import { ConfigurationError } from "../../core/errors.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { stepId } from "../../core/step-path.ts";
import type { CodeStepContext } from "../definition/code-step-context.ts";
import { earlierSteps } from "../definition/earlier-steps.ts";
import { calledTool, type ForeignCall, type ForeignTool } from "../definition/foreign-tool.ts";
import type { CodeStep } from "../definition/step.ts";
import type { Tool } from "../definition/tool.ts";
import type { ToolSource } from "../definition/tool-source.ts";
import { ABORT_GRACE_MS } from "../run/active-run.ts";
import { CodeStepCalls } from "./code-step-calls.ts";
import { stepWaits } from "./code-step-waits.ts";
import type { StepExecution, StepExecutor } from "./step-executor.ts";

/** Runs ordinary code with a ledger. After an interruption the code runs from its start and reuses its receipts. */
export const codeStepExecutor: StepExecutor<CodeStep> = {
  storage: "instance",
  execute(step, execution) {
    const { run, path } = execution;
    const span = { kind: "step", step: path, stepId: stepId(run.runId, path) } as const;
    return run.observe.telemetry.within(span, () => executeCode(step, execution));
  },
};

async function executeCode(step: CodeStep, execution: StepExecution): Promise<Json> {
  if (execution.instance === null) throw new Error("A code step needs its stored instance.");
  const abandonment = Promise.withResolvers<never>();
  const { session } = execution;
  const calls = new CodeStepCalls(execution.run, execution.instance, session, abandonment.reject);
  const context: CodeStepContext = {
    runId: execution.run.runId,
    stepPath: execution.path,
    context: await execution.run.latest.withGranularState(execution.context.value),
    signal: execution.run.stop.signal,
    session,
    ...execution.run.artifacts.accessOf(execution.instance.stepKey),
    call: async (tool: Tool | ForeignTool, input: unknown, options?: ForeignCall) =>
      (await calls.call(calledTool(tool, options), input)) as never,
    ...stepWaits(execution.path, calls),
    ...earlierSteps(execution.run, execution.path),
    tools: (source) => execution.run.sources.toolsOf(byName(source)),
    granularState: (stepName) => execution.run.store.readGranularState(execution.run.runId, stepName),
  };
  // Code that ignores its signal is abandoned after a grace period, so that a cancelled run ends.
  const {
    time: { clock },
    stop: { onAbort, closing },
  } = execution.run;
  const onClosing = () => abandonment.reject(closing.reason);
  closing.addEventListener("abort", onClosing, { once: true });
  let stopWaiting: () => void = () => undefined;
  const stopListening = onAbort((reason) => {
    stopWaiting = clock.after(ABORT_GRACE_MS, () => abandonment.reject(reason));
  });
  const [outcome] = await Promise.allSettled([
    Promise.race([runCode(step, execution, context), abandonment.promise]),
  ]);
  stopListening();
  stopWaiting();
  closing.removeEventListener("abort", onClosing);
  session.end();
  await calls.end();
  if (outcome.status === "rejected") throw outcome.reason;
  await calls.assertNothingInDoubt();
  if (!isJsonObject(context.context))
    throw new ConfigurationError(`The context after step ${execution.path} is not an object.`);
  execution.context.value = context.context;
  return (outcome.value ?? null) as Json;
}

function byName(source: ToolSource): { readonly [name: string]: ToolSource } {
  if (source.name !== null) return { [source.name]: source };
  throw new ConfigurationError("A tool source that the code of a step opens needs a name: give it one.");
}

/** Async, so that code that throws synchronously becomes a rejection like any other. */
async function runCode(step: CodeStep, execution: StepExecution, context: CodeStepContext): Promise<unknown> {
  return await step.code(execution.input as never, context);
}
