import { ConfigurationError } from "../../core/errors.ts";
import { assertOptions, givenOptions, type OptionNames } from "../../core/naming/option-names.ts";
import type { CheckpointStore } from "../../store/checkpoint-store.ts";
import type { Deadline } from "../run/deadline.ts";
import { RUNNER_NAMES, RUNNER_OTHER_NAMES } from "./runner-option-names.ts";
import type { Budget, RunnerOptions } from "./runner-options.ts";

/** Options of a `DurableMainLoop`: those of a runner, and the store of its worker. */
export type DurableMainLoopOptions = Omit<RunnerOptions, "onCheckpoint" | "entrypoint"> & {
  /** The worker's identity, which outlives its processes, with its request, latest checkpoint and completed marker. */
  readonly checkpoints: CheckpointStore;
  /** Called with one sentence for everything that is set aside or cannot be written. By default a process warning. */
  readonly warn?: (message: string) => void;
};

/** Options of `DurableMainLoop.execute`. */
export type ExecuteOptions = {
  /** Nothing new begins after this time. It is stored with the request, and holds for every process that resumes it. */
  readonly deadline?: Deadline;
  /** Cancels the run; it can be resumed. */
  readonly signal?: AbortSignal;
  /** The most that the run may use, earlier attempts included. By default the limit it has, or none. */
  readonly budget?: Budget;
};

const EXECUTE_NAMES = { deadline: true, signal: true, budget: true } satisfies OptionNames<ExecuteOptions>;

const { onCheckpoint: _, entrypoint: __, ...OF_RUNNER } = RUNNER_NAMES;
const LOOP_NAMES = {
  ...OF_RUNNER,
  checkpoints: true,
  warn: true,
} satisfies OptionNames<DurableMainLoopOptions>;

export function assertLoopOptions(given: unknown): void {
  assertOptions("The second argument of DurableMainLoop", given, LOOP_NAMES, RUNNER_OTHER_NAMES);
  if (typeof given === "object" && given !== null && "checkpoints" in given) return;
  throw new ConfigurationError(
    'DurableMainLoop needs checkpoints: give it { checkpoints: new FileCheckpointStore("workers/worker-001") }.',
  );
}

/** The options of a loop that its runner gets. */
export function runnerOptionsOf(options: DurableMainLoopOptions): RunnerOptions {
  return givenOptions<RunnerOptions>(options, OF_RUNNER);
}

export function assertExecuteOptions(given: unknown): void {
  assertOptions("The second argument of execute", given, EXECUTE_NAMES);
}
