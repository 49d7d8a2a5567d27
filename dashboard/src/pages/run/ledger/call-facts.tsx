import { type ReactNode, useState } from "react";
import { operationAddress } from "../../../api/client.ts";
import { useMayAct } from "../../../live/dashboard-context.ts";
import { useRunQuery } from "../../../live/use-live.ts";
import { Button } from "../../../parts/controls/button.tsx";
import { Fact, Facts } from "../../../parts/layout/facts.tsx";
import { Notice, ProblemNotice } from "../../../parts/layout/notice.tsx";
import { CallId, Hash, WaitId } from "../../../parts/text/id.tsx";
import { JsonView } from "../../../parts/text/json-view.tsx";
import { Exact } from "../../../parts/text/time.tsx";
import { VisibleLine, VisibleText } from "../../../parts/text/visible.tsx";
import { sizeWords } from "../../../words/money-words.ts";
import { longDurationWords } from "../../../words/time-words.ts";
import type { CallAttempt, CallDetail, Receipt } from "./call-documents.ts";
import { CallStatus } from "./call-status.tsx";
import { SettleDialog } from "./settle-dialog.tsx";

/** A call, and why it did or did not happen again. */
export function CallFacts({ runId, callId }: { readonly runId: string; readonly callId: string }): ReactNode {
  const call = useRunQuery(runId, ["call", callId], (client, signal) => client.getCall({ callId, signal }));
  if (call.data !== undefined) return <Known runId={runId} call={call.data} />;
  if (call.error === null) return null;
  return (
    <ProblemNotice
      error={call.error}
      what="The call could not be read."
      onRetry={() => void call.refetch()}
    />
  );
}

function Known({ runId, call }: { readonly runId: string; readonly call: CallDetail }): ReactNode {
  const mayAct = useMayAct();
  const [isSettling, setSettling] = useState(false);
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <p>
        <VisibleLine text={call.story} />
      </p>
      {call.status === "in_doubt" && (
        <Notice
          kind="warning"
          title="It is not known whether it happened."
          action={mayAct && <Button onClick={() => setSettling(true)}>Settle…</Button>}
        >
          {call.waitId !== null && (
            <>
              Asked in <WaitId waitId={call.waitId} />
            </>
          )}
        </Notice>
      )}
      <Facts>
        <Fact name="call">
          <CallId runId={runId} callId={call.toolCallId} />
        </Fact>
        <Fact name="status">
          <CallStatus status={call.status} />
        </Fact>
        <Fact name="effect">
          {call.effect} · {call.recovery}
        </Fact>
        <Fact name="attempts">{call.attempt}</Fact>
        <Fact name="idempotency key">
          <Hash hash={call.idempotencyKey} what="idempotency key" />
        </Fact>
        {call.endsBy !== null && call.receipt === null && (
          <Fact name="ends by">
            <Exact at={call.endsBy} />
          </Fact>
        )}
      </Facts>
      <section className="flex min-w-0 flex-col gap-1">
        <h2 className="text-xs text-ink-3">Arguments</h2>
        <JsonView value={call.request} what="arguments" />
      </section>
      {call.receipt !== null && <ReceiptFacts runId={runId} receipt={call.receipt} />}
      {call.attempts.length > 0 && (
        <section className="flex flex-col gap-1">
          <h2 className="text-xs text-ink-3">Attempts without a receipt</h2>
          <ol className="flex flex-col gap-2">
            {call.attempts.map((attempt) => (
              <AttemptFacts key={attempt.attempt} attempt={attempt} />
            ))}
          </ol>
        </section>
      )}
      {isSettling && <SettleDialog call={call} onClose={() => setSettling(false)} />}
    </div>
  );
}

const SOURCES = {
  tool: "answered by the tool",
  reconciled: "found by a look-up",
  person: "settled by a person",
  late: "reported late by its worker",
  pawl: "written by Pawl",
} as const satisfies { readonly [S in Receipt["source"]]: string };

function ReceiptFacts({ runId, receipt }: { readonly runId: string; readonly receipt: Receipt }): ReactNode {
  const { status, source, at, correlationId, duplicateOf, errorCode, uncertain, blob, output } = receipt;
  return (
    <section className="flex min-w-0 flex-col gap-1">
      <h2 className="text-xs text-ink-3">
        Receipt · {status} · {SOURCES[source]} · <Exact at={at} />
      </h2>
      <Facts>
        {correlationId !== null && (
          <Fact name="correlation id">
            <code>
              <VisibleLine text={correlationId} />
            </code>
          </Fact>
        )}
        {duplicateOf !== null && (
          <Fact name="duplicate of">
            <CallId runId={runId} callId={duplicateOf} />
          </Fact>
        )}
        {errorCode !== null && <Fact name="error">{errorCode}</Fact>}
        {uncertain && <Fact name="certain">no: it may have happened anyway</Fact>}
      </Facts>
      {blob === null ? (
        <JsonView value={output} what="receipt" />
      ) : (
        <BlobLink runId={runId} blobId={blob.blobId} size={blob.size} />
      )}
    </section>
  );
}

/** Large values are not on the page: they are downloads. */
export function BlobLink({
  runId,
  blobId,
  size,
}: {
  readonly runId: string;
  readonly blobId: string;
  readonly size: number;
}): ReactNode {
  return (
    <a href={operationAddress("getBlob", { runId, blobId })} download className="text-accent hover:underline">
      Download {sizeWords(size)}
    </a>
  );
}

function AttemptFacts({ attempt }: { readonly attempt: CallAttempt }): ReactNode {
  const { startedAt, endedAt, outcome, errorCode, errorDetail, correlationId, late } = attempt;
  return (
    <li className="border-l-2 border-line pl-2">
      <p>
        {attempt.attempt} · {outcome.replaceAll("_", " ")} after{" "}
        {longDurationWords(Date.parse(endedAt) - Date.parse(startedAt))} · <Exact at={startedAt} />
      </p>
      {errorDetail !== null && (
        <p className="text-ink-2">
          {errorCode !== null && <code>{errorCode} </code>}
          <VisibleText text={errorDetail} />
        </p>
      )}
      {correlationId !== null && (
        <p className="text-ink-2">
          as{" "}
          <code>
            <VisibleLine text={correlationId} />
          </code>
        </p>
      )}
      {late !== null && (
        <div className="mt-1">
          <p className="text-interrupted">
            Evidence came late, <Exact at={late.at} />: {late.status}
          </p>
          <JsonView value={late.output} what="late evidence" openLevels={1} />
        </div>
      )}
    </li>
  );
}
