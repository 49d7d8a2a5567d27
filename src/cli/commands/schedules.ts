import { firingDocument, scheduleDocument } from "../../account/documents/worker-documents.ts";
import { nearestName } from "../../core/naming/nearest-name.ts";
import type { FiringRecord, ScheduleRecord, Store, StoreReader } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput, CommandResult } from "../context/command.ts";
import { commandHint, formatHints } from "../context/command-hint.ts";
import { cleanLine, paragraph } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { withExistingStore } from "../run/command-store.ts";
import { BY_OPTION, personOf } from "../screen/acting-person.ts";
import { formatAgo, formatTime, formatValue, paint } from "../screen/format.ts";
import { type Column, formatFacts, formatTable } from "../screen/table.ts";

const ACTIONS = ["show", "pause", "resume", "fire"] as const;
type Action = (typeof ACTIONS)[number];

const SHOWN_FIRINGS = 20;

export const schedules: Command = {
  name: "schedules",
  summary: "List the schedules; show, pause, resume or fire one",
  arguments: [
    { name: "action", summary: "show, pause, resume or fire; by default, all are listed", isOptional: true },
    { name: "schedule", summary: "the name of the schedule", isOptional: true },
  ],
  options: [
    BY_OPTION,
    { flags: "--limit <n>", summary: `with show: the number of planned times (default: ${SHOWN_FIRINGS})` },
  ],
  example: "pawl schedules pause nightly --by ann",
  execute: async (context, input) => {
    const action = actionOf(input);
    const isRead = action === null || action === "show";
    assertOptionsOf(action, input);
    return withExistingStore(
      context,
      input,
      async (store) =>
        action === null ? list(context, await store.listSchedules()) : perform(context, input, store, action),
      isRead ? { readOnly: true } : {},
    );
  },
};

/** Null to list them all. */
function actionOf(input: CommandInput): Action | null {
  const given = input.optionalArgument("action");
  if (given === null) return null;
  const action = ACTIONS.find((each) => each === given);
  if (action !== undefined) return action;
  const near = nearestName(given, ACTIONS);
  const meant = near === null ? `give ${ACTIONS.join(", ")}, or nothing` : `did you mean ${near}`;
  throw new WrongUseError(
    `\`pawl schedules ${cleanLine(given)}\` is no command: ${meant}. One schedule is shown by \`pawl schedules show <name>\`.`,
  );
}

/** An option that has no effect is a mistake. */
function assertOptionsOf(action: Action | null, input: CommandInput): void {
  if (input.text("limit") !== null && action !== "show")
    throw new WrongUseError(
      "--limit is about the planned times of one schedule: give show, or leave it out.",
    );
  if (input.text("by") !== null && (action === null || action === "show"))
    throw new WrongUseError("--by is about pause, resume and fire: leave it out.");
}

async function perform(
  context: CliContext,
  input: CommandInput,
  store: Store,
  action: Action,
): Promise<CommandResult> {
  const found = await findSchedule(store, input, action);
  const { name } = found;
  const person = personOf(context, input);
  switch (action) {
    case "show": {
      const limit = input.wholeNumber("limit", 1) ?? SHOWN_FIRINGS;
      return show(context, found, await store.listFirings(name, { limit }));
    }
    case "pause": {
      const again = found.pausedAt !== null;
      const schedule = await store.pauseSchedule(name, person);
      const what = again ? `was already paused by ${schedule.pausedBy}` : "is paused";
      const text = `Schedule ${name} ${what}: it does not fire until it is resumed. Runs that it has started continue.`;
      return changed(context, schedule, text, commandHint(input, "schedules", "resume", name));
    }
    case "resume": {
      const again = found.pausedAt === null;
      const schedule = await store.resumeSchedule(name, person);
      const what = again ? "is not paused" : "is resumed, and does not catch up what it missed";
      return changed(context, schedule, `Schedule ${name} ${what}. It fires next at ${nextText(schedule)}.`);
    }
    case "fire":
      return fired(context, input, store, await store.fireNow(name, person));
  }
}

/** The schedule that the command names; one that was removed can only be shown. */
async function findSchedule(
  store: StoreReader,
  input: CommandInput,
  action: Action,
): Promise<ScheduleRecord> {
  const name = input.optionalArgument("schedule");
  if (name === null)
    throw new WrongUseError(
      `\`pawl schedules ${action}\` needs the name of a schedule: \`pawl schedules\` lists them.`,
    );
  const all = await store.listSchedules();
  const found = all.find((each) => each.name === name);
  if (found !== undefined && (!found.isRemoved || action === "show")) return found;
  const names = all.filter(({ isRemoved }) => !isRemoved).map((each) => each.name);
  const near = nearestName(name, names);
  const problem =
    found === undefined
      ? `There is no schedule ${cleanLine(name)} in this store`
      : `Schedule ${name} was removed from the configuration`;
  const meant = near === null ? "`pawl schedules` lists them" : `did you mean ${near}`;
  throw new WrongUseError(`${problem}: ${meant}.`, { candidates: names });
}

function list(context: CliContext, all: readonly ScheduleRecord[]): CommandResult {
  const shown = all.filter(({ isRemoved }) => !isRemoved);
  const none =
    "There are no schedules: give `schedules` in the configuration, and start a worker, which stores and fires them.";
  return {
    exitCode: 0,
    document: { schedules: shown.map(scheduleDocument) },
    text:
      shown.length === 0
        ? paragraph(none, context.stdout.columns)
        : formatTable(context, columns(context), shown),
  };
}

function columns({ clock }: CliContext): readonly Column<ScheduleRecord>[] {
  const now = clock.now();
  return [
    { title: "schedule", value: ({ name }) => name, rank: 0 },
    { title: "cron", value: ({ schedule }) => schedule.cron, rank: 0 },
    { title: "zone", value: ({ schedule }) => schedule.timeZone, rank: 3, atLeast: 8 },
    { title: "pipeline", value: ({ schedule }) => schedule.pipeline, rank: 4, atLeast: 8 },
    {
      title: "next",
      value: (each) => (each.pausedAt === null ? nextText(each) : `paused by ${each.pausedBy}`),
      rank: 1,
      paint: (paints, text, { pausedAt }) => (pausedAt === null ? text : paints.yellow(text)),
    },
    {
      title: "last",
      value: ({ lastFiring }) =>
        lastFiring === null ? "" : `${outcomeText(lastFiring)} ${formatAgo(lastFiring.plannedAt, now)}`,
      rank: 2,
    },
  ];
}

/** In local time, as everything that the command line shows. */
function nextText({ nextAt }: ScheduleRecord): string {
  return nextAt === null ? "" : formatTime(nextAt);
}

function outcomeText({ outcome, times }: FiringRecord): string {
  return times === 1 ? outcome : `${outcome} ${times}`;
}

function show(context: CliContext, record: ScheduleRecord, firings: readonly FiringRecord[]): CommandResult {
  const { name, schedule, isRemoved, pausedAt, pausedBy, configuredAt } = record;
  const { pipeline, cron, timeZone, overlap, catchUp, input, queue } = schedule;
  const paused = pausedAt === null ? null : `by ${pausedBy}, at ${formatTime(pausedAt)}`;
  const facts = formatFacts(context, [
    isRemoved ? ["removed", `at ${formatTime(configuredAt)}`] : null,
    ["cron", `${cleanLine(cron)} (${timeZone})`],
    ["pipeline", cleanLine(pipeline)],
    input === undefined ? null : ["input", formatValue(input)],
    queue === undefined ? null : ["queue", cleanLine(queue)],
    ["overlap", overlap],
    ["catch up", catchUp],
    paused === null ? ["next", isRemoved ? "never" : nextText(record)] : ["paused", cleanLine(paused)],
  ]);
  const table =
    firings.length === 0
      ? paragraph("It has not fired yet.", context.stdout.columns)
      : formatTable(context, FIRING_COLUMNS, firings);
  return {
    exitCode: 0,
    document: { schedule: scheduleDocument(record), firings: firings.map(firingDocument) },
    text: `${paint(context).bold(name)}\n${facts}\n${table}`,
  };
}

const FIRING_COLUMNS: readonly Column<FiringRecord>[] = [
  { title: "planned", value: ({ plannedAt }) => formatTime(plannedAt), rank: 0 },
  { title: "outcome", value: outcomeText, rank: 0 },
  { title: "run", value: ({ runId }) => runId ?? "", rank: 1 },
  { title: "why", value: ({ why }) => why ?? "", rank: 2, atLeast: 20 },
];

function changed(context: CliContext, schedule: ScheduleRecord, text: string, hint?: string): CommandResult {
  const hints = hint === undefined ? "" : formatHints(context, [hint]);
  return {
    exitCode: 0,
    document: { schedule: scheduleDocument(schedule) },
    text: `${paragraph(text, context.stdout.columns)}${hints}`,
  };
}

async function fired(
  context: CliContext,
  input: CommandInput,
  store: StoreReader,
  firing: FiringRecord,
): Promise<CommandResult> {
  const { name, runId, why } = firing;
  const hints = runId === null ? [] : [commandHint(input, "show", runId)];
  const text =
    runId === null
      ? `Schedule ${name} was not fired. ${why}`
      : `Schedule ${name} was fired: ${await stateText(store, runId)}.`;
  return {
    exitCode: runId === null ? 1 : 0,
    document: { firing: firingDocument(firing) },
    text: `${paragraph(text, context.stdout.columns)}${formatHints(context, hints)}`,
  };
}

/** A run of this minute may have been there already: twice in the same minute is once. */
async function stateText(store: StoreReader, runId: string): Promise<string> {
  const run = await store.getRun(runId);
  if (run === null) return `run ${runId} of this minute was deleted, and is not started again`;
  return run.status === "queued" ? `run ${runId} waits for a worker` : `run ${runId} is ${run.status}`;
}
