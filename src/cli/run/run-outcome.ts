import { needsMore, stillNeeded } from "../../account/approvers.ts";
import { waitDocument } from "../../account/documents/conversation-documents.ts";
import { hiddenBecause } from "../../account/wait-acts.ts";
import { awaitedText } from "../../account/wait-time.ts";
import { BudgetExceededError, PausedError, type PawlError, ResumeError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { asksPeople } from "../../core/wait.ts";
import type { RunResult } from "../../engine/ports/run-result.ts";
import type { BaselineUsage, WaitRecord } from "../../store/store.ts";
import type { CommandResult } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { cleanText, wrap } from "../context/terminal-text.ts";
import { counted, formatMoney, formatWholeNumber, paint } from "../screen/format.ts";
import { waitHints } from "../screen/wait-hints.ts";
import { reportError } from "./report-error.ts";
import type { RunWork } from "./run-work.ts";

/** Reports how a run has ended or stopped, and returns the command's result. Only the output goes to stdout. */
export async function reportOutcome(work: RunWork, result: RunResult<unknown>): Promise<CommandResult> {
  const { runId, status, output, usage, resumed } = result;
  const waits = result.waits.map((wait) => ({
    ...waitDocument(wait),
    commands: waitHints(work.input, wait),
  }));
  const document = { runId, status, output, usage, resumed, waits };
  const figures = await keptFigures(work, runId);
  switch (status) {
    case "succeeded":
      print(work, "good", `run ${runId} succeeded: ${figures}`);
      return { exitCode: 0, text: shownOutput(work, output as Json), document };
    case "waiting":
      return { exitCode: 3, text: waitingText(work, runId, result.waits), document };
    case "cancelled":
      print(work, "warning", `run ${runId} was cancelled; kept: ${figures}`, resumeLine(work, runId));
      return { exitCode: 1, text: "", document };
    case "queued":
      print(work, "warning", `run ${runId} is paused; kept: ${figures}`, resumeLine(work, runId));
      return { exitCode: 130, text: "", document };
  }
}

/** Reports what happened, what is kept, and how to resume. */
export async function reportFailure(work: RunWork, error: PawlError, runId: string): Promise<CommandResult> {
  const { code, message, details } = error;
  const isPaused = PausedError.isInstance(error);
  const ways = resumeCommands(work, error, runId);
  const lines = [`kept: ${await keptFigures(work, runId)}`, ...ways.map((way) => `resume with: ${way}`)];
  if (work.log !== undefined) work.log("bad", [message, ...lines].join("; "));
  else if (!work.input.json) {
    const { context, input } = work;
    reportError(context, error, { json: false, verbose: input.verbose });
    context.stderr.write(`${lines.join("\n")}\n`);
  }
  const status = isPaused ? "waiting" : "failed";
  const document = { runId, status, error: { code, message, details }, commands: ways };
  return { exitCode: isPaused ? 3 : 1, text: "", document };
}

/** Prints a wrapped sentence, followed by lines that are not wrapped: commands must stay easy to copy. */
function print(
  { context, input, log }: RunWork,
  tone: "good" | "warning",
  text: string,
  ...lines: readonly string[]
): void {
  if (log !== undefined) log(tone, [text, ...lines].join("; "));
  if (input.json || log !== undefined) return;
  const { stderr } = context;
  const { green, yellow } = paint(context);
  const mark = tone === "good" ? green("✓") : yellow("!");
  const room = stderr.isTerminal ? stderr.columns - 3 : Number.POSITIVE_INFINITY;
  const sentence = wrap(cleanText(text), room).join("\n  ");
  stderr.write(`${[`${mark} ${sentence}`, ...lines].join("\n")}\n`);
}

function resumeLine({ input }: RunWork, runId: string): string {
  return `resume with: ${commandHint(input, "resume", runId)}`;
}

/** The commands that resume a run after this error. */
export function resumeCommands(
  { input }: Pick<RunWork, "input">,
  error: PawlError,
  runId: string,
): readonly string[] {
  const resume = (...words: readonly string[]) => commandHint(input, "resume", runId, ...words);
  if (BudgetExceededError.isInstance(error)) {
    const { budget, limit, used } = error.details;
    return [resume("--budget", `${budget}=${Math.max(2 * limit, Math.ceil(used))}`)];
  }
  if (ResumeError.isInstance(error) && error.irrecoverable)
    return [resume("--from", "milestone"), resume("--accept-divergence", "WHY")];
  return [resume()];
}

/** What the run has produced so far. A store that can no longer be read is not reported here. */
async function keptFigures(work: RunWork, runId: string): Promise<string> {
  try {
    const figures = await figuresOf(work, runId);
    return figures.length === 0 ? "nothing yet" : figures.join(", ");
  } catch {
    return "what was committed";
  }
}

async function figuresOf({ store }: RunWork, runId: string): Promise<readonly string[]> {
  const steps = (await store.listSteps(runId)).filter(({ status }) => status === "succeeded").length;
  const receipts = (await store.listToolCalls(runId)).filter(({ receipt }) => receipt !== null).length;
  const { charged, modelCalls, baseline } = await store.readUsage(runId);
  const artifacts = (await store.listArtifacts(runId)).length;
  return [
    ...(steps === 0 ? [] : [counted(steps, "step")]),
    ...(modelCalls === 0 ? [] : [counted(modelCalls, "model call")]),
    ...(receipts === 0 ? [] : [counted(receipts, "receipt")]),
    ...(artifacts === 0 ? [] : [counted(artifacts, "artifact")]),
    ...(charged.tokens === 0 ? [] : [`${counted(charged.tokens, "token")}${reservedPart(baseline)}`]),
    ...(charged.microDollars === 0 ? [] : [formatMoney(charged.microDollars)]),
  ];
}

/** The provider gave no figures for these tokens: they are the amount that was reserved. */
function reservedPart({ charged, modelCalls }: BaselineUsage): string {
  if (modelCalls === 0) return "";
  return ` (${formatWholeNumber(charged.tokens)} of them reserved, for ${counted(modelCalls, "model call")} without figures from the provider)`;
}

/** Text as it is, everything else as JSON; control characters are made visible on a terminal. */
function shownOutput({ context }: RunWork, output: Json): string {
  if (output === null) return "";
  const text = typeof output === "string" ? output : JSON.stringify(output, null, 2);
  const shown = context.stdout.isTerminal ? cleanText(text) : text;
  return shown.endsWith("\n") ? shown : `${shown}\n`;
}

function waitingText(work: RunWork, runId: string, waits: readonly WaitRecord[]): string {
  const { bold } = paint(work.context);
  const columns = work.context.stdout.columns - 1;
  const now = work.context.clock.now();
  const lines = waits.flatMap((wait) => [
    "",
    ...wrap(cleanText(`${wait.waitId}: ${awaitedText(wait, now) ?? wait.question}`), columns).map(bold),
    // The arguments of a question are the question itself.
    ...(wait.subject.arguments === undefined || wait.kind === "question" || !asksPeople(wait.kind)
      ? []
      : wrap(cleanText(JSON.stringify(wait.subject.arguments)), columns)),
    ...(needsMore(wait) ? wrap(cleanText(stillNeeded(wait)), columns) : []),
    ...wrap(cleanText(hiddenBecause(wait.subject).join("\n")), columns).filter((line) => line !== ""),
    ...waitHints(work.input, wait).map((hint) => `  ${hint}`),
  ]);
  const whom = waits.some(({ kind }) => asksPeople(kind)) ? " for a person" : "";
  return `${[`run ${runId} is waiting${whom}`, ...lines, "", `then ${resumeLine(work, runId)}`].join("\n")}\n`;
}
