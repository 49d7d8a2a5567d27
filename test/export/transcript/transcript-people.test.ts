// transcript.md: workers that come and go, and people who are asked.

import { describe, expect, it } from "vitest";
import { FAILED, FINGERPRINT, LEASE_MS, newReceipt } from "../../../src/testing/store/sample-run.ts";
import { milestoneTurn, startLineage } from "../../../src/testing/store/sample-session.ts";
import { expectInOrder, startedRun, takeOver, transcriptOf } from "./transcript-fixture.ts";

describe("an attempt", () => {
  it("that died is followed by what the next one found", async () => {
    const { store, clock, run } = await startedRun();
    await run.journaled(1, ["running"]);
    await takeOver(run, clock);
    expectInOrder(await transcriptOf(store), [
      "| attempts | 2, of which 1 worker died |",
      "## Attempt 1",
      "> **The worker died or lost the run here.** Its last sign of life was at 2026-11-16T06:00:00.400Z.",
      "## Attempt 2",
      "Call 1, `search` (`run-1/draft#1.1`), was running, attempt 1: whether it happened is in doubt.",
      "> **The run is here now.**",
    ]);
  });

  it("that died has its own last action as its last sign of life, whatever people did since", async () => {
    const { store, clock, run } = await startedRun();
    await run.journaled(1, ["running"]);
    clock.at += LEASE_MS / 2;
    await store.requestCancel("run-1", { by: "ann" });
    await takeOver(run, clock);
    expectInOrder(await transcriptOf(store), [
      "> **The worker died or lost the run here.** Its last sign of life was at 2026-11-16T06:00:00.400Z.",
      "**ann** requested to cancel the run at 2026-11-16T06:00:15.500Z.",
      "## Attempt 2",
    ]);
  });

  it("that died while the model was asked keeps the charge of the unknown answer", async () => {
    const { store, clock, run } = await startedRun();
    await run.open(1);
    await takeOver(run, clock);
    expectInOrder(await transcriptOf(store), [
      "## Attempt 2",
      "The model had been asked for turn 1 of `draft`, and its answer is unknown: 100 tokens, $0.001 stay charged.",
    ]);
  });

  it("shows from where it resumes, why, and with which budgets", async () => {
    const { store, run } = await startedRun();
    await store.releaseRun(run.fence, FAILED);
    await run.takenOver(store, {
      attempt: { resumedFrom: "milestone", reason: "the prompt was no good" },
      budgets: { maxToolCalls: 300 },
    });
    expectInOrder(await transcriptOf(store), [
      "## Attempt 2: resumed from the last milestone",
      "Reason: the prompt was no good.",
      "The budgets of the run were changed: `maxToolCalls` is 300 from here on.",
    ]);
  });

  it("that failed says why, and only the last one has a message", async () => {
    const { store, run } = await startedRun();
    await store.releaseRun(run.fence, FAILED);
    const next = await run.takenOver();
    await store.releaseRun(next.fence, FAILED);
    const transcript = await transcriptOf(store);
    expectInOrder(transcript, [
      "**The run has failed** at 2026-11-16T06:00:00.300Z, with error `step_failed`.",
      "## Attempt 2",
      "**The run has failed** at 2026-11-16T06:00:00.500Z, with error `step_failed`.\n\n```text\nIt broke.\n```",
    ]);
    expect(transcript.split("It broke.")).toHaveLength(2);
  });

  it("that released the run in good order did not die", async () => {
    const { store, run } = await startedRun();
    await store.releaseRun(run.fence, { status: "queued" });
    const transcript = await transcriptOf(store);
    expect(transcript).toContain("**The worker released the run in good order**");
    expect(transcript).not.toContain("died");
  });

  it("shows the abandoned turns and the new prompt when a new lineage begins", async () => {
    const { store, run } = await startedRun();
    await milestoneTurn(run, 1);
    await run.journaled(2, ["running", "prepared"]);
    await run.receipt(2, 1);
    const output = { type: "error-text", value: "It was left." } as const;
    const receipts = [newReceipt(2, { status: "cancelled", source: "pawl", output })];
    await startLineage(run, 1, { receipts });
    expectInOrder(await transcriptOf(store), [
      "Its first prompt is not shown here",
      "stores the session: a milestone is reached.",
      "Call 2, `search`, **cancelled**",
      "it was not run.\n\n```text\nIt was left.\n```",
      "**A new lineage begins in step `draft`**: the session is as it was at checkpoint 1, the history is empty, and turns continue with number 3.",
      "Turn 2, which was open, is abandoned and was never committed.",
      "You are bold.",
    ]);
  });

  it("continues with another configuration if a person allowed it", async () => {
    const { store, run } = await startedRun();
    await run.committed(1);
    const fingerprint = { hash: FINGERPRINT, document: { prompt: "Other.", input: "ratchets" } };
    await store.acceptDivergence(run.fence, { stepKey: run.stepKey, fingerprint, why: "A typo was fixed." });
    expect(await transcriptOf(store)).toContain("have changed: A typo was fixed.");
  });
});

describe("people", () => {
  it("are shown with the questions they got and the answers they gave", async () => {
    const { store, run } = await startedRun();
    await run.journaled(1, ["prepared", "prepared", "running", "running"]);
    await run.waiting(
      run.approval(1, 1, "aa"),
      run.approval(1, 2, "bb"),
      run.wait(1, 3),
      run.wait(1, 4, { question: "Sent,\nor not?" }),
    );
    await store.approve("run-1~1", { by: "ann" });
    await store.deny("run-1~2", "Too dear.", { by: "ben" });
    await store.settle("run-1/draft#1.3", { as: "retry", why: "The bank says no." }, { by: "cy" });
    await store.settle("run-1/draft#1.4", { as: "failed", why: "It bounced." }, { by: "dee" });
    expectInOrder(await transcriptOf(store), [
      "| questions to people | 4 |",
      "**The run waits for a person** from 2026-11-16T06:00:00.500Z. 4 questions to answer.",
      "A person is asked (`run-1~1`, `approval` about call `run-1/draft#1.1`):",
      "May it run?",
      "A person is asked (`run-1~4`, `in_doubt` about call `run-1/draft#1.4`):\n\n```text\nSent,\nor not?\n```",
      "**ann** answered `run-1~1` at 2026-11-16T06:00:00.600Z: call `run-1/draft#1.1` may run.",
      "**ben** answered `run-1~2` at 2026-11-16T06:00:00.700Z: call `run-1/draft#1.2` may not run, because: Too dear.",
      "**cy** answered `run-1~3` at 2026-11-16T06:00:00.800Z: call `run-1/draft#1.3` may run again, because: The bank says no.",
      "**dee** answered `run-1~4` at 2026-11-16T06:00:00.900Z: call `run-1/draft#1.4` has not happened, and must not: It bounced.",
      "Call 4, `search`, **failed** at 06:00:00.900: dee settled it (error `settled_failed`).",
    ]);
  });

  it("answer questions, and those about a budget", async () => {
    const { store, run } = await startedRun();
    await run.journaled(1, ["running"]);
    const subject = { budget: "maxToolCalls", limit: 5, used: 5 } as const;
    await run.waiting(run.wait(1, 1, { kind: "question", question: "Which?" }), {
      kind: "budget",
      question: "May it make more calls?",
      subject,
    });
    await store.answer("run-1~1", { which: "both" }, { by: "ann" });
    await store.answer("run-1~2", 50, { by: "ben" });
    expectInOrder(await transcriptOf(store), [
      "A person is asked (`run-1~2`, `budget`):",
      '"limit": 5',
      "call `run-1/draft#1.1` gets this answer:",
      '"which": "both"',
      "**ben** answered `run-1~2` at",
      "the run gets this answer:\n\n```json\n50\n```",
    ]);
  });

  it("end a run", async () => {
    const { store, run } = await startedRun();
    await run.waiting();
    await store.requestCancel("run-1", { by: "ann" });
    expectInOrder(await transcriptOf(store), [
      "| status | **cancelled** |",
      "**The run was cancelled** by ann at",
    ]);
  });

  it("end a run whose worker has died, and see what is in doubt", async () => {
    const { store, clock, run } = await startedRun();
    await run.journaled(1, ["running"]);
    clock.at += 2 * LEASE_MS;
    await store.requestCancel("run-1", { by: "ann" });
    expectInOrder(await transcriptOf(store), [
      "> **The worker died or lost the run here.**",
      "Call 1, `search` (`run-1/draft#1.1`), was running, attempt 1: whether it happened is in doubt.",
      "**The run was cancelled** by ann at",
    ]);
  });

  it("request to cancel a run that is in progress", async () => {
    const { store } = await startedRun();
    await store.requestCancel("run-1", { by: "ann" });
    expect(await transcriptOf(store)).toContain(
      "**ann** requested to cancel the run at 2026-11-16T06:00:00.300Z.",
    );
  });

  it("are shown as still being waited for if they have not answered", async () => {
    const { store, run } = await startedRun();
    await run.journaled(1, ["running"]);
    await run.waiting(run.wait(1, 1));
    expectInOrder(await transcriptOf(store), [
      "| status | **waiting** |",
      "| questions to people | 1, of which 1 open |",
      "The run has the status **waiting**.",
    ]);
  });
});
