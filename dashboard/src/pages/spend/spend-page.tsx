import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { oneOf, optional } from "../../browser/search-params.ts";
import { useSearchParams } from "../../browser/use-search-params.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Choice } from "../../parts/controls/choice.tsx";
import { EmptyState } from "../../parts/layout/empty-state.tsx";
import { Loaded } from "../../parts/layout/loaded.tsx";
import { Notice } from "../../parts/layout/notice.tsx";
import { Page } from "../../parts/layout/page.tsx";
import {
  hasMoney,
  PERIOD_NAMES,
  PERIODS,
  type Period,
  type Spend,
  spendQuery,
  UNITS,
  type Unit,
} from "./spend-bars.ts";
import { SpendChart } from "./spend-chart.tsx";
import { CostlyRuns, NearLimit, TopPipelines } from "./spend-lists.tsx";
import { SpendTotals } from "./spend-totals.tsx";

const SPEND_PARAMS = {
  since: oneOf(PERIOD_NAMES, "30d"),
  by: oneOf(["basis", "pipeline"], "basis"),
  unit: oneOf(UNITS, "money"),
  at: optional,
} as const;

const PERIOD_OPTIONS = { "24h": "24 h", "7d": "7 d", "30d": "30 d", "90d": "90 d" } as const;

/** What requests to models have cost. */
export default function SpendPage(): ReactNode {
  const [{ since, by, unit, at }, change] = useSearchParams(SPEND_PARAMS);
  const spend = useSpend(since, by);
  return (
    <Page
      title="Spend"
      beside={
        <>
          <Choice
            label="Period"
            options={PERIOD_OPTIONS}
            value={since}
            onChange={(next) => change({ since: next, at: null })}
          />
          {spend.data !== undefined && hasMoney(spend.data) && (
            <Choice
              label="Unit"
              options={{ money: "money", tokens: "tokens" }}
              value={unit}
              onChange={(next) => change({ unit: next })}
            />
          )}
        </>
      }
    >
      <Loaded query={spend} what="The spend could not be read.">
        {(data) => (
          <Report
            spend={data}
            period={since}
            unit={hasMoney(data) ? unit : "tokens"}
            chart={(shown) => (
              <SpendChart
                spend={data}
                by={by}
                unit={shown}
                at={at}
                onBy={(next) => change({ by: next })}
                onAt={(next) => change({ at: next }, { replace: true })}
              />
            )}
          />
        )}
      </Loaded>
    </Page>
  );
}

const REFRESH_MS = 60_000;

function useSpend(period: Period, by: "basis" | "pipeline") {
  const { client } = useDashboard();
  return useQuery({
    queryKey: ["spend", period, by],
    queryFn: ({ signal }) => {
      const query = spendQuery(period, Date.now());
      return client.getSpend({ ...query, ...(by === "pipeline" ? { by } : {}), signal });
    },
    staleTime: REFRESH_MS,
    refetchInterval: REFRESH_MS,
    placeholderData: (before) => before,
  });
}

type ReportProps = {
  readonly spend: Spend;
  readonly period: Period;
  readonly unit: Unit;
  readonly chart: (unit: Unit) => ReactNode;
};

function Report({ spend, period, unit, chart }: ReportProps): ReactNode {
  if (spend.total.tokens === 0 && spend.total.microDollars === 0 && spend.nearLimit.length === 0) {
    return (
      <EmptyState
        title={`No model was asked in the last ${PERIODS[period].words}.`}
        command="pawl run job.yaml"
      >
        What each request to a model costs is recorded, and added up here. A run starts with
      </EmptyState>
    );
  }
  return (
    <div className="flex flex-col gap-6">
      {!hasMoney(spend) && (
        <Notice kind="warning" title="There is no money here, only tokens.">
          No price is known for the models that were asked. Give <code>pricing</code> in pawl.config.ts; what
          was spent before keeps no price.
        </Notice>
      )}
      <SpendTotals spend={spend} period={period} unit={unit} />
      {chart(unit)}
      <NearLimit runs={spend.nearLimit} />
      <div className="grid items-start gap-6 lg:grid-cols-2">
        <TopPipelines spend={spend} unit={unit} />
        <CostlyRuns spend={spend} unit={unit} />
      </div>
    </div>
  );
}
