import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useDashboard, useMayAct } from "../../../live/dashboard-context.ts";
import { useNow } from "../../../live/use-now.ts";
import { Button } from "../../../parts/controls/button.tsx";
import { Command } from "../../../parts/layout/empty-state.tsx";
import { ProblemNotice } from "../../../parts/layout/notice.tsx";
import { WaitId } from "../../../parts/text/id.tsx";
import { Ago } from "../../../parts/text/time.tsx";
import { VisibleLine, VisibleText } from "../../../parts/text/visible.tsx";
import { useWholeTimeline } from "../timeline/use-timeline.ts";
import { ActButton, buttonActs, type OpenedAct } from "./act-buttons.tsx";
import { CancelDialog } from "./cancel-dialog.tsx";
import { ForkDialog } from "./fork-dialog.tsx";
import { MessageForm } from "./message-form.tsx";
import { ResumePanel } from "./resume-panel.tsx";
import { type Run, standingWords } from "./standing-words.ts";
import { useHasWorker } from "./use-has-worker.ts";

const ENDS = new Set(["succeeded", "moved"]);
const CANCELLABLE = new Set(["queued", "running", "interrupted", "waiting"]);

/** How the run stands, and what can be done about it. */
export function NextBox({ run }: { readonly run: Run }): ReactNode {
  const mayAct = useMayAct();
  const now = useNow();
  // Only the words about a dead worker need it: a busy run would read all of it for every event.
  const lastLife = useWholeTimeline(run.head.runId, run.head.status === "interrupted").data?.lives.at(-1);
  const [opened, setOpened] = useState<OpenedAct | null>(null);
  const { runId, status, firstWait } = run.head;
  const isOver = ENDS.has(status);
  const isUnstarted = status === "queued" && run.head.readyAt === null;
  const mayResume = !isOver && status !== "running" && (status !== "queued" || isUnstarted);
  return (
    <section
      aria-label="Next"
      className="flex flex-col gap-2 rounded-lg border border-line bg-panel px-3 py-2.5"
    >
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-80">
          <p>{standingWords(run, lastLife, now)}</p>
          {status === "waiting" && firstWait !== null && run.head.openWaits > 0 && (
            <p className="text-ink-3">
              <WaitId waitId={firstWait.waitId} />
            </p>
          )}
          <WhatElse run={run} />
        </div>
        {mayAct ? (
          <div className="flex flex-wrap gap-2">
            {buttonActs(run.next).map((act, index) => (
              <ActButton
                key={JSON.stringify(act)}
                runId={runId}
                act={act}
                isFirst={index === 0}
                onOpen={setOpened}
              />
            ))}
            {run.isConversation && status === "running" && <StopButton runId={runId} />}
            {run.turns > 0 && status !== "moved" && (
              <Button onClick={() => setOpened({ kind: "fork" })}>Fork…</Button>
            )}
            {CANCELLABLE.has(status) && (
              <Button onClick={() => setOpened({ kind: "cancel" })}>Cancel…</Button>
            )}
          </div>
        ) : (
          mayResume && <Button onClick={() => setOpened({ kind: "resume" })}>What would a resume do?</Button>
        )}
      </div>
      {opened?.kind === "resume" && mayResume && <ResumePanel run={run} onClose={() => setOpened(null)} />}
      {opened?.kind === "send" && (
        <MessageForm runId={runId} event={opened.event} isAnswering={status === "running"} />
      )}
      {opened?.kind === "cancel" && <CancelDialog run={run} onClose={() => setOpened(null)} />}
      {opened?.kind === "fork" && <ForkDialog run={run} onClose={() => setOpened(null)} />}
    </section>
  );
}

/** What a person or the outside has to do with how it stands. */
function WhatElse({ run }: { readonly run: Run }): ReactNode {
  const { resumeRequested, cancelRequestedAt, outage, error, head } = run;
  const needsWorker = (head.status === "queued" && head.readyAt !== null) || resumeRequested !== null;
  return (
    <>
      {error !== null && (
        <p className="text-failed">
          <code>{error.code}</code>: <VisibleText text={error.message} />
        </p>
      )}
      {outage !== null && (
        <p className="text-interrupted">
          The provider of the model is out since <Ago at={outage.since} />
          {outage.isAsking ? "; it is being asked again" : ""}.
        </p>
      )}
      {cancelRequestedAt !== null && head.status === "running" && (
        <p className="text-interrupted">
          It was asked to stop <Ago at={cancelRequestedAt} />.
        </p>
      )}
      {resumeRequested !== null && (
        <p>
          <VisibleLine text={resumeRequested.by} /> asked for a resume <Ago at={resumeRequested.at} />.
        </p>
      )}
      {needsWorker && <WorkerHint head={head} />}
    </>
  );
}

function WorkerHint({ head }: Pick<Run, "head">): ReactNode {
  const hasWorker = useHasWorker(head);
  if (hasWorker !== false) return null;
  return (
    <p className="mt-1 flex flex-wrap items-center gap-2 text-interrupted">
      Kept; it continues when a worker takes it. None that takes <VisibleLine text={head.pipeline} /> has
      reported. <Command text="pawl worker" />
    </p>
  );
}

function StopButton({ runId }: { readonly runId: string }): ReactNode {
  const { client } = useDashboard();
  const stop = useMutation({ mutationFn: () => client.stopRun({ runId }) });
  return (
    <>
      <Button
        title="Ends the present answer, and never the run"
        disabled={stop.isPending}
        onClick={() => stop.mutate()}
      >
        {stop.data?.stopped === true ? "Stopping" : "Stop the answer"}
      </Button>
      {stop.error !== null && <ProblemNotice error={stop.error} what="The answer was not stopped." />}
    </>
  );
}
