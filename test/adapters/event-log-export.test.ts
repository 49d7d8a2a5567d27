import { expect, it } from "vitest";
import { agent, type EventLogger, logEvents, Runner } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { memoryStore } from "../engine/run-fixture.ts";

it("logEvents is part of the package, and takes any logger with pino's methods", async () => {
  const lines: string[] = [];
  const write = (_: object, message: string) => void lines.push(message);
  const logger: EventLogger = { debug: () => undefined, info: write, warn: write, error: write };
  const writer = agent({ name: "writer", model: scriptedModel([{ text: "Done." }]) });
  await new Runner(writer, { store: await memoryStore(), onEvent: logEvents(logger) }).run("Go");
  expect(lines).toEqual(["run started", "step started", "turn committed", "step done", "run succeeded"]);
});
