import type { CrashReport } from "../../testing/crash/report/crash-report.ts";
import { type ReportLine, reportLines } from "../../testing/crash/report/crash-report-text.ts";
import { scheduleText } from "../../testing/crash/schedule.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";
import { commandHint, formatHints } from "../context/command-hint.ts";
import { cleanLine, paragraph, wrap } from "../context/terminal-text.ts";
import { type Paint, paint } from "../screen/format.ts";

/** The report, wrapped for the terminal, with the commands that replay its schedules. */
export function crashtestText(
  context: CliContext,
  input: CommandInput,
  report: CrashReport,
  notes: readonly string[],
): string {
  const { columns } = context.stdout;
  const paints = paint(context);
  const body = reportLines(report)
    .flatMap((line) => shown(line, columns, paints))
    .map((line) => `${line}\n`)
    .join("");
  const noteText = notes.map((note) => `\n${paragraph(note, columns)}`).join("");
  return `${body}${replayText(context, input, report)}${noteText}`;
}

function shown({ indent, text, tone }: ReportLine, columns: number, paints: Paint): readonly string[] {
  const blanks = " ".repeat(indent);
  const clean = cleanLine(text);
  // Code is not wrapped: it is there to be copied.
  const rows = tone === "code" ? [clean] : wrap(clean, columns - indent);
  return rows.map((row) => `${blanks}${COLOURS[tone](paints, row)}`.trimEnd());
}

const COLOURS: { readonly [T in ReportLine["tone"]]: (paints: Paint, text: string) => string } = {
  title: (paints, text) => paints.bold(text),
  broken: (paints, text) => paints.red(text),
  plain: (_, text) => text,
  quiet: (paints, text) => paints.dim(text),
  code: (paints, text) => paints.cyan(text),
};

function replayText(context: CliContext, input: CommandInput, { violations }: CrashReport): string {
  const given = ["run", "input", "database"].flatMap((name) => {
    const value = input.text(name);
    return value === null ? [] : [`--${name}`, value];
  });
  const texts = new Set(violations.map(({ evidence }) => scheduleText(evidence.schedule)));
  const hints = [...texts].map((text) =>
    commandHint(input, "crashtest", input.argument("pipeline"), ...given, "--schedule", text),
  );
  if (hints.length === 0 || input.text("schedule") !== null) return "";
  return `\nTo replay a schedule:\n${formatHints(context, hints)}`;
}
