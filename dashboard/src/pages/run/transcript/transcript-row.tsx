import type { ReactNode } from "react";
import { pathOf } from "../../../api/client.ts";
import { CallId, RunId, WaitId } from "../../../parts/id.tsx";
import { JsonView } from "../../../parts/json-view.tsx";
import { counted, sizeWords } from "../../../parts/money-words.ts";
import { Exact } from "../../../parts/time.tsx";
import { clockWords } from "../../../parts/time-words.ts";
import { VisibleLine, VisibleText } from "../../../parts/visible.tsx";
import { CallCard } from "./call-card.tsx";
import { dividerLook, dividerWords, isDivider } from "./divider-words.ts";
import { Markdown } from "./markdown.tsx";
import { RestOf, ShownValueView } from "./shown-value.tsx";
import {
  contentOf,
  type ShownPart,
  type TranscriptContent,
  type TranscriptItem,
} from "./transcript-content.ts";
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
            href={pathOf("getArtifact", { runId, name: content.name })}
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

function Clock({ at }: { readonly at: string }): ReactNode {
  return <Exact at={at}>{clockWords(Date.parse(at))}</Exact>;
}

/** A thin line with words in its middle. */
function Line({ look, children }: { readonly look: string; readonly children: ReactNode }): ReactNode {
  return (
    <p className={`flex items-center gap-3 py-0.5 text-center text-xs ${look}`}>
      <span className="h-px min-w-4 flex-1 bg-line" />
      <span className="max-w-[85%]">{children}</span>
      <span className="h-px min-w-4 flex-1 bg-line" />
    </p>
  );
}

function Bubble({
  who,
  at,
  look,
  children,
}: {
  readonly who: ReactNode;
  readonly at: string;
  readonly look: string;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <div className="flex flex-col py-1.5">
      <div className={`max-w-[46rem] min-w-0 rounded-lg px-3 py-2 ${look}`}>
        <p className="mb-0.5 text-xs text-ink-3">
          {who} · <Clock at={at} />
        </p>
        {children}
      </div>
    </div>
  );
}

function UserMessage({
  runId,
  content,
  at,
  isRaw,
}: {
  readonly runId: string;
  readonly content: Extract<TranscriptContent, { readonly kind: "user" }>;
  readonly at: string;
  readonly isRaw: boolean;
}): ReactNode {
  const { sentBy, mode, text, files } = content;
  return (
    <Bubble
      who={
        <>
          <VisibleLine text={sentBy} />
          {mode !== null && mode !== "queue" && ` · ${mode}`}
        </>
      }
      at={at}
      look="ml-auto bg-selected"
    >
      <Markdown text={text.text} isRaw={isRaw} />
      <RestOf text={text} />
      {files.map((file) => (
        <p key={file.hash}>
          <a
            href={pathOf("getBlob", { runId, blobId: file.hash })}
            download
            className="text-accent hover:underline"
          >
            <VisibleLine text={file.name} />
          </a>{" "}
          <span className="text-xs text-ink-3">
            <VisibleLine text={file.mediaType} />, {sizeWords(file.size)}
          </span>
        </p>
      ))}
    </Bubble>
  );
}

function Assistant({
  runId,
  item,
  parts,
  isRaw,
}: ItemProps & { readonly parts: readonly ShownPart[] }): ReactNode {
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
          <Markdown text={part.text.text} isRaw={isRaw} />
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

function WaitCard({
  runId,
  content,
  at,
}: {
  readonly runId: string;
  readonly content: Extract<TranscriptContent, { readonly kind: "wait" }>;
  readonly at: string;
}): ReactNode {
  const { waitId, toolCallId, question, status, waitKind, dueAt } = content;
  return (
    <div className="my-1.5 max-w-[52rem] rounded-md border border-waiting/40 bg-waiting-soft px-3 py-2">
      <p className="text-xs text-waiting">
        {status === "open" ? "waits" : "waited"} · {waitKind.replaceAll("_", " ")} · <Clock at={at} />
      </p>
      <p>
        <VisibleText text={question} />
      </p>
      <p className="flex flex-wrap gap-x-3 text-xs text-ink-3">
        <WaitId waitId={waitId} />
        {toolCallId !== null && <CallId runId={runId} callId={toolCallId} />}
        {dueAt !== null && (
          <span>
            until <Exact at={dueAt} />
          </span>
        )}
      </p>
    </div>
  );
}

function AnswerCard({
  content,
  at,
}: {
  readonly content: Extract<TranscriptContent, { readonly kind: "answer" }>;
  readonly at: string;
}): ReactNode {
  const { by, answer, waitId } = content;
  return (
    <Bubble
      who={
        <>
          {by.length === 0 ? "the clock" : <VisibleLine text={by.join(", ")} />} · answer to{" "}
          <WaitId waitId={waitId} />
        </>
      }
      at={at}
      look="ml-auto bg-waiting-soft"
    >
      {answer === null ? "Approved; another person has to approve it too." : <AnswerText answer={answer} />}
    </Bubble>
  );
}

/** Approvals as words, and everything else as it was given. */
function AnswerText({ answer }: { readonly answer: unknown }): ReactNode {
  const given = typeof answer === "object" && answer !== null ? answer : {};
  if ("approved" in given && given.approved === true) return "Approved.";
  if ("approved" in given && "why" in given && typeof given.why === "string")
    return (
      <>
        Denied: <VisibleText text={given.why} />
      </>
    );
  if ("value" in given && typeof given.value === "string") return <VisibleText text={given.value} />;
  return <JsonView value={answer} what="answer" openLevels={1} />;
}
