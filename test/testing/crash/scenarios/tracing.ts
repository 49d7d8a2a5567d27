import { NO_RUN_TELEMETRY, type Telemetry } from "../../../../src/engine/ports/telemetry-port.ts";

/** A trace that goes nowhere: the run keeps where it belongs to. */
export const tracing: Telemetry = {
  begin: () => ({
    ...NO_RUN_TELEMETRY,
    traceParent: `00-${"1".repeat(32)}-${"2".repeat(16)}-01`,
  }),
};
