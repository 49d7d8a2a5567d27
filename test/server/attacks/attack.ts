import type { HandlerOptions } from "../../../src/server/http/create-handler.ts";
import type { Attacked, Target } from "./attacked-server.ts";
import type { WeakeningName } from "./weakenings.ts";

/** One attack: what the attacker gets from the server as it is, and what they would get without a guard. */
export type Attack = {
  readonly name: string;
  readonly attempt: (server: Attacked, of: Target) => Promise<string>;
  readonly refusal: string;
  readonly without: readonly [WeakeningName, ...WeakeningName[]];
  readonly gain: string;
  readonly options?: Partial<Omit<HandlerOptions, "store">> & { readonly bodyMs?: number };
};

/** `403 foreign_page`, or `200`. */
export async function said(answer: Response | Promise<Response>): Promise<string> {
  const response = await answer;
  const isProblem = response.headers.get("content-type") === "application/problem+json";
  if (!isProblem) await response.body?.cancel();
  const code = isProblem ? ` ${((await response.json()) as { readonly code: string }).code}` : "";
  return `${response.status}${code}`;
}

/** Asks for a run to be cancelled, and looks whether it is. */
export async function cancels(
  server: Attacked,
  headers: Record<string, string>,
  path = "/v1/runs/order-1/cancel",
): Promise<string> {
  const answer = await said(server.request(path, { method: "POST", headers }));
  const run = await server.store.getRun("order-1");
  return run?.status === "cancelled" ? `${answer}, cancelled` : answer;
}
