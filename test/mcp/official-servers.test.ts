import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { mcpTools } from "../../src/adapters/mcp/mcp.ts";
import { Runner } from "../../src/index.ts";
import { memoryStore, scriptedAgent, toolResults } from "../engine/run-fixture.ts";
import { isAlive, linesIn, temporaryFolder } from "./mcp-fixture.ts";
import { officialServer, relayed } from "./official-servers.ts";

it("An agent works with the official filesystem, memory and everything servers, and they are gone when it is done", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "note.txt");
  const entities = [{ name: "Ada", entityType: "person", observations: ["likes numbers"] }];
  const script = [
    {
      toolCalls: [
        { name: "files__write_file", input: { path, content: "1815" } },
        { name: "memory__create_entities", input: { entities } },
      ],
    },
    {
      toolCalls: [
        { name: "files__read_text_file", input: { path } },
        { name: "memory__read_graph", input: {} },
        { name: "all__get-sum", input: { a: 2, b: 3 } },
        { name: "all__get-sum", input: { a: "two" } },
        { name: "all__get-tiny-image", input: {} },
        { name: "files__read_text_file", input: { path: join(folder, "missing.txt") } },
      ],
    },
    { text: "Done." },
  ];
  const { agent, prompts } = scriptedAgent(script, {
    tools: {
      files: mcpTools(relayed(folder, officialServer("filesystem", folder))),
      memory: mcpTools({
        ...officialServer("memory"),
        env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
      }),
      all: mcpTools(relayed(folder, officialServer("everything"))),
    },
  });
  const store = await memoryStore();
  const result = await new Runner(agent, { store }).run("Note it.", { runId: "r-1" });
  expect(result.output).toBe("Done.");
  expect(readFileSync(path, "utf8")).toBe("1815");
  const [, , read, graph, sum, refused, picture, missing] = toolResults(prompts.at(-1));
  expect(read).toEqual({ type: "json", value: { content: "1815" } });
  expect(graph).toMatchObject({ type: "json", value: { entities: [{ name: "Ada" }] } });
  expect(sum).toMatchObject({ type: "text", value: expect.stringContaining("5") });
  expect(refused).toMatchObject({ type: "error-text", value: expect.stringContaining("a") });
  expect(picture).toMatchObject({
    type: "content",
    value: expect.arrayContaining([
      expect.objectContaining({ type: "file", mediaType: "image/png" }),
      expect.objectContaining({ type: "text" }),
    ]),
  });
  expect(missing).toMatchObject({ type: "error-text", value: expect.stringContaining("missing.txt") });
  const calls = await store.listToolCalls("r-1");
  expect(
    Object.fromEntries(calls.map(({ tool, effect, recovery }) => [tool, `${effect}, ${recovery}`])),
  ).toEqual({
    files__write_file: "external, opaque",
    memory__create_entities: "external, opaque",
    files__read_text_file: "external, opaque",
    memory__read_graph: "external, opaque",
    "all__get-sum": "external, opaque",
    "all__get-tiny-image": "external, opaque",
  });
  const pids = linesIn(join(folder, "pids")).map(Number);
  expect(pids).toHaveLength(4);
  expect(pids.filter(isAlive)).toEqual([]);
});
