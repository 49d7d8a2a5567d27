import { type ReactNode, useMemo } from "react";
import { JsonView } from "../../../parts/text/json-view.tsx";
import { VisibleLine, VisibleText } from "../../../parts/text/visible.tsx";
import { Clock } from "./bubble.tsx";
import { CallCard } from "./call-card.tsx";
import { Markdown } from "./markdown.tsx";
import { RestOf, ShownValueView } from "./shown-value.tsx";
import { jsonDocument, type ShownPart, type ShownText, type TranscriptItem } from "./transcript-content.ts";

/** An answer of the model: its texts, and its calls in their places. */
export function Assistant({
  runId,
  item,
  parts,
  isRaw,
}: {
  readonly runId: string;
  readonly item: TranscriptItem;
  readonly parts: readonly ShownPart[];
  readonly isRaw: boolean;
}): ReactNode {
  return (
    <div
      className={`flex max-w-[52rem] min-w-0 flex-col gap-1.5 py-1.5 ${item.isAbandoned ? "opacity-60" : ""}`}
    >
      <p className="text-xs text-ink-3">
        turn {item.turn}
        {item.step !== null && (
          <>
            {" · "}
            <VisibleLine text={item.step} />
          </>
        )}
        {item.isAbandoned && " · abandoned"} · <Clock at={item.at} />
      </p>
      {parts.map((part, index) => (
        <PartView
          key={part.kind === "call" ? part.call.toolCallId : `${index} ${part.kind}`}
          runId={runId}
          part={part}
          isRaw={isRaw}
        />
      ))}
    </div>
  );
}

/** An answer that is JSON is not Markdown: its marks would be taken for emphasis and its addresses for links. */
function AnswerText({ text, isRaw }: { readonly text: ShownText; readonly isRaw: boolean }): ReactNode {
  const document = useMemo(() => (isRaw ? null : jsonDocument(text)), [text, isRaw]);
  if (document === null) return <Markdown text={text.text} isRaw={isRaw} />;
  return <JsonView value={document} what="answer" openLevels={2} />;
}

function PartView({
  runId,
  part,
  isRaw,
}: {
  readonly runId: string;
  readonly part: ShownPart;
  readonly isRaw: boolean;
}): ReactNode {
  switch (part.kind) {
    case "text":
      return (
        <div>
          <AnswerText text={part.text} isRaw={isRaw} />
          <RestOf text={part.text} />
        </div>
      );
    case "reasoning":
      return (
        <details className="text-ink-3">
          <summary className="disclosure text-xs">reasoning</summary>
          <div className="mt-1 border-l-2 border-line pl-3">
            <VisibleText text={part.text.text} />
            <RestOf text={part.text} />
          </div>
        </details>
      );
    case "call":
      return <CallCard runId={runId} call={part.call} />;
    case "other":
      return (
        <details className="text-ink-3">
          <summary className="disclosure text-xs">
            <VisibleLine text={part.type} />
          </summary>
          <ShownValueView runId={runId} value={part.value} what={part.type} />
        </details>
      );
  }
}
