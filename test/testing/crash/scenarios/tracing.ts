import { NO_RUN_TELEMETRY, type Telemetry } from "../../../../src/engine/ports/telemetry-port.ts";

/** A trace that is exported nowhere: the run stores its trace parent. */
export const tracing: Telemetry = {
  begin: () => ({
    ...NO_RUN_TELEMETRY,
    traceParent: `00-${"1".repeat(32)}-${"2".repeat(16)}-01`,
  }),
};
