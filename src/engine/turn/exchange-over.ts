import type { ExchangeEnd } from "../../store/store.ts";

/** The exchange ends without a complete answer; the run goes on. Thrown before anything of the turn is journaled. */
export class ExchangeOver extends Error {
  readonly outcome: ExchangeEnd["outcome"];
  readonly refused: ExchangeEnd["refused"];

  constructor(
    outcome: ExchangeEnd["outcome"],
    why: string,
    { refused, ...options }: ErrorOptions & Pick<ExchangeEnd, "refused"> = {},
  ) {
    super(why, options);
    this.name = "ExchangeOver";
    this.outcome = outcome;
    this.refused = refused;
  }
}

/** The mailbox is not what it was when it was read: nothing was written, and it has to be read again. */
export class MailboxChanged extends Error {
  constructor() {
    super("The mailbox of the conversation has changed.");
    this.name = "MailboxChanged";
  }
}
