import { canonicalJson } from "../../../core/canonical-json.ts";
import { ConfigurationError, RunBusyError } from "../../../core/errors.ts";
import { assertNameSize } from "../../../core/naming/name-size.ts";
import { stepId } from "../../../core/step-path.ts";
import { wallclockOf } from "../../../core/usage/budget.ts";
import type { ForkOrigin, NewFork, RunRecord } from "../../store.ts";
import type { Row } from "../row.ts";
import type { GranularStateRow } from "../run-head.ts";
import { all, get, type SqlScript } from "../script.ts";
import type { RowOf, RunKey } from "../table-list.ts";
import { granularStateRow } from "../tables/granular-state.ts";
import { missingRun } from "../tables/missing-run.ts";
import { assertHere } from "../tables/moved-run.ts";
import { budgetsOf } from "../tables/run-budgets.ts";
import { savedRecord, starterOf } from "../tables/run-record.ts";
import { findRun, insertRun, parseJson, type RunOrigin, type RunRow, saveRun } from "../tables/run-row.ts";
import { writeSession } from "../tables/session-rows.ts";
import { insertRow, type Transaction } from "../transaction.ts";
import { verify } from "../verify/verify.ts";
import { assertWhole } from "../verify/verify-open.ts";
import { wholeRow } from "../whole-row.ts";
import { COPIED_CALLS, ForkCopy } from "./fork-copy.ts";

/**
 * Creates a run from the turns of another, up to a given one: the steps before it, their turns, calls and receipts,
 * each call under a key of the new run. The parent run has paid for those turns, so the fork is charged nothing.
 */
export function* forkRun(tx: Transaction, fork: NewFork): SqlScript<RunRecord> {
  assertNameSize("run id", fork.runId);
  const parent = yield* findRun(fork.parent);
  if (parent === null) throw yield* missingRun(fork.parent);
  yield* assertHere(parent);
  if (tx.leases.isHeld(parent, tx.now)) throw busy(parent);
  if ((yield* findRun(fork.runId)) !== null)
    throw new ConfigurationError(`Run ${fork.runId} already exists: give the fork another id.`);
  // The fork's event will cover the copied rows, so tampered rows must not be among them.
  assertWhole(yield* verify(fork.parent));
  const state = yield* requireState(parent, fork);
  const steps = yield* all(STEPS, parent.key, state.stepNo);
  const origin = yield* originOf(parent, fork, steps, state.stepNo);
  const input = yield* requireInput(parent);
  const starter = starterOf(tx, fork.startedBy);
  const run = insertFork(tx, yield* tx.newRunKey(fork.runId), fork.runId, parent, {
    ...parent.origin,
    createdAt: tx.now,
    entrypoint: "fork",
    forkedFrom: canonicalJson(origin),
    startedBy: starter.text,
  });
  insertRow(tx, run, "run_inputs", input);
  for (const label of yield* all("SELECT name, value FROM run_labels WHERE run_key = ?", parent.key))
    insertRow(tx, run, "run_labels", {
      name: label.text("name"),
      value: label.text("value"),
      created_at: tx.now,
    });
  const copy = new ForkCopy(tx, { fork, parent, run, steps, state });
  yield* copy.everything();
  // Everything of the session is new, and nothing of it has to be looked up.
  run.sliceLengths = new Map();
  const place = { stepKey: state.stepNo, turnIndex: fork.turnIndex };
  const { slices, checkpoint } = fork;
  const session = yield* writeSession(tx, run, place, { slices, applied: [], checkpoint });
  saveRun(tx, run, "run.forked", {
    parent: fork.parent,
    step: fork.stepPath,
    turn: fork.turnIndex,
    ...(copy.calls.length === 0 ? {} : { copied: copy.calls }),
    ...(copy.artifacts.length === 0 ? {} : { artifacts: copy.artifacts }),
    ...session.facts,
    ...starter.facts,
  });
  return savedRecord(tx, run, {
    currentStep: null,
    spec: parseJson(input.spec),
    callContext: parseJson(input.call_context),
  });
}

const STEPS = "SELECT * FROM run_steps WHERE run_key = ? AND step_no <= ? ORDER BY step_no";

/** The turn that the fork is made at, and the amount of work that it has from its parent. */
function* originOf(
  parent: RunRow,
  fork: NewFork,
  steps: readonly Row[],
  forkedStep: number,
): SqlScript<ForkOrigin> {
  const known = parseJson(parent.origin.forkedFrom) as ForkOrigin | null;
  const calls = yield* get(COPIED_CALLS, parent.key, forkedStep, fork.turnIndex);
  return {
    runId: fork.parent,
    stepPath: fork.stepPath,
    turnIndex: fork.turnIndex,
    firstRunId: known?.firstRunId ?? fork.parent,
    steps: steps.length,
    toolCalls: calls?.int("n") ?? 0,
  };
}

function busy(parent: RunRow): RunBusyError {
  const until = new Date(parent.leaseUntil).toISOString();
  const owner = parent.owner ?? "";
  return new RunBusyError(
    `Run ${parent.runId} is being worked on by ${owner} and cannot be forked: wait for it, or stop that process.`,
    { runId: parent.runId, owner, until },
  );
}

/** The state of the forked step, which must have committed the turn. */
function* requireState(parent: RunRow, fork: NewFork): SqlScript<GranularStateRow> {
  const row = yield* get(
    `SELECT granular_states.* FROM granular_states JOIN run_steps USING (run_key, step_no)
      WHERE run_key = ? AND step_path = ?`,
    parent.key,
    fork.stepPath,
  );
  if (row === null)
    throw new ConfigurationError(
      `Step ${fork.stepPath} of run ${fork.parent} has no turns: fork it at a step with an agent.`,
    );
  const state = yield* beforeCompactions(parent.key, granularStateRow(row), fork.turnIndex);
  const [first, last] = [state.firstTurn, state.turnIndex];
  if (fork.turnIndex < first || fork.turnIndex > last)
    throw new ConfigurationError(
      `Step ${stepId(fork.parent, fork.stepPath)} has ${last < first ? "no committed turns" : `committed turns ${first} to ${last}`}: it cannot be forked at turn ${fork.turnIndex}.`,
    );
  return state;
}

const LINEAGES = `SELECT lineage, first_turn, summary FROM lineages
   WHERE run_key = ? AND step_no = ? AND lineage <= ? ORDER BY lineage DESC`;

/** The state in the lineage that had the turn, if only compactions have come since: they abandoned nothing. */
function* beforeCompactions(
  key: RunKey,
  state: GranularStateRow,
  turnIndex: number,
): SqlScript<GranularStateRow> {
  if (turnIndex >= state.firstTurn) return state;
  const lineages = yield* all(LINEAGES, key, state.stepNo, state.lineage);
  for (const [i, row] of lineages.entries()) {
    if (row.optionalText("summary") === null) break;
    const [lineage, firstTurn] = [row.int("lineage") - 1, lineages[i + 1]?.int("first_turn") ?? 1];
    if (turnIndex >= firstTurn) return { ...state, lineage, firstTurn };
  }
  return state;
}

function* requireInput(parent: RunRow): SqlScript<RowOf<"run_inputs">> {
  const row = yield* get("SELECT * FROM run_inputs WHERE run_key = ?", parent.key);
  if (row === null) throw new Error(`Run ${parent.runId} has no input.`);
  return wholeRow("run_inputs", row);
}

/** Writes the row of the fork: with the limits of its parent, and all of its time before it. */
function insertFork(tx: Transaction, key: RunKey, runId: string, parent: RunRow, origin: RunOrigin): RunRow {
  const wallclock = wallclockOf(budgetsOf(parent));
  return insertRun(tx, {
    key,
    runId,
    origin,
    status: "queued",
    // Its person first looks at what it may repeat.
    isUnstarted: true,
    currentStepNo: null,
    owner: null,
    epoch: 0,
    leaseUntil: 0,
    leaseMs: 0,
    marks: null,
    limit: parent.quota.limit,
    budgets: parent.budgets,
    // It waits to be started, and that time does not count.
    deadline: wallclock === null ? null : tx.now + wallclock,
    waitingSince: tx.now,
    wakeAt: null,
    cancelRequestedAt: null,
    cancelRequestedBy: null,
    moved: null,
    output: null,
    context: null,
    error: null,
    finalArtifact: null,
    takesText: parent.takesText,
  });
}
