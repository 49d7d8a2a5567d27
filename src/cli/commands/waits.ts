import { needsMore, stillNeeded } from "../../account/approvers.ts";
import { waitDocument } from "../../account/documents/conversation-documents.ts";
import { choicesOf, hiddenBecause } from "../../account/wait-acts.ts";
import { awaitedText, timeLimitText } from "../../account/wait-time.ts";
import type { Json } from "../../core/json.ts";
import type { RunRecord, StoreReader, WaitRecord } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput } from "../context/command.ts";
import { commandHint, formatHints } from "../context/command-hint.ts";
import { cleanLine, cleanText } from "../context/terminal-text.ts";
import { withExistingStore } from "../run/command-store.ts";
import { findRun } from "../run/find-run.ts";
import { formatAgo, formatMoment, formatValue, paint } from "../screen/format.ts";
import { metadataText, placeText } from "../screen/run-place.ts";
import { type Fact, formatFacts } from "../screen/table.ts";
import { waitHints } from "../screen/wait-hints.ts";

export const waits: Command = {
  name: "waits",
  summary: "List what runs wait for, and how to answer it",
  arguments: [{ name: "run", summary: "only waits of this run", isOptional: true }],
  options: [],
  example: "pawl waits",
  execute: (context, input) =>
    withExistingStore(
      context,
      input,
      async (store) => {
        const given = input.optionalArgument("run");
        const runId = given === null ? null : (await findRun(store, given)).runId;
        const all = await store.listOpenWaits();
        const open = runId === null ? all : all.filter((wait) => wait.runId === runId);
        const runs = await runsOf(store, open);
        return {
          exitCode: 0,
          document: {
            waits: open.map((wait) => ({
              ...waitDocument(wait),
              queue: runs.get(wait.runId)?.queue ?? null,
              metadata: runs.get(wait.runId)?.metadata ?? null,
              answerWith: hintsFor(input, wait),
            })),
          },
          text:
            open.length === 0
              ? "Nothing is waiting for a person.\n"
              : open.map((wait) => waitText(context, input, wait, placeOf(runs.get(wait.runId)))).join("\n"),
        };
      },
      { readOnly: true },
    ),
};

/** The runs of the waits, by id. */
async function runsOf(
  store: StoreReader,
  waits: readonly WaitRecord[],
): Promise<ReadonlyMap<string, RunRecord>> {
  const runs = new Map<string, RunRecord>();
  for (const runId of new Set(waits.map((wait) => wait.runId))) {
    const run = await store.getRun(runId);
    if (run !== null) runs.set(runId, run);
  }
  return runs;
}

/** The queue and the metadata of a run, where they were set. */
function placeOf(run: RunRecord | undefined): readonly Fact[] {
  if (run === undefined) return [];
  const [queue, metadata] = [placeText(run), metadataText(run)];
  return [
    ...(queue === null ? [] : [["queue", queue] as const]),
    ...(metadata === null ? [] : [["metadata", metadata] as const]),
  ];
}

/** A wait whose row was changed cannot be answered, only verified. */
function hintsFor(input: CommandInput, wait: WaitRecord): readonly string[] {
  return wait.distrusted === undefined ? waitHints(input, wait) : [commandHint(input, "verify", wait.runId)];
}

/** A wait with everything needed to decide, and the commands that answer it. */
function waitText(
  context: CliContext,
  input: CommandInput,
  wait: WaitRecord,
  place: readonly Fact[],
): string {
  const { waitId, kind, createdAt, question, subject, toolCallId, distrusted } = wait;
  const paints = paint(context);
  const now = context.clock.now();
  const age = formatAgo(createdAt, now);
  const awaited = awaitedText(wait, now);
  const { tool, arguments: given, failedWith, problem, correlationId, budget, limit, used } = subject;
  const fact = (label: string, value: Json | undefined) =>
    value === undefined || value === null ? null : ([label, formatValue(value)] as const);
  const choices = choicesOf(subject);
  const reasons = hiddenBecause(subject);
  const hidden = reasons.length === 0 ? null : (["hidden", cleanText(reasons.join("\n"))] as const);
  // The arguments of a question are the question itself.
  const timeLimit = awaited === null ? timeLimitText(wait, now) : null;
  const about =
    kind === "question"
      ? [choices.length === 0 ? null : fact("choices", choices.join(", "))]
      : [fact("tool", tool), fact("arguments", given), fact("requested as", subject.requested), hidden];
  const facts = formatFacts(context, [
    distrusted === undefined ? null : ["not intact", cleanText(`${distrusted}; no answer is accepted`)],
    awaited === null ? ["question", cleanText(question)] : ["waits", cleanText(awaited)],
    ...(awaited === null ? about : []),
    fact("time limit", timeLimit),
    needsMore(wait) ? ["people", cleanText(stillNeeded(wait))] : null,
    fact("failed with", failedWith),
    fact("problem", problem),
    fact("known outside as", correlationId),
    fact("budget", budget),
    fact("limit", limit),
    fact("used", used),
    toolCallId === null ? null : ["call", cleanLine(toolCallId)],
    wait.dueAt === null ? null : ["due", formatMoment(wait.dueAt, context.clock.now())],
    ...place,
  ]);
  return `${paints.bold(cleanLine(waitId))}  ${paints.yellow(kind)}  ${paints.dim(age)}\n${facts}${formatHints(context, hintsFor(input, wait), "  ")}`;
}
