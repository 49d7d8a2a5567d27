import { PawlError, RunBusyError, RunNotBegunError } from "../../core/errors.ts";
import { rootOf } from "../../engine/definition/pipeline-root.ts";
import type { RunEvent } from "../../engine/ports/run-events.ts";
import type { RunResult } from "../../engine/ports/run-result.ts";
import { Runner } from "../../engine/runner/runner.ts";
import type { CommandEnd } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { Interruption } from "../context/interruption.ts";
import { sourceNamesOf, suggestedRecovery, toolsOf } from "../job/tool-advice.ts";
import { askPerson, canAsk } from "../screen/ask-person.ts";
import { paint } from "../screen/format.ts";
import { logWish } from "../screen/log-options.ts";
import { LogScreen } from "../screen/log-screen.ts";
import { placeOf } from "../screen/progress-block.ts";
import { phaseAt } from "../screen/progress-phase.ts";
import { ProgressScreen, type RunScreen } from "../screen/progress-screen.ts";
import { endOfFailure, endOfResult } from "./run-end.ts";
import { type RunWork, runnerOptions } from "./run-work.ts";

type Result = RunResult<unknown>;

/** Starts a run or goes on with one. `release` asks it to let go; `signal` ends the wait for another process. */
export type Begin = (
  runner: Runner,
  options: { readonly release: AbortSignal; readonly signal: AbortSignal },
) => Promise<Result>;

/**
 * Works on a run until it ends, waits for a person who is not there, or is interrupted. Shows what happens meanwhile, and
 * asks whoever sits at the terminal right there.
 */
export async function driveRun(work: RunWork, begin: Begin): Promise<CommandEnd> {
  const driver = new RunDriver(work, await screenFor(work));
  try {
    return await driver.drive(begin);
  } finally {
    driver.stop();
  }
}

/** How long it may take to get hold of a run before a person is told why. */
const PATIENCE_MS = 1_000;

const NOTHING_BEGUN: CommandEnd = {
  exitCode: 130,
  text: "",
  document: { runId: null, status: "interrupted" },
};

class RunDriver {
  readonly #work: RunWork;
  readonly #screen: RunScreen;
  readonly #runner: Runner;
  readonly #interruption: Interruption;
  readonly #giveUpWaiting = new AbortController();
  #stopWaiting: () => void = () => undefined;
  #runId: string | null = null;

  constructor(work: RunWork, screen: RunScreen) {
    const { context, pipeline } = work;
    const isLog = screen instanceof LogScreen;
    this.#work = isLog ? { ...work, log: (tone, text) => screen.say(tone, text) } : work;
    this.#screen = screen;
    this.#runner = new Runner(pipeline, {
      ...runnerOptions(work),
      onEvent: (event) => this.#tell(event),
    });
    this.#interruption = new Interruption(context, {
      onFirst: () => this.#sayThatItStops(),
      onSecond: () => this.#sayThatItStopped(),
    });
  }

  async drive(begin: Begin): Promise<CommandEnd> {
    const { release } = this.#interruption;
    this.#screen.start();
    this.#stopWaiting = this.#work.context.clock.after(PATIENCE_MS, () => this.#sayThatItWaits());
    try {
      let result = await begin(this.#runner, { release, signal: this.#giveUpWaiting.signal });
      while (await this.#mayGoOn(result)) result = await this.#runner.resume(result.runId, { release });
      this.#screen.stop();
      return await endOfResult(this.#work, result);
    } catch (error) {
      this.#screen.stop();
      if (this.#runId === null && this.#interruption.happened) return NOTHING_BEGUN;
      if (RunBusyError.isInstance(error)) throw busy(error);
      if (RunNotBegunError.isInstance(error)) throw error;
      if (!PawlError.isInstance(error) || error.runId === undefined) throw error;
      return endOfFailure(this.#work, error, error.runId);
    }
  }

  stop(): void {
    this.#stopWaiting();
    this.#screen.stop();
    this.#interruption.stop();
  }

  /** A person has answered, or the last answer came while the run was on its way out. */
  async #mayGoOn({ status, waits }: Result): Promise<boolean> {
    if (this.#interruption.happened) return false;
    if (status === "queued") return true;
    const { context, input, store } = this.#work;
    if (status !== "waiting" || waits.length === 0 || input.json || !canAsk(context)) return false;
    this.#screen.stop();
    const goesOn = await askPerson({ context, store, signal: this.#interruption.release }, waits);
    if (goesOn) this.#screen.goOn();
    return goesOn;
  }

  #tell(event: RunEvent): void {
    this.#runId = event.runId;
    this.#stopWaiting();
    this.#screen.tell(event);
    if (event.type !== "run.started") return;
    this.#screen.hint = "Ctrl-C pauses";
    if (event.resumed) void this.#tellWhatWasUsed(event.runId);
    else this.#nameOpaqueTools();
  }

  /** Asked for before anything more is charged, so nothing is counted twice. */
  async #tellWhatWasUsed(runId: string): Promise<void> {
    try {
      const { charged } = await this.#work.store.readUsage(runId);
      this.#screen.countFrom(charged);
    } catch {
      // It is only shown; whoever needs the store will hear of it.
    }
  }

  /** Once, when a run begins: later it is too late to change them. */
  #nameOpaqueTools(): void {
    const { context, input, pipeline, loaded } = this.#work;
    if (!context.stderr.isTerminal) return;
    for (const known of toolsOf(pipeline, loaded.config.policy ?? {})) {
      const better = suggestedRecovery(known);
      if (better === null) continue;
      this.#screen.say("warning", `${known.name}: a crash inside of it needs a person. Better: ${better}`);
    }
    const target = input.optionalArgument("pipeline");
    const audit = ["pawl policy audit", ...(target === null ? [] : [target])].join(" ");
    for (const name of sourceNamesOf(pipeline))
      this.#screen.say("quiet", `the tools of ${name} are known once it is open; \`${audit}\` lists them`);
  }

  #sayThatItWaits(): void {
    this.#screen.hint = "Ctrl-C gives up";
    this.#screen.say("quiet", "waiting for another process that works on the run");
  }

  #sayThatItStops(): void {
    if (this.#runId === null) {
      this.#giveUpWaiting.abort(new Error("The command was interrupted before it had its run."));
      return;
    }
    const again = "Ctrl-C again stops at once";
    this.#screen.hint = again;
    this.#screen.say("warning", `finishing ${placeOf(this.#screen.progress)}; ${again}`);
  }

  #sayThatItStopped(): void {
    this.#screen.stop();
    this.#screen.say(
      "warning",
      "stopped at once, which is safe: nothing is silently lost, and nothing is silently done twice",
    );
    if (this.#runId !== null) this.#screen.say("plain", this.#hint(this.#runId));
  }

  #hint(runId: string): string {
    return `go on with: ${commandHint(this.#work.input, "resume", runId)}`;
  }
}

/** A log where one was asked for, else the progress. */
async function screenFor(work: RunWork): Promise<RunScreen> {
  const wish = logWish(work.context, work.input);
  return wish === null ? progressFor(work) : LogScreen.open(work.context, wish);
}

/** Progress is for people: a program that reads one document hears of it only where a person looks on. */
function progressFor({ context, input, pipeline }: RunWork): ProgressScreen {
  const { stderr, clock, useColour } = context;
  const output = input.json && !stderr.isTerminal ? { ...stderr, write: () => undefined } : stderr;
  const { green, red, yellow, dim } = paint({ useColour: useColour && stderr.isTerminal });
  const plain = (text: string) => text;
  const root = rootOf(pipeline);
  const painter = { good: green, bad: red, warning: yellow, quiet: dim, plain, block: plain };
  return new ProgressScreen(output, clock, painter, (path) => phaseAt(root, path));
}

/** In the words of the command line. */
function busy({ details }: RunBusyError): RunBusyError {
  const { runId, owner, until } = details;
  return new RunBusyError(
    `Run ${runId} is being worked on by ${owner}, whose lease runs until ${until}: wait for it with --wait, or stop that process.`,
    details,
  );
}
