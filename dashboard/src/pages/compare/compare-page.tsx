import type { ReactNode } from "react";
import { flag, optional } from "../../browser/search-params.ts";
import { useSearchParams } from "../../browser/use-search-params.ts";
import { useRunQuery } from "../../live/use-live.ts";
import { Loaded } from "../../parts/layout/loaded.tsx";
import { Page } from "../../parts/layout/page.tsx";
import { ComparedRuns } from "./compared-runs.tsx";
import { RunFields, RunPicker } from "./run-picker.tsx";

const COMPARE_PARAMS = { a: optional, b: optional, same: flag, at: optional } as const;

/** Two runs side by side. With one of them given, the other is chosen here. */
export default function ComparePage(): ReactNode {
  const [{ a, b, same, at }, change] = useSearchParams(COMPARE_PARAMS);
  const given = a ?? b;
  const choose = (first: string | null, second: string | null): void =>
    change({ a: first, b: second, same: false, at: null });
  return (
    <Page title="Compare">
      {given === null ? (
        <RunFields onChoose={choose} />
      ) : a === null || b === null || a === b ? (
        <Picker key={given} runId={given} onChoose={(other) => choose(given, other)} />
      ) : (
        <Both
          key={`${a} ${b}`}
          a={a}
          b={b}
          at={at}
          isWhole={same}
          onAt={(next) => change({ at: next }, { replace: true })}
          onWhole={(next) => change({ same: next })}
          onSwap={() => choose(b, a)}
          onOther={() => choose(a, null)}
        />
      )}
    </Page>
  );
}

type PickerProps = { readonly runId: string; readonly onChoose: (runId: string) => void };

function Picker({ runId, onChoose }: PickerProps): ReactNode {
  const run = useRunQuery(runId, ["account"], (client, signal) => client.getRun({ runId, signal }));
  return (
    <Loaded query={run} what="The run could not be read.">
      {({ head }) => <RunPicker head={head} onChoose={onChoose} />}
    </Loaded>
  );
}

type BothProps = Omit<Parameters<typeof ComparedRuns>[0], "headA" | "headB"> & {
  readonly a: string;
  readonly b: string;
};

function Both({ a, b, ...rest }: BothProps): ReactNode {
  const runA = useRunQuery(a, ["account"], (client, signal) => client.getRun({ runId: a, signal }));
  const runB = useRunQuery(b, ["account"], (client, signal) => client.getRun({ runId: b, signal }));
  return (
    <Loaded query={runA} what="The first run could not be read.">
      {(first) => (
        <Loaded query={runB} what="The second run could not be read.">
          {(second) => <ComparedRuns headA={first.head} headB={second.head} {...rest} />}
        </Loaded>
      )}
    </Loaded>
  );
}
