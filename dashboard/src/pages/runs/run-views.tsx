import { type ReactNode, useState } from "react";
import type { RunCounts } from "../../api/documents.ts";
import { useMayAct } from "../../live/dashboard-context.ts";
import { Button } from "../../parts/controls/button.tsx";
import { Dialog } from "../../parts/controls/dialog.tsx";
import { Icon } from "../../parts/controls/icon.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { countWords } from "../../words/money-words.ts";
import { filterSearch, type RunFilter, type RunView, VIEWS } from "./run-filter.ts";
import { forgetView, savedViews, saveView } from "./saved-views.ts";

type RunViewsProps = {
  readonly filter: RunFilter;
  readonly counts: RunCounts | null;
  readonly failedLately: number | null;
  readonly onChoose: (filter: RunFilter) => void;
};

/** Names for filters: ours, and those that the person has saved. */
export function RunViews({ filter, counts, failedLately, onChoose }: RunViewsProps): ReactNode {
  const [saved, setSaved] = useState(savedViews);
  const [isNaming, setNaming] = useState(false);
  const mayAct = useMayAct();
  const current = filterSearch(filter);
  const ours = [
    { ...VIEWS.all, count: counts?.total ?? null },
    // A viewer can answer nothing; one who was sent such an address still sees what it means.
    ...(mayAct || filter.needs ? [{ ...VIEWS.needs, count: counts?.needsPerson ?? null }] : []),
    { ...VIEWS.running, count: counts?.counts.running ?? null },
    { ...VIEWS.failed, count: failedLately },
  ];
  const isKnown = [...ours, ...saved].some((view) => filterSearch(view.filter) === current);
  return (
    <div role="group" aria-label="Views" className="flex flex-wrap items-center gap-1">
      {ours.map((view) => (
        <ViewButton
          key={view.name}
          view={view}
          count={view.count}
          isCapped={counts?.isCapped === true && view.count === 10_000}
          isCurrent={filterSearch(view.filter) === current}
          onChoose={onChoose}
        />
      ))}
      {saved.map((view) => (
        <span key={view.name} className="group/view inline-flex items-center">
          <ViewButton view={view} isCurrent={filterSearch(view.filter) === current} onChoose={onChoose} />
          <button
            type="button"
            aria-label={`Forget the view ${view.name}`}
            className="inline-flex size-5 items-center justify-center rounded-sm text-ink-3 opacity-0 group-hover/view:opacity-100 hover:bg-hover focus:opacity-100 pointer-coarse:opacity-100"
            onClick={() => setSaved(forgetView(view.name))}
          >
            <Icon name="close" className="size-2.5" />
          </button>
        </span>
      ))}
      {!isKnown && (
        <Button kind="quiet" onClick={() => setNaming(true)}>
          Save view
        </Button>
      )}
      {isNaming && (
        <NameView
          onClose={() => setNaming(false)}
          onName={(name) => {
            setSaved(saveView(name, filter));
            setNaming(false);
          }}
        />
      )}
    </div>
  );
}

type ViewButtonProps = {
  readonly view: RunView;
  readonly count?: number | null;
  readonly isCapped?: boolean;
  readonly isCurrent: boolean;
  readonly onChoose: (filter: RunFilter) => void;
};

function ViewButton({
  view,
  count = null,
  isCapped = false,
  isCurrent,
  onChoose,
}: ViewButtonProps): ReactNode {
  return (
    <button
      type="button"
      aria-pressed={isCurrent}
      className="inline-flex h-7 items-center gap-1.5 rounded-md px-2.5 whitespace-nowrap text-ink-2 hover:bg-hover hover:text-ink aria-pressed:bg-selected aria-pressed:font-medium aria-pressed:text-ink"
      onClick={() => onChoose(view.filter)}
    >
      <VisibleLine text={view.name} />
      {count !== null && (
        <span className="text-xs font-normal text-ink-3">{countWords(count) + (isCapped ? "+" : "")}</span>
      )}
    </button>
  );
}

function NameView({
  onName,
  onClose,
}: {
  readonly onName: (name: string) => void;
  readonly onClose: () => void;
}): ReactNode {
  const [name, setName] = useState("");
  const save = (): void => {
    if (name.trim() !== "") onName(name.trim());
  };
  return (
    <Dialog
      title="Save this view"
      onClose={onClose}
      onConfirm={save}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" disabled={name.trim() === ""} onClick={save}>
            Save
          </Button>
        </>
      }
    >
      <label className="flex flex-col gap-1">
        Name
        <input
          autoFocus
          maxLength={40}
          value={name}
          onChange={({ target }) => setName(target.value)}
          className="h-7 rounded-md border border-edge bg-panel px-2"
        />
      </label>
      <p className="mt-2 text-xs text-ink-3">
        It is kept in this browser. The address of the page can be sent to others.
      </p>
    </Dialog>
  );
}
