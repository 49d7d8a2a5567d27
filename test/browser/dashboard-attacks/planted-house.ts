// What a store knows beside its runs: workers, schedules, tokens and the audit log, with texts of attacks in them.

import { createHash } from "node:crypto";
import { assertScheduleSpec } from "../../../src/core/schedule/schedule-spec.ts";
import type { Store } from "../../../src/index.ts";
import { type AttackText, objectOf } from "./attack-texts.ts";

/** Of the texts of a schedule. */
const LONGEST = 200;
const NO_COUNTS = { claimed: 0, succeeded: 0, failed: 0, waiting: 0, handedBack: 0, takeovers: 0 };

/** Workers of these names on hosts of these names. A store forgets them after a minute. */
export async function reportWorkers(store: Store, texts: readonly AttackText[]): Promise<void> {
  for (const { id, text } of texts)
    await store.reportWorker({
      workerId: `${id} ${text}`,
      host: text,
      facts: {
        pid: 1,
        version: text,
        pipelines: [text],
        queues: [text],
        concurrency: 1,
        runIds: [`${id}-done`, text],
        counts: NO_COUNTS,
        claimLatency: null,
        blockedAt: null,
      },
    });
}

/** A schedule for each text, which a person of that name has paused and fired. */
export async function plantSchedules(store: Store, texts: readonly AttackText[]): Promise<void> {
  const schedules = texts.map(({ id, text }) => ({
    schedule: assertScheduleSpec(id, {
      pipeline: text.slice(0, LONGEST),
      cron: "0 0 1 1 *",
      input: objectOf(text),
      queue: text.slice(0, LONGEST),
      metadata: { customer: text.slice(0, LONGEST) },
    }),
    entrypoint: text,
    shape: null,
  }));
  await store.configureSchedules({ revision: 1, schedules });
  for (const { id, text } of texts) {
    await store.fireNow(id, { by: text });
    await store.pauseSchedule(id, { by: text });
  }
}

/** A token for a person of each name, and what they did by the audit log. */
export async function plantPeople(store: Store, texts: readonly AttackText[]): Promise<void> {
  for (const { id, text } of texts) {
    await store.grantAccess({
      kind: "token",
      name: text,
      role: "viewer",
      scope: { pipelines: [text], labels: { customer: text } },
      hash: createHash("sha256").update(id).digest(),
      expiresAt: null,
      createdBy: text,
    });
    const who = { name: text, id, role: "viewer" } as const;
    await store.recordAudit([{ who, act: text, target: text, status: 403, problem: text, requestId: text }]);
  }
}
