import type { Json } from "../../core/json.ts";
import type { WaitRecord } from "../../store/store.ts";
import type { CliContext } from "../cli-context.ts";
import type { Command, CommandInput } from "../command.ts";
import { formatHints } from "../command-hint.ts";
import { withExistingStore } from "../command-store.ts";
import { waitDocument } from "../documents.ts";
import { findRun } from "../find-run.ts";
import { formatAgo, formatValue, paint } from "../format.ts";
import { formatFacts } from "../table.ts";
import { cleanLine, cleanText } from "../terminal-text.ts";
import { choicesOf, hiddenBecause, waitHints } from "../wait-hints.ts";

export const waits: Command = {
  name: "waits",
  summary: "List what people are asked, and how to answer",
  arguments: [{ name: "run", summary: "only of this run", isOptional: true }],
  options: [],
  example: "pawl waits",
  execute: (context, input) =>
    withExistingStore(
      context,
      input,
      async (store) => {
        const given = input.optionalArgument("run");
        const all =
          given === null
            ? await store.listOpenWaits()
            : await store.listWaits((await findRun(store, given)).runId);
        const open = all.filter(({ status }) => status === "open");
        return {
          exitCode: 0,
          document: {
            waits: open.map((wait) => ({ ...waitDocument(wait), answerWith: waitHints(input, wait) })),
          },
          text:
            open.length === 0
              ? "Nothing waits for a person.\n"
              : open.map((wait) => waitText(context, input, wait)).join("\n"),
        };
      },
      { readOnly: true },
    ),
};

/** A wait with all that a person needs to decide, and the command lines for it. */
export function waitText(context: CliContext, input: CommandInput, wait: WaitRecord): string {
  const { waitId, kind, createdAt, question, subject, toolCallId } = wait;
  const paints = paint(context);
  const age = formatAgo(createdAt, context.clock.now());
  const { tool, arguments: given, failedWith, problem, correlationId, budget, limit, used } = subject;
  const fact = (label: string, value: Json | undefined) =>
    value === undefined || value === null ? null : ([label, formatValue(value)] as const);
  const choices = choicesOf(subject);
  const reasons = hiddenBecause(subject);
  const hidden = reasons.length === 0 ? null : (["hidden", cleanText(reasons.join("\n"))] as const);
  // What a question was asked with is the question.
  const about =
    kind === "question"
      ? [choices.length === 0 ? null : fact("choices", choices.join(", "))]
      : [fact("tool", tool), fact("arguments", given), hidden];
  const facts = formatFacts(context, [
    ["question", cleanText(question)],
    ...about,
    fact("failed with", failedWith),
    fact("problem", problem),
    fact("known outside as", correlationId),
    fact("budget", budget),
    fact("limit", limit),
    fact("used", used),
    toolCallId === null ? null : ["call", cleanLine(toolCallId)],
  ]);
  return `${paints.bold(cleanLine(waitId))}  ${paints.yellow(kind)}  ${paints.dim(age)}\n${facts}${formatHints(context, waitHints(input, wait), "  ")}`;
}
