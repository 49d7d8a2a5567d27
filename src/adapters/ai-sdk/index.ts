// `pawl/ai-sdk`: durable agents behind the interfaces of the AI SDK.

export type { AgentCall } from "./mirror/agent-call.ts";
export type { AsAgentOptions } from "./mirror/agent-types.ts";
export { asAgent } from "./mirror/as-agent.ts";
export { MirroredRunError } from "./mirror/mirror-errors.ts";
