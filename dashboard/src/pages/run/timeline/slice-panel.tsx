import type { ReactNode } from "react";
import { useNow } from "../../../live/use-now.ts";
import { Link } from "../../../parts/controls/link.tsx";
import { Fact, Facts } from "../../../parts/layout/facts.tsx";
import { CallId, WaitId } from "../../../parts/text/id.tsx";
import { Exact } from "../../../parts/text/time.tsx";
import { VisibleLine } from "../../../parts/text/visible.tsx";
import { longDurationWords } from "../../../words/time-words.ts";
import { CallFacts } from "../ledger/call-facts.tsx";
import { viewPath } from "../run-params.ts";
import { waitWords } from "./slice-words.ts";
import type { Slice, TimelineWait } from "./timeline-documents.ts";

export type Selected =
  | { readonly kind: "slice"; readonly title: string; readonly slice: Slice }
  | { readonly kind: "wait"; readonly title: string; readonly wait: TimelineWait };

/** What is selected on the timeline. */
export function SlicePanel({
  runId,
  selected,
}: {
  readonly runId: string;
  readonly selected: Selected;
}): ReactNode {
  return selected.kind === "wait" ? (
    <WaitPanel runId={runId} wait={selected.wait} />
  ) : (
    <OfSlice runId={runId} slice={selected.slice} />
  );
}

function OfSlice({ runId, slice }: { readonly runId: string; readonly slice: Slice }): ReactNode {
  const { start, end, isCut, isOpen, life, outcome, step, turn, toolCallId } = slice;
  const now = useNow();
  const lasted = longDurationWords((isOpen ? Math.max(now, start) : end) - start);
  return (
    <div className="flex flex-col gap-3">
      <Facts>
        <Fact name="began">
          <Exact at={new Date(start).toISOString()} />
        </Fact>
        <Fact name={isOpen ? "so far" : isCut ? "known" : "took"}>
          {lasted}
          {isCut && <span className="text-interrupted"> · cut off: its worker died in it</span>}
        </Fact>
        <Fact name="in">
          life {life}
          {step !== null && (
            <>
              {" · step "}
              <VisibleLine text={step} />
            </>
          )}
          {turn !== null && ` · turn ${turn}`}
        </Fact>
        {outcome !== null && (
          <Fact name={slice.category === "model" ? "charged" : "outcome"}>{outcomeWords(slice)}</Fact>
        )}
      </Facts>
      {turn !== null && (
        <Link
          href={viewPath(runId, { view: "transcript", at: `turn:${step ?? ""}#${turn}` })}
          className="text-accent hover:underline"
        >
          Turn {turn} in the transcript
        </Link>
      )}
      {toolCallId !== null && <CallFacts runId={runId} callId={toolCallId} />}
    </div>
  );
}

/** The outcome of a request to a model is what its charge is based on. */
function outcomeWords({ category, outcome }: Slice): string {
  if (category !== "model") return (outcome ?? "").replaceAll("_", " ");
  return outcome === "provider"
    ? "what the provider reported"
    : outcome === "baseline"
      ? "its whole reservation: the provider reported nothing"
      : "nothing";
}

function WaitPanel({ runId, wait }: { readonly runId: string; readonly wait: TimelineWait }): ReactNode {
  const now = useNow();
  return (
    <div className="flex flex-col gap-3">
      <p>It {waitWords(wait, now)}.</p>
      <Facts>
        <Fact name="wait">
          <WaitId waitId={wait.waitId} />
        </Fact>
        <Fact name="kind">{wait.kind.replaceAll("_", " ")}</Fact>
        <Fact name="since">
          <Exact at={new Date(wait.start).toISOString()} />
        </Fact>
        {wait.end !== null && (
          <Fact name={wait.status}>
            <Exact at={new Date(wait.end).toISOString()} />
          </Fact>
        )}
        {wait.toolCallId !== null && (
          <Fact name="call">
            <CallId runId={runId} callId={wait.toolCallId} />
          </Fact>
        )}
      </Facts>
    </div>
  );
}
