import { readCronLine } from "../../../core/schedule/cron-line.ts";
import { firingRunId, isFiringOf, MINUTE_MS } from "../../../core/schedule/firing-run-id.ts";
import { plannedTimes } from "../../../core/schedule/planned-times.ts";
import type { FiringRecord, ScheduleRecord } from "../../../store/store.ts";
import type { Evidence, RunAccount, ScheduleAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import type { NotedClaim } from "../ownership-log.ts";

/** More than a scenario plans. */
const MOST = 1_000;

export const firesOnce: Invariant = {
  name: "fires-once",
  promise: "A planned time of a schedule starts one run, and a run is started by one planned time.",
  judge: (evidence) => {
    const pairs = evidence.schedules.flatMap(({ record, firings }) => {
      const started = firings.flatMap(({ runId }) => (runId === null ? [] : [runId]));
      const ids = new Set([...started, ...runsOf(evidence, record).map(({ run }) => run.runId)]);
      return [...ids].map((runId) => ({ runId, started }));
    });
    return checkEach(pairs, ({ runId, started }) => {
      const times = started.filter((each) => each === runId).length;
      const isThere = evidence.accounts.some(({ run }) => run.runId === runId);
      if (!isThere)
        return wrong(`A planned time is recorded to have started ${runId}, and there is no such run`);
      if (times === 1) return FINE;
      return wrong(`${runId} was started, and ${times} planned times are recorded to have started it`);
    });
  },
};

export const skipsAreTold: Invariant = {
  name: "skips-are-told",
  promise:
    "Every planned time that has passed is recorded once: with its run, or with the reason why there is none.",
  judge: ({ schedules }) =>
    checkEach(
      schedules.flatMap((schedule) => passedTimes(schedule).map((at) => ({ ...schedule, at }))),
      ({ record, firings, at }) =>
        judgeTime(
          record.name,
          at,
          firings.filter((each) => covers(record, each, at)),
        ),
    ),
};

function judgeTime(name: string, at: number, records: readonly FiringRecord[]): readonly Problem[] {
  const time = `The planned time ${new Date(at).toISOString()} of ${name}`;
  const [only] = records;
  if (only === undefined) return wrong(`${time} has passed, and is not recorded`);
  if (records.length > 1) return wrong(`${time} is recorded ${records.length} times`);
  return only.runId === null && only.why === null ? wrong(`${time} started no run, without a reason`) : FINE;
}

/** What was planned since the schedule was configured, up to what it plans next. */
function passedTimes({ record }: ScheduleAccount): readonly number[] {
  const { schedule, configuredAt, nextAt } = record;
  if (nextAt === null) return [];
  const line = readCronLine(schedule.name, schedule.cron, schedule.timeZone);
  return plannedTimes(line, configuredAt, nextAt - 1, MOST);
}

/** A record of missed times stands for several. */
function covers({ schedule }: ScheduleAccount["record"], firing: FiringRecord, at: number): boolean {
  if (firing.outcome !== "missed") return firing.plannedAt === at;
  const line = readCronLine(schedule.name, schedule.cron, schedule.timeZone);
  return plannedTimes(line, firing.plannedAt - 1, at, firing.times).includes(at);
}

export const overlapHeld: Invariant = {
  name: "overlap-held",
  promise: "A run of a schedule that skips or queues begins after the one before it has ended.",
  judge: (evidence) =>
    checkEach(
      evidence.schedules.flatMap(({ record }) => {
        const runs = runsOf(evidence, record);
        return runs.map((run, i) => ({ overlap: record.schedule.overlap, run, before: runs[i - 1] ?? null }));
      }),
      ({ overlap, run, before }) => {
        if (before === null || overlap === "allow" || overlap === "cancel") return FINE;
        const isInOrder =
          overlap === "skip" ? wasMadeAfter(run, before) : wasBegunAfter(run, before, evidence.claims);
        return isInOrder ? FINE : wrong(`${run.run.runId} began before ${before.run.runId} had ended`);
      },
    ),
};

function wasMadeAfter({ run }: RunAccount, before: RunAccount): boolean {
  const ended = endOf(before);
  return ended !== null && ended <= run.createdAt;
}

/** By the order of the claims: in a random schedule the wall clock may have been set back between the two. */
function wasBegunAfter(
  { run, attempts }: RunAccount,
  before: RunAccount,
  claims: readonly NotedClaim[],
): boolean {
  const [attempt] = attempts;
  if (attempt === undefined) return true;
  const ended = endOf(before);
  const begun = claims.find(({ runId }) => runId === run.runId);
  if (ended === null || begun === undefined) return ended !== null && ended <= attempt.startedAt;
  const last = claims.findLastIndex(({ runId }) => runId === before.run.runId);
  return last < claims.indexOf(begun) && !begun.held.includes(before.run.runId);
}

/** When its last worker left it: a receipt that comes late is stored after that. */
function endOf({ run, attempts }: RunAccount): number | null {
  if (!["succeeded", "failed", "cancelled"].includes(run.status)) return null;
  return attempts.at(-1)?.endedAt ?? run.updatedAt;
}

/** The runs of the planned times of a schedule since it was configured, in order. */
function runsOf({ accounts }: Evidence, { name, configuredAt }: ScheduleRecord): readonly RunAccount[] {
  const first = firingRunId(name, Math.floor(configuredAt / MINUTE_MS) * MINUTE_MS);
  return accounts.filter(({ run }) => isFiringOf(name, run.runId) && run.runId >= first);
}
