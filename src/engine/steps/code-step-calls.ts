import { assertPayload } from "../../core/canonical-json.ts";
import {
  ConfigurationError,
  NotJsonError,
  PersonNeededError,
  ResumeError,
  ToolFailedError,
} from "../../core/errors.ts";
import { type Json, withoutUndefined } from "../../core/json.ts";
import { namedSecrets } from "../../core/secret/redaction.ts";
import { extractSecrets } from "../../core/secret/secret.ts";
import { toolCallId } from "../../core/step-path.ts";
import type { NewWait } from "../../core/wait.ts";
import type { Receipt, StepRecord, ToolCallRecord } from "../../store/store.ts";
import {
  type CallHistory,
  type CallPlan,
  decideCall,
  readCallHistory,
  type UndecidedCall,
} from "../call/call-decision.ts";
import { type EarlierCall, earlierCall, NO_EARLIER_CALL } from "../call/call-earlier-result.ts";
import { type CallIdentity, identify } from "../call/call-identity.ts";
import { makePayload } from "../call/call-payload.ts";
import { begunProgress } from "../call/call-progress.ts";
import { askAboutRow, personNeeded } from "../call/call-questions.ts";
import { emitDuplicate, makeReceipt, type PendingReceipt, storeReceipt } from "../call/call-receipt.ts";
import { type CallRequest } from "../call/call-request.ts";
import { type CallEnd, settleCall } from "../call/call-settlement.ts";
import { prepareTool } from "../definition/prepared-tool.ts";
import type { Tool } from "../definition/tool.ts";
import { failed } from "../definition/tool-outcome.ts";
import type { ActiveRun } from "../run/active-run.ts";
import { readBlobValue } from "../run/blob-hydrator.ts";
import { beforeSideEffect } from "../run/checkpoint-cursor.ts";
import { assertMayBegin } from "../run/deadline.ts";
import { CodeStepLeftovers } from "./code-step-leftovers.ts";
import type { StepSession } from "./step-session.ts";

/** Larger results of code steps are stored as blobs. */
const BLOB_THRESHOLD_BYTES = 20_000;

/** The calls of earlier executions of the step, with their waits and failed attempts. */
type EarlierExecutions = {
  readonly rows: ReadonlyMap<string, ToolCallRecord>;
  readonly leftovers: CodeStepLeftovers;
  readonly history: CallHistory;
};

/** The tool calls of one code step. They are matched with the ledger by identity and occurrence. */
export class CodeStepCalls {
  readonly #run: ActiveRun;
  readonly #step: StepRecord;
  readonly #session: StepSession;
  readonly #abandon: (error: unknown) => void;
  /** Calls of each identity in this execution of the code, which starts from the beginning, and so does the count. */
  readonly #requestCounts = new Map<string, number>();
  /** Calls for the same effect run one after the other: the outcome of the first decides whether the second runs. */
  readonly #lastOfEffect = new Map<string, Promise<unknown>>();
  readonly #inProgress = new Set<Promise<Json>>();
  readonly #unstored = new Set<PendingReceipt>();
  readonly #waits: NewWait[] = [];
  #earlierExecutions: Promise<EarlierExecutions> | null = null;
  /** The error for which the step was abandoned. */
  #abandonedFor: { readonly error: unknown } | null = null;
  #ended = false;

  constructor(run: ActiveRun, step: StepRecord, session: StepSession, abandon: (error: unknown) => void) {
    this.#run = run;
    this.#step = step;
    this.#session = session;
    this.#abandon = abandon;
  }

  /**
   * Resolves or rejects with the result of the tool, or rejects with a mistake in the call itself. On every other error it
   * never settles, since a `catch` in the code could swallow that: the step is abandoned.
   */
  async call(tool: Tool, input: unknown): Promise<Json> {
    if (this.#ended) return new Promise<never>(() => undefined);
    try {
      return await this.#track(this.#call(tool, input));
    } catch (error) {
      if (isForTheCode(error)) throw error;
      // A person can be asked later, so an error that stops this worker replaces the question.
      if (this.#abandonedFor === null || PersonNeededError.isInstance(this.#abandonedFor.error))
        this.#abandonedFor = { error };
      this.#abandon(error);
      return new Promise<never>(() => undefined);
    }
  }

  async #track(call: Promise<Json>): Promise<Json> {
    this.#inProgress.add(call);
    try {
      return await call;
    } finally {
      this.#inProgress.delete(call);
    }
  }

  /**
   * Called when the code has succeeded or failed. No more calls begin, and calls that the code did not await get their
   * receipts first, since they may take effect. Rejects with the error for which a call abandoned the step.
   */
  async end(): Promise<void> {
    this.#ended = true;
    await Promise.allSettled(this.#inProgress);
    // Receipts that the store refused before are written again: a call whose outcome is known should not be in doubt.
    await Promise.allSettled([...this.#unstored].map((pending) => storeReceipt(this.#run, pending)));
    if (this.#abandonedFor !== null && !PersonNeededError.isInstance(this.#abandonedFor.error))
      throw this.#abandonedFor.error;
    if (this.#waits.length > 0) throw personNeeded(this.#run, this.#waits);
  }

  /** Called when the code has succeeded: asks a person about calls in doubt that the code did not make again. */
  async assertNothingInDoubt(): Promise<void> {
    const { leftovers, history } = await this.#readEarlierExecutions();
    const waits: NewWait[] = [];
    for (const row of leftovers.inDoubt()) {
      const isAnswered = history.waits.some(
        ({ toolCallId: id, attempt, status }) =>
          id === row.toolCallId && attempt === row.attempt && status === "answered",
      );
      if (isAnswered) await this.#giveUp(row);
      else waits.push(askAboutRow(this.#step.stepKey, row));
    }
    if (waits.length > 0) throw personNeeded(this.#run, waits);
  }

  /** Settles a call that a person allowed to run again, and that the code did not make again. */
  async #giveUp({ callIndex, attempt }: ToolCallRecord): Promise<void> {
    const { stepKey, path: stepPath } = this.#step;
    const message = "It was allowed to run again, but the code of its step did not call it again.";
    const outcome = failed("not_asked_for", message, { uncertain: true });
    const receipt = makeReceipt(this.#run, { callIndex, blobThresholdBytes: BLOB_THRESHOLD_BYTES }, outcome);
    await storeReceipt(this.#run, { stepKey, stepPath, turnIndex: 0, attempt, receipt });
  }

  async #call(tool: Tool, input: unknown): Promise<Json> {
    const request = await this.#request(tool, input);
    const identity = await identify(this.#run, request);
    if (identity.problem !== null) throw new ConfigurationError(identity.problem);
    if (identity.dedupe === "call") return this.#perform(request, identity);
    const effect = identity.hash.toString("hex");
    const perform = () => this.#perform(request, identity);
    const mine = this.#lastOfEffect.get(effect)?.then(perform, (error: unknown) => {
      // An error for which the first one abandoned the step ends the second one too.
      if (!isForTheCode(error)) throw error;
      return perform();
    });
    const call = mine ?? perform();
    this.#lastOfEffect.set(effect, call);
    return call;
  }

  async #request(tool: Tool, given: unknown): Promise<CallRequest> {
    const input = withoutUndefined(given);
    this.#run.stop.signal.throwIfAborted();
    assertMayBegin(this.#run);
    if (tool.name === null)
      throw new ConfigurationError(
        `The tool ${JSON.stringify(tool.description)} that step ${this.#step.path} calls has no name: give it one, tool({ name: … }).`,
      );
    const {
      policy: { rules, secrets },
    } = this.#run;
    const { revealed, texts } = extractSecrets(input);
    secrets.learn(texts);
    secrets.learnSecrets(tool.secrets);
    const hidden = secrets.hideMarked(input);
    assertPayload(hidden, `The input of ${tool.name}`);
    assertPayload(revealed, `The input of ${tool.name}`);
    return {
      stepPath: this.#step.path,
      name: tool.name,
      input: hidden,
      secretInput: revealed,
      // The code passes its secrets again.
      isSecretLost: false,
      ownSecrets: namedSecrets(revealed, rules.secretKeys),
      tool: await prepareTool(tool.name, tool, rules.tools),
      problem: null,
      enforceKeys: false,
    };
  }

  async #perform(request: CallRequest, identity: CallIdentity): Promise<Json> {
    const { history, leftovers } = await this.#readEarlierExecutions();
    const { known, occurrence } = await this.#find(identity);
    const idempotencyKey = known?.idempotencyKey ?? identity.keyOf(occurrence).toString("hex");
    leftovers.claim(idempotencyKey);
    const payload = await makePayload(this.#run.policy.rules, request, idempotencyKey);
    if (payload.kind === "refused" && payload.errorCode === "invalid_input" && known === null)
      throw new ConfigurationError(payload.error);
    const undecided: UndecidedCall = {
      place: {
        stepKey: this.#step.stepKey,
        stepPath: this.#step.path,
        stepName: this.#step.name,
        turnIndex: 0,
        callIndex: known?.callIndex ?? 0,
      },
      request,
      payload,
      idempotencyKey,
      identityHash: identity.hash.toString("hex"),
      earlier: await this.#earlierCall(request, identity, occurrence, known, leftovers),
      comparable: identity.dedupe === "effect" ? await identity.comparable(request.input) : request.input,
      sessionBase: () => this.#session.state,
      blobThresholdBytes: BLOB_THRESHOLD_BYTES,
      known,
      history,
    };
    const begunAt = this.#run.time.clock.monotonic();
    const plan = decideCall(this.#run, undecided);
    if (plan.kind === "replay") return this.#result(request.name, undecided.place.callIndex, plan.receipt);
    const callIndex = known?.callIndex ?? (await this.#open(undecided, identity, occurrence, plan.kind));
    try {
      return await this.#settle(request.name, callIndex, plan, known === null ? begunAt : null);
    } catch (error) {
      const receipt = ResumeError.isInstance(error) ? await this.#settledMeanwhile(idempotencyKey) : null;
      if (receipt === null) throw error;
      return this.#result(request.name, callIndex, receipt);
    }
  }

  /** The receipt of a call that a person or a late receipt settled before this worker did. */
  async #settledMeanwhile(idempotencyKey: string): Promise<Receipt | null> {
    const row = await this.#run.store.findToolCall(this.#run.runId, Buffer.from(idempotencyKey, "hex"));
    return row?.receipt ?? null;
  }

  /**
   * The row of this call, if an earlier execution made it, and the call's occurrence. A row whose failure ended the step
   * is not reused.
   */
  async #find(
    identity: CallIdentity,
  ): Promise<{ readonly known: ToolCallRecord | null; readonly occurrence: number }> {
    const id = `${identity.dedupe} ${identity.hash.toString("hex")}`;
    const { rows, leftovers } = await this.#readEarlierExecutions();
    const rowOf = (n: number) => rows.get(identity.keyOf(n).toString("hex")) ?? null;
    let count = (this.#requestCounts.get(id) ?? 0) + 1;
    if (identity.dedupe === "call") {
      for (let row = rowOf(count); row?.isSuperseded === true; row = rowOf(++count))
        leftovers.claim(row.idempotencyKey);
      this.#requestCounts.set(id, count);
      return { known: rowOf(count), occurrence: count };
    }
    this.#requestCounts.set(id, count);
    // Occurrences are counted over the whole run; `rows` has those of this step, in their order.
    let own = 0;
    for (let n = 1; ; n++) {
      const known = rowOf(n);
      if (known?.isSuperseded === false && ++own === count) return { known, occurrence: n };
      if (known === null && !(await this.#run.store.hasToolCall(this.#run.runId, identity.keyOf(n))))
        return { known: null, occurrence: n };
    }
  }

  async #earlierCall(
    { tool }: CallRequest,
    identity: CallIdentity,
    occurrence: number,
    known: ToolCallRecord | null,
    leftovers: CodeStepLeftovers,
  ): Promise<EarlierCall> {
    if ((known !== null && known.receipt !== null) || tool === null) return NO_EARLIER_CALL;
    const isHarmless = tool.recovery === "repeat" && identity.dedupe === "call";
    const earlier = isHarmless ? NO_EARLIER_CALL : await earlierCall(this.#run, identity, occurrence);
    // A row that was never sent may have been about to wait for a person when its worker stopped.
    if (earlier.kind !== "none" || (known !== null && known.status !== "prepared")) return earlier;
    const leftover = await leftovers.unclaimedEffect(tool);
    return leftover === null ? NO_EARLIER_CALL : { kind: "left_over", toolCallId: leftover.toolCallId };
  }

  #readEarlierExecutions(): Promise<EarlierExecutions> {
    this.#earlierExecutions ??= this.#loadEarlierExecutions();
    return this.#earlierExecutions;
  }

  async #loadEarlierExecutions(): Promise<EarlierExecutions> {
    const {
      store,
      runId,
      time: { clock },
    } = this.#run;
    const calls = await store.listCodeStepCalls(runId, this.#step.stepKey);
    const history = calls.every(({ receipt }) => receipt !== null)
      ? { waits: [], attempts: [] }
      : await readCallHistory(store, runId);
    const rows = new Map(calls.map((call) => [call.idempotencyKey, call]));
    return { rows, leftovers: new CodeStepLeftovers(calls, clock), history };
  }

  async #open(
    { request, idempotencyKey }: UndecidedCall,
    identity: CallIdentity,
    occurrence: number,
    kind: CallPlan["kind"],
  ): Promise<number> {
    const { tool, name, input } = request;
    if (tool === null) throw new Error(`Code calls ${name} without a tool.`);
    this.#run.stop.signal.throwIfAborted();
    this.#run.contract.budget.takeToolCall();
    const checkpoint = await beforeSideEffect(this.#run, this.#step, 0, kind === "work" ? [tool.effect] : []);
    this.#run.stop.lease.assertHeld();
    return this.#run.store.openToolCall(this.#run.fence, {
      stepKey: this.#step.stepKey,
      namespace: tool.namespace,
      tool: name,
      effect: tool.effect,
      recovery: tool.recovery,
      identityHash: identity.hash,
      occurrence,
      idempotencyKey: Buffer.from(idempotencyKey, "hex"),
      status: kind === "work" ? "running" : "prepared",
      timeoutMs: tool.timeoutMs,
      request: input,
      ...(checkpoint === null ? {} : { checkpoint }),
    });
  }

  /** `begunAt` is given for a call whose first attempt began when its row was written. */
  async #settle(
    name: string,
    callIndex: number,
    plan: Exclude<CallPlan, { kind: "replay" }>,
    begunAt: number | null,
  ): Promise<Json> {
    let end: CallEnd;
    if (plan.kind === "work") {
      const { facts, decision } = plan;
      const call = { ...plan.call, callIndex };
      const progress = begunAt === null ? plan.progress : begunProgress(this.#run, call.tool, begunAt);
      end = await settleCall(this.#run, call, facts, decision, progress);
    } else end = plan;
    if (end.kind === "person") {
      const wait = { ...end.wait, callIndex };
      this.#waits.push(wait);
      throw personNeeded(this.#run, [wait]);
    }
    const { outcome, attempt } = end;
    const { stepKey, path: stepPath } = this.#step;
    const receipt = makeReceipt(this.#run, { callIndex, blobThresholdBytes: BLOB_THRESHOLD_BYTES }, outcome);
    const pending = { stepKey, stepPath, turnIndex: 0, attempt, receipt };
    this.#unstored.add(pending);
    await storeReceipt(this.#run, pending);
    this.#unstored.delete(pending);
    emitDuplicate(this.#run, { stepPath, turnIndex: 0, callIndex }, name, end);
    return this.#result(name, callIndex, { ...outcome, blob: null });
  }

  async #result(
    tool: string,
    callIndex: number,
    receipt: Pick<Receipt, "status" | "output" | "blob" | "errorCode" | "duplicateOf" | "sessionEvents">,
  ): Promise<Json> {
    const { status, output, blob, errorCode } = receipt;
    const id = toolCallId(this.#run.runId, this.#step.path, 0, callIndex);
    if (receipt.duplicateOf !== null && receipt.sessionEvents.length > 0)
      await this.#run.keeper.prepareReplay(receipt.duplicateOf);
    this.#run.keeper.lastToolCall = id;
    this.#session.addCallEvents(receipt.duplicateOf ?? id, receipt.sessionEvents);
    if (status === "succeeded" || status === "deduplicated")
      return blob === null ? output.value : readBlobValue(this.#run, blob, tool);
    const { value } = output;
    throw new ToolFailedError(
      `Tool ${tool} failed: ${typeof value === "string" ? value : JSON.stringify(value)}`,
      { toolCallId: id, tool, errorCode },
    );
  }
}

/** True for errors that `ctx.call` throws to the code of the step. */
function isForTheCode(error: unknown): boolean {
  return (
    ToolFailedError.isInstance(error) ||
    ConfigurationError.isInstance(error) ||
    NotJsonError.isInstance(error)
  );
}
