import { canonicalJson } from "../../../core/canonical-json.ts";
import { ConfigurationError, RunBusyError } from "../../../core/errors.ts";
import { stepId } from "../../../core/step-path.ts";
import { wallclockOf } from "../../../core/usage/budget.ts";
import type { ForkOrigin, NewFork, RunRecord } from "../../store.ts";
import type { Database, Row } from "../database.ts";
import type { Leases } from "../leases.ts";
import { workOf } from "../queries/run-queries.ts";
import { budgetsOf } from "../tables/run-budgets.ts";
import {
  findRun,
  getRun,
  NO_EVENT_HASH,
  type RunRow,
  recordEvent,
  runNotFound,
  starterFacts,
} from "../tables/run-row.ts";
import { writeSession } from "../tables/session-rows.ts";
import { readRows } from "../verify/stored-rows.ts";
import { verify } from "../verify/verify.ts";
import { assertWhole } from "../verify/verify-open.ts";
import { ForkCopy } from "./fork-copy.ts";

/**
 * Creates a run from the turns of another, up to a given one: the steps before it, their turns, calls and receipts,
 * each call under a key of the new run. The parent run has paid for those turns, so the fork is charged nothing.
 */
export function forkRun(database: Database, leases: Leases, now: number, fork: NewFork): RunRecord {
  const parent = findRun(database, fork.parent);
  if (parent === null) throw runNotFound(fork.parent);
  if (leases.isHeld(parent, now)) throw busy(parent);
  if (findRun(database, fork.runId) !== null)
    throw new ConfigurationError(`Run ${fork.runId} already exists: give the fork another id.`);
  // The fork's event will cover the copied rows, so tampered rows must not be among them.
  assertWhole(verify(database, fork.parent));
  const step = requireStep(database, parent, fork);
  const run = insertRun(database, now, parent, fork);
  const copy = new ForkCopy(database, parent, run, fork, step);
  copy.everything();
  const origin = originOf(database, fork, run);
  database.run("UPDATE runs SET forked_from = ? WHERE run_no = ?", canonicalJson(origin), run.runNo);
  const session = writeSession(
    database,
    run,
    now,
    { stepKey: copy.stepNo(step.int("step_no")), turnIndex: fork.turnIndex },
    { slices: fork.slices, applied: copy.applied, checkpoint: fork.checkpoint },
  );
  // The first event of the fork covers every row that was copied.
  const rows = [...readRows(database, run.runNo, run.runId)].filter(([row]) => !isOfSession(row));
  recordEvent(database, run, now, "run.forked", {
    parent: fork.parent,
    step: fork.stepPath,
    turn: fork.turnIndex,
    ...(copy.artifacts.length === 0 ? {} : { artifacts: copy.artifacts }),
    rows,
    ...session.facts,
    ...starterFacts(fork.startedBy, now),
  });
  return getRun(database, fork.runId) as RunRecord;
}

/** The turn that the fork was made at, and the amount of work copied from its parent. */
function originOf(database: Database, fork: NewFork, run: RunRow): ForkOrigin {
  const known = getRun(database, fork.parent)?.forkedFrom ?? null;
  return {
    runId: fork.parent,
    stepPath: fork.stepPath,
    turnIndex: fork.turnIndex,
    firstRunId: known?.firstRunId ?? fork.parent,
    ...workOf(database, run.runNo),
  };
}

/** The rows of the session, which its own events cover change by change. */
function isOfSession(row: string): boolean {
  return /^(slice |checkpoint |events of |charges )/.test(row);
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
  const wallclock = wallclockOf(budgetsOf(parent));
  database.run(
    `INSERT INTO runs (run_id, created_at, updated_at, status, pipeline, entrypoint, input_hash, epoch, lease_until,
                       limit_tokens, limit_micro_dollars, deadline_at, waiting_since, budgets, forked_from, event_hash)
     SELECT ?, ?, ?, 'queued', pipeline, 'fork', input_hash, 0, 0, limit_tokens, limit_micro_dollars, ?, ?, budgets,
            '{}', ?
       FROM runs WHERE run_no = ?`,
    fork.runId,
    now,
    now,
    // It waits to be started, and that time does not count.
    wallclock === null ? null : now + wallclock,
    now,
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
