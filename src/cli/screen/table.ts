import type { CliContext } from "../context/cli-context.ts";
import { cleanLine, cut, pad, widthOf, wrap } from "../context/terminal-text.ts";
import { type Paint, paint } from "./format.ts";

export type Column<R> = {
  readonly title: string;
  readonly value: (row: R) => string;
  /** Columns with the highest rank are left out first if there is no room; rank 0 always stays. */
  readonly rank: number;
  /** The minimum width it may be cut to. Without it a column is never cut, as ids must not be: they are copied. */
  readonly atLeast?: number;
  readonly align?: "right";
  /** Colours a cell after it was cut and padded. */
  readonly paint?: (paints: Paint, text: string, row: R) => string;
};

const GAP = "  ";

/** In a pipe, a longer cell is not padded to: one long value would fill every other row with blanks. */
const MOST_PADDED = 80;

/** The columns of a terminal. A pipe has no end: what is read by a program or searched must be whole. */
function roomIn({ isTerminal, columns }: CliContext["stdout"]): number {
  return isTerminal ? columns : Number.POSITIVE_INFINITY;
}

/**
 * Rows as a table that fits the terminal: columns are cut, then left out, the least important first. If not even the required
 * columns fit side by side, each row becomes a few lines. In a pipe, every cell is whole.
 */
export function formatTable<R>(
  { stdout, useColour }: Pick<CliContext, "stdout" | "useColour">,
  columns: readonly Column<R>[],
  rows: readonly R[],
  indent = "",
): string {
  const cells = rows.map((row) => columns.map((column) => cleanLine(column.value(row))));
  const shown = fitting(measured(columns, cells), roomIn(stdout) - indent.length);
  const paints = paint({ useColour });
  if (shown === null) return stacked({ columns, rows, cells, width: stdout.columns, indent, paints });
  const last = shown.at(-1);
  const most = stdout.isTerminal ? Number.POSITIVE_INFINITY : MOST_PADDED;
  const line = (texts: readonly string[], style: (text: string, each: Fitted<R>) => string) =>
    indent +
    shown
      .map((each) => {
        const text = cut(texts[each.index] ?? "", each.width);
        const isRagged = each === last && each.column.align !== "right";
        return style(isRagged ? text : pad(text, Math.min(each.width, most), each.column.align), each);
      })
      .join(GAP)
      .trimEnd();
  const head = line(
    columns.map(({ title }) => title),
    (text) => paints.dim(text),
  );
  const body = rows.map((row, index) =>
    line(cells[index] ?? [], (text, { column }) => column.paint?.(paints, text, row) ?? text),
  );
  return `${[head, ...body].join("\n")}\n`;
}

type Measured<R> = { readonly column: Column<R>; readonly index: number; readonly natural: number };
type Fitted<R> = Measured<R> & { readonly width: number };

/** The columns with their natural widths. Empty ones are left out, unless they are required. */
function measured<R>(
  columns: readonly Column<R>[],
  cells: readonly (readonly string[])[],
): readonly Measured<R>[] {
  return columns.flatMap((column, index) => {
    const widths = cells.map((row) => widthOf(row[index] ?? ""));
    const isUsed = widths.some((width) => width > 0);
    if (!isUsed && column.rank !== 0) return [];
    return [{ column, index, natural: Math.max(widthOf(column.title), ...widths) }];
  });
}

/** Null if the required columns do not fit. */
function fitting<R>(columns: readonly Measured<R>[], room: number): readonly Fitted<R>[] | null {
  const least = columns.map(leastWidth);
  const needed = sum(least) + GAP.length * (columns.length - 1);
  if (needed > room) {
    const rank = Math.max(...columns.map(({ column }) => column.rank));
    if (rank <= 0) return null;
    const dropped = columns.findLast(({ column }) => column.rank === rank);
    return fitting(
      columns.filter((each) => each !== dropped),
      room,
    );
  }
  return spread(columns, least, room - needed);
}

/** Distributes the spare width, to the most important columns first. */
function spread<R>(
  columns: readonly Measured<R>[],
  least: readonly number[],
  spare: number,
): readonly Fitted<R>[] {
  const widths = new Map(columns.map((column, index) => [column, least[index] ?? 0]));
  let left = spare;
  for (const column of columns.toSorted((a, b) => a.column.rank - b.column.rank)) {
    const width = widths.get(column) ?? 0;
    const more = Math.min(left, column.natural - width);
    widths.set(column, width + more);
    left -= more;
  }
  return columns.map((column) => ({ ...column, width: widths.get(column) ?? 0 }));
}

function leastWidth<R>({ column, natural }: Measured<R>): number {
  return column.atLeast === undefined ? natural : Math.min(natural, column.atLeast);
}

type Stack<R> = {
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  /** The cleaned text of each cell, by row and column. */
  readonly cells: readonly (readonly string[])[];
  readonly width: number;
  readonly indent: string;
  readonly paints: Paint;
};

/** Each row as lines: the first column alone, and the others below it. */
function stacked<R>({ columns, rows, cells, width, indent, paints }: Stack<R>): string {
  const titles = Math.max(...columns.slice(1).map(({ title }) => widthOf(title)));
  return rows
    .map((row, at) => {
      const [first = "", ...others] = cells[at] ?? [];
      const lines = others.flatMap((text, index) => {
        const column = columns[index + 1];
        if (column === undefined || text === "") return [];
        const lead = `${indent}  ${pad(column.title, titles)}  `;
        const room = Math.max(8, width - widthOf(lead));
        return wrap(text, room)
          .slice(0, 3)
          .map((part, line) => {
            const shown = column.paint?.(paints, part, row) ?? part;
            return (line === 0 ? paints.dim(lead) : " ".repeat(widthOf(lead))) + shown;
          });
      });
      const name = columns[0]?.paint?.(paints, first, row) ?? first;
      return `${[indent + name, ...lines].join("\n")}\n`;
    })
    .join("");
}

export type Fact = readonly [label: string, value: string, paint?: (text: string) => string];

/** Labels and values in two columns; long values are wrapped on a terminal. */
export function formatFacts(
  { stdout, useColour }: Pick<CliContext, "stdout" | "useColour">,
  facts: readonly (Fact | null)[],
  indent = "  ",
): string {
  const shown = facts.filter((fact) => fact !== null);
  const labels = Math.max(0, ...shown.map(([label]) => widthOf(label)));
  const lead = indent.length + labels + GAP.length;
  const { dim } = paint({ useColour });
  return shown
    .flatMap(([label, value, style = (text: string) => text]) =>
      wrap(value, Math.max(8, roomIn(stdout) - lead)).map((line, index) =>
        index === 0
          ? `${indent}${dim(pad(label, labels))}${GAP}${style(line)}`
          : " ".repeat(lead) + style(line),
      ),
    )
    .map((line) => `${line}\n`)
    .join("");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
