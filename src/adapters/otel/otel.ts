import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import { assertOptions, type OptionNames } from "../../core/naming/option-names.ts";
import type { Telemetry } from "../../engine/ports/telemetry-port.ts";
import { type Instruments, makeInstruments } from "./otel-metrics.ts";
import { openTelemetry } from "./otel-package.ts";
import { OtelRun } from "./otel-run.ts";
import { OtelWorker } from "./otel-worker.ts";

const { metrics, trace } = openTelemetry;

/** Options of `otel`. */
export type OtelOptions = {
  /**
   * Puts instructions, messages, arguments and results into the spans; false by default, since they are content of your
   * users. Secrets are never included.
   */
  readonly content?: boolean;
  /** Makes the spans. Defaults to the registered one. */
  readonly tracerProvider?: TracerProvider;
  /** Makes the metrics. Defaults to the registered one. */
  readonly meterProvider?: MeterProvider;
};

const OTEL_NAMES = {
  content: true,
  tracerProvider: true,
  meterProvider: true,
} satisfies OptionNames<OtelOptions>;

/**
 * Traces and metrics of runs, for OpenTelemetry. If no SDK is registered, nothing is traced.
 *
 * @example
 * import { Runner } from "pawl";
 * import { otel } from "pawl/otel";
 *
 * await new Runner(pipeline, { telemetry: otel() }).run("Go");
 */
export function otel(options: OtelOptions = {}): Telemetry {
  assertOptions("The argument of otel", options, OTEL_NAMES);
  const { content = false } = options;
  let made: { readonly provider: MeterProvider; readonly instruments: Instruments } | undefined;
  // Looked up for each run and not here: a configuration file may be read before the SDK is registered.
  const meters = () => options.meterProvider ?? metrics.getMeterProvider();
  const instruments = () => {
    const provider = meters();
    if (made?.provider !== provider) made = { provider, instruments: makeInstruments(provider) };
    return made.instruments;
  };
  return {
    begin: (run) => {
      const tracer = (options.tracerProvider ?? trace.getTracerProvider()).getTracer("pawl");
      return new OtelRun(run, { tracer, instruments: instruments(), content });
    },
    beginWorker: (worker) => new OtelWorker(worker, meters()),
  };
}
