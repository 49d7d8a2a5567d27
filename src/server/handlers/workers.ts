import { isInScope } from "../../core/access/scope.ts";
import { isoTime } from "../../export/figures.ts";
import type { LiveWorker, ScheduleRecord } from "../../store/store.ts";
import { firingDocument, scheduleDocument, workerDocument } from "../documents/worker-documents.ts";
import type { Handlers } from "../handler.ts";
import type { AccessScope, Principal } from "../principal.ts";
import { isWhole, notFound } from "../scope/run-scope.ts";
import { personOf } from "./acting-person.ts";
import { readActivity } from "./activity.ts";
import type { ServerParts } from "./server-parts.ts";

type WorkerOperation =
  | "getActivity"
  | "listWorkers"
  | "listSchedules"
  | "listFirings"
  | "pauseSchedule"
  | "resumeSchedule"
  | "fireSchedule";

/** Who works on runs, and what starts them. */
export function workerHandlers(parts: ServerParts): Handlers<WorkerOperation> {
  const { store, clock } = parts;

  const schedulesOf = async ({ scope }: Principal) =>
    (await store.listSchedules()).filter((record) => isScheduleInScope(scope, record));

  const requireSchedule = async (principal: Principal, name: string) => {
    const found = (await schedulesOf(principal)).find((record) => record.name === name);
    if (found === undefined) throw notFound("schedule", name);
    return found;
  };

  return {
    getActivity: async (_, { principal }) => ({ status: 200, body: await readActivity(parts, principal) }),

    listWorkers: async (_, { principal }) => {
      const workers = (await store.listWorkers()).filter((worker) =>
        isWorkerInScope(principal.scope, worker),
      );
      return { status: 200, body: { items: workers.map(workerDocument), asOf: isoTime(clock.now()) } };
    },

    listSchedules: async (_, { principal }) => {
      const schedules = await schedulesOf(principal);
      return { status: 200, body: { items: schedules.map(scheduleDocument), asOf: isoTime(clock.now()) } };
    },

    listFirings: async ({ params: { name }, query: { limit } }, { principal }) => {
      await requireSchedule(principal, name);
      const firings = await store.listFirings(name, { limit });
      return { status: 200, body: { items: firings.map(firingDocument) } };
    },

    pauseSchedule: async ({ params: { name } }, { principal }) => {
      await requireSchedule(principal, name);
      await store.pauseSchedule(name, personOf(principal));
      return { status: 200, body: { name, outcome: "paused", runId: null } };
    },

    resumeSchedule: async ({ params: { name } }, { principal }) => {
      await requireSchedule(principal, name);
      await store.resumeSchedule(name, personOf(principal));
      return { status: 200, body: { name, outcome: "resumed", runId: null } };
    },

    fireSchedule: async ({ params: { name } }, { principal }) => {
      await requireSchedule(principal, name);
      const { outcome, runId } = await store.fireNow(name, personOf(principal));
      return { status: 200, body: { name, outcome, runId } };
    },
  };
}

/** A schedule is in the scope if the runs that it starts are. */
function isScheduleInScope(scope: AccessScope, { schedule }: ScheduleRecord): boolean {
  return isInScope(scope, { pipeline: schedule.pipeline, metadata: schedule.metadata ?? null });
}

/** A worker is shown if all that it works on is in the scope: it reports the ids and numbers of its runs together. */
function isWorkerInScope(scope: AccessScope, { facts }: LiveWorker): boolean {
  if (isWhole(scope)) return true;
  const { pipelines, labels } = scope;
  return labels === null && facts.pipelines.every((pipeline) => pipelines?.includes(pipeline) ?? true);
}
