import { waitDocument } from "../../account/documents/conversation-documents.ts";
import { reviveError } from "../../core/stored-error.ts";
import { describeChanges } from "../../core/turn/turn-fingerprint.ts";
import type {
  CallAction,
  ForecastCall,
  ForecastRefusal,
  ForecastTurn,
  ResumeForecast,
} from "../../engine/runner/forecast/forecast.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput, CommandResult } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { cleanLine, paragraph } from "../context/terminal-text.ts";
import { counted, formatMoney, formatValue } from "../screen/format.ts";
import { type CommandStep, formatNextSteps } from "../screen/next-steps.ts";
import { formatFacts } from "../screen/table.ts";
import { waitHints } from "../screen/wait-hints.ts";
import { resumeCommands } from "./run-outcome.ts";

/** The result of `resume --dry-run`. Exit code 1 if the run cannot resume, 3 if it would have to ask a person. */
export function forecastResult(
  context: CliContext,
  input: CommandInput,
  forecast: ResumeForecast,
): CommandResult {
  const { refusal, waits, calls } = forecast;
  const needsPerson = refusal?.isQuestion === true || calls.some(({ action }) => action === "ask");
  const document = {
    ...forecast,
    waits: waits.map((wait) => ({ ...waitDocument(wait), commands: waitHints(input, wait) })),
  };
  return {
    exitCode: needsPerson ? 3 : refusal === null ? 0 : 1,
    text: forecastText(context, input, forecast),
    document,
  };
}

function forecastText(context: CliContext, input: CommandInput, forecast: ResumeForecast): string {
  const { runId, status, refusal, waits } = forecast;
  const { columns } = context.stdout;
  if (status === "succeeded")
    return paragraph(`Run ${runId} has succeeded: there is nothing left to do.`, columns);
  const questions = waits.map((wait) => ({
    what: `Answer ${wait.waitId}, with one of these`,
    commands: waitHints(input, wait),
  }));
  if (refusal !== null)
    return [
      paragraph(`Run ${runId} ${refusal.isQuestion ? "would ask a person" : "would not resume"}:`, columns),
      paragraph(refusalText(refusal), columns),
      formatNextSteps(context, [...questions, ...resumeSteps(input, runId, refusal)]),
    ].join("");
  const resume = {
    what: questions.length === 0 ? "Resume it" : "Then resume it",
    commands: [resumeHint(input, runId)],
  };
  return [
    paragraph(`Nothing was done. Run ${runId} would resume like this:`, columns),
    formatFacts(context, factsOf(forecast)),
    formatNextSteps(context, [...questions, resume]),
  ].join("");
}

function resumeSteps(
  input: CommandInput,
  runId: string,
  { isQuestion, ...error }: ForecastRefusal,
): readonly CommandStep[] {
  if (isQuestion || error.code === "run_busy") return [];
  return [{ what: "Resume it", commands: resumeCommands({ input }, reviveError(error), runId) }];
}

/** The refusal with the remedies of the command line. */
function refusalText({ code, message, details }: ForecastRefusal): string {
  if (code !== "run_busy") return message;
  return `Another process holds it (${formatValue(details.owner ?? null)}). Wait for that with --wait, or stop it.`;
}

function factsOf({
  next,
  accepts,
  skipped,
  turn,
  calls,
  waits,
  later,
}: ResumeForecast): readonly (readonly [string, string] | null)[] {
  const model = turn === null ? null : (["the model", turnText(turn)] as const);
  const ofCalls = calls.map((call) => ["a call", cleanLine(callText(call))] as const);
  return [
    skipped.length === 0 ? null : ["already done", skipped.map(cleanLine).join(", ")],
    ["resumes with", next === null ? "its end: every step is done" : cleanLine(nextText(next))],
    accepts === null ? null : ["accepts", cleanLine(describeChanges(accepts.changes))],
    // The calls of a discarded response are settled before the model is asked again.
    ...(turn?.response === "asked" ? [...ofCalls, model] : [model, ...ofCalls]),
    ...waits.map((wait) => ["waiting for", cleanLine(`${wait.waitId}: ${wait.question}`)] as const),
    later.length === 0 ? null : ["after that", later.map(cleanLine).join(", ")],
  ];
}

/** The same command without --dry-run. */
function resumeHint(input: CommandInput, runId: string): string {
  const from = input.text("from");
  const why = input.text("acceptDivergence");
  return commandHint(
    input,
    "resume",
    runId,
    ...(from === null ? [] : ["--from", from]),
    ...(input.flag("redoTurn") ? ["--redo-turn"] : []),
    ...(why === null ? [] : ["--accept-divergence", why]),
    ...input.list("budget").flatMap((budget) => ["--budget", budget]),
  );
}

function nextText({ step, phase, isBegun }: NonNullable<ResumeForecast["next"]>): string {
  const where = phase === "" || phase === step ? step : `${step} (${phase})`;
  return isBegun ? `${where}, already started` : where;
}

function turnText({ index, response, mayCost }: ForecastTurn): string {
  switch (response) {
    case "none":
      return "has given its last response, and is not asked";
    case "replayed":
      return `has already answered turn ${index}, and is not asked again`;
    case "summary":
      return mayCost === null
        ? `is not asked for the summary before turn ${index}: a function writes it`
        : `is asked for a summary before turn ${index}, for at most ${costText(mayCost)}`;
    case "asked":
      return mayCost === null
        ? `is asked for turn ${index}`
        : `is asked for turn ${index}, for at most ${costText(mayCost)}`;
  }
}

function costText({ tokens, microDollars }: NonNullable<ForecastTurn["mayCost"]>): string {
  return microDollars === 0
    ? counted(tokens, "token")
    : `${counted(tokens, "token")} (${formatMoney(microDollars)})`;
}

const ACTIONS: { readonly [A in CallAction]: string } = {
  answered: "is answered from its receipt",
  run: "runs for the first time",
  run_again: "was interrupted, and runs again, which is safe",
  look_up: "may have happened, and is looked up",
  ask: "needs a person",
  deduplicated: "is not run: the same call has already succeeded",
  refused: "is not run; the caller gets the reason",
  later: "waits for the call before it",
  dropped: "is dropped with its response",
  requested_again: "has failed, and is requested again",
};

function callText({ tool, toolCallId, action }: ForecastCall): string {
  return `${tool} (${toolCallId}) ${ACTIONS[action]}`;
}
