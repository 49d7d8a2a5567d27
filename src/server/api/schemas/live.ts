import { z } from "zod";
import { time } from "./field-schemas.ts";
import { event } from "./ledger.ts";
import { runCounts, runHead } from "./run.ts";

/** What `/v1/stream` sends: each is the `event:` and the `data:` of a server-sent event. */
export const liveEvent = z
  .discriminatedUnion("event", [
    z.object({
      event: z.literal("hello"),
      data: z.object({ version: z.string(), instance: z.string(), asOf: time }),
    }),
    z.object({ event: z.literal("head"), data: runHead }),
    z.object({ event: z.literal("gone"), data: z.object({ runId: z.string() }) }),
    z.object({ event: z.literal("waits"), data: z.object({ open: z.int() }) }),
    z.object({ event: z.literal("counts"), data: runCounts }),
    z.object({ event: z.literal("log"), data: event.extend({ runId: z.string() }) }),
    z.object({ event: z.literal("reset"), data: z.object({ why: z.string() }) }),
  ])
  .meta({
    id: "LiveEvent",
    description:
      "`reset`: the cursor is unknown or too old, so fetch everything again. A head with a lower `eventSeq` than the known one is older; with the same one it is newer, since leases expire without an event.",
  });
