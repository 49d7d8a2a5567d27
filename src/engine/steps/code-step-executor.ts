import { ConfigurationError } from "../../core/errors.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { stepId } from "../../core/step-path.ts";
import type { CodeStepContext } from "../definition/code-step-context.ts";
import { earlierSteps } from "../definition/earlier-steps.ts";
import type { CodeStep } from "../definition/step.ts";
import type { ToolSource } from "../definition/tool-source.ts";
import { ABORT_GRACE_MS } from "../run/active-run.ts";
import { CodeStepCalls } from "./code-step-calls.ts";
import type { Frame, StepExecutor } from "./step-executor.ts";

/** Ordinary code with a ledger. An interrupted step runs again from its start and meets its receipts. */
export const codeStepExecutor: StepExecutor<CodeStep> = {
  storage: "instance",
  execute(step, frame) {
    const { run, path } = frame;
    const span = { kind: "step", step: path, stepId: stepId(run.runId, path) } as const;
    return run.observe.telemetry.within(span, () => executeCode(step, frame));
  },
};

async function executeCode(step: CodeStep, frame: Frame): Promise<Json> {
  if (frame.instance === null) throw new Error("A code step needs its stored instance.");
  const abandonment = Promise.withResolvers<never>();
  const { session } = frame;
  const calls = new CodeStepCalls(frame.run, frame.instance, session, abandonment.reject);
  const context: CodeStepContext = {
    runId: frame.run.runId,
    stepPath: frame.path,
    context: await frame.run.latest.withGranularState(frame.context.value),
    signal: frame.run.stop.signal,
    session,
    ...frame.run.artifacts.accessOf(frame.instance.stepKey),
    call: (tool, input) => calls.call(tool, input) as never,
    ...earlierSteps(frame.run, frame.path),
    tools: (source) => frame.run.sources.toolsOf(byName(source)),
    granularState: (stepName) => frame.run.store.readGranularState(frame.run.runId, stepName),
  };
  // Code that does not listen to its signal is left behind after a moment: a cancelled run comes to its end.
  const {
    time: { clock },
    stop: { onAbort, closing },
  } = frame.run;
  const onClosing = () => abandonment.reject(closing.reason);
  closing.addEventListener("abort", onClosing, { once: true });
  let stopWaiting: () => void = () => undefined;
  const stopListening = onAbort((reason) => {
    stopWaiting = clock.after(ABORT_GRACE_MS, () => abandonment.reject(reason));
  });
  const [outcome] = await Promise.allSettled([
    Promise.race([runCode(step, frame, context), abandonment.promise]),
  ]);
  stopListening();
  stopWaiting();
  closing.removeEventListener("abort", onClosing);
  session.end();
  await calls.end();
  if (outcome.status === "rejected") throw outcome.reason;
  await calls.assertNothingInDoubt();
  if (!isJsonObject(context.context))
    throw new ConfigurationError(`The context after step ${frame.path} is not an object.`);
  frame.context.value = context.context;
  return (outcome.value ?? null) as Json;
}

function byName(source: ToolSource): { readonly [name: string]: ToolSource } {
  if (source.name !== null) return { [source.name]: source };
  throw new ConfigurationError("A source of tools that code uses needs a name: give it one.");
}

/** In a function of its own, so that code that throws at once is a rejection like any other. */
async function runCode(step: CodeStep, frame: Frame, context: CodeStepContext): Promise<unknown> {
  return await step.code(frame.input as never, context);
}
