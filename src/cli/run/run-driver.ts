import { isDeepStrictEqual } from "node:util";
import { awaitedText } from "../../account/wait-time.ts";
import { PawlError, RunBusyError, RunNotBegunError } from "../../core/errors.ts";
import { asksPeople } from "../../core/wait.ts";
import { rootOf } from "../../engine/definition/pipeline-root.ts";
import type { RunEvent } from "../../engine/ports/run-events.ts";
import type { RunResult } from "../../engine/ports/run-result.ts";
import { failedEarlier } from "../../engine/runner/failed-run.ts";
import { Runner } from "../../engine/runner/runner.ts";
import type { CommandResult } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { Interruption } from "../context/interruption.ts";
import { sourceNamesOf, suggestedRecovery, toolsOf } from "../job/tool-advice.ts";
import { askPerson, canAsk } from "../screen/ask-person.ts";
import { paint } from "../screen/format.ts";
import { logSettings } from "../screen/log-options.ts";
import { LogScreen } from "../screen/log-screen.ts";
import { stepText } from "../screen/progress-block.ts";
import { phaseAt } from "../screen/progress-phase.ts";
import { ProgressScreen, type RunScreen } from "../screen/progress-screen.ts";
import { reportFailure, reportOutcome } from "./run-outcome.ts";
import { type RunWork, runnerOptions } from "./run-work.ts";
import { sleepAlong } from "./sleep-along.ts";

type Result = RunResult<unknown>;

/** Starts or resumes a run. `release` asks it to stop at the next safe point; `signal` ends the wait for another process. */
export type StartRun = (
  runner: Runner,
  options: { readonly release: AbortSignal; readonly signal: AbortSignal },
) => Promise<Result>;

/**
 * Works on a run until it ends, waits for an absent person, or is interrupted. Shows progress meanwhile, and asks the user at
 * the terminal directly.
 */
export async function driveRun(work: RunWork, start: StartRun): Promise<CommandResult> {
  const driver = new RunDriver(work, await screenFor(work));
  try {
    return await driver.drive(start);
  } finally {
    driver.stop();
  }
}

/** How long claiming the run may take before the user is shown the reason. */
const PATIENCE_MS = 1_000;

const NOT_STARTED: CommandResult = {
  exitCode: 130,
  text: "",
  document: { runId: null, status: "interrupted" },
};

class RunDriver {
  readonly #work: RunWork;
  readonly #screen: RunScreen;
  readonly #runner: Runner;
  readonly #interruption: Interruption;
  readonly #claimWait = new AbortController();
  #cancelPatience: () => void = () => undefined;
  #runId: string | null = null;

  constructor(work: RunWork, screen: RunScreen) {
    const { context, pipeline } = work;
    const isLog = screen instanceof LogScreen;
    this.#work = isLog ? { ...work, log: (tone, text) => screen.print(tone, text) } : work;
    this.#screen = screen;
    this.#runner = new Runner(pipeline, {
      ...runnerOptions(work),
      onEvent: (event) => this.#onEvent(event),
      // Elsewhere nobody watches: the model is still asked for pieces, for viewers of other processes.
      ...(context.stderr.isTerminal ? { onLive: (event) => screen.showLive(event) } : {}),
    });
    this.#interruption = new Interruption(context, {
      onFirst: () => this.#reportStopping(),
      onSecond: () => this.#reportStopped(),
    });
  }

  async drive(start: StartRun): Promise<CommandResult> {
    const { release } = this.#interruption;
    this.#screen.start();
    this.#cancelPatience = this.#work.context.clock.after(PATIENCE_MS, () => this.#reportWaiting());
    try {
      let result = await start(this.#runner, { release, signal: this.#claimWait.signal });
      while (await this.#shouldResume(result)) result = await this.#runner.resume(result.runId, { release });
      this.#screen.stop();
      return await reportOutcome(this.#work, result);
    } catch (error) {
      this.#screen.stop();
      if (this.#runId === null && this.#interruption.happened) return NOT_STARTED;
      if (RunBusyError.isInstance(error)) throw busy(error);
      if (RunNotBegunError.isInstance(error)) throw error;
      if (!PawlError.isInstance(error) || error.runId === undefined) throw error;
      return reportFailure(this.#work, await this.#failureOf(error, error.runId), error.runId);
    }
  }

  /** The failure of the run, now or earlier. Throws an error that only refuses to work on the run. */
  async #failureOf(error: PawlError, runId: string): Promise<PawlError> {
    if (this.#runId !== null) return error;
    const run = await this.#work.store.getRun(runId);
    const earlier = run === null ? null : failedEarlier(run);
    if (earlier?.code !== error.code || !isDeepStrictEqual(earlier.details, error.details)) throw error;
    return earlier;
  }

  stop(): void {
    this.#cancelPatience();
    this.#screen.stop();
    this.#interruption.stop();
  }

  /** True if the user has answered and the rest has come, or if the last answer arrived while the run was stopping. */
  async #shouldResume({ status, waits, runId }: Result): Promise<boolean> {
    if (this.#interruption.happened) return false;
    if (status === "queued") return true;
    const { context, input, store } = this.#work;
    if (status !== "waiting" || waits.length === 0 || input.json || !canAsk(context)) return false;
    const { release: signal } = this.#interruption;
    const questions = waits.filter(({ kind }) => asksPeople(kind));
    if (questions.length > 0) {
      this.#screen.stop();
      if (!(await askPerson({ context, store, signal }, questions))) return false;
      this.#screen.resume();
    }
    const now = context.clock.now();
    const awaited = waits.flatMap((wait) => awaitedText(wait, now) ?? []);
    if (awaited.length === 0) return true;
    this.#screen.print("quiet", `waiting ${awaited.join("; ")}`);
    return sleepAlong({ store, clock: context.clock, signal }, runId);
  }

  #onEvent(event: RunEvent): void {
    this.#runId = event.runId;
    this.#cancelPatience();
    this.#screen.showEvent(event);
    if (event.type !== "run.started") return;
    this.#screen.hint = "Ctrl-C pauses";
    if (event.resumed) void this.#addEarlierCharges(event.runId);
    else this.#warnAboutOpaqueTools();
  }

  /** Read before anything more is charged, so that nothing is counted twice. */
  async #addEarlierCharges(runId: string): Promise<void> {
    try {
      const { charged } = await this.#work.store.readUsage(runId);
      this.#screen.addEarlierCharges(charged);
    } catch {
      // For display only; if the store is unavailable, the run itself reports it.
    }
  }

  /** Shown once, when a run starts: later it is too late to change the tools. */
  #warnAboutOpaqueTools(): void {
    const { context, input, pipeline, loaded } = this.#work;
    if (!context.stderr.isTerminal) return;
    for (const known of toolsOf(pipeline, loaded.config.policy ?? {})) {
      const better = suggestedRecovery(known);
      if (better === null) continue;
      this.#screen.print("warning", `${known.name}: a crash during a call needs a person. Better: ${better}`);
    }
    const target = input.optionalArgument("pipeline");
    const audit = ["pawl policy audit", ...(target === null ? [] : [target])].join(" ");
    for (const name of sourceNamesOf(pipeline))
      this.#screen.print(
        "quiet",
        `the tools of ${name} are known once it is connected; \`${audit}\` lists them`,
      );
  }

  #reportWaiting(): void {
    this.#screen.hint = "Ctrl-C gives up";
    this.#screen.print("quiet", "waiting for another process that holds the run");
  }

  #reportStopping(): void {
    if (this.#runId === null) {
      this.#claimWait.abort(new Error("The command was interrupted before it held its run."));
      return;
    }
    const again = "Ctrl-C again stops now";
    this.#screen.hint = again;
    this.#screen.print("warning", `finishing ${stepText(this.#screen.progress)}; ${again}`);
  }

  #reportStopped(): void {
    this.#screen.stop();
    this.#screen.print(
      "warning",
      "stopped immediately, which is safe: nothing is silently lost or silently done twice",
    );
    if (this.#runId !== null) this.#screen.print("plain", this.#hint(this.#runId));
  }

  #hint(runId: string): string {
    return `resume with: ${commandHint(this.#work.input, "resume", runId)}`;
  }
}

/** A log if one was requested, else the progress display. */
async function screenFor(work: RunWork): Promise<RunScreen> {
  const settings = logSettings(work.context, work.input);
  return settings === null ? progressFor(work) : LogScreen.open(work.context, settings);
}

/** With --json, progress is shown only if stderr is a terminal. */
function progressFor({ context, input, pipeline }: RunWork): ProgressScreen {
  const { stderr, clock, useColour } = context;
  const output = input.json && !stderr.isTerminal ? { ...stderr, write: () => undefined } : stderr;
  const { green, red, yellow, dim } = paint({ useColour: useColour && stderr.isTerminal });
  const plain = (text: string) => text;
  const root = rootOf(pipeline);
  const painter = { good: green, bad: red, warning: yellow, quiet: dim, plain, block: plain };
  return new ProgressScreen(output, clock, painter, (path) => phaseAt(root, path));
}

/** The error with the remedies of the command line. */
function busy({ details }: RunBusyError): RunBusyError {
  const { runId, owner, until } = details;
  return new RunBusyError(
    `Run ${runId} is held by ${owner}, whose lease runs until ${until}: wait for it with --wait, or stop that process.`,
    details,
  );
}
