import type { ReactNode } from "react";
import { useKeys } from "../../browser/keyboard.ts";
import { flag, optional } from "../../browser/search-params.ts";
import { useIsNarrow } from "../../browser/use-is-narrow.ts";
import { useSearchParams } from "../../browser/use-search-params.ts";
import { useRefreshed } from "../../live/use-refreshed.ts";
import { Dialog } from "../../parts/controls/dialog.tsx";
import { Loaded } from "../../parts/layout/loaded.tsx";
import { Page } from "../../parts/layout/page.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { counted } from "../../words/money-words.ts";
import { NoSchedules } from "./no-schedules.tsx";
import { ScheduleDetail } from "./schedule-detail.tsx";
import { type Schedule, ScheduleTable } from "./schedule-table.tsx";

const SCHEDULE_PARAMS = { at: optional, removed: flag } as const;
const REFRESH_MS = 15_000;

/** What starts runs at planned times, and what became of each of those times. */
export default function SchedulesPage(): ReactNode {
  const [{ at, removed }, change] = useSearchParams(SCHEDULE_PARAMS);
  const isNarrow = useIsNarrow();
  const schedules = useRefreshed(["schedules"], REFRESH_MS, (client, signal) =>
    client.listSchedules({ signal }),
  );
  const all = schedules.data?.items ?? [];
  const shown = all.filter(({ isRemoved }) => removed || !isRemoved);
  const gone = all.filter(({ isRemoved }) => isRemoved).length;
  const chosen = all.find(({ name }) => name === at) ?? null;
  const choose = (name: string | null): void => change({ at: name }, { replace: at !== null });
  const move = (step: number): void => {
    const from = shown.findIndex(({ name }) => name === at);
    const next = shown[Math.min(shown.length - 1, Math.max(0, from + step))];
    if (next !== undefined) choose(next.name);
  };
  useKeys([
    { keys: "j", does: "Next schedule", run: () => move(1) },
    { keys: "k", does: "Previous schedule", run: () => move(-1) },
    { keys: "Escape", does: "Close the schedule", run: () => choose(null) },
  ]);
  return (
    <Page
      title="Schedules"
      beside={
        gone > 0 && (
          <button
            type="button"
            aria-pressed={removed}
            className="text-ink-3 hover:text-ink hover:underline"
            onClick={() => change({ removed: !removed })}
          >
            {removed ? "without removed ones" : `and ${counted(gone, "removed one")}`}
          </button>
        )
      }
    >
      <Loaded query={schedules} what="The schedules could not be read.">
        {() =>
          all.length === 0 ? (
            <NoSchedules />
          ) : (
            <div
              className={`grid items-start gap-4 ${chosen !== null && !isNarrow ? "lg:grid-cols-[minmax(0,1fr)_minmax(20rem,28rem)]" : ""}`}
            >
              <ScheduleTable schedules={shown} at={at} onChoose={choose} />
              {chosen !== null && (
                <Detail schedule={chosen} isSheet={isNarrow} onClose={() => choose(null)} />
              )}
            </div>
          )
        }
      </Loaded>
    </Page>
  );
}

type DetailProps = {
  readonly schedule: Schedule;
  readonly isSheet: boolean;
  readonly onClose: () => void;
};

/** Beside the list, or over it where there is no room. */
function Detail({ schedule, isSheet, onClose }: DetailProps): ReactNode {
  const name = <VisibleLine text={schedule.name} />;
  if (isSheet) {
    return (
      <Dialog title={name} isSheet onClose={onClose}>
        <ScheduleDetail key={schedule.name} schedule={schedule} />
      </Dialog>
    );
  }
  return (
    <aside aria-label={schedule.name} className="flex min-w-0 flex-col gap-3">
      <h2 className="text-md font-semibold">{name}</h2>
      <ScheduleDetail key={schedule.name} schedule={schedule} />
    </aside>
  );
}
