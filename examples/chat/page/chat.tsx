import { useEffect, useRef } from "react";
import { Composer } from "./composer.tsx";
import { useIsLost } from "./connection.ts";
import { Message, Waiting } from "./message.tsx";
import { type LastingChatOptions, useLastingChat } from "./use-lasting-chat.ts";

const EXAMPLES = ["Where is my order A-17?", "Please refund B-4.", "What can you do?"];

export function Chat(options: LastingChatOptions) {
  const chat = useLastingChat(options);
  const { messages, waiting, status, error, isBusy } = chat;
  const isLost = useIsLost();
  const state = stateOf(chat, isLost);
  const isEmpty = messages.length === 0 && waiting.length === 0;
  const end = useEndInView(`${messages.length} ${waiting.length} ${JSON.stringify(messages.at(-1)?.parts)}`);
  useRefreshOnReturn(status === "ready" && !chat.isAnswering && !isEmpty, chat.refresh);

  // For the console of the browser.
  useEffect(() => void Object.assign(window, { chat: { messages, waiting, status, isBusy } }));

  const say: typeof chat.say = async (text, mode) => {
    rememberChat(options.id);
    await chat.say(text, mode);
  };

  const answer = (approval: string, approved: boolean) =>
    void chat.addToolApprovalResponse({
      id: approval,
      approved,
      ...(approved ? {} : { reason: "The customer said no." }),
    });

  return (
    <>
      <header>
        <h1>Kettle &amp; Co</h1>
        <a href={newChat()}>New chat</a>
      </header>
      <main>
        {isEmpty ? (
          <section className="empty">
            <h2>How can we help?</h2>
            {EXAMPLES.map((text) => (
              <button key={text} type="button" onClick={() => void say(text, "queue")}>
                {text}
              </button>
            ))}
          </section>
        ) : (
          <ol className="messages">
            {messages.map((message, i) => (
              <Message
                key={message.id}
                message={message}
                isOpen={chat.isAnswering && i === messages.length - 1}
                onAnswer={chat.isAnswering ? null : answer}
              />
            ))}
            {waiting.map((message) => (
              <Waiting key={message.id} message={message} />
            ))}
          </ol>
        )}
        <div ref={end} />
      </main>
      <footer>
        <p role="status" data-status={state}>
          {state === "refused" ? error?.message : STATES[state]}
          {state !== "error" ? null : (
            <>
              {" "}
              <button
                type="button"
                className="link"
                onClick={() => void chat.reconnect().catch(() => undefined)}
              >
                Reconnect
              </button>
            </>
          )}
        </p>
        <Composer isBusy={isBusy} onSay={say} onStop={chat.stop} />
      </footer>
    </>
  );
}

const STATES = {
  ready: "Ready.",
  sending: "Sending…",
  answering: "Answering…",
  asking: "Waits for your decision.",
  returning: "The connection is lost. Trying again…",
  error: "The connection is lost; nothing you wrote is.",
  refused: "",
};

function stateOf(chat: ReturnType<typeof useLastingChat>, isLost: boolean): keyof typeof STATES {
  if (chat.status === "error") return chat.isCut ? "error" : "refused";
  if (isLost) return "returning";
  if (chat.isAnswering) return chat.status === "streaming" ? "answering" : "sending";
  return chat.isAsked ? "asking" : "ready";
}

/** From the first message on, the address names the chat: a reload shows it again. */
function rememberChat(id: string): void {
  const address = new URL(location.href);
  if (address.searchParams.has("chat")) return;
  address.searchParams.set("chat", id);
  history.replaceState(null, "", address);
}

function newChat(): string {
  const address = new URL(location.href);
  address.searchParams.delete("chat");
  return address.pathname + address.search;
}

/** Keeps the end in view while it grows, unless the reader has scrolled away from it. */
function useEndInView(content: string) {
  const end = useRef<HTMLDivElement>(null);
  const isFollowed = useRef(true);
  useEffect(() => {
    const look = () => {
      const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
      isFollowed.current = scrollHeight - scrollTop - clientHeight < 80;
    };
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, []);
  useEffect(() => {
    if (content !== "" && isFollowed.current) end.current?.scrollIntoView({ block: "end" });
  }, [content]);
  return end;
}

/** Another tab or device may have continued the chat. */
function useRefreshOnReturn(isIdle: boolean, refresh: () => Promise<void>): void {
  useEffect(() => {
    if (!isIdle) return;
    const look = () => void refresh().catch(() => undefined);
    addEventListener("focus", look);
    return () => removeEventListener("focus", look);
  }, [isIdle, refresh]);
}
