import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import type { Amount } from "../../api/documents.ts";
import { Icon } from "../../parts/controls/icon.tsx";
import { CallId } from "../../parts/text/id.tsx";
import { changedFields } from "../../parts/text/value-change.ts";
import { shownLine, VisibleLine } from "../../parts/text/visible.tsx";
import { countWords, moneyWords } from "../../words/money-words.ts";
import { durationWords } from "../../words/time-words.ts";
import { ChangeList } from "./change-list.tsx";
import { type PairedCall, pairedCalls } from "./compared-calls.ts";
import { FoldedSides } from "./folded-sides.tsx";
import { type TurnSide, turnSide } from "./turn-side.ts";

export type ComparedTurn = Answer<"compareRuns">["turns"][number];

export function turnKey({ stepPath, turnIndex }: ComparedTurn): string {
  return `${stepPath}#${turnIndex}`;
}

type TurnViewProps = {
  readonly turn: ComparedTurn;
  readonly a: string;
  readonly b: string;
  readonly isAt: boolean;
};

/** A turn of both runs: what the model said, what it called, and what that took. */
export function TurnView({ turn, a, b, isAt }: TurnViewProps): ReactNode {
  const [sideA, sideB] = [turnSide(turn.a), turnSide(turn.b)];
  const key = turnKey(turn);
  const calls = pairedCalls(turn.calls);
  const isReasoned = (sideA?.reasoning ?? "") !== "" || (sideB?.reasoning ?? "") !== "";
  return (
    <article
      data-turn={key}
      aria-label={`Turn ${turn.turnIndex} of ${shownLine(turn.stepPath)}`}
      aria-current={isAt ? "true" : undefined}
      className={`scroll-mt-28 overflow-clip rounded-lg border bg-panel ${isAt ? "border-accent shadow-[inset_2px_0_var(--color-accent)]" : "border-line"}`}
    >
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-1.5">
        <h3 className="font-medium">Turn {turn.turnIndex}</h3>
        <span className="text-ink-3">
          <VisibleLine text={turn.stepPath} />
        </span>
        <TurnMatch turn={turn} />
      </header>
      <div className="flex flex-col gap-2 px-3 py-2">
        <FoldedSides a={sideA?.text ?? null} b={sideB?.text ?? null} />
        {isReasoned && (
          <details>
            <summary className="disclosure py-0.5 text-ink-2 hover:text-ink">Reasoning</summary>
            <div className="mt-1 text-ink-2">
              <FoldedSides a={sideA?.reasoning ?? null} b={sideB?.reasoning ?? null} />
            </div>
          </details>
        )}
        <div className="grid gap-x-6 text-xs text-ink-3 md:grid-cols-2">
          <Cost name="a" side={sideA} spent={turn.spent.a} />
          <Cost name="b" side={sideB} spent={turn.spent.b} />
        </div>
      </div>
      {calls.length > 0 && (
        <ul aria-label="Tool calls" className="border-t border-line">
          {calls.map((call) => (
            <CallRow key={`${call.a} ${call.b}`} call={call} a={a} b={b} sides={[sideA, sideB]} />
          ))}
        </ul>
      )}
    </article>
  );
}

function TurnMatch({ turn }: { readonly turn: ComparedTurn }): ReactNode {
  if (turn.isSame) return <span className="text-ink-3">the same</span>;
  const words = turn.b === null ? "only in a" : turn.a === null ? "only in b" : "differs";
  return (
    <span className="inline-flex items-center gap-1 text-interrupted">
      <Icon name="differs" /> {words}
    </span>
  );
}

type CostProps = {
  readonly name: "a" | "b";
  readonly side: TurnSide | null;
  readonly spent: Amount | null;
};

function Cost({ name, side, spent }: CostProps): ReactNode {
  if (side === null || spent === null) return <span className="max-md:hidden" />;
  return (
    <span>
      <span className="md:sr-only">{name}: </span>
      {spent.microDollars > 0 ? moneyWords(spent.microDollars) : `${countWords(spent.tokens)} tokens`}
      {side.tookMs === null ? " · taken over from its parent" : ` · ${durationWords(side.tookMs)}`}
    </span>
  );
}

const MATCHES = {
  same: { words: "same effect", look: "text-ink-3", icon: "succeeded" },
  changed: { words: "changed", look: "text-interrupted", icon: "differs" },
  only_a: { words: "only in a", look: "text-failed", icon: "failed" },
  only_b: { words: "only in b", look: "text-succeeded", icon: "added" },
} as const;

type CallRowProps = {
  readonly call: PairedCall;
  readonly a: string;
  readonly b: string;
  readonly sides: readonly [TurnSide | null, TurnSide | null];
};

function CallRow({ call, a, b, sides: [sideA, sideB] }: CallRowProps): ReactNode {
  const { words, look, icon } = MATCHES[call.match];
  const [requestA, requestB] = [
    sideA?.requests.get(call.a ?? "") ?? null,
    sideB?.requests.get(call.b ?? "") ?? null,
  ];
  const changes = call.match === "same" ? [] : changedFields(requestA ?? {}, requestB ?? {});
  return (
    <li className="border-b border-line last:border-0">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-0.5 px-3 py-1.5">
        <span className={`inline-flex items-center gap-1 whitespace-nowrap ${look}`}>
          <Icon name={icon} /> {words}
        </span>
        <span className="font-medium">
          <VisibleLine text={call.tool} />
        </span>
        {call.a !== null && <CallId runId={a} callId={call.a} />}
        {call.b !== null && <CallId runId={b} callId={call.b} />}
      </div>
      {changes.length > 0 && (
        <div className="border-t border-line bg-sunken">
          <ChangeList changes={changes} label={`Arguments of ${shownLine(call.tool)}`} />
        </div>
      )}
    </li>
  );
}
