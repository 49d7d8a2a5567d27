import { type ReactNode, useMemo, useState } from "react";
import { countInvisible, visibleJson, visibleText } from "../../../../src/core/visible-text.ts";
import type { WaitDetail } from "../../api/documents.ts";
import { DiffView } from "../../parts/diff-view.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Hash } from "../../parts/id.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { counted, sizeWords } from "../../parts/money-words.ts";
import { VisibleText } from "../../parts/visible.tsx";
import { isObject } from "./wait-words.ts";

type Value = WaitDetail["arguments"];

/** Exactly what would be sent. Characters that nobody sees are escapes, and are counted. */
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
        {isObject(value) && (
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
      {isObject(value) && !isRaw ? (
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
  const before = wait.previous.request;
  const after = wait.arguments;
  const names =
    isObject(before) && isObject(after)
      ? [...new Set([...Object.keys(before), ...Object.keys(after)])]
      : null;
  const fields =
    names === null
      ? [{ name: "", before, after }]
      : names.map((name) => ({
          name,
          before: isObject(before) ? (before[name] ?? null) : null,
          after: isObject(after) ? (after[name] ?? null) : null,
        }));
  const changed = fields.filter((field) => JSON.stringify(field.before) !== JSON.stringify(field.after));
  const same = fields.filter((field) => !changed.includes(field));
  return (
    <div className="flex flex-col gap-2">
      {changed.map((field) => (
        <div key={field.name} className="grid gap-x-3 sm:grid-cols-[minmax(5rem,9rem)_minmax(0,1fr)]">
          <span className="text-ink-3">{visibleText(field.name)}</span>
          <DiffView
            before={plain(field.before)}
            after={plain(field.after)}
            by={isText(field) ? "word" : "line"}
          />
        </div>
      ))}
      {changed.length === 0 && <p>Nothing: the arguments are the same.</p>}
      {changed.length > 0 && same.length > 0 && (
        <p className="text-xs text-ink-3">The same: {same.map(({ name }) => visibleText(name)).join(", ")}</p>
      )}
    </div>
  );
}

function isText(field: { readonly before: Value; readonly after: Value }): boolean {
  return typeof field.before === "string" && typeof field.after === "string";
}

function plain(value: Value): string {
  return typeof value === "string" ? value : value === null ? "" : JSON.stringify(value, null, 2);
}
