import { toolCallKey } from "../../../core/call/tool-call-key.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import { isJsonObject, type Json } from "../../../core/json.ts";
import { stepId, toolCallId } from "../../../core/step-path.ts";
import type { NewFork } from "../../store.ts";
import type { Database, Row } from "../database.ts";
import { UNPINNED } from "../tables/granular-state.ts";
import { parseJson, type RunRow } from "../tables/run-row.ts";
import { TURNS_PER_STEP } from "../tables/turn-number.ts";

/** The outcome of a copied call. */
type CopiedOutcome = {
  readonly callNo: number;
  readonly identityHash: Uint8Array;
  readonly at: number;
  readonly isUncertain: boolean;
  readonly hasSucceeded: boolean;
};

/** Copies the rows of the parent run that the fork begins with. */
export class ForkCopy {
  readonly #database: Database;
  readonly #parent: RunRow;
  readonly #run: RunRow;
  readonly #fork: NewFork;
  readonly #last: Row;
  readonly #steps = new Map<number, number>();
  readonly #outcomes: CopiedOutcome[] = [];
  /** The ids of the calls whose events the session includes. */
  readonly applied: string[] = [];
  readonly artifacts: ArtifactVersion[] = [];

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
    this.#uncertainCalls();
    this.#artifacts();
  }

  /** The forked step, and the loops around it, continue; other finished steps stay finished. */
  #step(step: Row): void {
    const isFinished = step.text("status") === "succeeded" && !this.#isAround(step);
    const stepNo = this.#database.insert(
      `INSERT INTO run_steps (run_no, step_path, step_index, step_name, kind, phase, status, created_at, updated_at, input,
                              output, context)
       SELECT ?, step_path, step_index, step_name, kind, phase, CASE WHEN ? THEN status ELSE 'ready' END, created_at,
              updated_at, input, CASE WHEN ? THEN output END, CASE WHEN ? THEN context END
         FROM run_steps WHERE step_no = ?`,
      this.#run.runNo,
      Number(isFinished),
      Number(isFinished),
      Number(isFinished),
      step.int("step_no"),
    );
    this.#steps.set(step.int("step_no"), stepNo);
  }

  #isAround(step: Row): boolean {
    const [path, forked] = [step.text("step_path"), this.#fork.stepPath];
    return path === forked || forked.startsWith(`${path}[`) || forked.startsWith(`${path}/`);
  }

  /** For a loop around the forked step: the decisions before the iteration it is in. */
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
        `INSERT INTO turns SELECT ? * ${TURNS_PER_STEP} + turn_index, ?, turn_index, attempt, opened_at, settled_at, 0, 0,
                'none', 0, 0, 0, 0, 0, 0, tokens, ?, calls, response, follow_up
           FROM turns WHERE turn_no = ?`,
        to,
        to,
        numbers[0] ?? 0,
        turn.int("turn_no"),
      );
    }
    if (isForked) this.#forkedState(from, to, turns);
    else this.#finishedState(from, to);
    this.#lineages(from, to);
  }

  #finishedState(from: number, to: number): void {
    this.#database.run(
      `INSERT INTO granular_states (step_no, turn_index, is_complete, messages, tokens, fingerprint, lineage, first_turn)
       SELECT ?, turn_index, is_complete, messages, tokens, fingerprint, lineage, first_turn FROM granular_states
        WHERE step_no = ?`,
      to,
      from,
    );
    this.#database.run(
      "INSERT INTO fingerprints SELECT ?, lineage, document FROM fingerprints WHERE step_no = ?",
      to,
      from,
    );
  }

  /** The state of the forked step after its last copied turn; the first turn of the fork pins its fingerprint. */
  #forkedState(from: number, to: number, turns: readonly Row[]): void {
    const { messages, tokens } = this.#extent(turns);
    this.#database.run(
      `INSERT INTO granular_states (step_no, turn_index, is_complete, messages, tokens, fingerprint, lineage, first_turn)
       SELECT ?, ?, is_complete AND turn_index = ?, ?, ?, ?, lineage, first_turn FROM granular_states
        WHERE step_no = ?`,
      to,
      this.#fork.turnIndex,
      this.#fork.turnIndex,
      messages,
      tokens,
      UNPINNED,
      from,
    );
  }

  #lineages(from: number, to: number): void {
    this.#database.run(
      `INSERT INTO lineages SELECT ?, lineage, begun_at, first_turn, base_turn, open_turn, NULL FROM lineages WHERE step_no = ?`,
      to,
      from,
    );
  }

  /** The number of messages and tokens in the turns of the current lineage. */
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
    this.#outcomes.push({
      callNo,
      identityHash: call.bytes("identity_hash"),
      at: receipt.int("created_at"),
      isUncertain: receipt.int("uncertain") === 1,
      hasSucceeded: receipt.text("status") === "succeeded",
    });
    this.#applyAgain(step, call);
    return callNo;
  }

  /** A call whose events the session of the parent includes is also applied in the fork. */
  #applyAgain(step: Row, call: Row): void {
    const applied = this.#database.get(
      "SELECT forgotten FROM applied_calls WHERE run_no = ? AND call_no = ?",
      this.#parent.runNo,
      call.int("call_no"),
    );
    if (applied?.int("forgotten") === 0)
      this.applied.push(
        toolCallId(this.#run.runId, step.text("step_path"), call.int("turn_index"), call.int("call_index")),
      );
  }

  /** A key is scoped to the step or to the whole run; the parent's key shows which. */
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

  /** A success clears the uncertain calls before it; a later success of the parent run does not count for the fork. */
  #uncertainCalls(): void {
    const uncertain = new Map<string, CopiedOutcome[]>();
    for (const outcome of this.#outcomes.toSorted((a, b) => a.at - b.at)) {
      const identity = Buffer.from(outcome.identityHash).toString("hex");
      if (outcome.hasSucceeded) uncertain.delete(identity);
      else if (outcome.isUncertain) uncertain.set(identity, [...(uncertain.get(identity) ?? []), outcome]);
    }
    for (const { identityHash, callNo } of [...uncertain.values()].flat())
      this.#database.run(
        "INSERT INTO uncertain_calls VALUES (?, ?, ?)",
        this.#run.runNo,
        identityHash,
        callNo,
      );
  }

  /** The artifacts of the copied steps; for the forked step, those it had when its turn was committed. */
  #artifacts(): void {
    for (const version of this.#versions().values()) {
      const { name, step, size, hash, at } = version;
      const stepNo = this.#stepAt(step);
      if (stepNo === null) continue;
      const blob = Buffer.from(hash, "hex");
      this.#database.run(
        "INSERT INTO artifacts VALUES (?, ?, ?, ?, ?, ?)",
        this.#run.runNo,
        name,
        stepNo,
        at,
        size,
        blob,
      );
      this.#refer(blob);
      this.artifacts.push(version);
    }
  }

  /**
   * The last version of each artifact that a copied step had stored when the turn was committed. The log has every
   * version, including those a fork began with, and their blobs are kept as long as the others of the run.
   */
  #versions(): ReadonlyMap<string, ArtifactVersion> {
    const versions = new Map<string, ArtifactVersion>();
    const take = (version: ArtifactVersion) => {
      if (this.#stepAt(version.step) !== null) versions.set(version.name, version);
    };
    const events = this.#database.all(
      `SELECT created_at, type, data FROM events
        WHERE run_no = ? AND seq <= ? AND type IN ('run.forked', 'artifact.kept') ORDER BY seq`,
      this.#parent.runNo,
      this.#forkedAt(),
    );
    for (const event of events) {
      const data = parseJson(event.text("data"));
      if (!isJsonObject(data)) continue;
      const logged =
        event.text("type") === "run.forked" ? data.artifacts : [{ ...data, at: event.int("created_at") }];
      for (const version of Array.isArray(logged) ? logged : [])
        if (isArtifactVersion(version)) take(version);
    }
    return versions;
  }

  #stepAt(path: string): number | null {
    const row = this.#database.get(
      "SELECT step_no FROM run_steps WHERE run_no = ? AND step_path = ?",
      this.#run.runNo,
      path,
    );
    return row?.int("step_no") ?? null;
  }

  /** The event of the turn's commit; the first event, if the parent is itself a fork that began with this turn. */
  #forkedAt(): number {
    const row = this.#database.get(
      `SELECT seq FROM events WHERE run_no = ? AND type = 'turn.committed' AND json_extract(data, '$.step') = ?
          AND json_extract(data, '$.turn') = ? LIMIT 1`,
      this.#parent.runNo,
      this.#fork.stepPath,
      this.#fork.turnIndex,
    );
    return row?.int("seq") ?? 1;
  }
}

/** A stored artifact, as recorded in the log. */
export type ArtifactVersion = {
  readonly name: string;
  readonly step: string;
  readonly size: number;
  readonly hash: string;
  readonly at: number;
};

function isArtifactVersion(value: Json): value is ArtifactVersion {
  if (!isJsonObject(value)) return false;
  const { name, step, size, hash, at } = value;
  return (
    [name, step, hash].every((text) => typeof text === "string") &&
    [size, at].every((figure) => typeof figure === "number")
  );
}
