export { type AgentOptions, agent } from "./adapters/agent.ts";
export { guardedFetch, NetworkRefusedError } from "./adapters/guarded-fetch.ts";
export type { Blueprint } from "./core/blueprint.ts";
export type { CompletedTurn, Completion } from "./core/completion.ts";
export {
  AlreadySettledError,
  AnswerCutOffError,
  BlobMissingError,
  BudgetExceededError,
  CheckpointStoreError,
  ConfigurationError,
  DeadlineExceededError,
  FinalFailure,
  InfiniteRedirectError,
  LeaseLostError,
  MaxIterationsExceededError,
  MaxTurnsExceededError,
  ModelCallError,
  NeedsHuman,
  NotApplied,
  NotJsonError,
  PausedError,
  PawlError,
  PipelineAbortError,
  QuotaExceededError,
  ResumeError,
  RunBusyError,
  RunNotBegunError,
  RunNotFoundError,
  SliceValueError,
  SnapshotRestoreError,
  StepFailedError,
  StoreUnavailableError,
  StoreUnusableError,
  ToolCallNotFoundError,
  ToolFailedError,
  UnmetConditionsError,
  WaitNotFoundError,
  WorkerBusyError,
  WorkspaceError,
} from "./core/errors.ts";
export type { Json, JsonObject } from "./core/json.ts";
export type { Lineage } from "./core/lineage.ts";
export type { AssistantPart, Message, ToolOutput } from "./core/message.ts";
export type { Authenticated, Decision, Person } from "./core/person.ts";
export { type Limit, Quota } from "./core/quota.ts";
export type { ResultLimits } from "./core/result-share.ts";
export { type Budgets, parseRunSpec, type RunSpec, type SpecProblem } from "./core/run-spec.ts";
export type { RunSpecInput } from "./core/run-spec-input.ts";
export { type Secret, secret } from "./core/secret.ts";
export type { SessionEvent } from "./core/session-event.ts";
export type { TokenEstimator } from "./core/token-estimate.ts";
export type { ModelName } from "./core/token-family.ts";
export type { RecoveryClass, SideEffectClass } from "./core/tool-call-decision.ts";
export type { Amount, ModelPrice, Pricing, Usage } from "./core/usage.ts";
export type { Settlement, WaitAnswer } from "./core/wait.ts";
export type { Agent } from "./engine/agent.ts";
export type { Instructions } from "./engine/agent-prompt.ts";
export type { ApprovalRule } from "./engine/approval-rule.ts";
export { askHuman } from "./engine/ask-human.ts";
export type { CodeStepContext } from "./engine/code-step-context.ts";
export { defineConfig, type PawlConfig } from "./engine/config.ts";
export { Deadline } from "./engine/deadline.ts";
export {
  DurableMainLoop,
  type DurableMainLoopOptions,
  type ExecuteOptions,
  type ExecuteResult,
} from "./engine/durable-main-loop.ts";
export type { EarlierSteps } from "./engine/earlier-steps.ts";
export type {
  CallAction,
  ForecastCall,
  ForecastRefusal,
  ForecastTurn,
  ResumeForecast,
} from "./engine/forecast.ts";
export type { Fork, ForkOptions } from "./engine/fork-run.ts";
export type { JobCeiling } from "./engine/job-ceiling.ts";
export type { SavedCheckpoint } from "./engine/milestone-request.ts";
export type { ModelCallPlace, Outside } from "./engine/outside.ts";
export type {
  Clock,
  ModelPort,
  ModelRequest,
  ModelResponse,
  ModelSettings,
  ModelTool,
} from "./engine/ports.ts";
export type { ArtifactAccess } from "./engine/run-artifacts.ts";
export type { RunEvent } from "./engine/run-events.ts";
export type { RunResult } from "./engine/run-result.ts";
export type { Constraints, Policy } from "./engine/run-rules.ts";
export { Runner } from "./engine/runner.ts";
export type {
  Budget,
  GoingOnOptions,
  ResumeOptions,
  RunnerOptions,
  RunOptions,
} from "./engine/runner-options.ts";
export type { SliceMismatch } from "./engine/session-keeper.ts";
export { type GranularOptions, Pipeline, Step, type StepNode } from "./engine/step.ts";
export type { Frame, Place, StepExecutor } from "./engine/step-executor.ts";
export { artifactKept, type StopCondition, type StopState, succeededOnce } from "./engine/stop-conditions.ts";
export type {
  OpenSpan,
  RunTelemetry,
  SpanFacts,
  SpanStart,
  Telemetry,
  TracedRun,
} from "./engine/telemetry-port.ts";
export {
  type ApprovalVerdict,
  type Reconciliation,
  type Tool,
  type ToolCallContext,
  type ToolDefinition,
  tool,
} from "./engine/tool.ts";
export type { OpenTools, ToolSource } from "./engine/tool-source.ts";
export { CheckpointTrigger, type CheckpointTriggerOptions } from "./session/checkpoint-trigger.ts";
export type { BusEvents, EventBus } from "./session/event-bus.ts";
export {
  type AddStep,
  addStep,
  type Plan,
  type PlanStep,
  planSlice,
  type SetupPlan,
  setupPlan,
  type UpdateStep,
  updateStep,
} from "./session/plan.ts";
export { dynamic, markdown, planning, type Section, type Visibility } from "./session/prompt-section.ts";
export { type BoundPrompt, type PromptTemplate, promptTemplate } from "./session/prompt-template.ts";
export { Session, type SessionView, type SliceQuery } from "./session/session.ts";
export { append, defineSlice, type Reducer, replaceLatest, type Slice, upsertBy } from "./session/slice.ts";
export type { StoredSlices } from "./session/slice-set.ts";
export { Snapshot } from "./session/snapshot.ts";
export type { CheckpointStore, WorkerCheckpoint } from "./store/checkpoint-store.ts";
export { DatabaseCheckpointStore } from "./store/database-checkpoint-store.ts";
export { FileCheckpointStore, type FileCheckpointStoreOptions } from "./store/file-checkpoint-store.ts";
export { openStore } from "./store/open-store.ts";
export type * from "./store/store.ts";
