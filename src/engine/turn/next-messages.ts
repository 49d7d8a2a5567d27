import type { ExchangeTurn, TakenMessage, TurnOpening, WaitingText } from "../../store/store.ts";
import type { TurnScope } from "./turn-scope.ts";

/** What the mailbox has for the turn after a commit. */
export type NextMessages = {
  /** The messages that belong to the same exchange. */
  readonly joining: readonly WaitingText[];
  /** The exchange is to stop: no further turn is opened. */
  readonly isStopped: boolean;
};

const NO_MESSAGES: NextMessages = { joining: [], isStopped: false };

/** Reads the mailbox of a conversation. Any other step has none. */
export async function nextMessages({ run, stepKey, exchange }: TurnScope): Promise<NextMessages> {
  if (exchange === null) return NO_MESSAGES;
  // Before the read: what is requested from now on is not in it.
  run.stop.cuts.begin();
  const { exchange: open, waiting } = await run.store.readMailbox(run.runId, stepKey);
  return {
    joining: waiting.filter(({ joins }) => joins),
    isStopped: open !== null && open.stopRequestedBy !== null,
  };
}

/** The part of an opening that a conversation's turn has. */
export function exchangeTurn(
  { exchange }: TurnScope,
  {
    messages,
    begins,
    uncompacted,
  }: {
    readonly messages: readonly { readonly messageNo: number }[];
    readonly begins: boolean;
    readonly uncompacted?: string;
  },
): Pick<TurnOpening, "exchange"> {
  if (exchange === null) return {};
  const take = messages.map(({ messageNo }) => messageNo);
  const why = uncompacted === undefined ? {} : { uncompacted };
  const turn: ExchangeTurn = { take, begins, limit: exchange.limit, ...why };
  return { exchange: turn };
}

/** Messages as the turn that took them has them. */
export function asTaken(messages: readonly WaitingText[]): readonly Pick<TakenMessage, "body">[] {
  return messages.map(({ body }) => ({ body }));
}
