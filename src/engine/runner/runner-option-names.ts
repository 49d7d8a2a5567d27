import { assertOptions, type OptionNames, type OtherNames } from "../../core/naming/option-names.ts";
import type { ForkOptions } from "./fork-run.ts";
import { PLACE_NAMES } from "./place-options.ts";
import type {
  ContinueOptions,
  ResumeOptions,
  RunnerOptions,
  RunOptions,
  StreamOptions,
} from "./runner-options.ts";

export const RUNNER_NAMES = {
  store: true,
  executors: true,
  pricing: true,
  estimateTokens: true,
  leaseMs: true,
  modelTimeoutMs: true,
  modelIdleTimeoutMs: true,
  maxModelAttempts: true,
  maxOutageMs: true,
  maxParallelToolCalls: true,
  maxRetriesPerToolCall: true,
  maxSameErrorRepeats: true,
  policy: true,
  constraints: true,
  budgets: true,
  otherPipelines: true,
  startedBy: true,
  stopConditions: true,
  workspaceRoot: true,
  slices: true,
  checkpointTrigger: true,
  onSliceMismatch: true,
  tags: true,
  onSession: true,
  onEvent: true,
  live: true,
  onLive: true,
  telemetry: true,
  onCheckpoint: true,
  onDivergence: true,
  entrypoint: true,
  identity: true,
  clock: true,
  random: true,
  probe: true,
  outside: true,
} satisfies OptionNames<RunnerOptions>;

const OF_AGENT = (name: string) => `${name} of agent({ … })`;
const OF_RUN = (name: string) => `${name} of runner.run(input, { … })`;

/** Options that belong to an agent or to one run. */
export const RUNNER_OTHER_NAMES: OtherNames = {
  database: "store",
  db: "store",
  maxRetries: "maxModelAttempts or maxRetriesPerToolCall",
  timeout: "modelTimeoutMs, or deadline of runner.run(input, { … })",
  model: OF_AGENT("model"),
  tools: OF_AGENT("tools"),
  instructions: OF_AGENT("instructions"),
  maxTurns: OF_AGENT("maxTurns"),
  maxSteps: OF_AGENT("maxTurns"),
  runId: OF_RUN("runId"),
  key: OF_RUN("key"),
  budget: "budget of runner.run(input, { … }), or budgets: { maxTokens: … } for all runs",
  deadline: OF_RUN("deadline"),
  signal: OF_RUN("signal"),
};

const CONTINUE_NAMES = {
  signal: true,
  release: true,
  wait: true,
  budget: true,
  deadline: true,
} satisfies OptionNames<ContinueOptions>;

export const RUN_NAMES = {
  ...CONTINUE_NAMES,
  ...PLACE_NAMES,
  spec: true,
  runId: true,
  key: true,
  fresh: true,
  startedBy: true,
} satisfies OptionNames<RunOptions>;

const STREAM_NAMES = { ...RUN_NAMES, cancelOnReturn: true, live: true } satisfies OptionNames<StreamOptions>;

const RESUME_NAMES = {
  ...CONTINUE_NAMES,
  budgets: true,
  from: true,
  acceptDivergence: true,
  changesHash: true,
  redoTurn: true,
  reason: true,
} satisfies OptionNames<ResumeOptions>;

const FORK_NAMES = {
  atTurn: true,
  step: true,
  runId: true,
  startedBy: true,
} satisfies OptionNames<ForkOptions>;

const OTHER_NAMES = {
  abortSignal: "signal",
  timeout: "deadline: Deadline.in(ms)",
  timeoutMs: "deadline: Deadline.in(ms)",
  maxTurns: OF_AGENT("maxTurns"),
  store: "store of new Runner(agent, { … })",
  onEvent: "onEvent of new Runner(agent, { … })",
};

export function assertRunOptions(method: "run" | "stream", options: unknown): void {
  const others = { ...OTHER_NAMES, id: "runId", idempotencyKey: "key", budgets: "budget, or spec.budgets" };
  assertOptions(
    `The second argument of ${method}`,
    options,
    method === "run" ? RUN_NAMES : STREAM_NAMES,
    others,
  );
}

export function assertResumeOptions(method: "resume" | "forecast", options: unknown): void {
  const others = { ...OTHER_NAMES, input: "the input of a run never changes; start another run." };
  assertOptions(`The second argument of ${method}`, options, RESUME_NAMES, others);
}

export function assertForkOptions(options: unknown): void {
  assertOptions("The second argument of fork", options, FORK_NAMES, { turn: "atTurn", id: "runId" });
}
