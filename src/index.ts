export { type AgentOptions, agent } from "./adapters/ai-sdk/agent.ts";
export { type EventLogger, logEvents } from "./adapters/event-log.ts";
export { guardedFetch, NetworkRefusedError } from "./adapters/net/guarded-fetch.ts";
export type { RecoveryClass, SideEffectClass } from "./core/call/tool-call-decision.ts";
export {
  AlreadySettledError,
  AnswerCutOffError,
  BlobMissingError,
  BudgetExceededError,
  BundleRefusedError,
  CheckpointStoreError,
  ConfigurationError,
  DeadlineExceededError,
  FinalFailure,
  InfiniteRedirectError,
  LeaseLostError,
  MaxIterationsExceededError,
  MaxTurnsExceededError,
  MessageRefusedError,
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
  RunDeletedError,
  RunMovedError,
  RunNotBegunError,
  RunNotFoundError,
  SchemaMisfitError,
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
export type { Blueprint } from "./core/job/blueprint.ts";
export type { Budgets } from "./core/job/budgets.ts";
export { parseRunSpec, type RunSpec, type SpecProblem } from "./core/job/run-spec.ts";
export type { RunSpecInput } from "./core/job/run-spec-input.ts";
export type { Json, JsonObject } from "./core/json.ts";
export type { Lineage } from "./core/lineage.ts";
export type {
  AssistantPart,
  FileReference,
  Message,
  StoredUserMessage,
  ToolOutput,
  UserFilePart,
  UserMessage,
  UserPart,
  UserTextPart,
} from "./core/message.ts";
export type { Authenticated, Decision, Person } from "./core/person.ts";
export type { MessageFile } from "./core/run/sent-message.ts";
export type {
  CatchUpPolicy,
  CheckedSchedule,
  OverlapPolicy,
  ScheduleSpec,
} from "./core/schedule/schedule-spec.ts";
export { type Secret, secret } from "./core/secret/secret.ts";
export type { SessionEvent } from "./core/session-event.ts";
export type { AnySchema, CheckedJsonSchema, StandardSchema } from "./core/standard-schema.ts";
export type { CompletedTurn, Completion } from "./core/turn/completion.ts";
export type { LiveListener, LivePart } from "./core/turn/live-part.ts";
export { type Limit, Quota } from "./core/usage/quota.ts";
export type { ResultLimits } from "./core/usage/result-share.ts";
export type { TokenEstimator } from "./core/usage/token-estimate.ts";
export type { ModelName } from "./core/usage/token-family.ts";
export type { Amount, ModelPrice, Pricing, Usage } from "./core/usage/usage.ts";
export type { Settlement, WaitAnswer, WaitKind } from "./core/wait.ts";
export { runContext } from "./engine/call/run-context.ts";
export type { Agent } from "./engine/definition/agent.ts";
export type { Instructions } from "./engine/definition/agent-prompt.ts";
export type { ApprovalRule } from "./engine/definition/approval-rule.ts";
export type { ArtifactAccess } from "./engine/definition/artifact-access.ts";
export type { CodeStepContext } from "./engine/definition/code-step-context.ts";
export { defineConfig, type PawlConfig } from "./engine/definition/config.ts";
export {
  type CompactionOptions,
  type ConversationOptions,
  conversation,
} from "./engine/definition/conversation-step.ts";
export type { EarlierSteps } from "./engine/definition/earlier-steps.ts";
export type { ForeignCall, ForeignTool } from "./engine/definition/foreign-tool.ts";
export type { JobCeiling } from "./engine/definition/job-ceiling.ts";
export type { Constraints, Policy } from "./engine/definition/run-rules.ts";
export {
  type GranularOptions,
  Pipeline,
  Step,
  type StepNode,
  type WiredStep,
} from "./engine/definition/step.ts";
export {
  artifactKept,
  type StopCondition,
  type StopState,
  succeededOnce,
} from "./engine/definition/stop-conditions.ts";
export {
  type ApprovalVerdict,
  type Reconciliation,
  type RunFacts,
  type Tool,
  type ToolCallContext,
  type ToolDefinition,
  tool,
} from "./engine/definition/tool.ts";
export type { OpenTools, ToolSource } from "./engine/definition/tool-source.ts";
export { askHuman } from "./engine/definition/waiting/ask-human.ts";
export type {
  Divergence,
  DivergenceAction,
  DivergencePolicy,
} from "./engine/definition/waiting/divergence-policy.ts";
export type {
  ReceivedMessage,
  ReceiveOptions,
  TimedOut,
} from "./engine/definition/waiting/received-message.ts";
export type { TimeLimit, TimeLimits } from "./engine/definition/waiting/time-limits.ts";
export { type ReceiveToolOptions, receiveTool, sleepTool } from "./engine/definition/waiting/wait-tools.ts";
export type { Clock } from "./engine/ports/clock.ts";
export type {
  AttemptPlace,
  AttemptWithdrawn,
  LiveEvent,
  LiveEventListener,
  LivePartEvent,
} from "./engine/ports/live-events.ts";
export type {
  ModelPort,
  ModelRequest,
  ModelResponse,
  ModelSettings,
  ModelTool,
  RequestFile,
  RequestMessage,
} from "./engine/ports/model-port.ts";
export type { RunEvent } from "./engine/ports/run-events.ts";
export type { RunResult } from "./engine/ports/run-result.ts";
export type {
  MeasuredWorker,
  OpenSpan,
  RunTelemetry,
  SpanFacts,
  SpanStart,
  Telemetry,
  TracedRun,
  WorkerTelemetry,
} from "./engine/ports/telemetry-port.ts";
export { Deadline } from "./engine/run/deadline.ts";
export type { EffectsPort, ModelAttemptId } from "./engine/run/effects-port.ts";
export type { SavedCheckpoint } from "./engine/run/milestone-request.ts";
export type { SliceMismatch } from "./engine/run/session-keeper.ts";
export type { DurableMainLoopOptions, ExecuteOptions } from "./engine/runner/durable-loop-options.ts";
export { DurableMainLoop, type ExecuteResult } from "./engine/runner/durable-main-loop.ts";
export type {
  AcceptedChanges,
  CallAction,
  ForecastCall,
  ForecastRefusal,
  ForecastTurn,
  ResumeForecast,
} from "./engine/runner/forecast/forecast.ts";
export type { Fork, ForkOptions } from "./engine/runner/fork-run.ts";
export type { PlaceOptions } from "./engine/runner/place-options.ts";
export type {
  Addressee,
  Advanced,
  AdvanceOptions,
  EnqueuedRun,
  EnqueueOptions,
  MessageReceipt,
  MessageToRun,
  SendOptions,
  StopOptions,
} from "./engine/runner/queue-options.ts";
export { Runner } from "./engine/runner/runner.ts";
export type {
  Budget,
  ContinueOptions,
  ResumeOptions,
  RunnerOptions,
  RunOptions,
  StreamOptions,
} from "./engine/runner/runner-options.ts";
export type { StepEntry, StepExecution, StepExecutor } from "./engine/steps/step-executor.ts";
export type {
  DurableWatchEvent,
  WatchEvent,
  WatchedCall,
  WatchedFact,
  WatchOptions,
} from "./engine/watch/watch-event.ts";
export { watchRun } from "./engine/watch/watch-run.ts";
export { Worker } from "./engine/worker/worker.ts";
export type {
  QueueLimits,
  WorkerLimits,
  WorkerNotice,
  WorkerOptions,
} from "./engine/worker/worker-options.ts";
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
export { DatabaseCheckpointStore } from "./store/checkpoint/database-checkpoint-store.ts";
export {
  FileCheckpointStore,
  type FileCheckpointStoreOptions,
} from "./store/checkpoint/file-checkpoint-store.ts";
export type { CheckpointStore, WorkerCheckpoint } from "./store/checkpoint-store.ts";
export { type DeletedRuns, deleteRuns, type RunRetention } from "./store/delete-runs.ts";
export {
  type BundleTarget,
  type ExportedBundle,
  exportBundle,
  type ImportedBundle,
  importBundle,
} from "./store/moving-runs.ts";
export { type OpenStoreOptions, openStore } from "./store/open-store.ts";
export type * from "./store/store.ts";
