import type { OperationId } from "../api/operations.ts";
import type { Handlers } from "../handler.ts";
import { LiveHub } from "../live/live-hub.ts";
import { actHandlers } from "./acts.ts";
import { chatHandlers } from "./chat.ts";
import { downloadHandlers } from "./downloads.ts";
import { ledgerHandlers } from "./ledger.ts";
import { liveHandlers } from "./live.ts";
import { reportHandlers } from "./reports.ts";
import { RunAccounts } from "./run-accounts.ts";
import { runHandlers } from "./runs.ts";
import { serverHandlers } from "./server-info.ts";
import type { ServerParts } from "./server-parts.ts";
import { storyHandlers } from "./story.ts";
import { waitHandlers } from "./waits.ts";
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
  | "listAudit";

/** The operations that are about runs. */
export type RunOperation = Exclude<OperationId, OfRequests>;

/**
 * A handler for each operation about runs. All of them look only at runs in the scope of the principal. The streams that they
 * open are broken when `closing` aborts.
 */
export function makeHandlers(parts: ServerParts): Handlers<RunOperation> {
  const hub = new LiveHub(parts);
  const accounts = new RunAccounts(parts.store, parts.clock);
  return {
    ...runHandlers(parts, accounts),
    ...storyHandlers(parts, accounts),
    ...ledgerHandlers(parts),
    ...downloadHandlers(parts),
    ...actHandlers(parts),
    ...waitHandlers(parts),
    ...reportHandlers(parts),
    ...workerHandlers(parts),
    ...serverHandlers(parts, hub),
    ...liveHandlers(parts, hub),
    ...chatHandlers(parts),
  };
}
