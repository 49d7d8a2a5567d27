import type { ReactNode } from "react";
import { visibleJson } from "../../../../../src/core/visible-text.ts";
import { JsonView } from "../../../parts/text/json-view.tsx";
import { sizeWords } from "../../../words/money-words.ts";
import { BlobLink } from "../ledger/call-facts.tsx";
import type { ShownText, ShownValue } from "./transcript-content.ts";

/** A value of the transcript: whole, its beginning, or where its bytes are. */
export function ShownValueView({
  runId,
  value,
  what,
}: {
  readonly runId: string;
  readonly value: ShownValue;
  readonly what: string;
}): ReactNode {
  switch (value.kind) {
    case "whole":
      return <JsonView value={value.value} what={what} openLevels={1} />;
    case "beginning":
      return (
        <pre className="max-h-96 overflow-auto rounded-md border border-line bg-sunken p-2 whitespace-pre-wrap">
          {visibleJson(value.json.text)}
          <RestOf text={value.json} />
        </pre>
      );
    case "blob":
      return <BlobLink runId={runId} blobId={value.blobId} size={value.size} />;
  }
}

/** Says that a text is not all of it. */
export function RestOf({ text }: { readonly text: ShownText }): ReactNode {
  if (text.characters <= text.text.length) return null;
  return (
    <p className="mt-1 text-xs text-ink-3">
      This is the beginning of {sizeWords(text.characters)}: `pawl export` writes all of it.
    </p>
  );
}
