import { AlreadySettledError } from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import { asksPeople, asksPermission } from "../../../core/wait.ts";
import { isoTime } from "../../../export/figures.ts";
import type { StoreReader, WaitRecord } from "../../../store/store.ts";
import { HttpProblem } from "../../http-problem.ts";
import { requireWait } from "./wait-detail.ts";

/** A question is not approved, whatever is shown of it. */
export function assertApprovable({ waitId, kind }: WaitRecord): void {
  if (asksPermission(kind)) return;
  const next = asksPeople(kind) ? "answer it with a value" : "the clock or a message answers it";
  throw new HttpProblem(
    422,
    "not_an_approval",
    `Wait ${waitId} is a wait of the kind ${kind}, and not a call to approve: ${next}.`,
    { details: { kind } },
  );
}

/** Refuses an approval of something else than what was shown. A wait never gets other arguments: they are another wait. */
export function assertShown({ waitId, argumentsHash }: WaitRecord, shown: string | null): void {
  if (argumentsHash === shown) return;
  throw new HttpProblem(
    409,
    "arguments_changed",
    `Wait ${waitId} is about other arguments than those that you were shown: look at it again before you approve it.`,
    { details: { argumentsHash } },
  );
}

/** Answers a wait. If another person was faster, the problem says who that was, and what they said. */
export async function answered(
  store: Pick<StoreReader, "listWaits">,
  waitId: string,
  act: () => Promise<void>,
): Promise<WaitRecord> {
  try {
    await act();
  } catch (error) {
    if (!AlreadySettledError.isInstance(error)) throw error;
    throw settledProblem(error, await requireWait(store, waitId));
  }
  return requireWait(store, waitId);
}

/** What was decided before, by whom. */
export function settledProblem(error: AlreadySettledError, wait: WaitRecord | null): HttpProblem {
  if (wait === null) return new HttpProblem(409, error.code, error.message, { details: error.details });
  const { waitId, status, answeredBy, answeredAt, people, answer } = wait;
  const details: { readonly [name: string]: Json } = {
    waitId,
    status,
    answeredBy,
    answeredAt: isoTime(answeredAt),
    people: people.map(({ name, at }) => ({ name, at: isoTime(at) })),
    answer,
  };
  return new HttpProblem(409, error.code, error.message, { details });
}
