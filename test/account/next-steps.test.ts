import { describe, expect, test } from "vitest";
import type { Act } from "../../src/account/act.ts";
import { nextSteps } from "../../src/account/next-steps.ts";
import { waitActs } from "../../src/account/wait-acts.ts";
import type { RunRecord, WaitRecord } from "../../src/index.ts";
import { LEASE_MS, NO_CLOCK, SampleRun } from "../../src/testing/store/sample-run.ts";
import { tickingStore } from "../export/sample-store.ts";

const WAIT: WaitRecord = {
  waitId: "q-1~1",
  runId: "q-1",
  kind: "approval",
  toolCallId: "q-1/report#1.1",
  attempt: 0,
  question: "May it run?",
  subject: {},
  argumentsHash: "3f9c",
  status: "open",
  createdAt: 0,
  answeredAt: null,
  answeredBy: null,
  people: [],
  answer: null,
  ...NO_CLOCK,
};

async function waitingRun(over: Partial<RunRecord> = {}): Promise<RunRecord> {
  const { store } = await tickingStore();
  const run = await SampleRun.create(store, "q-1");
  await run.waiting();
  return { ...(await run.record()), ...over };
}

describe("the next steps", () => {
  test("of a run that a worker holds are to follow and to cancel it", async () => {
    const { store, clock } = await tickingStore();
    const run = await SampleRun.create(store, "q-1");
    const steps = nextSteps(await run.record(), [], [], clock.at);
    expect(steps.map(({ acts }) => acts)).toEqual([
      [{ act: "follow", runId: "q-1" }],
      [{ act: "cancel", runId: "q-1" }],
    ]);
    const later = nextSteps(await run.record(), [], [], clock.at + 2 * LEASE_MS);
    expect(later).toEqual([{ what: "Resume it", acts: [{ act: "resume", runId: "q-1", notBefore: null }] }]);
  });

  test("of a run that has succeeded are none", async () => {
    expect(nextSteps(await waitingRun({ status: "succeeded" }), [], [], 0)).toEqual([]);
  });

  test("of a run that waits are the answers, and then the resume", async () => {
    const steps = nextSteps(await waitingRun(), [WAIT], [], 0);
    expect(steps).toEqual([
      {
        what: "Answer q-1~1 (approval), with one of these",
        acts: [
          { act: "approve", waitId: "q-1~1", argumentsHash: "3f9c" },
          { act: "deny", waitId: "q-1~1" },
        ],
      },
      { what: "Then resume it", acts: [{ act: "resume", runId: "q-1", notBefore: null }] },
    ]);
  });

  test("name three questions and count the others", async () => {
    const waits = [1, 2, 3, 4, 5].map((index) => ({ ...WAIT, waitId: `q-1~${index}` }));
    const steps = nextSteps(await waitingRun(), waits, [], 0);
    expect(steps).toHaveLength(5);
    expect(steps[3]).toEqual({ what: "And 2 questions more", acts: [{ act: "list_waits", runId: "q-1" }] });
  });

  test("of a run that sleeps say from when on it can be resumed", async () => {
    const sleep = { ...WAIT, kind: "time" as const, dueAt: Date.UTC(2030, 0, 1) };
    const [step, ...more] = nextSteps(await waitingRun(), [sleep], [], 0);
    expect(more).toEqual([]);
    expect(step?.acts).toEqual([{ act: "resume", runId: "q-1", notBefore: "2030-01-01T00:00:00.000Z" }]);
  });
});

describe("the acts that answer a wait", () => {
  const CASES: readonly (readonly [Partial<WaitRecord>, readonly Act["act"][]])[] = [
    [{ kind: "approval" }, ["approve", "deny"]],
    [{ kind: "possible_duplicate" }, ["approve", "deny"]],
    [{ kind: "in_doubt" }, ["settle", "settle", "settle"]],
    [{ kind: "escalation" }, ["settle", "answer"]],
    [{ kind: "question", subject: { arguments: { choices: ["Berlin", "Bern"] } } }, ["answer", "answer"]],
    [{ kind: "question" }, ["answer"]],
    [{ kind: "time" }, []],
    [{ kind: "message" }, ["chat", "send"]],
    [{ kind: "message", matches: "paid" }, ["send"]],
    [{ kind: "budget", subject: { limit: 50 } }, ["answer", "deny"]],
  ];

  test.each(CASES)("%j", (over, kinds) => {
    expect(waitActs({ ...WAIT, ...over }).map(({ act }) => act)).toEqual(kinds);
  });

  test("suggest a budget that works, and the choices of a question", () => {
    expect(waitActs({ ...WAIT, kind: "budget", subject: { limit: 50 } })[0]).toMatchObject({
      suggested: "100",
    });
    const subject = { arguments: { choices: ["Bern"] } };
    expect(waitActs({ ...WAIT, kind: "question", subject })).toMatchObject([{ suggested: "Bern" }]);
  });
});
