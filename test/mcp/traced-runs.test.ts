// The trace context that an MCP server gets from the run that calls it.

import { expect, it } from "vitest";
import { mcpTools } from "../../src/adapters/mcp/mcp.ts";
import { otel } from "../../src/adapters/otel/otel.ts";
import { Runner } from "../../src/index.ts";
import { tracing } from "../adapters/otel/otel-fixture.ts";
import { asking } from "../engine/call/call-fixture.ts";
import { memoryStore, must, scriptedAgent } from "../engine/run-fixture.ts";
import { rawServer } from "./mcp-fixture.ts";

it("a server sees the span of the call as its parent, and the ids of run, step and call", async () => {
  const { spans } = tracing();
  const raw = rawServer({ act: { does: "echoes" } });
  const tools = { raw: mcpTools(raw.server) };
  const { agent } = scriptedAgent([asking(["raw__act", {}]), { text: "End." }], { tools });
  await new Runner(agent, { store: await memoryStore(), telemetry: otel() }).run("Go", { runId: "r-1" });

  const span = must(spans().find(({ name }) => name === "execute_tool raw__act"));
  const { traceId, spanId } = span.spanContext();
  const meta = must(raw.calls()[0]?.params?._meta);
  expect(meta).toMatchObject({
    traceparent: `00-${traceId}-${spanId}-01`,
    "pawl/run_id": "r-1",
    "pawl/step_id": "r-1/worker",
    "pawl/tool_call_id": "r-1/worker#1.1",
  });
  expect(decodeURIComponent(String(meta.baggage))).toContain("pawl.tool_call_id=r-1/worker#1.1");
  expect(span.attributes).toMatchObject({ "pawl.run_id": "r-1", "pawl.tool_call_id": "r-1/worker#1.1" });
});
