import type { ReactNode } from "react";
import type { RunHead } from "../../api/documents.ts";
import { useRunHead } from "../../live/use-live.ts";
import { Button } from "../../parts/controls/button.tsx";
import { Loaded } from "../../parts/layout/loaded.tsx";
import { Notice } from "../../parts/layout/notice.tsx";
import { Section } from "../../parts/layout/section.tsx";
import { RunId } from "../../parts/text/id.tsx";
import { PipelineLink } from "../../parts/text/pipeline-link.tsx";
import { Status } from "../../parts/text/status.tsx";
import { valueChange } from "../../parts/text/value-change.ts";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { countWords, moneyWords } from "../../words/money-words.ts";
import { longDurationWords } from "../../words/time-words.ts";
import { ChangeList } from "./change-list.tsx";
import { ComparedTurns } from "./compared-turns.tsx";
import { sharedWords, sharesNothing } from "./shared-words.ts";
import { type Comparison, useComparison } from "./use-comparison.ts";

type ComparedRunsProps = {
  readonly headA: RunHead;
  readonly headB: RunHead;
  readonly at: string | null;
  /** The turns that are the same are shown, too. */
  readonly isWhole: boolean;
  readonly onAt: (turn: string) => void;
  readonly onWhole: (isWhole: boolean) => void;
  readonly onSwap: () => void;
  readonly onOther: () => void;
};

/** Which runs, what they cost, how they were set up, where they part, and what came of them. */
export function ComparedRuns(props: ComparedRunsProps): ReactNode {
  const { headA, headB } = props;
  const comparison = useComparison(headA.runId, headB.runId);
  return (
    <Loaded query={comparison} what="The runs could not be compared.">
      {(data) => {
        const isApart = sharesNothing(data, { a: headA, b: headB });
        return (
          <div className="flex flex-col gap-6">
            <Heads comparison={data} {...props} />
            {isApart ? (
              <Notice kind="warning" title="These runs share nothing.">
                They are of two pipelines and have another input, so their turns are not compared. Their costs
                and outputs are.
              </Notice>
            ) : (
              <>
                <Setup setup={data.setup} />
                <ComparedTurns comparison={data} {...props} />
              </>
            )}
            <Output output={data.output} />
          </div>
        );
      }}
    </Loaded>
  );
}

function Heads(props: ComparedRunsProps & { readonly comparison: Comparison }): ReactNode {
  const { headA, headB, comparison, onSwap, onOther } = props;
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="text-ink-2">{sharedWords(comparison, { a: headA, b: headB })}</span>
        <Button kind="quiet" onClick={onSwap}>
          Swap
        </Button>
        <Button kind="quiet" onClick={onOther}>
          Another run…
        </Button>
      </div>
      <div className="grid gap-x-6 gap-y-2 md:grid-cols-2">
        <Head name="a" fetched={headA} spent={comparison.spent.a} tookMs={comparison.tookMs.a} />
        <Head name="b" fetched={headB} spent={comparison.spent.b} tookMs={comparison.tookMs.b} />
      </div>
    </div>
  );
}

type HeadProps = {
  readonly name: "a" | "b";
  readonly fetched: RunHead;
  readonly spent: Comparison["spent"]["a"];
  readonly tookMs: number;
};

function Head({ name, fetched, spent, tookMs }: HeadProps): ReactNode {
  const head = useRunHead(fetched.runId, fetched);
  return (
    <article
      aria-label={`Run ${name}`}
      className="flex min-w-0 flex-col gap-1 rounded-lg border border-line bg-panel px-3 py-2"
    >
      <p className="flex flex-wrap items-center gap-x-3 gap-y-0.5">
        <span
          className={`rounded-sm px-1.5 font-semibold ${name === "a" ? "bg-failed-soft text-failed" : "bg-succeeded-soft text-succeeded"}`}
        >
          {name}
        </span>
        <RunId runId={head.runId} />
        <Status status={head.status} />
        <PipelineLink pipeline={head.pipeline} />
      </p>
      {head.objective !== null && (
        <p className="one-line text-ink-2">
          <VisibleLine text={head.objective} />
        </p>
      )}
      <p className="text-ink-3">
        {spent.microDollars > 0 ? moneyWords(spent.microDollars) : `${countWords(spent.tokens)} tokens`} ·{" "}
        {longDurationWords(tookMs)}
      </p>
    </article>
  );
}

/** Of the agents that both have: the reason why they may differ. */
function Setup({ setup }: { readonly setup: Comparison["setup"] }): ReactNode {
  return (
    <Section title="Setup">
      {setup.length === 0 ? (
        <p className="text-ink-2">Model, prompt, tools and settings are the same.</p>
      ) : (
        <div className="rounded-lg border border-line bg-panel">
          <ChangeList
            label="Setup"
            changes={setup.map(({ step, path, a, b }) => valueChange(`${step}: ${path}`, a, b))}
          />
        </div>
      )}
    </Section>
  );
}

function Output({ output }: { readonly output: Comparison["output"] }): ReactNode {
  return (
    <Section title="Output">
      {output.isSame ? (
        <p className="text-ink-2">The outputs do not differ.</p>
      ) : (
        <div className="rounded-lg border border-line bg-panel">
          <ChangeList
            label="Output"
            changes={output.changes.map(({ path, a, b }) => valueChange(path, a, b))}
          />
        </div>
      )}
    </Section>
  );
}
