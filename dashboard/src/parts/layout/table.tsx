import type { CSSProperties, ReactNode } from "react";

export type Column<T> = {
  readonly name: string;
  readonly cell: (row: T) => ReactNode;
  /** Of the grid: `auto` by default. */
  readonly width?: string;
  readonly align?: "right";
  /** On narrow screens it has a line of its own. */
  readonly isLine?: boolean;
  /** On narrow screens it needs no name before it. */
  readonly isUnnamed?: boolean;
};

type TableProps<T> = {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** The row with the cursor. */
  readonly at?: string | null;
  /** A row that a click chooses, beside what its own links and buttons do. */
  readonly onChoose?: (key: string) => void;
};

/** A small table. On narrow screens its first column is a line, and the others follow with their names before them. */
export function Table<T>({ label, columns, rows, keyOf, at, onChoose }: TableProps<T>): ReactNode {
  const widths = { "--columns": columns.map(({ width }) => width ?? "auto").join(" ") } as CSSProperties;
  return (
    <div
      role="table"
      aria-label={label}
      style={widths}
      className="overflow-x-clip rounded-lg border border-line bg-panel md:grid md:grid-cols-(--columns)"
    >
      <div role="rowgroup" className="col-span-full grid-cols-subgrid max-md:sr-only md:grid">
        <div
          role="row"
          className="col-span-full grid-cols-subgrid gap-x-4 border-b border-line px-3 py-1 text-xs text-ink-3 md:grid"
        >
          {columns.map(({ name, align }) => (
            <span key={name} role="columnheader" className={align === "right" ? "text-right" : ""}>
              {name}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" className="col-span-full grid-cols-subgrid md:grid">
        {rows.map((row) => {
          const key = keyOf(row);
          return (
            <Row
              key={key}
              id={key}
              columns={columns}
              row={row}
              isAt={at === key}
              {...(onChoose === undefined ? {} : { onChoose })}
            />
          );
        })}
      </div>
    </div>
  );
}

type RowProps<T> = {
  readonly id: string;
  readonly columns: readonly Column<T>[];
  readonly row: T;
  readonly isAt: boolean;
  readonly onChoose?: (key: string) => void;
};

function Row<T>({ id, columns, row, isAt, onChoose }: RowProps<T>): ReactNode {
  const hover = onChoose === undefined ? "" : "cursor-pointer hover:bg-hover";
  return (
    <div
      role="row"
      data-key={id}
      aria-current={isAt ? "true" : undefined}
      className={`col-span-full grid-cols-subgrid items-center gap-x-4 border-b border-line px-3 py-1.5 last:border-0 max-md:flex max-md:flex-wrap max-md:gap-x-4 max-md:gap-y-0.5 max-md:py-2 md:grid ${hover} ${isAt ? "bg-selected shadow-[inset_2px_0_var(--color-accent)]" : ""}`}
      onClick={({ target }) => {
        if (target instanceof Element && target.closest("a, button, input, summary") === null) onChoose?.(id);
      }}
    >
      {columns.map((column, index) => (
        <Cell key={column.name} column={column} row={row} isFirst={index === 0} />
      ))}
    </div>
  );
}

function Cell<T>({
  column,
  row,
  isFirst,
}: {
  readonly column: Column<T>;
  readonly row: T;
  readonly isFirst: boolean;
}): ReactNode {
  const content = column.cell(row);
  const isNamed = !isFirst && column.isUnnamed !== true;
  const isLine = isFirst || column.isLine === true;
  return (
    <div
      role="cell"
      className={`min-w-0 ${column.align === "right" ? "md:text-right" : ""} ${isLine ? "max-md:w-full" : ""} ${content === null ? "max-md:hidden" : ""}`}
    >
      {isNamed && (
        <span aria-hidden="true" className="mr-1.5 text-xs text-ink-3 md:hidden">
          {column.name.toLowerCase()}
        </span>
      )}
      {content}
    </div>
  );
}
