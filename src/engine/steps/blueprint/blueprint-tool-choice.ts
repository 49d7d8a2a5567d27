import { matchesAction } from "../../../core/call/action-pattern.ts";
import { parseToolName } from "../../../core/call/tool-name.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import { nearestName } from "../../../core/naming/nearest-name.ts";
import type { Tool } from "../../definition/tool.ts";
import { makeToolSource, type ToolSource } from "../../definition/tool-source.ts";

type ToolsByName = { readonly [name: string]: Tool };

/**
 * A source with some of the tools of a server, by name or with `*` as a wildcard. All choices from one source share its
 * connection.
 */
export function someToolsOf(server: string, source: ToolSource, patterns: readonly string[]): ToolSource {
  return makeToolSource({
    name: server,
    places: source.places ?? [],
    open: async (name, opening) => {
      const opened = await source.open(name, opening);
      try {
        return { ...opened, tools: chosen(opened.tools, name, patterns) };
      } catch (error) {
        await opened.close();
        throw error;
      }
    },
  });
}

function chosen(tools: ToolsByName, server: string, patterns: readonly string[]): ToolsByName {
  const all = Object.entries(tools).map(([name, tool]) => ({
    name,
    tool,
    own: tool.ownName ?? parseToolName(name).tool,
  }));
  const found = patterns.flatMap((pattern) => {
    // Two names may differ only in case: then the exact spelling wins.
    const same = all.filter(({ own }) => own === pattern);
    const some = all.filter(({ name, tool }) => matchesAction([pattern], { ...tool, name }) !== null);
    if (some.length > 0) return same.length > 0 ? same : some;
    throw noSuchTool(
      server,
      pattern,
      all.map(({ own }) => own),
    );
  });
  const names = new Set(found.map(({ name }) => name));
  return Object.fromEntries(Object.entries(tools).filter(([name]) => names.has(name)));
}

function noSuchTool(server: string, pattern: string, names: readonly string[]): ConfigurationError {
  const near = nearestName(pattern, names);
  const meant = near === null ? `it has ${names.join(", ") || "none"}.` : `did you mean ${server}/${near}?`;
  return new ConfigurationError(`MCP server ${server} has no tool ${JSON.stringify(pattern)}: ${meant}`);
}
