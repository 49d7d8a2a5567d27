// A run that one process begins and another one finishes.

import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace-node";
import { agent, Step } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { asking, readOnlyTool } from "./otel-tools.ts";

export const RUN_ID = "killed-1";

/** Looks two things up at once, then one more, and answers. */
export function killedWork() {
  const tools = { look: readOnlyTool("look"), find: readOnlyTool("find") };
  const script = [asking(["look", "a"], ["find", "b"]), asking(["look", "c"]), { text: "Done." }];
  const worker = agent({ name: "worker", instructions: "You work.", model: scriptedModel(script), tools });
  return Step.granular("work", worker);
}

/** The part of a span of another process that a test needs. */
export type WrittenSpan = {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly links: readonly string[];
  readonly attributes: { readonly [name: string]: unknown };
};

export function written(span: ReadableSpan): WrittenSpan {
  const { traceId, spanId } = span.spanContext();
  return {
    name: span.name,
    traceId,
    spanId,
    parentSpanId: span.parentSpanContext?.spanId ?? null,
    links: span.links.map(({ context }) => context.spanId),
    attributes: span.attributes,
  };
}

/** Writes each span to a file as soon as it ends: a span that was not written is lost with the process. */
export function fileExporter(folder: string): SpanExporter {
  return {
    export: (spans, done) => {
      for (const span of spans) appendFileSync(spansFile(folder), `${JSON.stringify(written(span))}\n`);
      done({ code: 0 });
    },
    shutdown: () => Promise.resolve(),
  };
}

export function readSpans(folder: string): WrittenSpan[] {
  const lines = readFileSync(spansFile(folder), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as WrittenSpan);
}

export function databaseUrl(folder: string): string {
  return `file:${join(folder, "pawl.db")}`;
}

function spansFile(folder: string): string {
  return join(folder, "spans.jsonl");
}
