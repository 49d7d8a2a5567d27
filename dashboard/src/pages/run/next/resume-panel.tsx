import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { PawlProblem } from "../../../api/client.ts";
import { useDashboard, useMayAct } from "../../../live/dashboard-context.ts";
import { Button } from "../../../parts/controls/button.tsx";
import { Notice, ProblemNotice } from "../../../parts/layout/notice.tsx";
import { RecordedAs } from "../../../parts/text/recorded-as.tsx";
import { VisibleLine } from "../../../parts/text/visible.tsx";
import { ChangedSince } from "./changed-since.tsx";
import { type Forecast, forecastWords } from "./forecast-words.ts";
import { NO_OPTIONS, type ResumeChoice, ResumeOptions, resumeFields } from "./resume-options.tsx";
import type { Run } from "./standing-words.ts";

/** What a resume would do, and the button that asks for it. Nothing is done until that is pressed. */
export function ResumePanel({
  run,
  onClose,
}: {
  readonly run: Run;
  readonly onClose: () => void;
}): ReactNode {
  const { client } = useDashboard();
  const queries = useQueryClient();
  const mayAct = useMayAct();
  const { runId } = run.head;
  const [choice, setChoice] = useState<ResumeChoice>(NO_OPTIONS);
  const fields = resumeFields(choice);
  // Not among the queries of the run: those are fetched again by themselves, and this one is what the person has looked at.
  const forecast = useQuery({
    queryKey: ["forecast", runId, fields],
    queryFn: ({ signal }) => client.forecastRun({ runId, signal }, fields),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  const hasNoCode = forecast.error instanceof PawlProblem && forecast.error.status === 422;
  const resume = useMutation({
    mutationFn: () =>
      client.resumeRun(
        { runId },
        { ...fields, ...(forecast.data === undefined ? {} : asShown(forecast.data)) },
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["run", runId] });
      onClose();
    },
  });
  const isChanged = resume.error instanceof PawlProblem && resume.error.code === "forecast_changed";
  const isReady = !forecast.isFetching && (forecast.data !== undefined || hasNoCode);
  return (
    <section aria-label="Resume" className="flex flex-col gap-3 border-t border-line pt-3">
      {isChanged && forecast.data !== undefined ? (
        <ChangedSince
          runId={runId}
          eventSeq={forecast.data.eventSeq}
          onLook={() => {
            resume.reset();
            void forecast.refetch();
          }}
        />
      ) : (
        resume.error !== null && <ProblemNotice error={resume.error} what="Nothing was resumed." />
      )}
      {forecast.error !== null && !hasNoCode && (
        <ProblemNotice
          error={forecast.error}
          what="There is no forecast."
          onRetry={() => void forecast.refetch()}
        />
      )}
      {hasNoCode && (
        <p className="text-ink-2">
          This server does not have the code of <VisibleLine text={run.head.pipeline} />, so it cannot say
          what a resume would do. A worker that has it can resume the run.
        </p>
      )}
      {forecast.data !== undefined && (
        <ForecastText forecast={forecast.data} isOld={isChanged || forecast.isFetching} />
      )}
      <ResumeOptions run={run} choice={choice} onChoice={setChoice} />
      <div className="flex flex-wrap items-center justify-end gap-2">
        {mayAct && <RecordedAs />}
        <Button onClick={onClose}>Close</Button>
        {mayAct && (
          <Button
            kind="primary"
            disabled={!isReady || isChanged || resume.isPending}
            onClick={() => resume.mutate()}
          >
            Resume
          </Button>
        )}
      </div>
    </section>
  );
}

/** What the person agrees to: the run as it was then, and the changes of its code that were shown. */
function asShown({ eventSeq, accepts }: Forecast) {
  return { ifSeq: eventSeq, ...(accepts === null ? {} : { changesHash: accepts.changesHash }) };
}

/** The forecast as a sentence, and what would stop the run. */
function ForecastText({
  forecast,
  isOld,
}: {
  readonly forecast: Forecast;
  readonly isOld: boolean;
}): ReactNode {
  const { refusal } = forecast;
  const parts = forecastWords(forecast);
  return (
    <div className={`flex flex-col gap-2 ${isOld ? "opacity-55" : ""}`}>
      {refusal !== null && (
        <Notice
          kind={refusal.isQuestion ? "question" : "problem"}
          title={refusal.isQuestion ? "A person would be asked." : "It would fail again."}
        >
          <VisibleLine text={refusal.message} />
        </Notice>
      )}
      <p>
        <span className="text-ink-3">A resume would: </span>
        {parts.length === 0 ? "do nothing." : `${parts.join(" · ")}.`}
      </p>
    </div>
  );
}
