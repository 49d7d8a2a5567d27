// A process that is killed: it begins a run, and dies during the model call of the second turn.

import { NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { otel } from "../../../src/adapters/otel/otel.ts";
import { openStore, Runner } from "../../../src/index.ts";
import { crashAt } from "../../../src/testing/index.ts";
import { databaseUrl, fileExporter, killedWork, RUN_ID } from "./otel-crash-scenario.ts";

const [, , folder = ""] = process.argv;
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(fileExporter(folder))] }).register();
const store = await openStore(databaseUrl(folder));
const probe = crashAt("model:noted", { turn: 2 });
await new Runner(killedWork(), { store, telemetry: otel(), probe }).run("Go", { runId: RUN_ID });
