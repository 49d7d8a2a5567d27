import { assertJson } from "../core/canonical-json.ts";
import { ConfigurationError, NotJsonError, ToolFailedError } from "../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { toolCallId } from "../core/step-path.ts";
import { decideToolCall } from "../core/tool-call-decision.ts";
import type { StepRecord, ToolCallRecord } from "../store/store.ts";
import { CallOccurrences } from "./call-occurrences.ts";
import type { CodeStepContext } from "./code-step-context.ts";
import { readBlobValue } from "./hydrator.ts";
import { ABORT_GRACE_MS, type RunHandle, reach } from "./run-handle.ts";
import type { CodeStep } from "./step.ts";
import type { Frame, StepExecutor } from "./step-executor.ts";
import { type PreparedTool, prepareTool, type Tool } from "./tool.ts";
import { planToolCall, type ToolCallPlan } from "./tool-call-plan.ts";
import { dispatchTool, inDoubt } from "./tool-gateway.ts";
import { makeReceipt } from "./tool-receipt.ts";

/** Large results of code steps are kept beside the ledger too. */
const BLOB_THRESHOLD_BYTES = 20_000;

/** Ordinary code with a ledger. An interrupted step runs again from its start and meets its receipts. */
export const codeStepExecutor: StepExecutor<CodeStep> = {
  storage: "instance",
  async execute(step, frame) {
    if (frame.instance === null) throw new Error("A code step needs its stored instance.");
    const abandonment = Promise.withResolvers<never>();
    const calls = new CodeStepCalls(frame.run, frame.instance, abandonment.reject);
    const context: CodeStepContext = {
      runId: frame.run.runId,
      stepPath: frame.path,
      context: frame.context.value,
      signal: frame.run.signal,
      call: (tool, input) => calls.call(tool, input),
      granularState: (stepName) => frame.run.store.readGranularState(frame.run.runId, stepName),
    };
    // Code that does not listen to its signal is left behind after a moment: a cancelled run comes to its end.
    const { clock, onAbort } = frame.run;
    let stopWaiting: () => void = () => undefined;
    const stopListening = onAbort((reason) => {
      stopWaiting = clock.after(ABORT_GRACE_MS, () => abandonment.reject(reason));
    });
    const [outcome] = await Promise.allSettled([
      Promise.race([runCode(step, frame, context), abandonment.promise]),
    ]);
    stopListening();
    stopWaiting();
    await calls.end();
    if (outcome.status === "rejected") throw outcome.reason;
    if (!isJsonObject(context.context))
      throw new ConfigurationError(`The context after step ${frame.path} is not an object.`);
    frame.context.value = context.context;
    return (outcome.value ?? null) as Json;
  },
};

/** In a function of its own, so that code that throws at once is a rejection like any other. */
async function runCode(step: CodeStep, frame: Frame, context: CodeStepContext): Promise<unknown> {
  return await step.code(frame.input as never, context);
}

function isForTheCode(error: unknown): boolean {
  return (
    error instanceof ToolFailedError || error instanceof ConfigurationError || error instanceof NotJsonError
  );
}

/** The ledger of one code step: calls are matched by what they ask for, and by how often that was asked before. */
class CodeStepCalls {
  readonly #run: RunHandle;
  readonly #step: StepRecord;
  readonly #abandon: (error: unknown) => void;
  /** Counted in this execution of the code: it starts from the beginning, and so do the occurrences. */
  readonly #occurrences = new CallOccurrences(null);
  readonly #underWay = new Set<Promise<Json>>();
  #left: { readonly error: unknown } | null = null;
  #ended = false;

  constructor(run: RunHandle, step: StepRecord, abandon: (error: unknown) => void) {
    this.#run = run;
    this.#step = step;
    this.#abandon = abandon;
  }

  /**
   * The code gets what its tool came to, or what is wrong with what it asked for. Everything else never settles inside
   * of it, where a `catch` could swallow it: the step is left.
   */
  async call(tool: Tool, input: JsonObject): Promise<Json> {
    if (this.#ended) return new Promise<never>(() => undefined);
    try {
      return await this.#underWayUntil(this.#call(tool, input));
    } catch (error) {
      if (isForTheCode(error)) throw error;
      this.#left ??= { error };
      this.#abandon(error);
      return new Promise<never>(() => undefined);
    }
  }

  async #underWayUntil(call: Promise<Json>): Promise<Json> {
    this.#underWay.add(call);
    try {
      return await call;
    } finally {
      this.#underWay.delete(call);
    }
  }

  /**
   * The code has ended, well or not. Calls that it did not wait for have had, or will have, their effect: each gets
   * its receipt first. No other begins. Rejects with what made a call leave the step.
   */
  async end(): Promise<void> {
    this.#ended = true;
    await Promise.allSettled(this.#underWay);
    if (this.#left !== null) throw this.#left.error;
  }

  async #call(tool: Tool, input: JsonObject): Promise<Json> {
    const { plan, prepared } = await this.#plan(tool, input);
    const known = await this.#run.store.findToolCall(plan.idempotencyKey);
    if (known === null) return this.#dispatch(plan, prepared, await this.#open(plan, prepared, input), 1);
    const decision = decideToolCall(known.status, prepared.recovery);
    switch (decision.kind) {
      case "replay":
        return this.#replay(known);
      case "refuse":
        throw inDoubt(known.toolCallId, prepared);
      case "execute":
      case "retry": {
        const { stepKey } = this.#step;
        await this.#run.store.startToolCalls(this.#run.fence, {
          stepKey,
          turnIndex: 0,
          callIndexes: [known.callIndex],
        });
        return this.#dispatch(plan, prepared, known.callIndex, known.attempt + 1);
      }
    }
  }

  async #plan(tool: Tool, input: JsonObject): Promise<{ plan: ToolCallPlan; prepared: PreparedTool }> {
    this.#run.signal.throwIfAborted();
    if (tool.name === null)
      throw new ConfigurationError(
        `The tool ${JSON.stringify(tool.description)} that step ${this.#step.path} calls has no name: give it one, tool({ name: … }).`,
      );
    assertJson(input, `The input of ${tool.name}`);
    const prepared = await prepareTool(tool.name, tool);
    const request = {
      runId: this.#run.runId,
      stepPath: this.#step.path,
      name: prepared.name,
      input,
      tool: prepared,
      problem: null,
    };
    const plan = await planToolCall(request, false, this.#occurrences);
    if (plan.payload.kind === "misconfigured") throw plan.payload.error;
    if (plan.payload.kind === "invalid") throw new ConfigurationError(plan.payload.error);
    return { plan, prepared };
  }

  #open(plan: ToolCallPlan, tool: PreparedTool, request: Json): Promise<number> {
    const { identityHash, occurrence, idempotencyKey } = plan;
    const { namespace, name, effect } = tool;
    this.#run.lease.assertHeld();
    const row = {
      stepKey: this.#step.stepKey,
      namespace,
      tool: name,
      effect,
      identityHash,
      occurrence,
      idempotencyKey,
      request,
    };
    return this.#run.store.openToolCall(this.#run.fence, row);
  }

  async #dispatch(plan: ToolCallPlan, tool: PreparedTool, callIndex: number, attempt: number): Promise<Json> {
    if (plan.payload.kind !== "ready") throw new Error("Only a call that is ready is dispatched.");
    const { path, name, stepKey } = this.#step;
    const outcome = await dispatchTool(this.#run, {
      tool,
      request: plan.request.input,
      input: plan.payload.input,
      stepPath: path,
      stepName: name,
      turnIndex: 0,
      callIndex,
      attempt,
      idempotencyKey: plan.idempotencyKey.toString("hex"),
    });
    const receipt = makeReceipt(callIndex, outcome, BLOB_THRESHOLD_BYTES, this.#run.estimateTokens);
    reach(this.#run, "tool:before-receipt", path, 0);
    await this.#run.store.recordReceipt(this.#run.fence, { stepKey, turnIndex: 0, receipt, start: [] });
    reach(this.#run, "tool:receipt-stored", path, 0);
    if (outcome.status === "succeeded") return outcome.output.value;
    throw this.#failure(tool.name, callIndex, outcome.output.value);
  }

  async #replay(known: ToolCallRecord): Promise<Json> {
    const { receipt, tool, callIndex } = known;
    if (receipt === null) throw new Error(`Call ${known.toolCallId} is ended and has no receipt.`);
    if (receipt.status === "failed") throw this.#failure(tool, callIndex, receipt.output.value);
    return receipt.blob === null ? receipt.output.value : readBlobValue(this.#run, receipt.blob, tool);
  }

  #failure(tool: string, callIndex: number, said: Json): ToolFailedError {
    const id = toolCallId(this.#run.runId, this.#step.path, 0, callIndex);
    return new ToolFailedError(
      `Tool ${tool} failed: ${typeof said === "string" ? said : JSON.stringify(said)}`,
      { toolCallId: id, tool },
    );
  }
}
