import type { ReactNode } from "react";
import { operationAddress } from "../../../api/client.ts";
import { CallId, WaitId } from "../../../parts/text/id.tsx";
import { JsonView } from "../../../parts/text/json-view.tsx";
import { Exact } from "../../../parts/text/time.tsx";
import { VisibleLine, VisibleText } from "../../../parts/text/visible.tsx";
import { sizeWords } from "../../../words/money-words.ts";
import { Bubble, Clock } from "./bubble.tsx";
import { Markdown } from "./markdown.tsx";
import { RestOf } from "./shown-value.tsx";
import type { TranscriptContent } from "./transcript-content.ts";

// What people say to a run, what it asks them, and what they answer.

export function UserMessage({
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
            href={operationAddress("getBlob", { runId, blobId: file.hash })}
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

export function WaitCard({
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

export function AnswerCard({
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
