import { nearestName } from "../../core/naming/nearest-name.ts";
import { BUDGET_NAMES, type BudgetName } from "../../core/usage/budget.ts";
import { Runner } from "../../engine/runner/runner.ts";
import type { ResumeOptions } from "../../engine/runner/runner-options.ts";
import type { ResumeRequest } from "../../store/store.ts";
import { loadConfig } from "../config/config-file.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput, CommandResult } from "../context/command.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { pipelineOfRun } from "../job/run-target.ts";
import { withExistingStore } from "../run/command-store.ts";
import { enqueueResume } from "../run/enqueued-resume.ts";
import { findRun } from "../run/find-run.ts";
import { forecastResult } from "../run/forecast-text.ts";
import { driveRun } from "../run/run-driver.ts";
import { isJobRun, runnerOptions } from "../run/run-work.ts";
import { BY_OPTION } from "../screen/acting-person.ts";
import { LOG_OPTIONS } from "../screen/log-options.ts";

const BEGINNINGS = ["turn", "milestone", "beginning"] as const;

export const resume: Command = {
  name: "resume",
  summary: "Resume a run",
  arguments: [{ name: "run", summary: "the run's id, or a prefix of it" }],
  options: [
    {
      flags: "--from <where>",
      summary: "from the next turn (default), the last milestone, or the beginning of the step",
      choices: BEGINNINGS,
    },
    { flags: "--dry-run", summary: "report what would be done and what it may cost, without doing it" },
    { flags: "--budget <name=limit>", summary: "a new limit: maxToolCalls=300", isRepeatable: true },
    { flags: "--redo-turn", summary: "discard the model response of the open turn, and ask the model again" },
    {
      flags: "--accept-divergence <why>",
      summary: "resume although the prompt, model or tools have changed",
    },
    { flags: "--reason <why>", summary: "a reason, for the record" },
    { flags: "--wait", summary: "wait while another process holds the run" },
    { flags: "--enqueue", summary: "leave it to the next worker that takes runs of this store" },
    BY_OPTION,
    ...LOG_OPTIONS,
  ],
  example: "pawl resume q-1 --budget maxToolCalls=300",
  execute: async (context, input) => {
    const asked = resumeOptions(input);
    if (input.flag("enqueue")) return enqueued(context, input, asked);
    const loaded = await loadConfig(context, input.text("config") ?? undefined);
    return withExistingStore(
      context,
      input,
      async (store) => {
        const run = await findRun(store, input.argument("run"));
        const { runId } = run;
        const isJob = await isJobRun(store, run);
        const pipeline = await pipelineOfRun(context, loaded, run, { isJob });
        const work = { context, input, store, loaded, pipeline, isJob };
        if (input.flag("dryRun")) {
          const runner = new Runner(pipeline, runnerOptions(work));
          return forecastResult(context, input, await runner.forecast(runId, asked));
        }
        return driveRun(work, (runner, options) => runner.resume(runId, { ...asked, ...options }));
      },
      { loaded, readOnly: input.flag("dryRun") },
    );
  },
};

/** Needs no configuration: the worker has its own. */
function enqueued(
  context: CliContext,
  input: CommandInput,
  { wait, ...request }: Asked,
): Promise<CommandResult> {
  if (wait || input.flag("dryRun"))
    throw new WrongUseError(
      "--enqueue leaves the run to a worker: give it without --wait and without --dry-run.",
    );
  return withExistingStore(context, input, async (store) => {
    const { runId } = await findRun(store, input.argument("run"));
    return enqueueResume(context, input, store, runId, request);
  });
}

type Asked = Omit<
  ResumeRequest,
  "budget" | "deadline" | "ifSeq" | "acceptDivergence" | "changesHash" | "reason"
> &
  Pick<ResumeOptions, "acceptDivergence" | "reason"> & { readonly wait: boolean };

function resumeOptions(input: CommandInput): Asked {
  const from = BEGINNINGS.find((each) => each === input.text("from"));
  const reason = input.text("reason");
  const acceptDivergence = input.text("acceptDivergence");
  return {
    wait: input.flag("wait"),
    redoTurn: input.flag("redoTurn"),
    budgets: Object.fromEntries(input.list("budget").map(budgetOf)),
    ...(from === undefined ? {} : { from }),
    ...(reason === null ? {} : { reason }),
    ...(acceptDivergence === null ? {} : { acceptDivergence }),
  };
}

/** `maxToolCalls=300`, or as a job file may write it: `max_tool_calls=300`. */
function budgetOf(text: string): readonly [BudgetName, number] {
  const [, written = "", limit = ""] = /^([^=]*)=(.*)$/.exec(text) ?? [];
  const name = BUDGET_NAMES.find((each) => each.toLowerCase() === written.replaceAll("_", "").toLowerCase());
  if (name === undefined) throw unknownBudget(text, written);
  const value = limit.trim() === "" ? Number.NaN : Number(limit);
  if (Number.isFinite(value) && value > 0) return [name, value];
  throw new WrongUseError(`--budget ${text} has no limit above 0: write --budget ${name}=300.`);
}

function unknownBudget(text: string, written: string): WrongUseError {
  if (written === "")
    return new WrongUseError(`--budget ${text} does not name a budget: write --budget maxToolCalls=300.`);
  const nearest = nearestName(written, BUDGET_NAMES);
  const meant = nearest === null ? `use ${BUDGET_NAMES.join(", ")}.` : `did you mean ${nearest}?`;
  return new WrongUseError(`There is no budget ${JSON.stringify(written)}: ${meant}`);
}
