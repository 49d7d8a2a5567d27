import type { Json } from "../../core/json.ts";
import type { CodeStepContext } from "../definition/code-step-context.ts";
import {
  assertReceive,
  assertWaitMs,
  parseReceived,
  type ReceivedMessage,
  type ReceiveOptions,
} from "../definition/waiting/received-message.ts";
import { receiveInStep, sleepInStep } from "../definition/waiting/wait-tools.ts";
import type { CodeStepCalls } from "./code-step-calls.ts";

/** The waits of a code step: calls of the ledger, which the clock and the mailbox of the run answer. */
export function stepWaits(
  stepPath: string,
  calls: Pick<CodeStepCalls, "call">,
): Pick<CodeStepContext, "sleep" | "receive"> {
  const where = `step ${stepPath}`;
  return {
    async sleep(ms) {
      assertWaitMs(`ctx.sleep of ${where} has`, ms);
      await calls.call(sleepInStep, { ms });
    },
    async receive<T = Json>(options: ReceiveOptions<T>): Promise<ReceivedMessage<T>> {
      assertReceive(`ctx.receive of ${where}`, options);
      const { schema: _, ...input } = options;
      const result = await calls.call(receiveInStep(where), input);
      // Without a message in time the call has failed, unless the caller takes that as a result.
      return (await parseReceived(result, options, where)) as ReceivedMessage<T>;
    },
  };
}
