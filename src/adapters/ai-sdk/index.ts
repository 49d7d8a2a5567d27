// `pawl/ai-sdk`: durable agents behind the interfaces of the AI SDK.

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
export type { AgentCall } from "./mirror/agent-call.ts";
export type { AsAgentOptions, MirroredAgent } from "./mirror/agent-types.ts";
export { asAgent } from "./mirror/as-agent.ts";
export { MirroredRunError } from "./mirror/mirror-errors.ts";
