import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useDashboard } from "../../../live/dashboard-context.ts";
import { Button } from "../../../parts/controls/button.tsx";
import { ProblemNotice } from "../../../parts/layout/notice.tsx";
import { RecordedAs } from "../../../parts/text/recorded-as.tsx";
import { VisibleLine } from "../../../parts/text/visible.tsx";
import { typedJson } from "../json-field.ts";

const MODES = [
  ["queue", "after the present answer"],
  ["steer", "into the present answer"],
  ["interrupt", "and stop the present answer"],
] as const;

type Mode = (typeof MODES)[number][0];

/** A text for a conversation; with `event`, the data of an event that the run waits for. */
export function MessageForm({
  runId,
  event,
  isAnswering,
}: {
  readonly runId: string;
  readonly event: string | null;
  readonly isAnswering: boolean;
}): ReactNode {
  const { client } = useDashboard();
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const [mode, setMode] = useState<Mode>("queue");
  const typed = event === null ? null : typedJson(text === "" ? "null" : text);
  const send = useMutation({
    mutationFn: () => {
      if (event === null) return client.sendMessage({ runId }, { text, ...(isAnswering ? { mode } : {}) });
      return client.sendMessage({ runId }, { event, data: typed?.kind === "value" ? typed.value : null });
    },
    onSuccess: async () => {
      setText("");
      await queries.invalidateQueries({ queryKey: ["run", runId] });
    },
  });
  const isReady = (event === null ? text.trim() !== "" : typed?.kind === "value") && !send.isPending;
  return (
    <form
      className="flex flex-col gap-2 border-t border-line pt-3"
      onSubmit={(submitted) => {
        submitted.preventDefault();
        if (isReady) send.mutate();
      }}
    >
      {send.error !== null && <ProblemNotice error={send.error} what="The message was not sent." />}
      <textarea
        rows={2}
        value={text}
        aria-label={event === null ? "Message" : `Data of ${event}, as JSON`}
        placeholder={event === null ? "Message" : 'Data as JSON, such as {"ok": true}'}
        className={`w-full rounded-md border border-edge bg-panel px-2 py-1 ${event === null ? "" : "font-mono text-xs"}`}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(pressed) => {
          if (pressed.key === "Enter" && (pressed.metaKey || pressed.ctrlKey) && isReady) send.mutate();
        }}
      />
      {typed?.kind === "invalid" && <p className="text-xs text-failed">{typed.why}</p>}
      <div className="flex flex-wrap items-center justify-end gap-2">
        <RecordedAs />
        {send.isSuccess && text === "" && <span className="text-succeeded">kept, as {send.data.status}</span>}
        {event === null && isAnswering && (
          <select
            aria-label="When the agent sees it"
            value={mode}
            className="h-7 rounded-md border border-edge bg-panel px-1.5"
            onChange={({ target }) => setMode(MODES.find(([each]) => each === target.value)?.[0] ?? "queue")}
          >
            {MODES.map(([each, words]) => (
              <option key={each} value={each}>
                {words}
              </option>
            ))}
          </select>
        )}
        <Button type="submit" kind="primary" disabled={!isReady}>
          Send {event !== null && <VisibleLine text={event} />}
        </Button>
      </div>
    </form>
  );
}
