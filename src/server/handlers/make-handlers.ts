import type { OperationId } from "../api/operations.ts";
import type { Handlers } from "../handler.ts";
import { LiveHub } from "../live/live-hub.ts";
import type { WebhookOperation } from "../webhooks/webhook-handlers.ts";
import { actHandlers } from "./acts/acts.ts";
import { startHandlers } from "./acts/starts.ts";
import { chatHandlers } from "./chat.ts";
import { liveHandlers } from "./live.ts";
import { reportHandlers } from "./reports.ts";
import { downloadHandlers } from "./runs/downloads.ts";
import { exportHandlers } from "./runs/exports.ts";
import { ledgerHandlers } from "./runs/ledger.ts";
import { logHandlers } from "./runs/log.ts";
import { RunAccounts } from "./runs/run-accounts.ts";
import { runHandlers } from "./runs/runs.ts";
import { storyHandlers } from "./runs/story.ts";
import { serverHandlers } from "./server-info.ts";
import type { ServerParts } from "./server-parts.ts";
import { callHandlers } from "./waits/calls.ts";
import { waitHandlers } from "./waits/waits.ts";
import { workerHandlers } from "./workers.ts";

/** Operations that are about requests and who makes them: the HTTP side answers those itself. */
type OfRequests =
  | "getHealth"
  | "getOpenApi"
  | "createSession"
  | "deleteSession"
  | "getMe"
  | "listTokens"
  | "createToken"
  | "revokeToken"
  | "listAudit"
  | WebhookOperation;

/** The operations that are about runs. */
export type RunOperation = Exclude<OperationId, OfRequests>;

/** A handler for each operation about runs. All of them look only at runs in the scope of the principal. */
export function makeHandlers(parts: ServerParts): Handlers<RunOperation> {
  const accounts = new RunAccounts(parts.store, parts.clock);
  return {
    ...runHandlers(parts, accounts),
    ...storyHandlers(parts, accounts),
    ...ledgerHandlers(parts),
    ...logHandlers(parts),
    ...downloadHandlers(parts),
    ...exportHandlers(parts),
    ...startHandlers(parts),
    ...actHandlers(parts),
    ...waitHandlers(parts),
    ...callHandlers(parts),
    ...reportHandlers(parts),
    ...workerHandlers(parts),
    ...serverHandlers(parts),
    ...liveHandlers(parts, new LiveHub(parts)),
    ...chatHandlers(parts),
  };
}
