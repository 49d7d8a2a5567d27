import type { Person } from "../core/person.ts";
import type { ExchangeEnd, StopOutcome } from "./exchange-records.ts";
import type { Fence } from "./store-intents.ts";

/** The intents of a store around the exchanges of conversations. A turn takes messages as it is opened. */
export interface ExchangeStore {
  /**
   * Ends the open exchange of a step without a complete answer. Refused while a turn is journaled and not committed, and
   * while a model call is open.
   */
  endExchange(fence: Fence, end: ExchangeEnd): Promise<void>;

  /**
   * Asks to end the present exchange of the run, and never the run: no model is asked any more, and tools in progress are
   * completed. What the exchange waits for is answered with a refusal, but calls in doubt stay for people. The same again
   * changes nothing.
   */
  requestStop(runId: string, person?: Person): Promise<StopOutcome>;
}
