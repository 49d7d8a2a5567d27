import type { Json } from "../../core/json.ts";
import type { NetworkPolicy } from "../../core/network-policy.ts";
import type { Tool, ToolCallContext } from "./tool.ts";

const TOOL_SOURCE = Symbol.for("pawl.tool-source");

/**
 * A provider of tools that are known only once a run has opened it, such as an MCP server. It is an entry of an agent's
 * `tools`; its key is the prefix of its tools' names. A run opens it when it reaches that agent.
 */
export type ToolSource = {
  readonly [TOOL_SOURCE]: true;
  /** The prefix of its tools' names; null: its key in `tools`. */
  readonly name: string | null;
  /** The local paths that it was given; its tools may work in them. */
  readonly places?: readonly string[];
  /** Opens it for one run, under this name. Rejects with a one-sentence error if it is not available. */
  open(name: string, opening: SourceOpening): Promise<OpenTools>;
};

export type SourceOpening = {
  /** Aborts when the run is cancelled or claimed by another worker. */
  readonly signal: AbortSignal;
  /** The hosts that the run may connect to. */
  readonly network: NetworkPolicy;
  /** Emits a warning event of the run. */
  readonly warn: (message: string) => void;
  /** From now on the run hides these texts, which must come from the operator's settings of the source. */
  readonly learnSecrets: (texts: readonly string[]) => void;
  /** A text without secrets, as `hide` of a call. Call it before the text is cut. */
  readonly hide: ToolCallContext["hide"];
  /** A value without secret texts. Values under secret names stay: in a schema, they describe the property. */
  readonly hideTexts: <T extends Json>(value: T) => T;
};

/** The tools of a source at the time it was opened. They stay the same until it is closed. */
export type OpenTools = {
  readonly tools: { readonly [name: string]: Tool };
  /** Closes the source and resolves once all its resources are freed. Never rejects, and takes a few seconds at most. */
  close(): Promise<void>;
};

/** The tools of sources. Each source is opened once in a run. */
export interface OpenSources {
  toolsOf(sources: { readonly [key: string]: ToolSource }): Promise<{ readonly [name: string]: Tool }>;
}

/** Makes a source from its parts; for adapters. */
export function makeToolSource(parts: Pick<ToolSource, "name" | "open" | "places">): ToolSource {
  return { ...parts, [TOOL_SOURCE]: true };
}

export function isToolSource(value: unknown): value is ToolSource {
  return typeof value === "object" && value !== null && TOOL_SOURCE in value;
}
