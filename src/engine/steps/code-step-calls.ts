import { assertPayload } from "../../core/canonical-json.ts";
import {
  ConfigurationError,
  NotJsonError,
  PersonNeededError,
  ResumeError,
  ToolFailedError,
} from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { namedSecrets } from "../../core/secret/redaction.ts";
import { extractSecrets } from "../../core/secret/secret.ts";
import { toolCallId } from "../../core/step-path.ts";
import type { NewWait } from "../../core/wait.ts";
import type { Receipt, StepRecord, ToolCallRecord } from "../../store/store.ts";
import {
  type CallPast,
  type CallPlan,
  decideCall,
  readPast,
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

/** Large results of code steps are kept beside the ledger too. */
const BLOB_THRESHOLD_BYTES = 20_000;

/** What an earlier execution of the step left: its calls, and what was said and tried about them. */
type LeftBehind = {
  readonly rows: ReadonlyMap<string, ToolCallRecord>;
  readonly leftovers: CodeStepLeftovers;
  readonly past: CallPast;
};

/** The ledger of one code step: calls are matched by what they ask for, and by how often that was asked before. */
export class CodeStepCalls {
  readonly #run: ActiveRun;
  readonly #step: StepRecord;
  readonly #session: StepSession;
  readonly #abandon: (error: unknown) => void;
  /** Counted in this execution of the code: it starts from the beginning, and so do the occurrences. */
  readonly #asked = new Map<string, number>();
  /** Calls that are after the same effect go one after the other: the first decides whether the second runs. */
  readonly #lastOfEffect = new Map<string, Promise<unknown>>();
  readonly #underWay = new Set<Promise<Json>>();
  readonly #unstored = new Set<PendingReceipt>();
  readonly #waits: NewWait[] = [];
  #leftBehind: Promise<LeftBehind> | null = null;
  #left: { readonly error: unknown } | null = null;
  #ended = false;

  constructor(run: ActiveRun, step: StepRecord, session: StepSession, abandon: (error: unknown) => void) {
    this.#run = run;
    this.#step = step;
    this.#session = session;
    this.#abandon = abandon;
  }

  /**
   * The code gets what its tool came to, or what is wrong with what it asked for. Everything else never settles inside
   * of it, where a `catch` could swallow it: the step is left.
   */
  async call(tool: Tool, input: unknown): Promise<Json> {
    if (this.#ended) return new Promise<never>(() => undefined);
    try {
      return await this.#underWayUntil(this.#call(tool, input));
    } catch (error) {
      if (isForTheCode(error)) throw error;
      // A person can be asked later; what keeps this worker from going on cannot wait.
      if (this.#left === null || this.#left.error instanceof PersonNeededError) this.#left = { error };
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
    // Refused when it fell due; a call whose outcome is known is not to be in doubt.
    await Promise.allSettled([...this.#unstored].map((pending) => storeReceipt(this.#run, pending)));
    if (this.#left !== null && !(this.#left.error instanceof PersonNeededError)) throw this.#left.error;
    if (this.#waits.length > 0) throw personNeeded(this.#run, this.#waits);
  }

  /** The code has succeeded. A doubt that it left behind without a word is not to be forgotten. */
  async assertNothingInDoubt(): Promise<void> {
    const { leftovers, past } = await this.#readLeftBehind();
    const waits: NewWait[] = [];
    for (const row of leftovers.inDoubt()) {
      const isAnswered = past.waits.some(
        ({ toolCallId: id, attempt, status }) =>
          id === row.toolCallId && attempt === row.attempt && status === "answered",
      );
      if (isAnswered) await this.#giveUp(row);
      else waits.push(askAboutRow(this.#step.stepKey, row));
    }
    if (waits.length > 0) throw personNeeded(this.#run, waits);
  }

  /** A person let it run again, and the code does not ask for it any more. */
  async #giveUp({ callIndex, attempt }: ToolCallRecord): Promise<void> {
    const { stepKey, path: stepPath } = this.#step;
    const message = "It was to run again, and its step does not ask for it any more.";
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
      // What made the first one leave the step keeps the second from being decided about.
      if (!isForTheCode(error)) throw error;
      return perform();
    });
    const call = mine ?? perform();
    this.#lastOfEffect.set(effect, call);
    return call;
  }

  async #request(tool: Tool, input: unknown): Promise<CallRequest> {
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
      // The code gives them again.
      isSecretLost: false,
      ownSecrets: namedSecrets(revealed, rules.secretKeys),
      tool: await prepareTool(tool.name, tool, rules.tools),
      problem: null,
      enforceKeys: false,
    };
  }

  async #perform(request: CallRequest, identity: CallIdentity): Promise<Json> {
    const { past, leftovers } = await this.#readLeftBehind();
    const { known, occurrence } = await this.#find(identity);
    const idempotencyKey = known?.idempotencyKey ?? identity.keyOf(occurrence).toString("hex");
    leftovers.meet(idempotencyKey);
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
      earlier: await this.#earlier(request, identity, occurrence, known, leftovers),
      sessionBase: () => this.#session.state,
      blobThresholdBytes: BLOB_THRESHOLD_BYTES,
      known,
      past,
    };
    const begunAt = this.#run.time.clock.monotonic();
    const plan = decideCall(this.#run, undecided);
    if (plan.kind === "replay") return this.#result(request.name, undecided.place.callIndex, plan.receipt);
    const callIndex = known?.callIndex ?? (await this.#open(undecided, identity, occurrence, plan.kind));
    try {
      return await this.#settle(request.name, callIndex, plan, known === null ? begunAt : null);
    } catch (error) {
      const receipt = error instanceof ResumeError ? await this.#settledMeanwhile(idempotencyKey) : null;
      if (receipt === null) throw error;
      return this.#result(request.name, callIndex, receipt);
    }
  }

  /** A person, or a receipt that came late, was faster than this worker. */
  async #settledMeanwhile(idempotencyKey: string): Promise<Receipt | null> {
    const row = await this.#run.store.findToolCall(Buffer.from(idempotencyKey, "hex"));
    return row?.receipt ?? null;
  }

  /**
   * The row of this very call, where an earlier execution made it; and which one of its identity it is. One whose failure
   * ended the step is not met again.
   */
  async #find(
    identity: CallIdentity,
  ): Promise<{ readonly known: ToolCallRecord | null; readonly occurrence: number }> {
    const id = `${identity.dedupe} ${identity.hash.toString("hex")}`;
    const { rows, leftovers } = await this.#readLeftBehind();
    const rowOf = (n: number) => rows.get(identity.keyOf(n).toString("hex")) ?? null;
    let asked = (this.#asked.get(id) ?? 0) + 1;
    if (identity.dedupe === "call") {
      for (let row = rowOf(asked); row?.isSuperseded === true; row = rowOf(++asked))
        leftovers.meet(row.idempotencyKey);
      this.#asked.set(id, asked);
      return { known: rowOf(asked), occurrence: asked };
    }
    this.#asked.set(id, asked);
    // Counted over the whole run: this step's own are those that it made itself, in their order.
    let own = 0;
    for (let n = 1; ; n++) {
      const known = rowOf(n);
      if (known?.isSuperseded === false && ++own === asked) return { known, occurrence: n };
      if (known === null && !(await this.#run.store.hasToolCall(identity.keyOf(n))))
        return { known: null, occurrence: n };
    }
  }

  async #earlier(
    { tool }: CallRequest,
    identity: CallIdentity,
    occurrence: number,
    known: ToolCallRecord | null,
    leftovers: CodeStepLeftovers,
  ): Promise<EarlierCall> {
    if ((known !== null && known.receipt !== null) || tool === null) return NO_EARLIER_CALL;
    const isHarmless = tool.recovery === "repeat" && identity.dedupe === "call";
    const earlier = isHarmless ? NO_EARLIER_CALL : await earlierCall(this.#run, identity, occurrence);
    // One that never went out may be so because a person was about to be asked, and was not.
    if (earlier.kind !== "none" || (known !== null && known.status !== "prepared")) return earlier;
    const left = await leftovers.of(tool);
    return left === null ? NO_EARLIER_CALL : { kind: "left_over", toolCallId: left.toolCallId };
  }

  #readLeftBehind(): Promise<LeftBehind> {
    this.#leftBehind ??= this.#loadLeftBehind();
    return this.#leftBehind;
  }

  async #loadLeftBehind(): Promise<LeftBehind> {
    const {
      store,
      runId,
      time: { clock },
    } = this.#run;
    const calls = await store.listCodeStepCalls(this.#step.stepKey);
    const past = calls.every(({ receipt }) => receipt !== null)
      ? { waits: [], tries: [] }
      : await readPast(store, runId);
    const rows = new Map(calls.map((call) => [call.idempotencyKey, call]));
    return { rows, leftovers: new CodeStepLeftovers(calls, clock), past };
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

  /** `begunAt` is there for a call whose first try was begun with its row. */
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
    emitDuplicate(this.#run, { stepPath, turnIndex: 0, callIndex }, name, outcome);
    return this.#result(name, callIndex, { ...outcome, blob: null });
  }

  async #result(
    tool: string,
    callIndex: number,
    receipt: Pick<Receipt, "status" | "output" | "blob" | "duplicateOf" | "sessionEvents">,
  ): Promise<Json> {
    const { status, output, blob } = receipt;
    const id = toolCallId(this.#run.runId, this.#step.path, 0, callIndex);
    if (receipt.duplicateOf !== null && receipt.sessionEvents.length > 0)
      await this.#run.keeper.prepareReplay(receipt.duplicateOf);
    this.#run.keeper.lastToolCall = id;
    this.#session.take(receipt.duplicateOf ?? id, receipt.sessionEvents);
    if (status === "succeeded" || status === "deduplicated")
      return blob === null ? output.value : readBlobValue(this.#run, blob, tool);
    const said = output.value;
    throw new ToolFailedError(
      `Tool ${tool} failed: ${typeof said === "string" ? said : JSON.stringify(said)}`,
      { toolCallId: id, tool },
    );
  }
}

function isForTheCode(error: unknown): boolean {
  return (
    error instanceof ToolFailedError || error instanceof ConfigurationError || error instanceof NotJsonError
  );
}
