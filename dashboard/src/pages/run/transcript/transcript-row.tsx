import type { ReactNode } from "react";
import { operationAddress } from "../../../api/client.ts";
import { RunId } from "../../../parts/text/id.tsx";
import { JsonView } from "../../../parts/text/json-view.tsx";
import { VisibleLine } from "../../../parts/text/visible.tsx";
import { counted, sizeWords } from "../../../words/money-words.ts";
import { Assistant } from "./assistant.tsx";
import { Bubble, Clock, Line } from "./bubble.tsx";
import { CallCard } from "./call-card.tsx";
import { dividerLook, dividerWords, isDivider } from "./divider-words.ts";
import { Markdown } from "./markdown.tsx";
import { AnswerCard, UserMessage, WaitCard } from "./people-cards.tsx";
import { RestOf, ShownValueView } from "./shown-value.tsx";
import type { TranscriptItem } from "./transcript-content.ts";
import { contentOf } from "./transcript-forms.ts";
import type { TranscriptRow } from "./transcript-pages.ts";

/** A row of the transcript. */
export function TranscriptRowView({
  runId,
  row,
  isRaw,
  onOpen,
}: {
  readonly runId: string;
  readonly row: TranscriptRow;
  readonly isRaw: boolean;
  readonly onOpen: (id: string) => void;
}): ReactNode {
  if (row.kind === "item") return <ItemView runId={runId} item={row.item} isRaw={isRaw} />;
  const turns = new Set(row.items.map(({ turn }) => turn)).size;
  return (
    <button
      type="button"
      className="w-full py-1.5 text-center text-xs text-ink-3 hover:text-ink hover:underline"
      onClick={() => onOpen(row.id)}
    >
      {row.items.length === 0 ? "fold what was abandoned" : `${counted(turns, "abandoned turn")}: show`}
    </button>
  );
}

type ItemProps = { readonly runId: string; readonly item: TranscriptItem; readonly isRaw: boolean };

function ItemView({ runId, item, isRaw }: ItemProps): ReactNode {
  const content = contentOf(item);
  // Of a server that is newer than this page.
  if (content === null) return <JsonView value={item.data} what={item.kind} openLevels={1} />;
  if (isDivider(content)) {
    const value = content.kind === "step" ? content.value : null;
    return (
      <div className="flex flex-col gap-1 py-1.5">
        <Line look={dividerLook(content)}>
          {dividerWords(content, item)} · <Clock at={item.at} />
        </Line>
        {value !== null && content.kind === "step" && content.what === "finished" && (
          <details className="mx-auto w-full max-w-2xl text-xs text-ink-3">
            <summary className="disclosure">output</summary>
            <ShownValueView runId={runId} value={value} what="output" />
          </details>
        )}
      </div>
    );
  }
  switch (content.kind) {
    case "user":
      return <UserMessage runId={runId} content={content} at={item.at} isRaw={isRaw} />;
    case "follow_up":
      return (
        <Bubble who="Pawl, to make it continue" at={item.at} look="ml-auto bg-sunken">
          <Markdown text={content.text.text} isRaw={isRaw} />
        </Bubble>
      );
    case "assistant":
      return <Assistant runId={runId} item={item} parts={content.parts} isRaw={isRaw} />;
    case "calls":
      return (
        <div className="flex flex-col gap-1.5 py-1.5">
          {content.calls.map((call) => (
            <CallCard key={call.toolCallId} runId={runId} call={call} />
          ))}
        </div>
      );
    case "wait":
      return <WaitCard runId={runId} content={content} at={item.at} />;
    case "answer":
      return <AnswerCard content={content} at={item.at} />;
    case "fork":
      return (
        <Line look="text-ink-3">
          forked: the {item.turn === null ? "turns" : counted(item.turn, "turn")} before this are those of{" "}
          <RunId runId={content.runId} />
        </Line>
      );
    case "compaction":
      return (
        <details className="py-1.5">
          <summary className="text-center text-xs text-interrupted hover:underline">
            the history was compacted: the model sees a summary in place of everything before
          </summary>
          <div className="mt-1 rounded-md border border-line bg-sunken p-2.5">
            <Markdown text={content.summary.text} isRaw={isRaw} />
            <RestOf text={content.summary} />
          </div>
        </details>
      );
    case "artifact":
      return (
        <Line look="text-ink-3">
          made{" "}
          <a
            href={operationAddress("getArtifact", { runId, name: content.name })}
            download
            className="text-accent hover:underline"
          >
            <VisibleLine text={content.name} />
          </a>
          {content.size !== null && `, ${sizeWords(content.size)}`}
        </Line>
      );
  }
}
