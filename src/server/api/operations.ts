/** Who may call an operation. Each role may do what those before it may. `anyone` needs no principal. */
export type OperationRole = "anyone" | "viewer" | "operator" | "admin";

type Operation = {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** Each `{name}` is one percent-encoded segment: ids have `/`, `#` and `~` in them. */
  readonly path: string;
  readonly role: OperationRole;
};

/**
 * Every operation of the HTTP API: its method, its path, and who may call it. Without schemas, so that the client of
 * browsers is small: `routes.ts` adds those. The server, the OpenAPI document, the docs page and the client are made of it.
 */
export const OPERATIONS = {
  getHealth: { method: "GET", path: "/healthz", role: "anyone" },
  getOpenApi: { method: "GET", path: "/openapi.json", role: "anyone" },

  createSession: { method: "POST", path: "/v1/session", role: "anyone" },
  deleteSession: { method: "DELETE", path: "/v1/session", role: "anyone" },
  getMe: { method: "GET", path: "/v1/me", role: "viewer" },

  listRuns: { method: "GET", path: "/v1/runs", role: "viewer" },
  countRuns: { method: "GET", path: "/v1/runs/counts", role: "viewer" },
  startRun: { method: "POST", path: "/v1/runs", role: "operator" },
  putRun: { method: "PUT", path: "/v1/runs/{runId}", role: "operator" },
  getRun: { method: "GET", path: "/v1/runs/{runId}", role: "viewer" },
  getTimeline: { method: "GET", path: "/v1/runs/{runId}/timeline", role: "viewer" },
  getTranscript: { method: "GET", path: "/v1/runs/{runId}/transcript", role: "viewer" },
  listSteps: { method: "GET", path: "/v1/runs/{runId}/steps", role: "viewer" },
  listTurns: { method: "GET", path: "/v1/runs/{runId}/turns", role: "viewer" },
  listCalls: { method: "GET", path: "/v1/runs/{runId}/calls", role: "viewer" },
  getCall: { method: "GET", path: "/v1/calls/{callId}", role: "viewer" },
  listModelCalls: { method: "GET", path: "/v1/runs/{runId}/model-calls", role: "viewer" },
  listRunWaits: { method: "GET", path: "/v1/runs/{runId}/waits", role: "viewer" },
  listMessages: { method: "GET", path: "/v1/runs/{runId}/messages", role: "viewer" },
  listCheckpoints: { method: "GET", path: "/v1/runs/{runId}/checkpoints", role: "viewer" },
  listAttempts: { method: "GET", path: "/v1/runs/{runId}/attempts", role: "viewer" },
  getSession: { method: "GET", path: "/v1/runs/{runId}/session", role: "viewer" },
  listEvents: { method: "GET", path: "/v1/runs/{runId}/events", role: "viewer" },
  listArtifacts: { method: "GET", path: "/v1/runs/{runId}/artifacts", role: "viewer" },
  getArtifact: { method: "GET", path: "/v1/runs/{runId}/artifacts/{name}", role: "viewer" },
  getBlob: { method: "GET", path: "/v1/runs/{runId}/blobs/{blobId}", role: "viewer" },
  exportRun: { method: "GET", path: "/v1/runs/{runId}/export", role: "viewer" },
  exportRuns: { method: "POST", path: "/v1/export", role: "viewer" },
  watchRun: { method: "GET", path: "/v1/runs/{runId}/watch", role: "viewer" },

  forecastRun: { method: "POST", path: "/v1/runs/{runId}/forecast", role: "viewer" },
  verifyRun: { method: "POST", path: "/v1/runs/{runId}/verify", role: "viewer" },
  resumeRun: { method: "POST", path: "/v1/runs/{runId}/resume", role: "operator" },
  cancelRun: { method: "POST", path: "/v1/runs/{runId}/cancel", role: "operator" },
  forkRun: { method: "POST", path: "/v1/runs/{runId}/fork", role: "operator" },
  sendMessage: { method: "POST", path: "/v1/runs/{runId}/messages", role: "operator" },
  stopRun: { method: "POST", path: "/v1/runs/{runId}/stop", role: "operator" },
  bulk: { method: "POST", path: "/v1/bulk", role: "operator" },

  listWaits: { method: "GET", path: "/v1/waits", role: "viewer" },
  getWait: { method: "GET", path: "/v1/waits/{waitId}", role: "viewer" },
  approveWait: { method: "POST", path: "/v1/waits/{waitId}/approve", role: "operator" },
  denyWait: { method: "POST", path: "/v1/waits/{waitId}/deny", role: "operator" },
  answerWait: { method: "POST", path: "/v1/waits/{waitId}/answer", role: "operator" },
  settleCall: { method: "POST", path: "/v1/calls/{callId}/settle", role: "operator" },

  compareRuns: { method: "GET", path: "/v1/compare", role: "viewer" },
  getSpend: { method: "GET", path: "/v1/spend", role: "viewer" },
  listErrors: { method: "GET", path: "/v1/errors", role: "viewer" },
  listToolErrors: { method: "GET", path: "/v1/tool-errors", role: "viewer" },
  listPipelines: { method: "GET", path: "/v1/pipelines", role: "viewer" },
  getActivity: { method: "GET", path: "/v1/activity", role: "viewer" },
  listWorkers: { method: "GET", path: "/v1/workers", role: "viewer" },
  listSchedules: { method: "GET", path: "/v1/schedules", role: "viewer" },
  listFirings: { method: "GET", path: "/v1/schedules/{name}/firings", role: "viewer" },
  pauseSchedule: { method: "POST", path: "/v1/schedules/{name}/pause", role: "operator" },
  resumeSchedule: { method: "POST", path: "/v1/schedules/{name}/resume", role: "operator" },
  fireSchedule: { method: "POST", path: "/v1/schedules/{name}/fire", role: "operator" },

  getServer: { method: "GET", path: "/v1/server", role: "viewer" },
  getDoctor: { method: "GET", path: "/v1/doctor", role: "admin" },
  checkIntegrity: { method: "POST", path: "/v1/integrity", role: "admin" },
  listTokens: { method: "GET", path: "/v1/tokens", role: "admin" },
  createToken: { method: "POST", path: "/v1/tokens", role: "admin" },
  revokeToken: { method: "DELETE", path: "/v1/tokens/{tokenId}", role: "admin" },
  listWebhooks: { method: "GET", path: "/v1/webhooks", role: "admin" },
  createWebhook: { method: "POST", path: "/v1/webhooks", role: "admin" },
  deleteWebhook: { method: "DELETE", path: "/v1/webhooks/{webhookId}", role: "admin" },
  rotateWebhook: { method: "POST", path: "/v1/webhooks/{webhookId}/rotate", role: "admin" },
  testWebhook: { method: "POST", path: "/v1/webhooks/{webhookId}/test", role: "admin" },
  listDeliveries: { method: "GET", path: "/v1/webhooks/{webhookId}/deliveries", role: "admin" },
  sendAgain: { method: "POST", path: "/v1/webhooks/{webhookId}/deliveries/{deliveryId}/send", role: "admin" },
  listAudit: { method: "GET", path: "/v1/audit", role: "admin" },

  stream: { method: "GET", path: "/v1/stream", role: "viewer" },

  chat: { method: "POST", path: "/v1/chat/{pipeline}", role: "operator" },
  streamChat: { method: "GET", path: "/v1/chat/{pipeline}/{chatId}/stream", role: "operator" },
  listChatMessages: { method: "GET", path: "/v1/chat/{pipeline}/{chatId}/messages", role: "operator" },
  sendChatMessage: { method: "POST", path: "/v1/chat/{pipeline}/{chatId}/messages", role: "operator" },
  stopChat: { method: "POST", path: "/v1/chat/{pipeline}/{chatId}/stop", role: "operator" },
} as const satisfies { readonly [id: string]: Operation };

/** The name of an operation. */
export type OperationId = keyof typeof OPERATIONS;
