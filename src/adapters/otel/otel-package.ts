import type * as OpenTelemetry from "@opentelemetry/api";
import { ConfigurationError } from "../../core/errors.ts";

/**
 * The OpenTelemetry API, an optional peer dependency. Only `pawl/otel` loads it, on import: so tracing of a run starts
 * without waiting for anything.
 */
export const openTelemetry: typeof OpenTelemetry = await importOpenTelemetry();

async function importOpenTelemetry(): Promise<typeof OpenTelemetry> {
  try {
    return await import("@opentelemetry/api");
  } catch (error) {
    throw new ConfigurationError(
      'pawl/otel needs the package "@opentelemetry/api", which could not be loaded: run `npm install @opentelemetry/api@1` beside pawl.',
      { package: "@opentelemetry/api" },
      { cause: error },
    );
  }
}
