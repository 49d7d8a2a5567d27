import { type ReactNode, useMemo, useState } from "react";
import { visibleJson } from "../../../../src/core/visible-text.ts";
import { sizeWords } from "../../words/money-words.ts";
import { CopyButton } from "../controls/copy-button.tsx";

/** Larger values are shown as text and not as a tree, and only in part. */
const TREE_CHARACTERS = 1_000_000;
const SHOWN_CHARACTERS = 100_000;
const SHOWN_CHILDREN = 100;
const SHOWN_TEXT = 2_000;

/** Any JSON: a tree that opens piece by piece, or the raw text. Nothing of it is ever more than text. */
export function JsonView({
  value,
  what = "JSON",
  openLevels = 2,
}: {
  readonly value: unknown;
  readonly what?: string;
  readonly openLevels?: number;
}): ReactNode {
  const json = useMemo(() => JSON.stringify(value, null, 2) ?? "undefined", [value]);
  const isTree = json.length <= TREE_CHARACTERS && typeof value === "object" && value !== null;
  const [isRaw, setRaw] = useState(false);
  return (
    <div className="relative min-w-0 overflow-hidden rounded-md border border-line bg-sunken">
      <div className="absolute top-1 right-1 flex items-center gap-1 rounded-sm bg-sunken text-xs">
        {isTree && (
          <button
            type="button"
            aria-pressed={isRaw}
            className="rounded-sm px-1 text-ink-3 hover:bg-hover hover:text-ink aria-pressed:text-accent"
            onClick={() => setRaw(!isRaw)}
          >
            raw
          </button>
        )}
        <CopyButton text={json} what={what} />
      </div>
      <div className="max-h-96 overflow-auto p-2 pr-16 font-mono text-xs leading-[18px]">
        {isTree && !isRaw ? <Node value={value} openLevels={openLevels} /> : <RawJson json={json} />}
      </div>
    </div>
  );
}

function RawJson({ json }: { readonly json: string }): ReactNode {
  const isCut = json.length > SHOWN_CHARACTERS;
  return (
    <>
      <pre className="whitespace-pre-wrap">{visibleJson(isCut ? json.slice(0, SHOWN_CHARACTERS) : json)}</pre>
      {isCut && (
        <p className="mt-2 text-ink-3">
          This is the first {sizeWords(SHOWN_CHARACTERS)} of {sizeWords(json.length)}. Copy it to have all of
          it.
        </p>
      )}
    </>
  );
}

function Node({ value, openLevels }: { readonly value: unknown; readonly openLevels: number }): ReactNode {
  if (typeof value === "string") return <Text text={value} />;
  if (typeof value !== "object" || value === null)
    return <span className="text-running">{String(value)}</span>;
  return <Branch value={value} openLevels={openLevels} />;
}

function Branch({ value, openLevels }: { readonly value: object; readonly openLevels: number }): ReactNode {
  const entries = useMemo(() => Object.entries(value), [value]);
  const [isOpen, setOpen] = useState(openLevels > 0);
  const [shown, setShown] = useState(SHOWN_CHILDREN);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) return <span className="text-ink-3">{open + close}</span>;
  const toggle = (
    <button
      type="button"
      aria-expanded={isOpen}
      className="rounded-sm text-ink-3 hover:bg-hover hover:text-ink"
      onClick={() => setOpen(!isOpen)}
    >
      {isOpen ? open : `${open} … ${entries.length} ${close}`}
    </button>
  );
  if (!isOpen) return toggle;
  return (
    <>
      {toggle}
      <ul className="border-l border-line pl-3">
        {entries.slice(0, shown).map(([name, child]) => (
          <li key={name}>
            {!Array.isArray(value) && (
              <>
                <span className="text-ink-2">{visibleJson(name)}</span>
                <span className="text-ink-3">: </span>
              </>
            )}
            <Node value={child} openLevels={openLevels - 1} />
          </li>
        ))}
        {entries.length > shown && (
          <li>
            <button
              type="button"
              className="text-accent hover:underline"
              onClick={() => setShown(shown + SHOWN_CHILDREN)}
            >
              {entries.length - shown} more
            </button>
          </li>
        )}
      </ul>
      <span className="text-ink-3">{close}</span>
    </>
  );
}

function Text({ text }: { readonly text: string }): ReactNode {
  const [isWhole, setWhole] = useState(text.length <= SHOWN_TEXT);
  const shown = isWhole ? text : text.slice(0, SHOWN_TEXT);
  return (
    <span className="whitespace-pre-wrap text-succeeded">
      {visibleJson(JSON.stringify(shown))}
      {!isWhole && (
        <button type="button" className="ml-1 text-accent hover:underline" onClick={() => setWhole(true)}>
          all {sizeWords(text.length)}
        </button>
      )}
    </span>
  );
}
