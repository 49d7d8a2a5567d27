import { describe, expect, it } from "vitest";
import { checkInvariants } from "../../../src/testing/crash/check-invariants.ts";
import type { Evidence } from "../../../src/testing/crash/evidence.ts";
import { INVARIANTS } from "../../../src/testing/crash/invariants/index.ts";
import { FALSIFIED_CALLS } from "./falsified/calls.ts";
import {
  FALSIFIED_COMPACTIONS,
  FALSIFIED_EXCHANGES,
  FALSIFIED_FILES,
  FALSIFIED_REFUSALS,
} from "./falsified/exchanges.ts";
import { FALSIFIED_DELETIONS, FALSIFIED_FORKS, FALSIFIED_QUEUES } from "./falsified/queues.ts";
import { FALSIFIED_REDOS, FALSIFIED_RESUMES } from "./falsified/resumes.ts";
import { FALSIFIED_RUNS } from "./falsified/runs.ts";
import { FALSIFIED_USAGE } from "./falsified/usage.ts";
import { FALSIFIED_VIEWERS } from "./falsified/viewers.ts";
import { FALSIFIED_WAITS } from "./falsified/waits.ts";
import { FALSIFIED_WEBHOOKS } from "./falsified/webhooks.ts";
import {
  type Draft,
  effectsOf,
  everything,
  evidenceOf,
  falsified,
  one,
  takeOut,
} from "./invariants-evidence.ts";
import { deletion } from "./scenarios/advances.ts";
import { diverged, fork, forkHeld } from "./scenarios/continuations.ts";
import {
  conversationCompaction,
  conversationFiles,
  conversationRefused,
  conversationStop,
} from "./scenarios/conversations.ts";
import { planning } from "./scenarios/plans.ts";
import { queueKeys } from "./scenarios/queues.ts";
import { resumeFromMilestone, resumeWithRedo } from "./scenarios/resume-requests.ts";
import { scheduleFires } from "./scenarios/schedules.ts";
import { streamCut } from "./scenarios/streams.ts";
import { agentWaits } from "./scenarios/waits.ts";
import { webhook } from "./scenarios/webhooks.ts";

const CRASHED = "crash before store.commitTurn 2";
const PAUSED = "pause before tool.call_taxi 1; wake at the end";
const [undisturbed, crashed, paused] = (await evidenceOf(everything(), CRASHED, PAUSED)) as [
  Evidence,
  Evidence,
  Evidence,
];
const [otherPrompt] = (await evidenceOf(diverged())) as [Evidence];
const [, planned] = (await evidenceOf(planning(), "crash after store.commitTurn 2")) as [Evidence, Evidence];
const [, waited] = (await evidenceOf(agentWaits(), "crash after store.sendMessage 1")) as [
  Evidence,
  Evidence,
];
const [, talked] = (await evidenceOf(conversationStop(), "crash after store.openTurn 1")) as [
  Evidence,
  Evidence,
];
// The same turn is asked a second time.
const [, refused] = (await evidenceOf(conversationRefused(), "crash after model 1")) as [Evidence, Evidence];
const [, pictured] = (await evidenceOf(conversationFiles(), "crash after model 1")) as [Evidence, Evidence];
const [, compacted] = (await evidenceOf(conversationCompaction(), "crash before store.compactHistory 1")) as [
  Evidence,
  Evidence,
];
const forks = await evidenceOf(fork(), "crash before store.forkRun 1", "crash after tool.charge 2");
const [, held] = (await evidenceOf(forkHeld(), "crash before store.requestResume 1")) as [Evidence, Evidence];
const [, scheduled] = (await evidenceOf(scheduleFires(), "crash after store.fireSchedule 2")) as [
  Evidence,
  Evidence,
];

const [, queued] = (await evidenceOf(queueKeys(), "crash after store.claimRun 2")) as [Evidence, Evidence];
const [, deleted] = (await evidenceOf(deletion(), "crash before store.deleteRun 1")) as [Evidence, Evidence];
const [, streamed] = (await evidenceOf(streamCut(), "crash after model.piece 4")) as [Evidence, Evidence];

// The message arrived, and is sent again.
const [, told] = (await evidenceOf(webhook(), "crash after webhook 2")) as [Evidence, Evidence];

const [, resumed] = (await evidenceOf(resumeFromMilestone(), "crash after store.claimRun 1")) as [
  Evidence,
  Evidence,
];
const [, redone] = (await evidenceOf(resumeWithRedo(), "crash after store.dropTurn 1")) as [
  Evidence,
  Evidence,
];

describe("real evidence", () => {
  it.each([
    undisturbed,
    crashed,
    paused,
    otherPrompt,
    planned,
    waited,
    talked,
    pictured,
    refused,
    compacted,
    held,
    scheduled,
    queued,
    deleted,
    streamed,
    told,
    resumed,
    redone,
    ...forks,
  ])("breaks no promise", async (evidence) => {
    expect((await checkInvariants(evidence, INVARIANTS)).broken).toEqual([]);
  });

  it("tests every promise, taken together", async () => {
    const looked = new Map<string, number>();
    const all = [
      crashed,
      otherPrompt,
      waited,
      talked,
      compacted,
      held,
      scheduled,
      queued,
      deleted,
      streamed,
      told,
      resumed,
    ];
    for (const evidence of all)
      for (const [name, times] of Object.entries((await checkInvariants(evidence, INVARIANTS)).looked))
        looked.set(name, (looked.get(name) ?? 0) + times);
    // No process was silent and alive: pauses.test.ts tests that.
    expect([...looked].filter(([, times]) => times === 0)).toEqual([["silence-is-no-proof", 0]]);
    expect(looked.size).toBe(INVARIANTS.length);
  });

  it("may have a message again with the answer that came meanwhile", async () => {
    const again = falsified(told, ({ witness }) => {
      const line = one(witness, ({ kind }) => kind === "received");
      if (line.kind !== "received") return;
      const { data, ...rest } = JSON.parse(line.body) as { readonly data: object };
      witness.push({ ...line, body: JSON.stringify({ ...rest, data: { ...data, content: null } }) });
    });
    expect(again.witness.length).toBeGreaterThan(told.witness.length);
    expect((await checkInvariants(again, INVARIANTS)).broken).toEqual([]);
  });

  it("does not count a call that hit the window that fencing leaves open", async () => {
    const taxis = effectsOf(paused.witness, "call_taxi");
    expect(taxis).toHaveLength(2);
    const [open, shut] = await Promise.all(
      [paused, falsified(paused, ({ lives }) => one(lives).pausedAt.splice(0))].map((evidence) =>
        checkInvariants(evidence, INVARIANTS),
      ),
    );
    expect(open?.looked["effects-at-most-once"]).toBe(Number(shut?.looked["effects-at-most-once"]) - 1);
    expect(shut?.broken.map(({ invariant }) => invariant)).toContain("effects-at-most-once");
  });
});

const FIRST = "queued@2026-01-01T00:01Z";
const SECOND = "queued@2026-01-01T00:02Z";
const isQueued = ({ record }: { readonly record: { readonly name: string } }) => record.name === "queued";

const FALSIFIED_SCHEDULES: readonly (readonly [string, (draft: Draft) => void, RegExp])[] = [
  ["fires-once", ({ accounts }) => takeOut(accounts, ({ run }) => run.runId === FIRST), /no such run/],
  [
    "fires-once",
    ({ schedules }) => takeOut(one(schedules, isQueued).firings, ({ runId }) => runId === FIRST),
    /0 planned times are recorded/,
  ],
  [
    "skips-are-told",
    ({ schedules }) => takeOut(one(schedules, isQueued).firings, ({ runId }) => runId === FIRST),
    /00:01:00.000Z of queued has passed, and is not recorded/,
  ],
  [
    "skips-are-told",
    ({ schedules }) => {
      one(one(schedules, ({ record }) => record.name === "skipping").firings).why = null;
    },
    /started no run, without a reason/,
  ],
  [
    "overlap-held",
    ({ claims }) => void one(claims, ({ runId }) => runId === SECOND).held.push(FIRST),
    /00:02Z began before .*00:01Z had ended/,
  ],
  [
    "overlap-held",
    ({ accounts, claims }) => {
      claims.splice(0);
      one(one(accounts, ({ run }) => run.runId === FIRST).attempts).endedAt = Date.UTC(2027, 0, 1);
    },
    /00:02Z began before .*00:01Z had ended/,
  ],
];

const FALSIFICATIONS = [...FALSIFIED_CALLS, ...FALSIFIED_USAGE, ...FALSIFIED_RUNS];

describe("an invariant notices that", () => {
  it.each(FALSIFICATIONS)("%s: %s", async (invariant, _how, change, message) => {
    const { broken } = await checkInvariants(falsified(crashed, change), INVARIANTS);
    const found = broken.find((each) => each.invariant === invariant)?.problems.map(({ what }) => what);
    expect(found?.join("\n")).toMatch(message);
  });

  it.each(FALSIFIED_WAITS)("%s: %s", async (invariant, _how, change, message) => {
    const { broken } = await checkInvariants(falsified(waited, change), INVARIANTS);
    const found = broken.find((each) => each.invariant === invariant)?.problems.map(({ what }) => what);
    expect(found?.join("\n")).toMatch(message);
  });

  it.each([
    ...FALSIFIED_EXCHANGES.map((each) => [talked, ...each] as const),
    ...FALSIFIED_REFUSALS.map((each) => [refused, ...each] as const),
    ...FALSIFIED_FILES.map((each) => [pictured, ...each] as const),
    ...FALSIFIED_COMPACTIONS.map((each) => [compacted, ...each] as const),
    ...FALSIFIED_QUEUES.map((each) => [queued, ...each] as const),
    ...FALSIFIED_FORKS.map((each) => [held, ...each] as const),
    ...FALSIFIED_DELETIONS.map((each) => [deleted, ...each] as const),
    ...FALSIFIED_RESUMES.map((each) => [resumed, ...each] as const),
    ...FALSIFIED_REDOS.map((each) => [redone, ...each] as const),
    ...FALSIFIED_VIEWERS.map((each) => [streamed, ...each] as const),
    ...FALSIFIED_WEBHOOKS.map((each) => [told, ...each] as const),
  ])("$1: $2", async (evidence, invariant, _how, change, message) => {
    const { broken } = await checkInvariants(falsified(evidence, change), INVARIANTS);
    const found = broken.find((each) => each.invariant === invariant)?.problems.map(({ what }) => what);
    expect(found?.join("\n")).toMatch(message);
  });

  it("diverged-is-silent: a process that found the run diverged asked the model", async () => {
    const asked = structuredClone(one(crashed.witness, ({ kind }) => kind === "asked"));
    const { broken } = await checkInvariants(
      falsified(otherPrompt, ({ witness }) =>
        witness.push({ ...(asked as (typeof witness)[number]), life: 1 }),
      ),
      INVARIANTS,
    );
    const found = broken.find(({ invariant }) => invariant === "diverged-is-silent");
    expect(found?.problems[0]?.what).toBe("Process 1 found that the run had diverged, but called the model");
  });

  it.each(FALSIFIED_SCHEDULES)("%s in a schedule (%#)", async (invariant, change, message) => {
    const { broken } = await checkInvariants(falsified(scheduled, change), INVARIANTS);
    const found = broken.find((each) => each.invariant === invariant)?.problems.map(({ what }) => what);
    expect(found?.join("\n")).toMatch(message);
  });

  it("same-end: a milestone is missing", async () => {
    const without = falsified(planned, ({ account }) =>
      takeOut(account.checkpoints, ({ type }) => type === "milestone"),
    );
    const { broken } = await checkInvariants(without, INVARIANTS);
    const found = broken.find(({ invariant }) => invariant === "same-end")?.problems[0]?.what;
    expect(found).toMatch(/checkpoints\.\d+.* and was .*/);
  });

  it("every promise is broken by at least one of these", () => {
    const names = [
      ...FALSIFICATIONS,
      ...FALSIFIED_WAITS,
      ...FALSIFIED_EXCHANGES,
      ...FALSIFIED_COMPACTIONS,
      ...FALSIFIED_QUEUES,
      ...FALSIFIED_FORKS,
      ...FALSIFIED_DELETIONS,
      ...FALSIFIED_RESUMES,
      ...FALSIFIED_VIEWERS,
      ...FALSIFIED_WEBHOOKS,
      ...FALSIFIED_SCHEDULES,
    ].map(([name]) => name);
    const shown = new Set([...names, "diverged-is-silent"]);
    expect([...shown].sort()).toEqual(INVARIANTS.map(({ name }) => name).sort());
  });
});
