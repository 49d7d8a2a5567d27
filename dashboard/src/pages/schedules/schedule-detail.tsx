import type { ReactNode } from "react";
import { useMayAct } from "../../live/dashboard-context.ts";
import { useRefreshed } from "../../live/use-refreshed.ts";
import { FactPanel } from "../../parts/layout/facts.tsx";
import { Loaded } from "../../parts/layout/loaded.tsx";
import { RunId } from "../../parts/text/id.tsx";
import { JsonView } from "../../parts/text/json-view.tsx";
import { PipelineLink } from "../../parts/text/pipeline-link.tsx";
import { Ago, Exact } from "../../parts/text/time.tsx";
import { VisibleText } from "../../parts/text/visible.tsx";
import { type Firing, Outcome } from "./outcome.tsx";
import { ScheduleActs } from "./schedule-acts.tsx";
import { Next, type Schedule, When } from "./schedule-table.tsx";

const REFRESH_MS = 15_000;
const SHOWN_FIRINGS = 50;

/** One schedule: what it starts, what can be done, and what became of its planned times. */
export function ScheduleDetail({ schedule }: { readonly schedule: Schedule }): ReactNode {
  const mayAct = useMayAct();
  const { name } = schedule;
  const firings = useRefreshed(["schedules", name, "firings"], REFRESH_MS, (client, signal) =>
    client.listFirings({ name, limit: SHOWN_FIRINGS, signal }),
  );
  return (
    <div className="flex flex-col gap-3">
      {mayAct && !schedule.isRemoved && <ScheduleActs schedule={schedule} />}
      <FactPanel
        facts={[
          ["Starts", <PipelineLink key="pipeline" pipeline={schedule.pipeline} />],
          ["When", <When key="when" schedule={schedule} />],
          ["Next", <Next key="next" schedule={schedule} />],
          ["Overlap", schedule.overlap],
        ]}
      />
      <details>
        <summary className="disclosure py-0.5 text-ink-2 hover:text-ink">What its runs are given</summary>
        <div className="mt-1">
          <JsonView value={schedule.spec} what="schedule" />
        </div>
      </details>
      <h3 className="font-semibold">Planned times</h3>
      <Loaded query={firings} what="The planned times could not be read.">
        {({ items }) =>
          items.length === 0 ? (
            <p className="text-ink-3">None has passed yet.</p>
          ) : (
            <ul aria-label="Planned times" className="rounded-lg border border-line bg-panel">
              {items.map((firing) => (
                <FiringRow key={firing.plannedAt + firing.decidedAt} firing={firing} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </div>
  );
}

function FiringRow({ firing }: { readonly firing: Firing }): ReactNode {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-0.5 border-b border-line px-3 py-1.5 last:border-0">
      <Outcome outcome={firing.outcome} />
      {firing.times > 1 && <span className="text-ink-3">{firing.times} times</span>}
      <span className="ml-auto text-xs text-ink-3">
        <Exact at={firing.plannedAt} /> · <Ago at={firing.plannedAt} />
      </span>
      {firing.runId !== null && (
        <span className="w-full">
          <RunId runId={firing.runId} />
        </span>
      )}
      {firing.why !== null && (
        <span className="w-full text-ink-2">
          <VisibleText text={firing.why} />
        </span>
      )}
    </li>
  );
}
