import { wallclockOf } from "../../core/budget.ts";
import { canonicalJson } from "../../core/canonical-json.ts";
import { ConfigurationError, RunBusyError } from "../../core/errors.ts";
import { stepId, toolCallId } from "../../core/step-path.ts";
import { toolCallKey } from "../../core/tool-call-key.ts";
import type { ForkOrigin, NewFork, RunRecord } from "../store.ts";
import type { Database, Row } from "./database.ts";
import { UNPINNED } from "./granular-state.ts";
import type { OwnerLock } from "./owner-lock.ts";
import { budgetsOf } from "./run-budgets.ts";
import { isHeld } from "./run-intents.ts";
import { findRun, getRun, NO_EVENT_HASH, type RunRow, recordEvent, runNotFound } from "./run-row.ts";
import { writeSession } from "./session-rows.ts";
import { TURNS_PER_STEP } from "./turn-number.ts";
import { readRows } from "./verify.ts";

/**
 * Makes a new run of the turns of another, up to one: the steps before it, their turns, calls and receipts, each call under
 * a key of the new run. What those turns cost was paid by the first run, so here it is nothing.
 */
export function forkRun(database: Database, lock: OwnerLock, now: number, fork: NewFork): RunRecord {
  const parent = findRun(database, fork.parent);
  if (parent === null) throw runNotFound(fork.parent);
  if (isHeld(parent, lock, now)) throw busy(parent);
  if (findRun(database, fork.runId) !== null)
    throw new ConfigurationError(`There is a run ${fork.runId} already: give the fork another id.`);
  const step = requireStep(database, parent, fork);
  const run = insertRun(database, now, parent, fork);
  const copy = new Copy(database, parent, run, fork, step);
  copy.everything();
  const session = writeSession(
    database,
    run,
    now,
    { stepKey: copy.stepNo(step.int("step_no")), turnIndex: fork.turnIndex },
    { slices: fork.slices, applied: copy.applied, checkpoint: fork.checkpoint },
  );
  // The one event that this run begins with tells of every row that came with it.
  const rows = [...readRows(database, run.runNo, run.runId)].filter(([row]) => !isOfSession(row));
  recordEvent(database, run, now, "run.forked", {
    parent: fork.parent,
    step: fork.stepPath,
    turn: fork.turnIndex,
    rows,
    ...session.facts,
  });
  return getRun(database, fork.runId) as RunRecord;
}

/** What a session's own history tells of, change by change. */
function isOfSession(row: string): boolean {
  return /^(slice |checkpoint |events of )/.test(row);
}

function busy(parent: RunRow): RunBusyError {
  const until = new Date(parent.leaseUntil).toISOString();
  const owner = parent.owner ?? "";
  return new RunBusyError(
    `Run ${parent.runId} is being worked on by ${owner} and cannot be forked: wait for it, or stop that process.`,
    { runId: parent.runId, owner, until },
  );
}

function requireStep(database: Database, parent: RunRow, fork: NewFork): Row {
  const step = database.get(
    "SELECT * FROM run_steps JOIN granular_states USING (step_no) WHERE run_no = ? AND step_path = ?",
    parent.runNo,
    fork.stepPath,
  );
  if (step === null)
    throw new ConfigurationError(
      `Step ${fork.stepPath} of run ${fork.parent} has no turns: fork it at a step with an agent.`,
    );
  const [first, last] = [step.int("first_turn"), step.int("turn_index")];
  if (fork.turnIndex < first || fork.turnIndex > last)
    throw new ConfigurationError(
      `Step ${stepId(fork.parent, fork.stepPath)} has ${last < first ? "no committed turns" : `committed turns ${first} to ${last}`}: it cannot be forked at turn ${fork.turnIndex}.`,
    );
  return step;
}

function insertRun(database: Database, now: number, parent: RunRow, fork: NewFork): RunRow {
  const origin: ForkOrigin = { runId: fork.parent, stepPath: fork.stepPath, turnIndex: fork.turnIndex };
  const wallclock = wallclockOf(budgetsOf(parent));
  database.run(
    `INSERT INTO runs (run_id, created_at, updated_at, status, pipeline, entrypoint, input_hash, epoch, lease_until,
                       limit_tokens, limit_micro_dollars, deadline_at, budgets, forked_from, event_hash)
     SELECT ?, ?, ?, 'queued', pipeline, 'fork', input_hash, 0, 0, limit_tokens, limit_micro_dollars, ?, budgets, ?, ?
       FROM runs WHERE run_no = ?`,
    fork.runId,
    now,
    now,
    wallclock === null ? null : now + wallclock,
    canonicalJson(origin),
    NO_EVENT_HASH,
    parent.runNo,
  );
  const run = findRun(database, fork.runId);
  if (run === null) throw new Error(`Run ${fork.runId} was inserted and is not there.`);
  database.run(
    "INSERT INTO run_inputs SELECT ?, input, shape, spec FROM run_inputs WHERE run_no = ?",
    run.runNo,
    parent.runNo,
  );
  return run;
}

/** The rows of the first run that the second begins with. */
class Copy {
  readonly #database: Database;
  readonly #parent: RunRow;
  readonly #run: RunRow;
  readonly #fork: NewFork;
  readonly #last: Row;
  readonly #steps = new Map<number, number>();
  /** The ids of the calls whose events the session has. */
  readonly applied: string[] = [];

  constructor(database: Database, parent: RunRow, run: RunRow, fork: NewFork, last: Row) {
    this.#database = database;
    this.#parent = parent;
    this.#run = run;
    this.#fork = fork;
    this.#last = last;
  }

  stepNo(parentStepNo: number): number {
    const stepNo = this.#steps.get(parentStepNo);
    if (stepNo === undefined) throw new Error(`Step ${parentStepNo} was not copied.`);
    return stepNo;
  }

  everything(): void {
    const steps = this.#database.all(
      "SELECT * FROM run_steps WHERE run_no = ? AND step_index <= ? ORDER BY step_index",
      this.#parent.runNo,
      this.#last.int("step_index"),
    );
    for (const step of steps) this.#step(step);
    for (const step of steps) {
      this.#decisions(step);
      this.#turns(step);
      this.#codeCalls(step);
    }
    this.#artifacts();
  }

  /** The forked step, and the loops around it, are to be gone on with; what is finished stays so. */
  #step(step: Row): void {
    const isFinished = step.text("status") === "succeeded" && !this.#isAround(step);
    const stepNo = this.#database.insert(
      `INSERT INTO run_steps (run_no, step_path, step_index, step_name, kind, phase, status, created_at, updated_at, input,
                              output, context)
       SELECT ?1, step_path, step_index, step_name, kind, phase, CASE WHEN ?2 THEN status ELSE 'ready' END, created_at,
              updated_at, input, CASE WHEN ?2 THEN output END, CASE WHEN ?2 THEN context END
         FROM run_steps WHERE step_no = ?3`,
      this.#run.runNo,
      Number(isFinished),
      step.int("step_no"),
    );
    this.#steps.set(step.int("step_no"), stepNo);
  }

  #isAround(step: Row): boolean {
    const [path, forked] = [step.text("step_path"), this.#fork.stepPath];
    return path === forked || forked.startsWith(`${path}[`) || forked.startsWith(`${path}/`);
  }

  /** Of a loop around the forked step, what was decided before the iteration that it is in. */
  #decisions(step: Row): void {
    const path = step.text("step_path");
    const inside = this.#fork.stepPath.startsWith(`${path}[`)
      ? Number(/^\d+/.exec(this.#fork.stepPath.slice(path.length + 1))?.[0])
      : Number.MAX_SAFE_INTEGER;
    this.#database.run(
      `INSERT INTO loop_decisions SELECT ?, iteration, done, output, context FROM loop_decisions
        WHERE step_no = ? AND iteration < ?`,
      this.stepNo(step.int("step_no")),
      step.int("step_no"),
      inside,
    );
  }

  #turns(step: Row): void {
    const [from, to] = [step.int("step_no"), this.stepNo(step.int("step_no"))];
    const isForked = step.text("step_path") === this.#fork.stepPath;
    const last = isForked ? this.#fork.turnIndex : TURNS_PER_STEP;
    const turns = this.#database.all(
      "SELECT * FROM turns WHERE turn_no BETWEEN ? AND ? ORDER BY turn_no",
      from * TURNS_PER_STEP,
      from * TURNS_PER_STEP + Math.min(last, TURNS_PER_STEP - 1),
    );
    for (const turn of turns) {
      const calls = this.#database.all(
        "SELECT * FROM tool_calls WHERE call_no BETWEEN ? AND ? ORDER BY call_no",
        turn.int("first_call_no"),
        turn.int("first_call_no") + turn.int("calls") - 1,
      );
      const numbers = (turn.int("calls") === 0 ? [] : calls).map((call) => this.#call(step, to, call));
      this.#database.run(
        `INSERT INTO turns SELECT ?1 * ${TURNS_PER_STEP} + turn_index, ?1, turn_index, attempt, opened_at, settled_at, 0, 0,
                'none', 0, 0, 0, 0, 0, 0, tokens, ?2, calls, response, follow_up
           FROM turns WHERE turn_no = ?3`,
        to,
        numbers[0] ?? 0,
        turn.int("turn_no"),
      );
    }
    this.#granularState(from, to, isForked, turns);
  }

  #granularState(from: number, to: number, isForked: boolean, turns: readonly Row[]): void {
    if (!isForked) {
      this.#database.run(
        `INSERT INTO granular_states (step_no, turn_index, is_complete, messages, tokens, fingerprint, lineage, first_turn)
         SELECT ?, turn_index, is_complete, messages, tokens, fingerprint, lineage, first_turn FROM granular_states
          WHERE step_no = ?`,
        to,
        from,
      );
    } else {
      const { messages, tokens } = this.#extent(turns);
      this.#database.run(
        `INSERT INTO granular_states (step_no, turn_index, is_complete, messages, tokens, fingerprint, lineage, first_turn)
         SELECT ?1, ?2, is_complete AND turn_index = ?2, ?3, ?4, ?5, lineage, first_turn FROM granular_states
          WHERE step_no = ?6`,
        to,
        this.#fork.turnIndex,
        messages,
        tokens,
        UNPINNED,
        from,
      );
    }
    if (!isForked)
      this.#database.run(
        "INSERT INTO fingerprints SELECT ?, lineage, document FROM fingerprints WHERE step_no = ?",
        to,
        from,
      );
    this.#database.run(
      `INSERT INTO lineages SELECT ?, lineage, begun_at, first_turn, base_turn, open_turn, NULL FROM lineages WHERE step_no = ?`,
      to,
      from,
    );
  }

  /** How much of the history the turns of the present line hold. */
  #extent(turns: readonly Row[]): { messages: number; tokens: number } {
    const first = this.#last.int("first_turn");
    let [messages, tokens] = [0, 0];
    for (const turn of turns.filter((each) => each.int("turn_index") >= first)) {
      const followUp = turn.optionalText("follow_up");
      messages += 1 + turn.int("calls") + (followUp === null ? 0 : 1);
      const results = this.#database.get(
        "SELECT coalesce(sum(tokens), 0) AS n FROM receipts WHERE call_no BETWEEN ? AND ?",
        turn.int("first_call_no"),
        turn.int("first_call_no") + turn.int("calls") - 1,
      );
      tokens += turn.int("tokens") + (results?.int("n") ?? 0);
    }
    return { messages, tokens };
  }

  #codeCalls(step: Row): void {
    const from = step.int("step_no");
    const calls = this.#database.all(
      "SELECT * FROM tool_calls WHERE step_no = ? AND turn_index = 0 ORDER BY call_index",
      from,
    );
    for (const call of calls) this.#call(step, this.stepNo(from), call);
  }

  #call(step: Row, stepNo: number, call: Row): number {
    const id = toolCallId(
      this.#parent.runId,
      step.text("step_path"),
      call.int("turn_index"),
      call.int("call_index"),
    );
    const receipt = this.#database.get("SELECT * FROM receipts WHERE call_no = ?", call.int("call_no"));
    if (receipt === null)
      throw new ConfigurationError(
        `Call ${id} has no receipt, and its outcome may be unknown: settle it or resume the run, then fork it.`,
      );
    const callNo = this.#database.insert(
      `INSERT INTO tool_calls SELECT NULL, ?, turn_index, call_index, created_at, started_at, ends_by, tool_namespace,
              tool_name, side_effect_class, recovery, identity_hash, occurrence, ?, status, attempt, superseded, request
         FROM tool_calls WHERE call_no = ?`,
      stepNo,
      this.#key(step.text("step_path"), call, id),
      call.int("call_no"),
    );
    this.#receipt(receipt, callNo);
    this.#database.run(
      "INSERT INTO tool_call_tries SELECT ?, ?, attempt, started_at, ended_at, outcome, error_code, error_detail, external_correlation_id, late_at, late_status, late_output FROM tool_call_tries WHERE run_no = ? AND call_no = ?",
      this.#run.runNo,
      callNo,
      this.#parent.runNo,
      call.int("call_no"),
    );
    this.#database.run(
      "INSERT INTO uncertain_calls SELECT ?, identity_hash, ? FROM uncertain_calls WHERE run_no = ? AND call_no = ?",
      this.#run.runNo,
      callNo,
      this.#parent.runNo,
      call.int("call_no"),
    );
    const applied = this.#database.get(
      "SELECT forgotten FROM applied_calls WHERE run_no = ? AND call_no = ?",
      this.#parent.runNo,
      call.int("call_no"),
    );
    if (applied?.int("forgotten") === 0)
      this.applied.push(
        toolCallId(this.#run.runId, step.text("step_path"), call.int("turn_index"), call.int("call_index")),
      );
    return callNo;
  }

  /** A key is either of the step or of the whole run; the first run's says which. */
  #key(stepPath: string, call: Row, id: string): Buffer {
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

  #receipt(receipt: Row, callNo: number): void {
    const duplicateOf = receipt.optionalText("duplicate_of");
    const prefix = `${this.#parent.runId}/`;
    this.#database.run(
      `INSERT INTO receipts SELECT ?, status, created_at, tokens, error_code, uncertain, source, external_correlation_id, ?,
              blob_hash, blob_size, output, session_events FROM receipts WHERE call_no = ?`,
      callNo,
      duplicateOf?.startsWith(prefix) === true
        ? stepId(this.#run.runId, duplicateOf.slice(prefix.length))
        : duplicateOf,
      receipt.int("call_no"),
    );
    const blob = receipt.optionalBytes("blob_hash");
    if (blob !== null) this.#refer(blob);
  }

  #refer(blob: Uint8Array): void {
    this.#database.run(
      "INSERT OR IGNORE INTO blob_references SELECT blob_hash, ? FROM blobs WHERE blob_hash = ?",
      this.#run.runNo,
      blob,
    );
  }

  /** What the copied steps have made; of the forked one, what it had made when its turn ended. */
  #artifacts(): void {
    const at = this.#forkedAt();
    const artifacts = this.#database.all("SELECT * FROM artifacts WHERE run_no = ?", this.#parent.runNo);
    for (const artifact of artifacts) {
      const maker = artifact.optionalInt("step_no");
      const stepNo = maker === null ? undefined : this.#steps.get(maker);
      if (stepNo === undefined || artifact.int("created_at") > at) continue;
      this.#database.run(
        "INSERT INTO artifacts VALUES (?, ?, ?, ?, ?, ?)",
        this.#run.runNo,
        artifact.text("artifact_name"),
        stepNo,
        artifact.int("created_at"),
        artifact.int("size"),
        artifact.bytes("blob_hash"),
      );
      this.#refer(artifact.bytes("blob_hash"));
    }
  }

  #forkedAt(): number {
    const row = this.#database.get(
      `SELECT max(settled_at, coalesce((SELECT max(created_at) FROM receipts
                WHERE call_no BETWEEN first_call_no AND first_call_no + calls - 1), 0)) AS at
         FROM turns WHERE turn_no = ?`,
      this.#last.int("step_no") * TURNS_PER_STEP + this.#fork.turnIndex,
    );
    return row?.int("at") ?? 0;
  }
}
