// `pawl/server`: the HTTP API and the dashboard.

export type { Authenticate, HostPrincipal } from "./access/access.ts";
export { createHandler, type HandlerOptions, type PawlHandler } from "./http/create-handler.ts";
export type { ReportError } from "./http/operation-requests.ts";
export { type PawlServer, type ServeOptions, servePawl } from "./http/serve-pawl.ts";
export type { Role } from "./principal.ts";
