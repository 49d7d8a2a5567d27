import { type ReactNode, useEffect, useRef } from "react";
import { useKeys } from "../../browser/keyboard.ts";
import { Button } from "../../parts/controls/button.tsx";
import { ProblemNotice } from "../../parts/layout/notice.tsx";
import { Section } from "../../parts/layout/section.tsx";
import { TurnView, turnKey } from "./compared-turn.tsx";
import { prefixWords } from "./shared-words.ts";
import { type Comparison, useComparedTurns } from "./use-comparison.ts";

type ComparedTurnsProps = {
  readonly comparison: Comparison;
  readonly at: string | null;
  readonly isWhole: boolean;
  readonly onAt: (turn: string) => void;
  readonly onWhole: (isWhole: boolean) => void;
};

/** The turns from the first difference on. Those before it are one line, until they are asked for. */
export function ComparedTurns({ comparison, at, isWhole, onAt, onWhole }: ComparedTurnsProps): ReactNode {
  const { a, b, samePrefix } = comparison;
  const pages = useComparedTurns(comparison, isWhole ? null : comparison.differsAfter);
  const turns = pages.data?.pages.flatMap((page) => page.turns) ?? [];
  const different = turns.filter(({ isSame }) => !isSame).map(turnKey);
  const list = useRef<HTMLDivElement>(null);
  const move = (step: number): void => {
    const from = at === null ? -1 : different.indexOf(at);
    const to = from + step;
    if (to >= different.length && pages.hasNextPage) void pages.fetchNextPage();
    const next = different[Math.min(different.length - 1, Math.max(0, to))];
    if (next !== undefined) onAt(next);
  };
  useKeys([
    { keys: "j", does: "Next turn that differs", run: () => move(1) },
    { keys: "k", does: "Previous turn that differs", run: () => move(-1) },
  ]);
  const isLoaded = pages.data !== undefined;
  useEffect(() => {
    if (at === null || !isLoaded) return;
    list.current?.querySelector(`[data-turn="${CSS.escape(at)}"]`)?.scrollIntoView({ block: "nearest" });
  }, [at, isLoaded]);
  return (
    <Section title="Turns">
      {samePrefix > 0 && (
        <p className="flex flex-wrap items-center gap-2 rounded-lg border border-dashed border-edge px-3 py-1.5 text-ink-2">
          {prefixWords(samePrefix)}
          <Button kind="quiet" aria-expanded={isWhole} onClick={() => onWhole(!isWhole)}>
            {isWhole ? "Fold" : "Show"}
          </Button>
        </p>
      )}
      {pages.error !== null && (
        <ProblemNotice
          error={pages.error}
          what="The turns could not be read."
          since={pages.errorUpdatedAt}
          onRetry={() => void pages.refetch()}
        />
      )}
      <div ref={list} className="flex flex-col gap-3">
        {turns.map((turn) => (
          <TurnView key={turnKey(turn)} turn={turn} a={a} b={b} isAt={turnKey(turn) === at} />
        ))}
      </div>
      {isLoaded && turns.length === 0 && (
        <p className="text-ink-2">
          {samePrefix > 0 ? "No turn differs." : "Neither has turns: no model was asked."}
        </p>
      )}
      {pages.hasNextPage && (
        <Button
          className="self-center"
          disabled={pages.isFetchingNextPage}
          onClick={() => void pages.fetchNextPage()}
        >
          More turns
        </Button>
      )}
    </Section>
  );
}
