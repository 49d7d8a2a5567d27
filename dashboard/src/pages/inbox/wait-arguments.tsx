import { type ReactNode, useMemo, useState } from "react";
import { isJsonObject } from "../../../../src/core/json.ts";
import { countInvisible, visibleJson, visibleText } from "../../../../src/core/visible-text.ts";
import type { WaitDetail } from "../../api/documents.ts";
import { Icon } from "../../parts/controls/icon.tsx";
import { DiffView } from "../../parts/text/diff-view.tsx";
import { Hash } from "../../parts/text/id.tsx";
import { JsonView } from "../../parts/text/json-view.tsx";
import { changedFields } from "../../parts/text/value-change.ts";
import { VisibleText } from "../../parts/text/visible.tsx";
import { counted, sizeWords } from "../../words/money-words.ts";

type Value = WaitDetail["arguments"];

/** Exactly what would be sent. Characters that are not seen are escapes, and are counted. */
export function WaitArguments({ wait }: { readonly wait: WaitDetail }): ReactNode {
  const [isRaw, setRaw] = useState(false);
  const value = wait.arguments;
  const unseen = useMemo(() => unseenIn(value), [value]);
  return (
    <section aria-label="Arguments" className="overflow-hidden rounded-lg border border-edge bg-panel">
      <header className="flex items-center gap-2 border-b border-line bg-sunken px-3 py-1.5 text-xs text-ink-2">
        <span className="flex-1 font-medium">
          {wait.kind === "in_doubt" ? "What was sent, byte for byte" : "Will be sent, byte for byte"}
        </span>
        {isJsonObject(value) && (
          <button
            type="button"
            aria-pressed={isRaw}
            className="text-accent hover:underline"
            onClick={() => setRaw(!isRaw)}
          >
            {isRaw ? "as fields" : "as JSON"}
          </button>
        )}
      </header>
      {isJsonObject(value) && !isRaw ? (
        <Fields value={value} />
      ) : (
        <div className="p-2">
          <JsonView value={value} what="arguments" openLevels={9} />
        </div>
      )}
      <footer className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t border-line px-3 py-1.5 text-xs text-ink-3">
        {wait.argumentsBytes !== null && <span>{sizeWords(wait.argumentsBytes)}</span>}
        {wait.argumentsHash !== null && (
          <span className="inline-flex items-center gap-1">
            hash <Hash hash={wait.argumentsHash} />
          </span>
        )}
        {unseen > 0 && (
          <span className="inline-flex items-center gap-1 font-medium text-interrupted">
            <Icon name="interrupted" />
            {counted(unseen, "unseen character")}, shown as {unseen === 1 ? "an escape" : "escapes"}
          </span>
        )}
      </footer>
    </section>
  );
}

/** In the texts and names themselves: `JSON.stringify` escapes some of these characters, and so hides them. */
function unseenIn(value: Value): number {
  if (typeof value === "string") return countInvisible(value);
  if (typeof value !== "object" || value === null) return 0;
  return Object.entries(value).reduce(
    (sum, [name, each]) => sum + countInvisible(name) + unseenIn(each ?? null),
    0,
  );
}

function Fields({ value }: { readonly value: { readonly [name: string]: Value } }): ReactNode {
  const entries = Object.entries(value);
  if (entries.length === 0) return <p className="px-3 py-2 text-ink-3">No arguments.</p>;
  return (
    <dl className="max-h-[28rem] overflow-auto px-3 py-2">
      {entries.map(([name, field]) => (
        <div key={name} className="grid gap-x-3 py-1 sm:grid-cols-[minmax(5rem,9rem)_minmax(0,1fr)]">
          <dt className="text-ink-3">{visibleText(name)}</dt>
          <dd className="font-mono text-xs leading-5 whitespace-pre-wrap">
            <FieldValue field={field} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function FieldValue({ field }: { readonly field: Value }): ReactNode {
  return typeof field === "string" ? (
    <VisibleText text={field} />
  ) : (
    visibleJson(JSON.stringify(field, null, 2))
  );
}

/** What changed since the last call of the same tool: text word by word, other values line by line. */
export function ArgumentDiff({ wait }: { readonly wait: WaitDetail }): ReactNode {
  if (wait.previous === null) return null;
  const { arguments: after } = wait;
  const { request: before } = wait.previous;
  if (JSON.stringify(before) === JSON.stringify(after)) return <p>Nothing: the arguments are the same.</p>;
  const changes = changedFields(before, after);
  const changed = new Set(changes.map(({ path }) => path));
  const same = isJsonObject(after) ? Object.keys(after).filter((name) => !changed.has(name)) : [];
  return (
    <div className="flex flex-col gap-2">
      {changes.map(({ path, a, b, isText }) => (
        <div key={path} className="grid gap-x-3 sm:grid-cols-[minmax(5rem,9rem)_minmax(0,1fr)]">
          <span className="text-ink-3">{visibleText(path)}</span>
          <DiffView before={a ?? ""} after={b ?? ""} by={isText ? "word" : "line"} />
        </div>
      ))}
      {same.length > 0 && <p className="text-xs text-ink-3">The same: {same.map(visibleText).join(", ")}</p>}
    </div>
  );
}
