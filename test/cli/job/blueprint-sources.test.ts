import { expect, it } from "vitest";
import { mcpTools } from "../../../src/adapters/mcp/mcp.ts";
import { hidingSource } from "../../../src/cli/job/blueprint-secrets.ts";
import { someToolsOf } from "../../../src/engine/steps/blueprint/blueprint-tool-choice.ts";

it("A source of a blueprint still says where its server works, so that the store is not put there unnoticed", () => {
  const source = mcpTools({ command: "npx", args: ["-y", "server-filesystem", "/srv/data"] });
  expect(source.places).toContain("/srv/data");
  expect(hidingSource(source, ["s-123"]).places).toEqual(source.places);
  expect(someToolsOf("files", source, ["read_*"]).places).toEqual(source.places);
});
