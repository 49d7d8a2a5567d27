import { type ReactNode, useMemo } from "react";
import { useKeys } from "../../browser/keyboard.ts";
import { BarChart, ChartLegend } from "../../parts/charts/chart-bars.tsx";
import { Choice } from "../../parts/controls/choice.tsx";
import { Section } from "../../parts/layout/section.tsx";
import { type Column, Table } from "../../parts/layout/table.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { BASIS_WORDS, counted, countWords } from "../../words/money-words.ts";
import { type Spend, type SpendBars, spendBars, type Unit } from "./spend-bars.ts";
import { axisWords, figureWords } from "./spend-words.ts";

type SpendChartProps = {
  readonly spend: Spend;
  readonly by: "basis" | "pipeline";
  readonly unit: Unit;
  readonly at: string | null;
  readonly onBy: (by: "basis" | "pipeline") => void;
  readonly onAt: (at: string | null) => void;
};

/** The words of the run's Money tab; of others it is the pipeline's name. */
function seriesWords(name: string, by: SpendChartProps["by"]): string {
  const words: { readonly [basis: string]: string } = BASIS_WORDS;
  return by === "basis" ? (words[name] ?? name) : name;
}

/** Bars over time; one of them can be looked at alone, and all of them are a table. */
export function SpendChart({ spend, by, unit, at, onBy, onAt }: SpendChartProps): ReactNode {
  const data = useMemo(() => spendBars(spend, by, unit), [spend, by, unit]);
  const isHourly = spend.bucketMs < 86_400_000;
  const chosen = data.bars.find((bar) => bar.at === at) ?? null;
  const move = (step: number): void => {
    const from = data.bars.findIndex((bar) => bar.at === at);
    const to = from === -1 ? data.bars.length - 1 : from + step;
    const next = data.bars[Math.min(data.bars.length - 1, Math.max(0, to))];
    if (next !== undefined) onAt(next.at);
  };
  const one = isHourly ? "hour" : "day";
  useKeys([
    { keys: "j", does: `Next ${one}`, run: () => move(1) },
    { keys: "k", does: `Previous ${one}`, run: () => move(-1) },
    { keys: "Escape", does: `All ${one}s`, run: () => onAt(null) },
  ]);
  return (
    <Section
      title={isHourly ? "By hour" : "By day"}
      beside={
        <>
          <Choice
            label="What bars are made of"
            options={{ basis: "how it is known", pipeline: "pipeline" }}
            value={by}
            onChange={onBy}
          />
          <span className="text-xs text-ink-3">times in UTC</span>
        </>
      }
    >
      <div className="flex flex-col gap-3 rounded-lg border border-line bg-panel p-3">
        <BarChart
          label={`Spend by ${one}`}
          bars={data.bars.map((bar) => ({
            key: bar.at,
            label: timeWords(bar.at, isHourly),
            values: bar.values,
          }))}
          axisWords={(value, step) => axisWords(value, step, unit)}
          at={at}
          onAt={(key) => onAt(key === at ? null : key)}
        />
        <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-1">
          <ChartLegend
            series={data.series.map((name, index) => ({
              name: <VisibleLine text={seriesWords(name, by)} />,
              figure: figureWords(
                (chosen === null ? data.bars : [chosen]).reduce(
                  (sum, bar) => sum + (bar.values[index] ?? 0),
                  0,
                ),
                unit,
              ),
            }))}
          />
          <p className="text-xs text-ink-3" aria-live="polite">
            {chosen === null
              ? `all ${data.bars.length} ${one}s`
              : `${timeWords(chosen.at, isHourly)}: ${figureWords(total(chosen.values), unit)}, ${counted(chosen.requests, "request")}`}
          </p>
        </div>
      </div>
      <BarTable data={data} by={by} unit={unit} isHourly={isHourly} at={at} onAt={onAt} />
    </Section>
  );
}

type BarTableProps = {
  readonly data: SpendBars;
  readonly by: SpendChartProps["by"];
  readonly unit: Unit;
  readonly isHourly: boolean;
  readonly at: string | null;
  readonly onAt: (at: string) => void;
};

function BarTable({ data, by, unit, isHourly, at, onAt }: BarTableProps): ReactNode {
  type Bar = SpendBars["bars"][number];
  const columns: readonly Column<Bar>[] = [
    { name: isHourly ? "Hour" : "Day", cell: (bar) => timeWords(bar.at, isHourly), width: "1fr" },
    ...data.series.map(
      (name, index): Column<Bar> => ({
        name: seriesWords(name, by),
        align: "right",
        cell: (bar) => figureWords(bar.values[index] ?? 0, unit),
      }),
    ),
    {
      name: unit === "tokens" ? "All tokens" : "All",
      align: "right",
      cell: (bar) => figureWords(total(bar.values), unit),
    },
    { name: "Requests", align: "right", cell: (bar) => countWords(bar.requests) },
  ];
  return (
    <details>
      <summary className="disclosure py-0.5 text-ink-2 hover:text-ink">The same as a table</summary>
      <div className="mt-1">
        <Table
          label={isHourly ? "Spend by hour" : "Spend by day"}
          columns={columns}
          rows={data.bars.filter(({ requests, values }) => requests > 0 || total(values) > 0).toReversed()}
          keyOf={(bar) => bar.at}
          at={at}
          onChoose={onAt}
        />
      </div>
    </details>
  );
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function timeWords(at: string, isHourly: boolean): string {
  return new Date(at).toLocaleString("en-GB", {
    timeZone: "UTC",
    ...(isHourly ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short" }),
  });
}
