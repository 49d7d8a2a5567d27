import "./no-eval.ts";

import { DefaultChatTransport, type UIMessage } from "ai";
import { createRoot } from "react-dom/client";
import { PawlChatTransport } from "../../../src/adapters/chat/pawl-chat-transport.ts";
import { Chat } from "./chat.tsx";
import { onConnection } from "./connection.ts";
import { API, loadChat } from "./stored-chat.ts";

const address = new URLSearchParams(location.search);
const id = address.get("chat");

/** `?transport=default` shows the one of the AI SDK, which leaves it to the page to reconnect. */
const transport =
  address.get("transport") === "default"
    ? new DefaultChatTransport<UIMessage>({
        api: API,
        prepareReconnectToStreamRequest: ({ api, id: chat, body }) => ({
          api: `${api}/${encodeURIComponent(chat)}/stream?from=${encodeURIComponent(String(body?.from))}`,
        }),
      })
    : new PawlChatTransport<UIMessage>({ api: API, onConnection });

const stored = id === null ? { messages: [], waiting: [] } : await loadChat(id);
const root = document.querySelector("#root");
if (root !== null)
  createRoot(root).render(<Chat id={id ?? crypto.randomUUID()} stored={stored} transport={transport} />);
