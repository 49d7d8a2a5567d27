// `pawl/ai-sdk`: durable conversations behind the AI SDK's own pages.

export {
  type ChatHandler,
  type ChatHandlerOptions,
  type ChatStart,
  chatHandler,
} from "./chat/chat-handler.ts";
export type { ChatMessages } from "./chat/chat-messages.ts";
export type { ChatUser } from "./chat/chat-room.ts";
export type { AnswerProblem } from "./chat/shown-calls.ts";
export type { UIChunkOptions } from "./chat/ui-chunks.ts";
export { toUIMessageStream } from "./chat/ui-message-stream.ts";
