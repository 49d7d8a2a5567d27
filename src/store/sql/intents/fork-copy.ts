import { toolCallKey } from "../../../core/call/tool-call-key.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import { isJsonObject, type Json } from "../../../core/json.ts";
import { filesIn } from "../../../core/message.ts";
import {
  type ArtifactVersion,
  type CallOutcome,
  continuesIn,
  isDecided,
  lastVersions,
  uncertainCalls,
} from "../../../core/run/fork-plan.ts";
import { type StepPath, stepId, toolCallId } from "../../../core/step-path.ts";
import type { NewFork } from "../../store.ts";
import type { Row } from "../row.ts";
import type { GranularStateRow } from "../run-head.ts";
import { all, type SqlScript } from "../script.ts";
import { NOT_ENDED } from "../tables/exchange-rows.ts";
import { granularStateRow, insertState, UNPINNED } from "../tables/granular-state.ts";
import { parseJson, type RunRow } from "../tables/run-row.ts";
import { insertRow, type Transaction } from "../transaction.ts";
import { wholeRow } from "../whole-row.ts";

/** A fork that is being made: its run, the parent, and the steps that it begins with; the last one is forked. */
export type ForkPlan = {
  readonly fork: NewFork;
  readonly parent: RunRow;
  readonly run: RunRow;
  readonly steps: readonly Row[];
  /** The state of the forked step in the parent run, in the lineage that the turn belongs to. */
  readonly state: GranularStateRow;
};

const PAGE = 256;

/** Everything up to the forked turn. Calls of code steps have turn 0. */
const COPIED = "(step_no, turn_index) <= (?, ?)";

const DECISIONS =
  "SELECT * FROM loop_decisions WHERE run_key = ? AND step_no <= ? ORDER BY step_no, iteration";
const STATES = "SELECT * FROM granular_states WHERE run_key = ? AND step_no < ? ORDER BY step_no";
const FINGERPRINTS = "SELECT * FROM fingerprints WHERE run_key = ? AND step_no < ? ORDER BY step_no, lineage";
const LINEAGES = `SELECT * FROM lineages WHERE run_key = ? AND (step_no < ? OR (step_no = ? AND lineage <= ?))
  ORDER BY step_no, lineage`;
const TURNS = `SELECT * FROM turns WHERE run_key = ? AND (step_no, turn_index) > (?, ?) AND ${COPIED}
  ORDER BY step_no, turn_index LIMIT ?`;
const CALLS = `SELECT * FROM tool_calls WHERE run_key = ? AND call_no > ? AND ${COPIED} ORDER BY call_no LIMIT ?`;
const RECEIPTS = "SELECT * FROM receipts WHERE run_key = ? AND call_no BETWEEN ? AND ?";
const ATTEMPTS = "SELECT * FROM tool_call_attempts WHERE run_key = ? AND call_no BETWEEN ? AND ?";
const APPLIED =
  "SELECT call_no FROM applied_calls WHERE run_key = ? AND call_no BETWEEN ? AND ? AND forgotten = 0";
const EXCHANGES = `SELECT * FROM exchanges WHERE run_key = ? AND (step_no, first_turn) <= (?, ?)
  ORDER BY step_no, exchange_no`;
const TAKEN = `SELECT * FROM messages WHERE run_key = ? AND (taken_step, taken_turn) <= (?, ?) ORDER BY message_no`;
const ARTIFACTS = `SELECT seq, created_at, type, data FROM events
  WHERE run_key = ? AND of_run = 1 AND type IN ('run.forked', 'artifact.kept') ORDER BY seq`;
const COMMITS = `SELECT seq, data FROM events
  WHERE run_key = ? AND type = 'turn.committed' AND seq < ? ORDER BY seq DESC LIMIT ?`;

/** The number of calls that are copied. Takes the run, and the step and turn up to which they are. */
export const COPIED_CALLS = `SELECT count(*) AS n FROM tool_calls WHERE run_key = ? AND ${COPIED}`;

/**
 * Copies the rows of the parent run that the fork begins with. Steps, turns and calls keep their numbers, so that the
 * calls of a turn stay consecutive; the fork continues to number after the last of them.
 */
export class ForkCopy {
  readonly #tx: Transaction;
  readonly #plan: ForkPlan;
  readonly #run: RunRow;
  readonly #parent: RunRow;
  readonly #paths: ReadonlyMap<number, StepPath>;
  readonly #outcomes: (CallOutcome & { readonly call: Row })[] = [];
  readonly #blobs = new Set<string>();
  /** The messages and tokens of the forked step, in the turns of its current lineage. */
  readonly #extent = { messages: 0, tokens: 0 };
  /** True if the last exchange of the forked step ended with the turn; null if the step is no conversation. */
  #isBetweenExchanges: boolean | null = null;
  /** The ids of the copied calls, for the event of the fork. */
  readonly calls: string[] = [];
  /** The artifacts of the fork, for its event. */
  readonly artifacts: ArtifactVersion[] = [];

  constructor(tx: Transaction, plan: ForkPlan) {
    this.#tx = tx;
    this.#plan = plan;
    this.#run = plan.run;
    this.#parent = plan.parent;
    this.#paths = new Map(plan.steps.map((step) => [step.int("step_no"), step.text("step_path")]));
  }

  *everything(): SqlScript<void> {
    for (const step of this.#plan.steps) this.#step(step);
    yield* this.#decisions();
    yield* this.#turns();
    yield* this.#exchanges();
    yield* this.#calls();
    yield* this.#states();
    this.#uncertainCalls();
    yield* this.#artifacts();
  }

  get #forkedStep(): number {
    return this.#plan.state.stepNo;
  }

  /** The step and turn up to which rows are copied. */
  get #upTo(): readonly [number, number] {
    return [this.#forkedStep, this.#plan.fork.turnIndex];
  }

  #step(step: Row): void {
    const row = wholeRow("run_steps", step);
    const isFinished = row.status === "succeeded" && !continuesIn(row.step_path, this.#plan.fork.stepPath);
    const open = { status: "ready", output: null, context: null };
    insertRow(this.#tx, this.#run, "run_steps", {
      ...row,
      ...(isFinished ? {} : open),
      error_code: null,
      error_detail: null,
    });
    this.#run.counts.steps = row.step_no;
  }

  *#decisions(): SqlScript<void> {
    for (const decision of yield* all(DECISIONS, this.#parent.key, this.#forkedStep)) {
      const row = wholeRow("loop_decisions", decision);
      const loop = this.#pathOf(row.step_no);
      if (isDecided(loop, row.iteration, this.#plan.fork.stepPath))
        insertRow(this.#tx, this.#run, "loop_decisions", row);
    }
  }

  /** The parent run has paid for its turns. */
  *#turns(): SqlScript<void> {
    let [stepNo, turnIndex] = [0, 0];
    for (;;) {
      const turns = yield* all(TURNS, this.#parent.key, stepNo, turnIndex, ...this.#upTo, PAGE);
      for (const turn of turns) {
        const row = wholeRow("turns", turn);
        insertRow(this.#tx, this.#run, "turns", { ...row, ...NO_CHARGE });
        if (this.#isInHistory(row)) {
          this.#extent.messages += 1 + row.calls + (row.follow_up === null ? 0 : 1);
          this.#extent.tokens += row.tokens;
        }
        [stepNo, turnIndex] = [row.step_no, row.turn_index];
      }
      if (turns.length < PAGE) return;
    }
  }

  /** True for a turn of the forked step that its current lineage includes. */
  #isInHistory({ step_no, turn_index }: { readonly step_no: number; readonly turn_index: number }): boolean {
    return step_no === this.#forkedStep && turn_index >= this.#plan.state.firstTurn;
  }

  /** Its conversations up to the turn: an exchange that went on after it is open again. */
  *#exchanges(): SqlScript<void> {
    const { turnIndex } = this.#plan.fork;
    for (const exchange of yield* all(EXCHANGES, this.#parent.key, ...this.#upTo)) {
      const row = wholeRow("exchanges", exchange);
      const isForked = row.step_no === this.#forkedStep;
      const hasEnded = !isForked || (row.ended_at !== null && (row.last_turn ?? row.first_turn) <= turnIndex);
      insertRow(this.#tx, this.#run, "exchanges", {
        ...row,
        ...(hasEnded ? {} : NOT_ENDED),
        charged_tokens: 0,
        charged_micro_dollars: 0,
        stop_requested_at: hasEnded ? row.stop_requested_at : null,
        stop_requested_by: hasEnded ? row.stop_requested_by : null,
      });
      if (isForked) this.#isBetweenExchanges = hasEnded;
    }
    for (const message of yield* all(TAKEN, this.#parent.key, ...this.#upTo)) {
      const row = wholeRow("messages", message);
      insertRow(this.#tx, this.#run, "messages", row);
      if (row.event === null)
        for (const { blobId } of filesIn(parseJson(row.body))) this.#blob(Buffer.from(blobId, "hex"));
      if (row.taken_step === this.#forkedStep && (row.taken_turn ?? 0) >= this.#plan.state.firstTurn)
        this.#extent.messages += 1;
    }
  }

  *#calls(): SqlScript<void> {
    for (;;) {
      const calls = yield* all(CALLS, this.#parent.key, this.#run.counts.calls, ...this.#upTo, PAGE);
      const [first, last] = [calls[0], calls.at(-1)];
      if (first === undefined || last === undefined) return;
      const range = [this.#parent.key, first.int("call_no"), last.int("call_no")] as const;
      const receipts = byCall(yield* all(RECEIPTS, ...range));
      const attempts = byCall(yield* all(ATTEMPTS, ...range));
      const applied = byCall(yield* all(APPLIED, ...range));
      for (const call of calls) {
        const callNo = call.int("call_no");
        this.#call(call, receipts.get(callNo)?.[0]);
        for (const attempt of attempts.get(callNo) ?? [])
          insertRow(this.#tx, this.#run, "tool_call_attempts", wholeRow("tool_call_attempts", attempt));
        // A call whose events the session of the parent includes is also applied in the fork.
        if (applied.has(callNo))
          insertRow(this.#tx, this.#run, "applied_calls", {
            call_no: callNo,
            event_seq: this.#run.eventSeq + 1,
            forgotten: 0,
          });
      }
      this.#run.counts.calls = last.int("call_no");
      if (calls.length < PAGE) return;
    }
  }

  #call(call: Row, receipt: Row | undefined): void {
    const row = wholeRow("tool_calls", call);
    const path = this.#pathOf(row.step_no);
    const id = toolCallId(this.#parent.runId, path, row.turn_index, row.call_index);
    if (receipt === undefined)
      throw new ConfigurationError(
        `Call ${id} has no receipt, and its outcome may be unknown: settle it or resume the run, then fork it.`,
      );
    insertRow(this.#tx, this.#run, "tool_calls", { ...row, idempotency_key: this.#key(path, call, id) });
    this.calls.push(toolCallId(this.#run.runId, path, row.turn_index, row.call_index));
    this.#receipt(receipt);
    if (this.#isInHistory(row)) this.#extent.tokens += receipt.int("tokens");
    this.#outcomes.push({
      call,
      identity: call.hex("identity_hash"),
      at: receipt.int("created_at"),
      isUncertain: receipt.flag("uncertain"),
      hasSucceeded: receipt.text("status") === "succeeded",
    });
  }

  /** A key is scoped to the step or to the whole run; the parent's key shows which. */
  #key(stepPath: StepPath, call: Row, id: string): Buffer {
    const identity = {
      namespace: call.text("tool_namespace"),
      tool: call.text("tool_name"),
      identityHash: call.bytes("identity_hash"),
      occurrence: call.int("occurrence"),
    };
    const scope = [{ kind: "call", stepPath } as const, { kind: "effect" } as const].find((each) =>
      toolCallKey({ ...identity, runId: this.#parent.runId, scope: each }).equals(
        call.bytes("idempotency_key"),
      ),
    );
    if (scope === undefined) throw new Error(`The key of call ${id} is not one that Pawl made.`);
    return toolCallKey({ ...identity, runId: this.#run.runId, scope });
  }

  #receipt(receipt: Row): void {
    const row = wholeRow("receipts", receipt);
    const prefix = `${this.#parent.runId}/`;
    const duplicateOf = row.duplicate_of;
    const isOfParent = duplicateOf?.startsWith(prefix) === true;
    insertRow(this.#tx, this.#run, "receipts", {
      ...row,
      duplicate_of: isOfParent ? stepId(this.#run.runId, duplicateOf.slice(prefix.length)) : duplicateOf,
    });
    if (row.blob_hash !== null) this.#blob(Buffer.from(row.blob_hash));
  }

  /** Copies a blob, unless it was collected from the parent run. */
  #blob(hash: Buffer): void {
    const name = hash.toString("hex");
    if (this.#blobs.has(name)) return;
    this.#blobs.add(name);
    this.#tx.write({
      kind: "copy",
      table: "blobs",
      key: { run_key: this.#parent.key, blob_hash: hash },
      set: { run_key: this.#run.key },
    });
  }

  /** The first turn of the fork pins the fingerprint of the forked step. */
  *#states(): SqlScript<void> {
    for (const row of yield* all(STATES, this.#parent.key, this.#forkedStep))
      insertState(this.#tx, this.#run, { ...granularStateRow(row), lastCall: null });
    for (const row of yield* all(FINGERPRINTS, this.#parent.key, this.#forkedStep))
      insertRow(this.#tx, this.#run, "fingerprints", wholeRow("fingerprints", row));
    const { state, fork } = this.#plan;
    insertState(this.#tx, this.#run, {
      ...state,
      ...this.#extent,
      turnIndex: fork.turnIndex,
      isComplete: this.#isBetweenExchanges ?? (state.isComplete && state.turnIndex === fork.turnIndex),
      lastCall: null,
      fingerprint: UNPINNED,
    });
    // The checkpoints of the parent are not copied.
    for (const row of yield* all(LINEAGES, this.#parent.key, state.stepNo, state.stepNo, state.lineage))
      insertRow(this.#tx, this.#run, "lineages", { ...wholeRow("lineages", row), checkpoint_index: null });
  }

  #uncertainCalls(): void {
    for (const { call } of uncertainCalls(this.#outcomes))
      insertRow(this.#tx, this.#run, "uncertain_calls", {
        identity_hash: call.bytes("identity_hash"),
        call_no: call.int("call_no"),
      });
  }

  /** The artifacts of the copied steps, as they were when the turn was committed. */
  *#artifacts(): SqlScript<void> {
    const logged = yield* all(ARTIFACTS, this.#parent.key);
    if (logged.length === 0) return;
    const committedAt = yield* this.#committedAt();
    const versions = logged.filter((event) => event.int("seq") <= committedAt).flatMap(versionsIn);
    const stepNos = new Map(this.#plan.steps.map((step) => [step.text("step_path"), step.int("step_no")]));
    for (const version of lastVersions(versions, (step) => stepNos.has(step))) {
      const blob = Buffer.from(version.hash, "hex");
      insertRow(this.#tx, this.#run, "artifacts", {
        artifact_name: version.name,
        step_no: stepNos.get(version.step) ?? null,
        created_at: version.at,
        size: version.size,
        blob_hash: blob,
      });
      this.#blob(blob);
      this.artifacts.push(version);
    }
  }

  /** The event of the turn's commit; the first event, if the parent is itself a fork that began with this turn. */
  *#committedAt(): SqlScript<number> {
    const { stepPath, turnIndex } = this.#plan.fork;
    let before = this.#parent.eventSeq + 1;
    for (;;) {
      const commits = yield* all(COMMITS, this.#parent.key, before, PAGE);
      for (const commit of commits) {
        const data = parseJson(commit.text("data"));
        if (isJsonObject(data) && data.step === stepPath && data.turn === turnIndex) return commit.int("seq");
        before = commit.int("seq");
      }
      if (commits.length < PAGE) return 1;
    }
  }

  #pathOf(stepNo: number): StepPath {
    const path = this.#paths.get(stepNo);
    if (path === undefined) throw new Error(`Step ${stepNo} of run ${this.#parent.runId} is not copied.`);
    return path;
  }
}

const NO_CHARGE = {
  reserved_tokens: 0,
  reserved_micro_dollars: 0,
  basis: "none",
  charged_tokens: 0,
  charged_micro_dollars: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_input_tokens: 0,
  reasoning_tokens: 0,
} as const;

function byCall(rows: readonly Row[]): ReadonlyMap<number, readonly Row[]> {
  return Map.groupBy(rows, (row) => row.int("call_no"));
}

/** The artifacts that an event is about. The event of a fork has those that it began with. */
function versionsIn(event: Row): ArtifactVersion[] {
  const data = parseJson(event.text("data"));
  if (!isJsonObject(data)) return [];
  const logged =
    event.text("type") === "run.forked" ? data.artifacts : [{ ...data, at: event.int("created_at") }];
  return Array.isArray(logged) ? logged.filter(isArtifactVersion) : [];
}

function isArtifactVersion(value: Json): value is ArtifactVersion {
  if (!isJsonObject(value)) return false;
  const { name, step, size, hash, at } = value;
  return (
    [name, step, hash].every((text) => typeof text === "string") &&
    [size, at].every((figure) => typeof figure === "number")
  );
}
