import type { ChatHandler } from "../../adapters/ai-sdk/chat/chat-handler.ts";
import type { Json } from "../../core/json.ts";
import type { Handlers } from "../handler.ts";
import { HttpProblem } from "../http-problem.ts";
import type { Principal } from "../principal.ts";
import { hasPipeline, scopeKey } from "../scope/run-scope.ts";
import { withScopeLabels } from "../scope/scope-labels.ts";
import { personKey, personOf } from "./acting-person.ts";
import { isConversation } from "./known-pipeline.ts";
import type { ServerParts } from "./server-parts.ts";

type ChatOperation = "chat" | "streamChat" | "listChatMessages" | "sendChatMessage" | "stopChat";

/** The chats of conversation pipelines, for `useChat` of the AI SDK. Each principal has chats of their own. */
export function chatHandlers(parts: ServerParts): Handlers<ChatOperation> {
  return {
    chat: async ({ params: { pipeline }, body }, { principal, request }) => {
      const chat = await requireChat(parts, principal, pipeline);
      return chat.post(withBody(request, body));
    },
    streamChat: async ({ params: { pipeline, chatId } }, { principal, request }) => {
      const chat = await requireChat(parts, principal, pipeline);
      return chat.stream(request, chatId);
    },
    listChatMessages: async ({ params: { pipeline, chatId } }, { principal, request }) => {
      const chat = await requireChat(parts, principal, pipeline);
      return chat.messages(request, chatId);
    },
    sendChatMessage: async ({ params: { pipeline, chatId }, body }, { principal, request }) => {
      const chat = await requireChat(parts, principal, pipeline);
      return chat.send(withBody(request, body), chatId);
    },
    stopChat: async ({ params: { pipeline, chatId } }, { principal, request }) => {
      const chat = await requireChat(parts, principal, pipeline);
      return chat.stop(request, chatId);
    },
  };
}

/** The chats of a principal. The AI SDK is an optional package, and is loaded with the first chat. */
async function requireChat(
  { pipelines }: ServerParts,
  principal: Principal,
  pipeline: string,
): Promise<ChatHandler> {
  const runner = hasPipeline(principal.scope, pipeline) ? pipelines.get(pipeline) : undefined;
  if (runner === undefined || !isConversation(runner))
    throw new HttpProblem(
      404,
      "conversation_not_found",
      `There is no conversation pipeline ${pipeline} that you may use: check its name.`,
    );
  const { chatHandler } = await import("../../adapters/ai-sdk/chat/chat-handler.ts");
  const metadata = withScopeLabels(principal.scope, undefined);
  return chatHandler(runner, {
    authorize: () => ({ by: personOf(principal), scope: chatScope(principal) }),
    start: () => (metadata === undefined ? {} : { metadata }),
  });
}

/** Whose chats they are: those of the person, inside of their scope. */
function chatScope(principal: Principal): string {
  return `${scopeKey(principal.scope)}:${personKey(principal)}`;
}

/** The request with its body again, which the server has read to check it. */
function withBody(request: Request, body: Json): Request {
  return new Request(request.url, {
    method: request.method,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: request.signal,
  });
}
