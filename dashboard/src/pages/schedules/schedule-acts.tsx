import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { Answer } from "../../api/client.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Button } from "../../parts/controls/button.tsx";
import { ConfirmDialog } from "../../parts/layout/confirm-dialog.tsx";
import { Notice } from "../../parts/layout/notice.tsx";
import { RunId } from "../../parts/text/id.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import type { Schedule } from "./schedule-table.tsx";

type Act = "pause" | "resume" | "fire";

const ACTS: { readonly [A in Act]: { readonly verb: string; readonly asks: string; readonly hint: string } } =
  {
    pause: {
      verb: "Pause",
      asks: "Pause",
      hint: "It starts no runs until it is resumed. Runs that it has started continue.",
    },
    resume: {
      verb: "Resume",
      asks: "Resume",
      hint: "It fires at its next planned time. Those that passed while it was paused are not made up for.",
    },
    fire: {
      verb: "Fire now",
      asks: "Start a run of",
      hint: "A run is enqueued at once, also while the schedule is paused. What it does while an earlier run is unfinished holds here, too; its planned times stay as they are.",
    },
  };

/** Pausing, resuming and firing, each after a confirmation. */
export function ScheduleActs({ schedule }: { readonly schedule: Schedule }): ReactNode {
  const { client } = useDashboard();
  const queries = useQueryClient();
  const [open, setOpen] = useState<Act | null>(null);
  const { name } = schedule;
  const act = useMutation({
    mutationFn: (chosen: Act) => {
      if (chosen === "fire") return client.fireSchedule({ name });
      return chosen === "pause" ? client.pauseSchedule({ name }) : client.resumeSchedule({ name });
    },
    onSuccess: () => {
      setOpen(null);
      return queries.invalidateQueries({ queryKey: ["schedules"] });
    },
  });
  const ask = (next: Act): void => {
    act.reset();
    setOpen(next);
  };
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => ask("fire")}>Fire now…</Button>
        {schedule.pausedAt === null ? (
          <Button onClick={() => ask("pause")}>Pause…</Button>
        ) : (
          <Button kind="primary" onClick={() => ask("resume")}>
            Resume…
          </Button>
        )}
      </div>
      {act.data !== undefined && open === null && <Done outcome={act.data} />}
      {open !== null && (
        <ConfirmDialog
          title={
            <>
              {ACTS[open].asks} <VisibleLine text={name} />?
            </>
          }
          verb={ACTS[open].verb}
          isBusy={act.isPending}
          error={act.error}
          onConfirm={() => act.mutate(open)}
          onClose={() => setOpen(null)}
        >
          <p>{ACTS[open].hint}</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

function Done({ outcome }: { readonly outcome: Answer<"fireSchedule"> }): ReactNode {
  if (outcome.outcome === "skipped") {
    return (
      <Notice kind="warning" title="No run was started.">
        An earlier one is unfinished: the planned times below say which.
      </Notice>
    );
  }
  return (
    <Notice kind="success" title={`It is ${outcome.outcome}.`}>
      {outcome.runId !== null && <RunId runId={outcome.runId} />}
    </Notice>
  );
}
