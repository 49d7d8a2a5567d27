import { type ReactNode, useMemo, useState } from "react";
import { operationAddress } from "../../api/client.ts";
import { useMayExport } from "../../live/dashboard-context.ts";
import { Spent } from "../../parts/charts/budget-bar.tsx";
import { CopyButton } from "../../parts/controls/copy-button.tsx";
import { Link } from "../../parts/controls/link.tsx";
import { RunId } from "../../parts/text/id.tsx";
import { JsonView } from "../../parts/text/json-view.tsx";
import { Status } from "../../parts/text/status.tsx";
import { Ago } from "../../parts/text/time.tsx";
import { VisibleLine, VisibleText } from "../../parts/text/visible.tsx";
import type { Run } from "./next/standing-words.ts";
import { ACT_LOOK, type Verification, VerifiedBadge } from "./verification.tsx";

/** Beside the id: what kind of run it is, how it is, and its document. */
export function RunTitle({
  run,
  document,
  verification,
}: {
  readonly run: Run;
  /** As the API has it, byte for byte. */
  readonly document: Run;
  readonly verification: Verification;
}): ReactNode {
  const mayExport = useMayExport();
  const json = useMemo(() => JSON.stringify(document, null, 2), [document]);
  const { runId, status, pipeline } = run.head;
  return (
    <>
      <CopyButton text={runId} what="run id" />
      <Status status={status} />
      <Link
        href={`/?${new URLSearchParams({ pipeline }).toString()}`}
        className="touch-size text-ink-2 hover:underline"
      >
        <VisibleLine text={pipeline} />
      </Link>
      <span className="ml-auto flex items-center gap-2">
        <VerifiedBadge verification={verification} />
        {mayExport && (
          <a
            href={operationAddress("exportRun", { runId })}
            download
            title="Transcript, trace, log, receipts and artifacts, as a ZIP archive"
            className={`${ACT_LOOK} border-edge text-ink-2 hover:bg-hover`}
          >
            export
          </a>
        )}
        <CopyButton
          text={json}
          what="JSON"
          label="JSON"
          className={`${ACT_LOOK} border-edge text-ink-2 hover:bg-hover`}
        />
      </span>
    </>
  );
}

/** What it is about, where it comes from, and what it has used. */
export function RunFacts({ run }: { readonly run: Run }): ReactNode {
  const { head, forkedFrom, startedBy } = run;
  return (
    <div className="flex flex-col gap-1.5">
      <About run={run} />
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-ink-3">
        <span className="inline-flex text-sm text-ink">
          <Spent charged={head.charged} reserved={head.reserved} limit={head.limit} />
        </span>
        {run.budgets
          .filter(({ name }) => name !== "maxCostUsd" && name !== "maxTokens")
          .map(({ name, used, limit }) => (
            <span
              key={name}
              className={used >= limit ? "text-failed" : used < limit * 0.8 ? "max-sm:hidden" : ""}
            >
              {name} {Math.round(used * 10) / 10} / {limit}
            </span>
          ))}
        <span>
          created <Ago at={head.createdAt} />
          {startedBy !== null && (
            <>
              {" by "}
              <VisibleLine text={startedBy.name} />
            </>
          )}
        </span>
        {forkedFrom !== null && (
          <span className="inline-flex items-center gap-1">
            forked after turn {forkedFrom.turnIndex} of <RunId runId={forkedFrom.runId} />
            <Link
              href={`/compare?${new URLSearchParams({ a: forkedFrom.runId, b: head.runId }).toString()}`}
              className="text-accent hover:underline"
            >
              compare
            </Link>
          </span>
        )}
        {Object.entries(head.metadata ?? {}).map(([name, value]) => (
          <span key={name} className="rounded-sm bg-sunken px-1">
            <VisibleLine text={`${name}=${[value].flat().join(",")}`} />
          </span>
        ))}
      </div>
    </div>
  );
}

function InputLine({ input }: { readonly input: Run["input"] }): ReactNode {
  if (typeof input === "string") return <VisibleLine text={input} />;
  return (
    <code>
      <VisibleLine text={JSON.stringify(input) ?? ""} />
    </code>
  );
}

/** The objective in its own words, else the input: words as words, and other values as JSON. What is long opens. */
function About({ run }: { readonly run: Run }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const { objective } = run.head;
  const values = [
    ["Input", run.input],
    ["Output", run.output],
    ["Spec", run.spec],
  ] as const;
  return (
    <div className="flex flex-col gap-2">
      <div className="flex items-baseline gap-2">
        <p className={`min-w-0 text-ink-2 ${isOpen ? "" : "line-clamp-2"}`}>
          {objective !== null ? <VisibleText text={objective} /> : <InputLine input={run.input} />}
        </p>
        <button
          type="button"
          aria-expanded={isOpen}
          className="touch-size shrink-0 text-xs text-accent hover:underline"
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? "less" : "input and output"}
        </button>
      </div>
      {isOpen && (
        <div className="grid gap-3 md:grid-cols-2">
          {values
            .filter(([, value]) => value !== null && value !== undefined)
            .map(([name, value]) => (
              <section key={name} className="min-w-0">
                <h2 className="mb-1 text-xs text-ink-3">{name}</h2>
                <JsonView value={value} what={name.toLowerCase()} />
              </section>
            ))}
        </div>
      )}
    </div>
  );
}
