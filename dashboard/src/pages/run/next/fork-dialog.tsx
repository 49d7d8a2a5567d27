import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { navigate } from "wouter/use-browser-location";
import type { Answer } from "../../../api/client.ts";
import { runPath } from "../../../browser/places.ts";
import { useDashboard } from "../../../live/dashboard-context.ts";
import { Button } from "../../../parts/controls/button.tsx";
import { Dialog } from "../../../parts/controls/dialog.tsx";
import { Notice, ProblemNotice } from "../../../parts/layout/notice.tsx";
import { CallId, RunId } from "../../../parts/text/id.tsx";
import { JsonView } from "../../../parts/text/json-view.tsx";
import { RecordedAs } from "../../../parts/text/recorded-as.tsx";
import { VisibleLine } from "../../../parts/text/visible.tsx";
import { counted } from "../../../words/money-words.ts";
import { CallStatus } from "../ledger/call-status.tsx";
import type { Run } from "./standing-words.ts";

type Fork = Answer<"forkRun">;

const FIELD = "h-7 rounded-md border border-edge bg-panel px-2";

/** Makes a fork, then lists what it may do again, and only then starts it. */
export function ForkDialog({ run, onClose }: { readonly run: Run; readonly onClose: () => void }): ReactNode {
  const { client } = useDashboard();
  const { runId } = run.head;
  const [turn, setTurn] = useState(String(Math.max(1, run.turns)));
  const [step, setStep] = useState("");
  const atTurn = Number(turn);
  const isValid = Number.isInteger(atTurn) && atTurn >= 1;
  const fork = useMutation({
    mutationFn: () => client.forkRun({ runId }, { atTurn, ...(step === "" ? {} : { step }) }),
  });
  const start = useMutation({
    mutationFn: (forkId: string) => client.resumeRun({ runId: forkId }, {}),
    onSuccess: (_, forkId) => navigate(runPath(forkId)),
  });
  const made = fork.data;
  return (
    <Dialog
      title={made === undefined ? "Fork the run" : "The fork is made, and not started"}
      width="wide"
      onClose={onClose}
      footer={
        <>
          <RecordedAs />
          {made === undefined ? (
            <>
              <Button onClick={onClose}>Close</Button>
              <Button kind="primary" disabled={!isValid || fork.isPending} onClick={() => fork.mutate()}>
                Make the fork
              </Button>
            </>
          ) : (
            <>
              <Button onClick={() => navigate(runPath(made.runId))}>Look at it</Button>
              <Button kind="primary" disabled={start.isPending} onClick={() => start.mutate(made.runId)}>
                Start it
              </Button>
            </>
          )}
        </>
      }
    >
      {fork.error !== null && <ProblemNotice error={fork.error} what="No fork was made." />}
      {start.error !== null && <ProblemNotice error={start.error} what="The fork was not started." />}
      {made === undefined ? (
        <div className="flex flex-col gap-3">
          <p className="text-ink-2">
            A fork has the history up to a turn of this run, and continues from there by itself. This run is
            not changed. Before the fork is started, you see what it may do a second time.
          </p>
          <div className="flex flex-wrap gap-3">
            <label className="inline-flex items-center gap-1.5">
              After turn
              <input
                type="number"
                min={1}
                value={turn}
                className={`${FIELD} w-20`}
                onChange={({ target }) => setTurn(target.value)}
              />
            </label>
            <StepField runId={runId} step={step} onStep={setStep} />
          </div>
        </div>
      ) : (
        <LaterEffects runId={runId} atTurn={atTurn} fork={made} />
      )}
    </Dialog>
  );
}

function StepField({
  runId,
  step,
  onStep,
}: {
  readonly runId: string;
  readonly step: string;
  readonly onStep: (step: string) => void;
}): ReactNode {
  const { client } = useDashboard();
  const { data } = useQuery({
    queryKey: ["run", runId, "steps"],
    queryFn: ({ signal }) => client.listSteps({ runId, limit: 200, signal }),
  });
  if (data === undefined || data.items.length < 2) return null;
  return (
    <label className="inline-flex min-w-0 items-center gap-1.5">
      of
      <select value={step} className={`${FIELD} max-w-64`} onChange={({ target }) => onStep(target.value)}>
        <option value="">the last step with turns</option>
        {data.items.map(({ path }) => (
          <option key={path} value={path}>
            {path}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What this run did after the turn: the fork does not know of it. */
function LaterEffects({
  runId,
  atTurn,
  fork: { runId: forkId, laterEffects },
}: {
  readonly runId: string;
  readonly atTurn: number;
  readonly fork: Fork;
}): ReactNode {
  return (
    <div className="flex flex-col gap-3">
      <p>
        It continues after turn {atTurn} as <RunId runId={forkId} />
      </p>
      {laterEffects.length === 0 ? (
        <Notice kind="success" title="Nothing would be done twice.">
          This run has had no effect outside after that turn.
        </Notice>
      ) : (
        <>
          <Notice
            kind="warning"
            title={`The fork may do ${counted(laterEffects.length, "thing")} a second time.`}
          >
            This run did them after turn {atTurn}. The fork does not know that.
          </Notice>
          <ul className="flex flex-col gap-2">
            {laterEffects.map(({ toolCallId, tool, request, status }) => (
              <li key={toolCallId} className="flex flex-col gap-1 rounded-md border border-line px-3 py-2">
                <span className="flex flex-wrap items-center gap-x-3">
                  <span className="font-medium">
                    <VisibleLine text={tool} />
                  </span>
                  <CallStatus status={status} />
                  <CallId runId={runId} callId={toolCallId} />
                </span>
                <JsonView value={request} what="arguments" openLevels={1} />
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
