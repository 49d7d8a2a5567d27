import { useChat } from "@ai-sdk/react";
import {
  type ChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from "ai";
import { useCallback, useEffect, useRef, useState } from "react";
import {
  type BusyMode,
  loadChat,
  type StoredChat,
  sendWhileBusy,
  stopAnswer,
  textOf,
  type WaitingMessage,
} from "./stored-chat.ts";

export type LastingChatOptions = {
  readonly id: string;
  readonly stored: StoredChat;
  readonly transport: ChatTransport<UIMessage>;
};

/**
 * `useChat`, and the messages that wait while the agent is busy. They are stored at once, so a reload loses none; and each is
 * sent again, with its id, when its turn comes. The server knows it by then, and streams the answer to it.
 */
export function useLastingChat({ id, stored, transport }: LastingChatOptions) {
  const chat = useChat({
    id,
    messages: [...stored.messages],
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const { messages, status, error, sendMessage, setMessages, clearError, resumeStream } = chat;
  const [sent, setSent] = useState(stored.waiting);
  const [isFollowing, setFollowing] = useState(stored.messages.length > 0);
  const waiting = sent.filter(
    ({ id: own }) => !isIn(messages, own) && !messages.some((m) => answers(m) === own),
  );
  const next = waiting[0];
  const isAsked = messages.some(hasOpenApproval);
  const isAnswering = isFollowing || status === "submitted" || status === "streaming";
  const isBusy = isAnswering || isAsked;
  // What a browser throws if there is no connection. Everything else is a sentence of the server.
  const isCut = status === "error" && error instanceof TypeError;

  /** The last answer that the page has, from its beginning, and those behind it, until all is answered. */
  const follow = useCallback(
    async (known: readonly UIMessage[]) => {
      setFollowing(true);
      await resumeStream({ body: { from: known.at(-1)?.id } });
      setFollowing(false);
    },
    [resumeStream],
  );

  // After a reload, perhaps in the middle of an answer.
  const begun = useRef(false);
  useEffect(() => {
    if (!begun.current && stored.messages.length > 0) void follow(stored.messages);
    begun.current = true;
  }, [stored, follow]);

  // A followed stream has the answers to messages that waited, too: each message goes where its answer begins.
  useEffect(() => {
    if (!messages.some((message) => missingBefore(message, sent, messages) !== undefined)) return;
    setMessages((before) =>
      before.flatMap((message) => {
        const asked = missingBefore(message, sent, before);
        return asked === undefined ? [message] : [userMessage(asked), message];
      }),
    );
  }, [messages, sent, setMessages]);

  useEffect(() => {
    if (next === undefined || isBusy || isCut) return;
    void sendMessage(userMessage(next));
  }, [next, isBusy, isCut, sendMessage]);

  const say = useCallback(
    async (text: string, mode: BusyMode) => {
      const message: WaitingMessage = { id: crypto.randomUUID(), text, mode };
      setSent((before) => [...before, message]);
      // If this fails, it is sent when its turn comes.
      if (isBusy) await sendWhileBusy(id, message).catch(() => undefined);
    },
    [id, isBusy],
  );

  /** Shows what is stored, sends what is not, and follows the answer under way. */
  const reconnect = useCallback(async () => {
    const { messages: known, waiting: unanswered } = await loadChat(id);
    const own = messages.flatMap((message) =>
      message.role === "user" ? [{ id: message.id, text: textOf(message), mode: "queue" as const }] : [],
    );
    setMessages([...known]);
    setSent((before) => unique([...unanswered, ...own, ...before]));
    clearError();
    if (known.length > 0) await follow(known);
  }, [id, messages, setMessages, clearError, follow]);

  /** Reconnects if another tab has continued the chat. */
  const refresh = useCallback(async () => {
    const { messages: known, waiting: unanswered } = await loadChat(id);
    const isSame = unanswered.length === 0 && JSON.stringify(known) === JSON.stringify(messages);
    if (!isSame) await reconnect();
  }, [id, messages, reconnect]);

  const stop = useCallback(async () => {
    await stopAnswer(id);
    // A question has no stream that would end.
    if (!isAnswering) await reconnect();
  }, [id, isAnswering, reconnect]);

  return { ...chat, waiting, isAnswering, isAsked, isBusy, isCut, say, reconnect, refresh, stop };
}

function userMessage({ id, text }: WaitingMessage): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

/** The id of the message that this one answers, as the server says. */
function answers({ metadata }: UIMessage): string | undefined {
  return (metadata as { readonly pawl?: { readonly answers?: string } } | undefined)?.pawl?.answers;
}

/** The message that this one answers, if it was sent from here and is not among the messages yet. */
function missingBefore(
  message: UIMessage,
  sent: readonly WaitingMessage[],
  messages: readonly UIMessage[],
): WaitingMessage | undefined {
  const id = answers(message);
  return id === undefined || isIn(messages, id) ? undefined : sent.find((each) => each.id === id);
}

function isIn(messages: readonly UIMessage[], id: string): boolean {
  return messages.some(
    (message) =>
      message.id === id || message.parts.some((part) => part.type === "steering-message" && part.id === id),
  );
}

function hasOpenApproval({ parts }: UIMessage): boolean {
  return parts.some((part) => isToolUIPart(part) && part.state === "approval-requested");
}

function unique(messages: readonly WaitingMessage[]): readonly WaitingMessage[] {
  return messages.filter((message, i) => messages.findIndex(({ id }) => id === message.id) === i);
}
