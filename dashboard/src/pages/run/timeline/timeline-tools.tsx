import type { ReactNode } from "react";
import { Button } from "../../../parts/controls/button.tsx";
import { counted } from "../../../words/money-words.ts";
import { ChoiceFilter } from "../choice-filter.tsx";

const LEGEND = [
  ["step", "bg-slice-step"],
  ["turn", "bg-slice-turn"],
  ["model", "bg-slice-model"],
  ["tool", "bg-slice-tool"],
  ["wait", "bg-waiting-soft border-waiting"],
] as const;

type TimelineToolsProps = {
  /** What stands out, and what can. */
  readonly show: string | null;
  readonly choices: readonly string[];
  readonly onShow: (show: string | null) => void;
  readonly isTable: boolean;
  readonly onTable: (isTable: boolean) => void;
  readonly onZoom: (factor: number) => void;
  readonly onFit: () => void;
  /** Folds what was unfolded; null if nothing was. */
  readonly folded: (() => void) | null;
  readonly leftOut: number;
};

export function TimelineTools(props: TimelineToolsProps): ReactNode {
  const { show, choices, onShow, isTable, onTable, onZoom, onFit, folded, leftOut } = props;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-2 py-1 text-xs text-ink-3">
      {!isTable && (
        <ul aria-label="Legend" className="flex flex-wrap gap-x-3 gap-y-0.5">
          {LEGEND.map(([name, look]) => (
            <li key={name} className="inline-flex items-center gap-1">
              <span className={`size-2.5 rounded-xs border border-line ${look}`} />
              {name}
            </li>
          ))}
        </ul>
      )}
      {leftOut > 0 && <span>{counted(leftOut, "short band")} left out: zoom in to see them</span>}
      <div className="ml-auto flex flex-wrap items-center gap-x-1">
        <ChoiceFilter name="show" none="all" value={show} choices={choices} onValue={onShow} />
        {folded !== null && (
          <Button kind="quiet" className="text-xs" onClick={folded}>
            Fold
          </Button>
        )}
        {!isTable && (
          <>
            <Button kind="quiet" aria-label="Zoom out" title="Zoom out (−)" onClick={() => onZoom(1 / 1.6)}>
              −
            </Button>
            <Button kind="quiet" className="text-xs" title="Show all of the run (0)" onClick={onFit}>
              fit
            </Button>
            <Button kind="quiet" aria-label="Zoom in" title="Zoom in (+)" onClick={() => onZoom(1.6)}>
              +
            </Button>
          </>
        )}
        <Button kind="quiet" className="text-xs" aria-pressed={isTable} onClick={() => onTable(!isTable)}>
          {isTable ? "drawing" : "table"}
        </Button>
      </div>
    </div>
  );
}
