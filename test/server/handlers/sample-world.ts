// Something of everything, of one tenant.

import { isoTime } from "../../../src/export/figures.ts";
import type { Store } from "../../../src/index.ts";
import { SampleRun } from "../../../src/testing/store/sample-run.ts";
import { ACME, principal, type ServerWorld, serverWorld } from "./server-world.ts";

export const ACME_OPERATOR = principal({ name: "ann", id: "token-acme", role: "operator", scope: ACME });

const LABELS = { tenant: "acme" };

/** `clerk-1` asks for approval, `report-1` has a call in doubt and an artifact, `talk-1` is a conversation. */
export async function sampleWorld(store: Store) {
  const world = serverWorld(store);
  await putRun(world, "clerk-1");
  await world.work("clerk-1");
  const report = await SampleRun.create(store, "report-1", { metadata: LABELS });
  await store.keepArtifact(report.fence, {
    stepKey: null,
    name: "report.html",
    bytes: Buffer.from("<script>"),
  });
  await report.committed(1);
  await report.journaled(2, ["running"]);
  await store.interruptRun(report.fence);
  await store.enqueueRun({
    runId: "later-1",
    pipeline: "report",
    entrypoint: "test",
    input: null,
    inputHash: new Uint8Array(32),
    shape: [],
    limit: { tokens: null, microDollars: null },
    metadata: LABELS,
    notBefore: Date.now() + 3_600_000,
  });
  const talking = { metadata: LABELS };
  await world.talk.send("talk-1", "Hello", { id: "m-1", orStart: talking });
  await world.work("talk-1", world.talk);
  await store.configureSchedules({
    revision: 1,
    schedules: [
      {
        schedule: {
          name: "nightly",
          pipeline: "report",
          cron: "0 2 * * *",
          timeZone: "UTC",
          overlap: "allow",
          catchUp: "last",
          metadata: LABELS,
        },
        entrypoint: "test",
        shape: [],
      },
    ],
  });
  await store.reportWorker({
    workerId: "worker-1",
    host: "host-1",
    facts: {
      pid: 1,
      version: null,
      pipelines: ["clerk"],
      queues: ["default"],
      concurrency: 1,
      runIds: [],
      counts: { claimed: 0, succeeded: 0, failed: 0, waiting: 0, handedBack: 0, takeovers: 0 },
      claimLatency: null,
      blockedAt: null,
    },
  });
  const [approval] = await store.listWaits("clerk-1", { open: true });
  const [found] = await store.listToolCalls("clerk-1");
  return {
    ...world,
    approval: approval as NonNullable<typeof approval>,
    blobId: found?.receipt?.blob?.blobId ?? "",
    inDoubt: report.callId(2, 1),
    now: isoTime(Date.now()),
  };
}

export type SampleWorld = Awaited<ReturnType<typeof sampleWorld>>;

/** A worker claims `report-1`, which has this status, and it fails. */
export async function failRun({ store }: SampleWorld, from: "running" | "cancelled"): Promise<void> {
  const claimed = await store.claimRun("report-1", { leaseMs: 30_000, from: [from] });
  if (claimed.kind !== "claimed") throw new Error("It is not claimed.");
  await store.releaseRun(
    { runId: "report-1", epoch: claimed.claim.epoch },
    { status: "failed", error: { code: "broken", message: "It broke.", details: {} } },
  );
}

/** A person says that the call in doubt of `report-1` did not happen. */
export function failCall({ call, inDoubt }: SampleWorld) {
  return call("settleCall", {
    params: { callId: inDoubt },
    body: { as: "failed", why: "It did not happen." },
  });
}

export function putRun(world: ServerWorld, runId: string, as = ACME_OPERATOR) {
  return world.call("putRun", { params: { runId }, body: { pipeline: "clerk", input: "Refund 7" }, as });
}
