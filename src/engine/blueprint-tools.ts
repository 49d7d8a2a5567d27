import { fitsPattern } from "../core/action-pattern.ts";
import { ConfigurationError } from "../core/errors.ts";
import { nearestName } from "../core/run-spec-spelling.ts";
import type { Tool } from "./tool.ts";
import { makeToolSource, type ToolSource } from "./tool-source.ts";

type Tools = { readonly [name: string]: Tool };

/**
 * Some of the tools of a server, by name or with `*` for anything. It stands for the same source, whatever is chosen of it: all
 * of them share what that one has open.
 */
export function someToolsOf(server: string, source: ToolSource, patterns: readonly string[]): ToolSource {
  return makeToolSource({
    name: server,
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

function chosen(tools: Tools, server: string, patterns: readonly string[]): Tools {
  const prefix = `${server}__`;
  const entries = Object.entries(tools).map(
    ([name, tool]) => [name.startsWith(prefix) ? name.slice(prefix.length) : name, name, tool] as const,
  );
  const missing = patterns.find((pattern) => !entries.some(([own]) => fits(pattern, own)));
  if (missing !== undefined)
    throw noSuchTool(
      server,
      missing,
      entries.map(([own]) => own),
    );
  return Object.fromEntries(
    entries.flatMap(([own, name, tool]) =>
      patterns.some((pattern) => fits(pattern, own)) ? [[name, tool] as const] : [],
    ),
  );
}

/** A name is compared as models are told it: without what providers refuse. */
function fits(pattern: string, name: string): boolean {
  return fitsPattern(pattern.replaceAll(/[^A-Za-z0-9_*-]/g, "_"), name);
}

function noSuchTool(server: string, pattern: string, names: readonly string[]): ConfigurationError {
  const near = nearestName(pattern, names);
  const meant = near === null ? `it has ${names.join(", ") || "none"}.` : `did you mean ${server}/${near}?`;
  return new ConfigurationError(`MCP server ${server} has no tool ${JSON.stringify(pattern)}: ${meant}`);
}
