import { isJsonObject } from "../../core/json.ts";
import type { ProcessTools } from "./scenario.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { PostedMessage, Witness } from "./witness.ts";

/** The receivers of webhooks, for one process. They know what they answered, whether or not the process lives to hear it. */
export function receiversFor(life: SimulatedProcess, witness: Witness): ProcessTools["post"] {
  return (message, statusOf) =>
    life.call("webhook", () => {
      const isSame = ({ url, id }: PostedMessage) => url === message.url && id === message.id;
      const status = statusOf(witness.received().filter(isSame).length);
      const seen = { life: life.number, runId: runIdIn(message.body) };
      witness.record({ kind: "received", ...seen, ...message, status });
      return status;
    });
}

/** The run that a message is about; empty if it names none. */
function runIdIn(body: string): string {
  const message: unknown = JSON.parse(body);
  const data = isJsonObject(message) ? message.data : null;
  return isJsonObject(data) && typeof data.runId === "string" ? data.runId : "";
}
