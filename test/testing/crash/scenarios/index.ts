import type { Scenario } from "../../../../src/testing/crash/scenario.ts";
import { IS_FULL_TEST } from "../../../full-test.ts";
import { advance, deletion } from "./advances.ts";
import {
  acceptDivergence,
  changedShape,
  diverged,
  fork,
  forkHeld,
  redoTurn,
  released,
} from "./continuations.ts";
import {
  conversationCompaction,
  conversationDeploy,
  conversationFiles,
  conversationIdle,
  conversationInterrupt,
  conversationMilestone,
  conversationQueue,
  conversationRefused,
  conversationSteer,
  conversationStop,
  conversationTwoSenders,
} from "./conversations.ts";
import {
  budget,
  budgetAsked,
  budgetReached,
  lateReceipt,
  providerFaults,
  providerOutage,
  requestRejected,
  retries,
  schemaMisfit,
} from "./faults.ts";
import { blob, truncation } from "./histories.ts";
import { jobsDemo } from "./jobs-demo.ts";
import { asyncCheckpoints } from "./late-checkpoints.ts";
import { approval, cancel, cancelledWaiting, escalation, question, twoPeople } from "./people.ts";
import { artifactsAndSpec, loop } from "./pipelines.ts";
import { mainLoop, milestoneAfterChange, planning } from "./plans.ts";
import { queueAbandoned, queueKeys, queueWorker } from "./queues.ts";
import {
  resumeChangedLater,
  resumeChangedTwice,
  resumeFromMilestone,
  resumeWithRedo,
} from "./resume-requests.ts";
import { scheduleFires } from "./schedules.ts";
import {
  streamAnswer,
  streamCut,
  streamDeaf,
  streamTools,
  streamWatched,
  WATCHED_CONVERSATIONS,
} from "./streams.ts";
import {
  correlated,
  inDoubtToModel,
  keyed,
  oneTool,
  opaque,
  parallelMixed,
  plainAnswer,
  reconcile,
  repeat,
} from "./turns.ts";
import {
  agentWaits,
  approvalTimesOut,
  messageBeforeWait,
  messageWhileWaiting,
  receiveTimesOut,
  sleepInCode,
  sleepStep,
} from "./waits.ts";
import { webhook } from "./webhooks.ts";

const SAMPLED: ReadonlySet<string> = new Set([
  "conversation-steer",
  "conversation-stop",
  "conversation-milestone",
  "stream-cut",
  "watched-interrupt",
  "conversation-compaction",
]);

/** Conversations, and runs with viewers: there are many of them, and each takes its time. */
const MANY = /^(conversation|stream|watched)-/;

/** All scenarios, by name; each exploration makes its own. */
export const SCENARIOS: { readonly [name: string]: () => Scenario } = {
  "plain-answer": plainAnswer,
  "one-tool": oneTool,
  "parallel-mixed": parallelMixed,
  keyed,
  reconcile,
  correlated,
  opaque,
  "in-doubt-to-model": inDoubtToModel,
  repeat,
  blob,
  truncation,
  planning,
  "async-checkpoints": asyncCheckpoints,
  approval,
  "two-people": twoPeople,
  question,
  escalation,
  retries,
  "provider-faults": providerFaults,
  "provider-outage": providerOutage,
  "request-rejected": requestRejected,
  "schema-misfit": schemaMisfit,
  "late-receipt": lateReceipt,
  budget,
  "budget-reached": budgetReached,
  "budget-asked": budgetAsked,
  cancel,
  "cancelled-waiting": cancelledWaiting,
  released,
  fork,
  "fork-held": forkHeld,
  "redo-turn": redoTurn,
  "milestone-after-change": milestoneAfterChange,
  "accept-divergence": acceptDivergence,
  diverged,
  "resume-from-milestone": resumeFromMilestone,
  "resume-with-redo": resumeWithRedo,
  "resume-changed-twice": resumeChangedTwice,
  "resume-changed-later": resumeChangedLater,
  "changed-shape": changedShape,
  loop,
  "main-loop": mainLoop,
  "artifacts-and-spec": artifactsAndSpec,
  "jobs-demo": jobsDemo,
  "sleep-in-code": sleepInCode,
  "sleep-step": sleepStep,
  "agent-waits": agentWaits,
  "message-before-wait": messageBeforeWait,
  "message-while-waiting": messageWhileWaiting,
  "receive-times-out": receiveTimesOut,
  "approval-times-out": approvalTimesOut,
  "conversation-queue": conversationQueue,
  "conversation-steer": conversationSteer,
  "conversation-files": conversationFiles,
  "conversation-refused": conversationRefused,
  "conversation-two-senders": conversationTwoSenders,
  "conversation-interrupt": conversationInterrupt,
  "conversation-stop": conversationStop,
  "conversation-idle": conversationIdle,
  "conversation-deploy": conversationDeploy,
  "conversation-milestone": conversationMilestone,
  "conversation-compaction": conversationCompaction,
  "schedule-fires": scheduleFires,
  "queue-worker": queueWorker,
  "queue-keys": queueKeys,
  "queue-abandoned": queueAbandoned,
  advance,
  deletion,
  "stream-answer": streamAnswer,
  "stream-deaf": streamDeaf,
  "stream-watched": streamWatched,
  "stream-tools": streamTools,
  "stream-cut": streamCut,
  ...WATCHED_CONVERSATIONS,
  webhook,
};

/** The scenarios that a test explores: of those of which there are many a sample, and all of them in the full test. */
export const EXPLORED_NAMES: readonly string[] = Object.keys(SCENARIOS).filter(
  (name) => IS_FULL_TEST || !MANY.test(name) || SAMPLED.has(name),
);
