import { type KeyboardEvent, useState } from "react";
import type { BusyMode } from "./stored-chat.ts";

type ComposerProps = {
  readonly isBusy: boolean;
  readonly onSay: (text: string, mode: BusyMode) => Promise<void>;
  readonly onStop: () => Promise<void>;
};

/** Stays usable while the agent works. */
export function Composer({ isBusy, onSay, onStop }: ComposerProps) {
  const [text, setText] = useState("");
  const isBlank = text.trim() === "";

  const say = (mode: BusyMode) => {
    if (isBlank) return;
    setText("");
    void onSay(text.trim(), mode);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    say("queue");
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        say("queue");
      }}
    >
      <textarea
        aria-label="Your message"
        placeholder={isBusy ? "Write another message…" : "Write a message…"}
        rows={1}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {isBusy ? (
        <>
          <button disabled={isBlank} title="Answered next, after this answer">
            Queue
          </button>
          <button
            type="button"
            disabled={isBlank}
            title="Read before the next step"
            onClick={() => say("steer")}
          >
            Steer
          </button>
          <button type="button" className="stop" onClick={() => void onStop().catch(() => undefined)}>
            Stop
          </button>
        </>
      ) : (
        <button className="primary" disabled={isBlank}>
          Send
        </button>
      )}
    </form>
  );
}
