import type { CallAction, ForecastCall, ForecastTurn, ResumeForecast } from "../engine/forecast.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommandEnd, CommandInput } from "./command.ts";
import { commandHint } from "./command-hint.ts";
import { waitDocument } from "./documents.ts";
import { counted, formatMoney } from "./format.ts";
import { formatFacts } from "./table.ts";
import { cleanLine, cleanText, wrap } from "./terminal-text.ts";
import { waitHints } from "./wait-hints.ts";

/** What `resume --dry-run` says. Code 1 where the run cannot go on, 3 where it would come to a person. */
export function endOfForecast(
  context: CliContext,
  input: CommandInput,
  forecast: ResumeForecast,
): CommandEnd {
  const { refusal, waits, calls } = forecast;
  const needsPerson = waits.length > 0 || calls.some(({ action }) => action === "ask");
  const document = {
    ...forecast,
    waits: waits.map((wait) => ({ ...waitDocument(wait), commands: waitHints(input, wait) })),
  };
  const text =
    refusal === null ? forecastText(context, input, forecast) : refusalText(context, refusal.message);
  return { exitCode: refusal !== null ? 1 : needsPerson ? 3 : 0, text, document };
}

function refusalText({ stdout }: CliContext, message: string): string {
  return `${wrap(cleanText(message), stdout.columns - 1).join("\n")}\n`;
}

function forecastText(context: CliContext, input: CommandInput, forecast: ResumeForecast): string {
  const { runId, status, next, skipped, turn, calls, waits, later } = forecast;
  if (status === "succeeded") return `run ${runId} has succeeded: there is nothing left to do\n`;
  const facts = formatFacts(context, [
    skipped.length === 0 ? null : ["done before", skipped.map(cleanLine).join(", ")],
    ["goes on with", next === null ? "its end: every step is done" : cleanLine(nextText(next))],
    turn === null ? null : ["the model", turnText(turn)],
    ...calls.map((call) => ["a call", cleanLine(callText(call))] as const),
    ...waits.map((wait) => ["waits for", cleanLine(`${wait.waitId}: ${wait.question}`)] as const),
    later.length === 0 ? null : ["after that", later.map(cleanLine).join(", ")],
  ]);
  const hints = waits.flatMap((wait) => waitHints(input, wait)).map((hint) => `  ${hint}\n`);
  return `run ${runId} would go on so:\n${facts}${hints.join("")}nothing was done; go on with: ${commandHint(input, "resume", runId)}\n`;
}

function nextText({ step, phase, isBegun }: NonNullable<ResumeForecast["next"]>): string {
  const where = phase === "" || phase === step ? step : `${step} (${phase})`;
  return isBegun ? `${where}, which was begun` : where;
}

function turnText({ index, response, mayCost }: ForecastTurn): string {
  switch (response) {
    case "none":
      return "has given its last answer, and is not asked";
    case "replayed":
      return `has answered turn ${index}, and is not asked again`;
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
  run_again: "may have happened, and runs again, which is harmless",
  look_up: "may have happened, and is looked up",
  ask: "needs a person",
  deduplicated: "is not run: the same was had before",
  refused: "is not run, and whoever asked is told",
  later: "waits for the call before it",
  dropped: "is dropped with the answer that asked for it",
};

function callText({ tool, toolCallId, action }: ForecastCall): string {
  return `${tool} (${toolCallId}) ${ACTIONS[action]}`;
}
