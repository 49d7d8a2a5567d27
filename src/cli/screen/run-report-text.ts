import { type ListEnd, listEnd, type RunReport } from "../../account/run-report.ts";
import { hasEnded, shownStatus } from "../../account/run-status.ts";
import { awaitedText } from "../../account/wait-time.ts";
import { isUnlikeFirst } from "../../core/call/duplicate-note.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { ROOT_PATH } from "../../core/step-path.ts";
import { NO_NAME } from "../../export/sent-file.ts";
import type {
  AttemptRecord,
  BaselineUsage,
  CheckpointRecord,
  ToolCallRecord,
  WaitRecord,
} from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import { cleanLine, cleanText, cut } from "../context/terminal-text.ts";
import { exchangeColumns } from "./exchange-text.ts";
import {
  counted,
  formatAgo,
  formatBytes,
  formatDuration,
  formatMoney,
  formatTime,
  formatValue,
  formatWholeNumber,
  paint,
  paintStatus,
} from "./format.ts";
import { type CommandStep, formatNextSteps } from "./next-steps.ts";
import { outageText } from "./outage-text.ts";
import { placeFacts } from "./run-place.ts";
import { type Column, type Fact, formatFacts, formatTable } from "./table.ts";

/** On a terminal; a pipe gets all of it. */
const LONGEST_VALUE = 400;

/** A run as `pawl show` prints it: what it is, what it did, and what to do next. */
export function reportText(context: CliContext, report: RunReport, next: readonly CommandStep[]): string {
  return [
    headText(context, report),
    section(context, "Exchanges", exchangesText(context, report)),
    section(context, "Steps", stepsText(context, report)),
    section(context, "Calls", callsText(context, report)),
    section(context, "Waits", waitsText(context, report.waits)),
    section(context, "Files", filesText(context, report)),
    section(context, "Artifacts", artifactsText(context, report)),
    section(context, "Checkpoints", checkpointsText(context, report.checkpoints)),
    section(context, "Attempts", attemptsText(context, report.attempts)),
    next.length === 0 ? "" : `\n${formatNextSteps(context, next)}`,
  ].join("");
}

function section(context: CliContext, title: string, body: string): string {
  return body === "" ? "" : `\n${paint(context).bold(title)}\n${body}`;
}

function headText(
  context: CliContext,
  { run, input, usage, outage, committedTurns, calls, work, mail, lineages }: RunReport,
): string {
  const paints = paint(context);
  const now = context.clock.now();
  const status = shownStatus(run, now);
  const isOver = hasEnded(run);
  const took = formatDuration((isOver ? run.updatedAt : now) - run.createdAt);
  const { spec, error, currentStep, forkedFrom, moved } = run;
  const most = context.stdout.isTerminal ? LONGEST_VALUE : Number.POSITIVE_INFINITY;
  return `${paints.bold(cleanLine(run.runId))}  ${paintStatus(paints, status)}\n${formatFacts(context, [
    spec === null ? null : ["objective", cleanText(spec.objective)],
    ["pipeline", `${cleanLine(run.pipeline)}, started by ${cleanLine(run.entrypoint)}`],
    ["input", cut(formatValue(input), most)],
    ["started", `${formatTime(run.createdAt)} (${isOver ? `took ${took}` : `${took} ago`})`],
    ["updated", `${formatTime(run.updatedAt)} (${formatAgo(run.updatedAt, now)})`],
    currentStep === null || isOver ? null : ["step", cleanLine(currentStep)],
    run.owner === null ? null : ["worker", cleanLine(run.owner)],
    ...placeFacts(run, mail, now),
    outage === null ? null : ["provider", outageText(outage, run, now), paints.yellow],
    run.cancelRequestedAt === null ? null : ["cancel", `requested ${formatAgo(run.cancelRequestedAt, now)}`],
    forkedFrom === null
      ? null
      : [
          "forked",
          `from ${cleanLine(`${forkedFrom.runId}, ${forkedFrom.stepPath} turn ${forkedFrom.turnIndex}`)}`,
        ],
    run.finalArtifact === null ? null : ["result", cleanLine(run.finalArtifact.name)],
    moved === null ? null : ["moved", `to the store ${moved.to}, ${moved.status} there`],
    ["work", `${counted(committedTurns, "turn")}, ${counted(calls.count, "tool call")}`],
    ...compactionFacts(lineages),
    ["usage", usageText(usage)],
    ...budgetFacts(run, work, now),
    error === null ? null : ["error", `${error.code}: ${cleanText(error.message)}`, paints.red],
    run.status === "succeeded" ? ["output", cut(formatValue(run.output), most)] : null,
  ])}`;
}

/** How often a summary has replaced the history of a conversation. */
function compactionFacts(lineages: RunReport["lineages"]): readonly Fact[] {
  const compacted = lineages.filter(({ summary }) => summary !== null);
  const last = compacted.at(-1);
  if (last === undefined) return [];
  const times = counted(compacted.length, "time");
  return [
    ["history", `compacted ${times}, the last one before ${cleanLine(last.stepPath)} turn ${last.firstTurn}`],
  ];
}

function usageText({ charged, inputTokens, outputTokens, modelCalls, baseline }: RunReport["usage"]): string {
  const money = charged.microDollars === 0 ? "" : `${formatMoney(charged.microDollars)}, `;
  const tokens = `${formatWholeNumber(charged.tokens)} tokens`;
  return `${money}${tokens} (${formatWholeNumber(inputTokens)} in, ${formatWholeNumber(outputTokens)} out) in ${counted(modelCalls, "model call")}${baselineText(baseline)}`;
}

/** Without this, a reservation would pass for what the provider has counted. */
function baselineText({ charged, modelCalls }: BaselineUsage): string {
  if (modelCalls === 0) return "";
  const money = charged.microDollars === 0 ? "" : `${formatMoney(charged.microDollars)}, `;
  return `; of that, ${money}${counted(charged.tokens, "token")} are reservations: the provider gave no figures for ${formatWholeNumber(modelCalls)} of the calls, and may have billed less`;
}

/** Used and allowed amounts of the run's budgets. */
function budgetFacts(run: RunReport["run"], work: RunReport["work"], now: number): readonly Fact[] {
  const { limit, charged, budgets, deadline } = run;
  const of = (used: string, most: string) => `${used} of ${most}`;
  const plain = formatWholeNumber;
  const facts: readonly (string | null)[] = [
    limit.tokens === null ? null : `${of(plain(charged.tokens), plain(limit.tokens))} tokens`,
    limit.microDollars === null
      ? null
      : of(formatMoney(charged.microDollars), formatMoney(limit.microDollars)),
    typeof budgets?.maxSteps !== "number" ? null : `${of(plain(work.steps), plain(budgets.maxSteps))} steps`,
    typeof budgets?.maxToolCalls !== "number"
      ? null
      : `${of(plain(work.toolCalls), plain(budgets.maxToolCalls))} tool calls`,
    deadline === null || hasEnded(run) ? null : deadlineText(deadline, now),
  ];
  const known = facts.filter((fact) => fact !== null);
  return known.length === 0 ? [] : [["budgets", known.join(", ")]];
}

function deadlineText(deadline: number, now: number): string {
  const left = deadline > now ? `${formatDuration(deadline - now)} left` : "already over";
  return `until ${formatTime(deadline)} (${left})`;
}

function stepsText(context: CliContext, { steps, turnsByStep, callsByStep }: RunReport): string {
  const number = (value = 0) => (value === 0 ? "" : formatWholeNumber(value));
  return shortened(
    steps,
    (shown) =>
      formatTable(
        context,
        [
          { title: "step", value: ({ path }) => (path === ROOT_PATH ? "(run)" : path), rank: 0, atLeast: 12 },
          statusColumn(),
          { title: "phase", value: ({ phase }) => phase, rank: 3, atLeast: 8 },
          { title: "turns", value: ({ path }) => number(turnsByStep.get(path)), rank: 2, align: "right" },
          { title: "calls", value: ({ path }) => number(callsByStep.get(path)), rank: 1, align: "right" },
          { title: "error", value: ({ errorDetail }) => errorDetail ?? "", rank: 4, atLeast: 12 },
        ],
        shown,
        "  ",
      ),
    "pawl show --json has them all",
  );
}

/** What people said, what was answered, and what that cost. */
function exchangesText(context: CliContext, { exchanges }: RunReport): string {
  return shortened(
    exchanges,
    (shown) => formatTable(context, exchangeColumns(shown, context.clock.now()), shown, "  "),
    "pawl show --json has them all",
  );
}

function statusColumn<R extends { readonly status: string }>(): Column<R> {
  return {
    title: "status",
    value: ({ status }) => status,
    rank: 0,
    paint: (paints, text, { status }) => paintStatus(paints, status, text),
  };
}

function callsText(context: CliContext, { calls, run }: RunReport): string {
  return shortened(
    calls,
    (shown) => formatTable(context, callColumns(), shown, "  "),
    `pawl receipts ${run.runId} has them all`,
  );
}

/** The columns of tool calls, for every command that lists them. */
export function callColumns(): readonly Column<ToolCallRecord>[] {
  return [
    { title: "call", value: shortCallId, rank: 0 },
    { title: "tool", value: ({ tool }) => tool, rank: 0, atLeast: 16 },
    statusColumn(),
    { title: "effect", value: ({ effect }) => effect, rank: 4 },
    { title: "recovery", value: ({ recovery }) => recovery, rank: 5 },
    { title: "tries", value: ({ attempt }) => String(attempt), rank: 3, align: "right" },
    { title: "arguments", value: ({ request }) => plainValue(request), rank: 1, atLeast: 20 },
    { title: "result", value: resultText, rank: 2, atLeast: 16 },
  ];
}

/** A call id without its run: `research#2.1`. */
function shortCallId({ toolCallId }: { readonly toolCallId: string }): string {
  return toolCallId.slice(toolCallId.indexOf("/") + 1);
}

function resultText({ receipt }: ToolCallRecord): string {
  if (receipt === null) return "";
  if (receipt.duplicateOf !== null) {
    const unlike = isUnlikeFirst(receipt) ? "not run, other arguments: " : "";
    return `${unlike}as ${shortCallId({ toolCallId: receipt.duplicateOf })}`;
  }
  const doubt = receipt.uncertain ? "(may have happened) " : "";
  return `${doubt}${plainValue(receipt.output.value)}`;
}

/** An object without braces and quotes, for a narrow column. `--json` has the exact value. */
function plainValue(value: Json): string {
  if (!isJsonObject(value)) return formatValue(value);
  return Object.entries(value)
    .map(([name, each]) => `${name}: ${formatValue(each)}`)
    .join(", ");
}

function waitsText(context: CliContext, waits: ListEnd<WaitRecord>): string {
  return shortened(
    waits,
    (shown) => formatTable(context, waitColumns(context), shown, "  "),
    "pawl show --json has them all",
  );
}

/** The columns of waits. */
function waitColumns({ clock }: Pick<CliContext, "clock">): readonly Column<WaitRecord>[] {
  const now = clock.now();
  return [
    { title: "wait", value: ({ waitId }) => waitId, rank: 0 },
    { title: "about", value: ({ kind }) => kind, rank: 0 },
    { ...statusColumn<WaitRecord>(), rank: 2 },
    { title: "since", value: ({ createdAt }) => formatAgo(createdAt, now), rank: 3 },
    { title: "by", value: ({ answeredBy }) => answeredBy ?? "", rank: 4, atLeast: 8 },
    { title: "question", value: (wait) => shownQuestion(wait, now), rank: 1, atLeast: 16 },
  ];
}

/** What an open wait is for, if no person answers it. */
function shownQuestion(wait: WaitRecord, now: number): string {
  return (wait.status === "open" ? awaitedText(wait, now) : null) ?? wait.question;
}

function filesText(context: CliContext, { files }: RunReport): string {
  return shortened(
    files,
    (shown) =>
      formatTable(
        context,
        [
          { title: "message", value: ({ messageNo }) => String(messageNo), rank: 3, align: "right" },
          { title: "name", value: ({ filename = NO_NAME }) => filename, rank: 0, atLeast: 12 },
          { title: "type", value: ({ mediaType }) => mediaType, rank: 4, atLeast: 8 },
          { title: "size", value: ({ size }) => formatBytes(size), rank: 1, align: "right" },
          { title: "sha-256", value: ({ blobId }) => blobId, rank: 2, atLeast: 12 },
        ],
        shown,
        "  ",
      ),
    "pawl show --json has them all",
  );
}

function artifactsText(context: CliContext, { artifacts }: RunReport): string {
  return shortened(
    listEnd(artifacts),
    (shown) =>
      formatTable(
        context,
        [
          { title: "name", value: ({ name }) => name, rank: 0, atLeast: 12 },
          { title: "size", value: ({ size }) => formatBytes(size), rank: 1, align: "right" },
          { title: "step", value: ({ stepPath }) => stepPath, rank: 3, atLeast: 8 },
          { title: "sha-256", value: ({ hash }) => hash, rank: 2, atLeast: 12 },
        ],
        shown,
        "  ",
      ),
    "pawl show --json has them all",
  );
}

function checkpointsText(context: CliContext, checkpoints: ListEnd<CheckpointRecord>): string {
  const now = context.clock.now();
  return shortened(
    checkpoints,
    (shown) =>
      formatTable(
        context,
        [
          { title: "no.", value: ({ checkpoint }) => String(checkpoint), rank: 0, align: "right" },
          { title: "type", value: ({ type }) => type, rank: 0 },
          { title: "step", value: ({ stepPath }) => stepPath, rank: 1, atLeast: 8 },
          {
            title: "turn",
            value: ({ turnIndex }) => (turnIndex === 0 ? "" : String(turnIndex)),
            rank: 2,
            align: "right",
          },
          { title: "taken", value: ({ at }) => formatAgo(at, now), rank: 3 },
          { title: "", value: ({ isSuperseded }) => (isSuperseded ? "superseded" : ""), rank: 4 },
        ],
        shown,
        "  ",
      ),
    "pawl show --json has them all",
  );
}

/** A single attempt adds nothing to the head of the report. */
function attemptsText(context: CliContext, attempts: readonly AttemptRecord[]): string {
  if (attempts.length < 2) return "";
  return shortened(
    listEnd(attempts),
    (shown) =>
      formatTable(
        context,
        [
          { title: "no.", value: ({ epoch }) => String(epoch), rank: 0, align: "right" },
          { title: "started", value: ({ startedAt }) => formatTime(startedAt), rank: 0 },
          { title: "ended as", value: (attempt) => endOf(attempt, attempts), rank: 1 },
          { title: "from", value: ({ resumedFrom }) => resumedFrom ?? "", rank: 3 },
          { title: "why", value: ({ reason }) => reason ?? "", rank: 2, atLeast: 8 },
          { title: "worker", value: ({ owner }) => owner, rank: 4, atLeast: 12 },
        ],
        shown,
        "  ",
      ),
    "pawl show --json has them all",
  );
}

/** An attempt without an end status that was followed by another was killed or lost the run. */
function endOf({ endStatus, epoch }: AttemptRecord, attempts: readonly AttemptRecord[]): string {
  if (endStatus !== null) return endStatus;
  return epoch === attempts.at(-1)?.epoch ? "" : "cut off";
}

/** The last rows of a long list, and how many came before. */
function shortened<R>(
  { count, last }: ListEnd<R>,
  show: (shown: readonly R[]) => string,
  where: string,
): string {
  if (count === 0) return "";
  const hidden = count - last.length;
  return `${hidden === 0 ? "" : `  … ${hidden} before these: ${where}\n`}${show(last)}`;
}
