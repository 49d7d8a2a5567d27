import type { CliContext } from "../cli/context/cli-context.ts";
import { wrap } from "../cli/context/terminal-text.ts";
import { counted, type Paint, paint } from "../cli/screen/format.ts";
import { type Column, formatFacts, formatTable } from "../cli/screen/table.ts";
import type { DemoOutcome } from "./demo.ts";
import { PHASES } from "./job-pipeline.ts";
import type { Death, Life } from "./killed-job.ts";
import type { ModelChoice } from "./model-choice.ts";
import { underWay, whatNext, whereKilled } from "./story.ts";
import type { TallyRow } from "./tally.ts";
import { RUN_ID } from "./worker-order.ts";

/** What text needs to know about where it goes. */
export type Page = Pick<CliContext, "stdout" | "useColour">;

/** Text is read in columns that are not too wide. */
const WIDEST = 80;
/** Where a phase's own lines begin. */
const INDENT = 14;

export function introduction(page: Page, seed: number, model: ModelChoice): string {
  const { bold, green, red } = paint(page);
  const name =
    model.provider === "scripted"
      ? "a script (set OPENAI_API_KEY or ANTHROPIC_API_KEY for a real one)"
      : `${model.provider}/${model.modelId} (${model.key} is set, and will be charged)`;
  const text = `A research job in ${PHASES.length} phases: it reads a web site, writes a report, uploads it, mails it and announces it. In each phase its process is killed with SIGKILL, at a place that the seed picks, and a new process goes on.`;
  const facts = formatFacts(narrow(page), [
    ["seed", String(seed)],
    ["model", name],
  ]);
  const legend = `  ${red("✗")} where it was killed\n  ${green("↻")} what the next process did\n`;
  return `${bold("Pawl demo")}\n${facts}\n${wrap(text, widthOf(page)).join("\n")}\n\n${legend}\n`;
}

/** The death of a process, and before it what it made of the one that had died before it. */
export function lifeText(page: Page, life: Life, before: readonly Life[]): string {
  const paints = paint(page);
  const earlier = before.at(-1)?.death ?? null;
  const recovery = earlier === null ? [] : whatNext(before, phaseOf(earlier), life);
  const lines = recovery.map((sentence) => item(page, "", paints.green("↻"), sentence));
  const end =
    life.death === null
      ? [item(page, "", paints.green("✓"), `process ${before.length + 1} comes to the end`)]
      : deathLines(page, paints, life, life.death);
  return [...lines, ...end].join("");
}

function deathLines(page: Page, paints: Paint, life: Life, death: Death): string[] {
  const calls = underWay(life);
  return [
    item(page, phaseOf(death), paints.red("✗"), whereKilled(death)),
    ...(calls.length === 0 ? [] : [item(page, "", " ", `under way: ${calls.join(", ")}`)]),
  ];
}

function phaseOf(death: Death): string {
  return death.kind === "time" ? "" : death.phase;
}

/** One line with a mark, and what does not fit below it. */
function item(page: Page, label: string, mark: string, text: string): string {
  const { bold } = paint(page);
  const lines = wrap(text, widthOf(page) - INDENT - 2);
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
    title: "starting over each time",
    value: ({ startingOver }) => String(startingOver),
    rank: 1,
    align: "right",
  },
];

export function outcomeText(page: Page, { lives, tally }: DemoOutcome): string {
  const { dim, green, red, bold } = paint(page);
  const notes = tally.rows.flatMap(({ what, note }) => (note === null ? [] : [`${what}: ${note}.`]));
  const processes = counted(lives.length, "process", "processes");
  const explained = `Starting over: each of the ${processes} would have begun with the first phase, and done again whatever had been done by the time that it ended at. The column is the sum of that.`;
  const isRight = isAllRight({ lives, tally });
  const verdict = isRight
    ? green(`${bold("✓")} ${counted(lives.length - 1, "kill")}, and nothing was lost or sent twice.`)
    : red(`${bold("✗")} That is not right.`);
  return [
    `\n${formatTable(narrow(page), COLUMNS, tally.rows, "  ")}\n`,
    ...notes.map((note) => dim(indented(page, note))),
    dim(indented(page, explained)),
    ...tally.problems.map((problem) => red(indented(page, `✗ ${problem}`))),
    `\n${verdict}\n`,
  ].join("");
}

export function isAllRight({ tally }: DemoOutcome): boolean {
  return tally.problems.length === 0 && tally.rows.every(({ isRight }) => isRight);
}

/** The same for programs. */
export function documentOf(seed: number, model: ModelChoice, folder: string, outcome: DemoOutcome): object {
  const deaths = outcome.lives.flatMap(({ death }) => (death === null ? [] : [death]));
  return { ok: isAllRight(outcome), seed, model, folder, deaths, ...outcome.tally };
}

/** What is left, and what to do with it: commands that work as they stand, where this was started. */
export function farewell(page: Page, folder: string, command: string): string {
  const { dim } = paint(page);
  const store = `file:${folder}/pawl.db`;
  const hints = [
    `export PAWL_STORE=${/^[\w./:-]+$/.test(store) ? store : JSON.stringify(store)}`,
    ...["show", "receipts", "verify"].map((name) => `${command} ${name} ${RUN_ID}`),
  ];
  return `\nreport.html, report.pdf, transcript.md, job.yaml and pawl.db are in\n  ${folder}\n\n${dim("Look for yourself:")}\n${hints.map((hint) => `  ${hint}\n`).join("")}`;
}

function narrow(page: Page): Page {
  return { ...page, stdout: { ...page.stdout, columns: widthOf(page) } };
}

function widthOf({ stdout }: Page): number {
  return Math.min(stdout.columns, WIDEST);
}

function indented(page: Page, text: string): string {
  return wrap(text, widthOf(page) - 2)
    .map((line) => `  ${line}\n`)
    .join("");
}
