import type { Json } from "../../core/json.ts";
import { givenOptions, type OptionNames } from "../../core/naming/option-names.ts";
import type { RunMetadata } from "../../store/store.ts";

/** How a new run is found, and where it waits for a worker. */
export type PlaceOptions = {
  /** The queue that workers take it from, also when it continues after an answer; `default` by default. */
  readonly queue?: string;
  /** Runs of the same queue and key are limited together: one at a time for each customer. */
  readonly concurrencyKey?: string;
  /** Of two runs that are ready, a worker takes the one with the higher priority; 0 by default. */
  readonly priority?: number;
  /** What the run can be found by: a tenant, a customer, tags. Tools get it as `call.run.metadata`. */
  readonly metadata?: RunMetadata;
  /** Given to its tools as `call.run.context`: who the customer is. Stored with the run; not part of any prompt. */
  readonly context?: Json;
  /** A name by which messages reach the run, such as `invoice:7`. It is free again once the run has ended. */
  readonly address?: string;
};

export const PLACE_NAMES = {
  queue: true,
  concurrencyKey: true,
  priority: true,
  metadata: true,
  context: true,
  address: true,
} satisfies OptionNames<PlaceOptions>;

/** The part of some options that places a run, as the store takes it. */
export function placeOf(options: PlaceOptions) {
  const { context, ...place } = givenOptions<PlaceOptions>(options, PLACE_NAMES);
  return { ...place, ...(context === undefined ? {} : { callContext: context }) };
}
