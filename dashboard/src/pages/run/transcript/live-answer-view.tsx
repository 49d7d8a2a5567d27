import type { ReactNode } from "react";
import { VisibleLine, VisibleText } from "../../../parts/text/visible.tsx";
import type { LiveAnswer } from "./live-answer.ts";

/** The answer that is being written. Marked as what it is: it may be withdrawn, and only what is journaled counts. */
export function LiveAnswerView({ answer }: { readonly answer: LiveAnswer }): ReactNode {
  return (
    <div className="my-1.5 flex max-w-[52rem] flex-col gap-1.5 rounded-md border border-dashed border-edge px-3 py-2">
      <p className="flex items-center gap-1.5 text-xs text-running">
        <span className="breathing size-2 rounded-full bg-current" aria-hidden="true" />
        turn {answer.turn} is being written{answer.attempt > 1 && `, attempt ${answer.attempt}`}: not
        journaled yet
      </p>
      {answer.parts.map(({ part, kind, tool, text }) =>
        kind === "text" ? (
          <VisibleText key={part} text={text} />
        ) : (
          <div key={part} className="text-ink-3">
            <p className="text-xs">
              {kind === "reasoning" ? "reasoning" : <VisibleLine text={tool ?? "tool"} />}
            </p>
            <VisibleText text={text} className="font-mono text-xs" />
          </div>
        ),
      )}
    </div>
  );
}
