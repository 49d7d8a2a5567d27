import { lookNow } from "../../../engine/run/run-lookers.ts";
import type { Principal } from "../../principal.ts";
import { personOf } from "../acting-person.ts";
import type { ServerParts } from "../server-parts.ts";

/** What became of a request to cancel a run: it is cancelled, its worker was asked to, or it had ended before. */
export type CancelWord = "cancelled" | "requested" | "over";

export async function cancelRun(
  { store }: Pick<ServerParts, "store">,
  principal: Principal,
  runId: string,
): Promise<CancelWord> {
  const { kind } = await store.requestCancel(runId, personOf(principal));
  lookNow(store, runId);
  return kind === "ended" ? "cancelled" : kind;
}
