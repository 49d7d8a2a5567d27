import { type ReactNode, useEffect, useRef, useState } from "react";
import { Exact } from "../../../parts/text/time.tsx";
import { VisibleLine } from "../../../parts/text/visible.tsx";
import { longDurationWords } from "../../../words/time-words.ts";
import { lifeEndWords, ownerWords } from "./slice-words.ts";
import type { Slice, Timeline } from "./timeline-documents.ts";

const SHOWN = 200;

/** The timeline as text: for screen readers, and for who would rather read. */
export function TimelineTable({
  timeline,
  ordered,
  selected,
  now,
  onSelect,
}: {
  readonly timeline: Timeline;
  readonly ordered: readonly Slice[];
  readonly selected: string | null;
  readonly now: number;
  readonly onSelect: (id: string) => void;
}): ReactNode {
  const [shown, setShown] = useState(SHOWN);
  const at = ordered.findIndex(({ id }) => id === selected);
  const upTo = Math.max(shown, at + 1);
  return (
    <div className="max-h-[68dvh] overflow-auto">
      <table className="w-full border-collapse text-left">
        <thead className="sticky top-0 bg-panel text-xs text-ink-3">
          <tr>
            {["Begins", "Takes", "What", "Outcome", "Life"].map((name) => (
              <th key={name} scope="col" className="border-b border-line px-2 py-1 font-normal">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ordered.slice(0, upTo).map((slice) => (
            <SliceRow
              key={slice.id}
              slice={slice}
              now={now}
              isSelected={slice.id === selected}
              onSelect={() => onSelect(slice.id)}
            />
          ))}
        </tbody>
      </table>
      {ordered.length > upTo && (
        <button
          type="button"
          className="px-2 py-2 text-accent hover:underline"
          onClick={() => setShown(upTo + SHOWN)}
        >
          {ordered.length - upTo} more
        </button>
      )}
      <h2 className="border-t border-line px-2 pt-3 pb-1 font-medium">Lives</h2>
      <ol className="px-2 pb-3 text-ink-2">
        {timeline.lives.map((life) => (
          <li key={life.number}>
            {`Life ${life.number}, ${ownerWords(life.owner)}, from `}
            <Exact at={life.startedAt} />
            {" to "}
            <Exact at={life.endedAt} />
            {`: ${lifeEndWords(life)}.`}
          </li>
        ))}
      </ol>
    </div>
  );
}

const INDENT = { step: "", turn: "pl-3", model: "pl-6", tool: "pl-6" } as const;

function SliceRow({
  slice,
  now,
  isSelected,
  onSelect,
}: {
  readonly slice: Slice;
  readonly now: number;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}): ReactNode {
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (isSelected) row.current?.scrollIntoView({ block: "nearest" });
  }, [isSelected]);
  const { category, name, start, end, isOpen, isCut, outcome, life } = slice;
  return (
    <tr ref={row} className={`border-b border-line ${isSelected ? "bg-selected" : "hover:bg-hover"}`}>
      <td className="px-2 py-1 whitespace-nowrap text-ink-2">
        <Exact at={new Date(start).toISOString()}>{new Date(start).toLocaleTimeString("en-GB")}</Exact>
      </td>
      <td className="px-2 py-1 whitespace-nowrap text-ink-2">
        {longDurationWords((isOpen ? now : end) - start)}
        {isCut && " †"}
      </td>
      <td className="px-2 py-1">
        <button
          type="button"
          className={`text-left text-accent hover:underline ${INDENT[category]}`}
          onClick={onSelect}
        >
          <VisibleLine text={name} />
        </button>
      </td>
      <td className="px-2 py-1 text-ink-2">{isCut ? "cut off" : isOpen ? "running" : (outcome ?? "")}</td>
      <td className="px-2 py-1 text-ink-2">{life}</td>
    </tr>
  );
}
