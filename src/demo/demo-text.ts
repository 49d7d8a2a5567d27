import type { CliContext } from "../cli/context/cli-context.ts";
import { wrap } from "../cli/context/terminal-text.ts";
import { counted, type Paint, paint } from "../cli/screen/format.ts";
import { type Column, formatFacts, formatTable } from "../cli/screen/table.ts";
import type { DemoOutcome } from "./demo.ts";
import { PHASES } from "./job-pipeline.ts";
import type { Death, ProcessLife } from "./killed-job.ts";
import type { ModelChoice } from "./model-choice.ts";
import { callsInProgress, recoverySteps, whereKilled } from "./story.ts";
import type { TallyRow } from "./tally.ts";
import { RUN_ID } from "./worker-order.ts";

/** The width and colours of the output. */
export type DemoOutput = Pick<CliContext, "stdout" | "useColour">;

/** Wider text is hard to read. */
const WIDEST = 80;
/** The column where the lines of a phase start. */
const INDENT = 14;

export function introduction(output: DemoOutput, seed: number, model: ModelChoice): string {
  const { bold, green, red } = paint(output);
  const name =
    model.provider === "scripted"
      ? "a script (set OPENAI_API_KEY or ANTHROPIC_API_KEY for a real one)"
      : `${model.provider}/${model.modelId} (${model.key} is set, and will be charged)`;
  const text = `A research job in ${PHASES.length} phases: it reads a web site, writes a report, uploads it, mails it and announces it. In each phase its process is killed with SIGKILL, at a point that the seed picks, and a new process resumes the run.`;
  const facts = formatFacts(narrow(output), [
    ["seed", String(seed)],
    ["model", name],
  ]);
  const legend = `  ${red("✗")} where it was killed\n  ${green("↻")} what the next process did\n`;
  return `${bold("Pawl demo")}\n${facts}\n${wrap(text, widthOf(output)).join("\n")}\n\n${legend}\n`;
}

/** How a process recovered from the kill before it, and how it was killed itself. */
export function lifeText(output: DemoOutput, life: ProcessLife, before: readonly ProcessLife[]): string {
  const paints = paint(output);
  const earlier = before.at(-1)?.death ?? null;
  const recovery = earlier === null ? [] : recoverySteps(before, phaseOf(earlier), life);
  const lines = recovery.map((sentence) => item(output, "", paints.green("↻"), sentence));
  const end =
    life.death === null
      ? [item(output, "", paints.green("✓"), `process ${before.length + 1} finishes the job`)]
      : deathLines(output, paints, life, life.death);
  return [...lines, ...end].join("");
}

function deathLines(output: DemoOutput, paints: Paint, life: ProcessLife, death: Death): string[] {
  const calls = callsInProgress(life);
  return [
    item(output, phaseOf(death), paints.red("✗"), whereKilled(death)),
    ...(calls.length === 0 ? [] : [item(output, "", " ", `in progress: ${calls.join(", ")}`)]),
  ];
}

function phaseOf(death: Death): string {
  return death.kind === "time" ? "" : death.phase;
}

/** One line with a mark; the rest of the text is wrapped below it. */
function item(output: DemoOutput, label: string, mark: string, text: string): string {
  const { bold } = paint(output);
  const lines = wrap(text, widthOf(output) - INDENT - 2);
  const head = `  ${bold(label)}${" ".repeat(INDENT - 2 - label.length)}${mark} `;
  return lines.map((line, i) => `${i === 0 ? head : " ".repeat(INDENT + 2)}${line}\n`).join("");
}

const COLUMNS: readonly Column<TallyRow>[] = [
  { title: "", value: ({ what }) => what, rank: 0 },
  { title: "wanted", value: ({ wanted }) => String(wanted), rank: 0, align: "right" },
  { title: "seen outside", value: ({ seen }) => String(seen), rank: 0, align: "right" },
  {
    title: "",
    value: ({ isRight }) => (isRight ? "✓" : "✗"),
    rank: 0,
    paint: (paints, text, { isRight }) => (isRight ? paints.green(text) : paints.red(text)),
  },
  {
    title: "if restarted each time",
    value: ({ startingOver }) => String(startingOver),
    rank: 1,
    align: "right",
  },
];

export function outcomeText(output: DemoOutput, { lives, tally }: DemoOutcome): string {
  const { dim, green, red, bold } = paint(output);
  const notes = tally.rows.flatMap(({ what, note }) => (note === null ? [] : [`${what}: ${note}.`]));
  const processes = counted(lives.length, "process", "processes");
  const explained = `If restarted: each of the ${processes} would have started with the first phase and repeated everything that was done by the time it ended. The column is the sum of that.`;
  const isRight = isAllRight({ lives, tally });
  const verdict = isRight
    ? green(`${bold("✓")} ${counted(lives.length - 1, "kill")}, and nothing was lost or sent twice.`)
    : red(`${bold("✗")} Something is wrong.`);
  return [
    `\n${formatTable(narrow(output), COLUMNS, tally.rows, "  ")}\n`,
    ...notes.map((note) => dim(indented(output, note))),
    dim(indented(output, explained)),
    ...tally.problems.map((problem) => red(indented(output, `✗ ${problem}`))),
    `\n${verdict}\n`,
  ].join("");
}

export function isAllRight({ tally }: DemoOutcome): boolean {
  return tally.problems.length === 0 && tally.rows.every(({ isRight }) => isRight);
}

/** The outcome as a JSON document. */
export function documentOf(seed: number, model: ModelChoice, folder: string, outcome: DemoOutcome): object {
  const deaths = outcome.lives.flatMap(({ death }) => (death === null ? [] : [death]));
  return { ok: isAllRight(outcome), seed, model, folder, deaths, ...outcome.tally };
}

/** The files that are left, and commands to inspect them, which work in the current folder. */
export function closingText(output: DemoOutput, folder: string, command: string): string {
  const { dim } = paint(output);
  const store = `file:${folder}/pawl.db`;
  const hints = [
    `export PAWL_STORE=${/^[\w./:-]+$/.test(store) ? store : JSON.stringify(store)}`,
    ...["show", "receipts", "verify"].map((name) => `${command} ${name} ${RUN_ID}`),
  ];
  return `\nreport.html, report.pdf, transcript.md, job.yaml and pawl.db are in\n  ${folder}\n\n${dim("See for yourself:")}\n${hints.map((hint) => `  ${hint}\n`).join("")}`;
}

function narrow(output: DemoOutput): DemoOutput {
  return { ...output, stdout: { ...output.stdout, columns: widthOf(output) } };
}

function widthOf({ stdout }: DemoOutput): number {
  return Math.min(stdout.columns, WIDEST);
}

function indented(output: DemoOutput, text: string): string {
  return wrap(text, widthOf(output) - 2)
    .map((line) => `  ${line}\n`)
    .join("");
}
